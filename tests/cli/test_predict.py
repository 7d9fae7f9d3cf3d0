"""`pcqr predict`: a published model applied to a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_lines import said
from typer.testing import CliRunner, Result

from pcqr import Guarantee, Schema
from pcqr.cli.main import app
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.records.vectors import PredicateVectors
from pcqr.data.schema import Column
from pcqr.datasets import read_table, write_table
from pcqr.hypotheses import DecisionTree
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.models import PublishedModel

SCHEMA = Schema((Column("age", bounds=(0, 99), missing=True), Column("job", "categorical", ("nurse", "clerk"))))
TREE = DecisionTree(Split(Predicate(0, 40.0), Leaf(0), Leaf(1)), len(SCHEMA.features))
MODEL = PublishedModel(TREE, ("<=50K", ">50K"), SCHEMA, Guarantee(0.5, proof="sspp"))
ROWS: dict[str, list[Any]] = {"job": ["nurse", None, "clerk"], "age": [64, 20, None]}
LABELS = [">50K", "<=50K", "<=50K"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    MODEL.save(tmp_path / "model")
    write_table(tmp_path / "people.csv", ROWS)
    return tmp_path


def predict(files: Path, *options: str, model: str = "model", table: str = "people.csv") -> Result:
    out = () if "--out" in options else ("--out", str(files / "predictions.csv"))
    return CliRunner().invoke(app, ["predict", str(files / model), str(files / table), *out, *options])


@pytest.mark.parametrize("model", ["model", "model/model.json"])
def test_the_labels_of_the_rows_by_name(files: Path, model: str) -> None:
    result = predict(files, model=model)
    assert result.exit_code == 0, result.output
    assert read_table(files / "predictions.csv") == {"row": ["1", "2", "3"], "label": LABELS}
    words = said(result)
    assert "costs nothing" in words
    assert "3 rows" in words
    assert "<=50K: 2" in words
    assert "e^0.5" in words


def test_parquet_in_and_out(files: Path) -> None:
    write_table(files / "people.parquet", ROWS)
    result = predict(files, "--out", str(files / "predictions.parquet"), table="people.parquet")
    assert result.exit_code == 0, result.output
    found = read_table(files / "predictions.parquet")
    assert list(found["label"]) == LABELS
    assert list(found["row"]) == [1, 2, 3]


def test_columns_that_the_model_does_not_know_are_dropped_when_named(files: Path) -> None:
    write_table(files / "wide.csv", ROWS | {"the name": ["A", "B", "C"]})
    refused = predict(files, table="wide.csv")
    assert refused.exit_code == 2
    assert "also 'the name'" in refused.stderr
    assert "--drop 'the name'" in refused.stderr
    assert predict(files, "--drop", "the name", table="wide.csv").exit_code == 0
    assert read_table(files / "predictions.csv")["label"] == LABELS


def test_json_for_machines(files: Path) -> None:
    summary = json.loads(predict(files, "--json").stdout)
    assert summary["rows"] == 3
    assert summary["counts"] == {"<=50K": 2, ">50K": 1}
    assert summary["cost"]["epsilon"] == 0
    assert summary["guarantee"]["epsilon"] == 0.5
    assert summary["out"] == str(files / "predictions.csv")


def test_scores_where_the_model_has_them(files: Path) -> None:
    questions = FeatureMap(PredicateVectors.of((Predicate(0, 40.0),), len(SCHEMA.features)), None, 256)
    linear = LinearClassifier.of(questions, 2, np.ones((1, 2)), np.zeros((1, 0, 1)))
    model = PublishedModel(linear, ("a", "b"), SCHEMA, Guarantee(1, 1e-6))
    model.save(files / "linear")
    assert predict(files, "--scores", model="linear").exit_code == 0
    written = read_table(files / "predictions.csv")
    assert [float(score) for score in written["score"]] == model.decision_function(ROWS).tolist()
    refused = predict(files, "--scores", "--overwrite")
    assert refused.exit_code == 2
    assert "--scores must be left out for a decision tree, which has none" in refused.stderr


def test_a_tree_with_shares_has_scores_and_probabilities(files: Path) -> None:
    model = replace(MODEL, hypothesis=TREE.with_shares([(0.25, 0.75), (0.9, 0.1)]))
    model.save(files / "shares")
    assert predict(files, "--scores", "--probabilities", model="shares").exit_code == 0
    written = read_table(files / "predictions.csv")
    assert [float(cell) for cell in written["probability >50K"]] == [0.75, 0.1, 0.1]
    assert [float(cell) for cell in written["score"]] == model.decision_function(ROWS).tolist()


def test_probabilities_where_the_model_has_them(files: Path) -> None:
    questions = FeatureMap(PredicateVectors.of((Predicate(0, 40.0),), len(SCHEMA.features)), None, 256)
    linear = LinearClassifier.of(questions, 3, np.eye(3, 2), np.zeros((3, 0, 1)))
    model = PublishedModel(linear, ("a", "b", "c"), SCHEMA, Guarantee(1, 1e-6))
    model.save(files / "linear")
    assert predict(files, "--probabilities", model="linear").exit_code == 0
    written = read_table(files / "predictions.csv")
    found = [[float(cell) for cell in written[f"probability {name}"]] for name in "abc"]
    assert np.array(found).T.tolist() == model.predict_proba(ROWS).tolist()
    refused = predict(files, "--probabilities", "--overwrite")
    assert refused.exit_code == 2
    assert "--probabilities must be left out for a decision tree, which has none" in refused.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "nothing"}, "MODEL must be a folder with a published model, or its model.json"),
        ({"model": "people.csv"}, "a JSON document"),
        ({"table": "nothing.csv"}, "a file that exists"),
    ],
)
def test_files_that_are_not_there(files: Path, options: dict[str, str], message: str) -> None:
    result = predict(files, **options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_rows_that_the_model_cannot_take(files: Path) -> None:
    write_table(files / "poets.csv", ROWS | {"job": ["poet"] * 3})
    result = predict(files, table="poets.csv")
    assert result.exit_code == 2
    assert "declared categories" in result.stderr
    assert not (files / "predictions.csv").exists()


def test_neither_the_rows_nor_a_file_that_is_there_is_replaced(files: Path) -> None:
    before = (files / "people.csv").read_text()
    for options in (("--overwrite",), ()):
        refused = predict(files, "--out", str(files / "people.csv"), *options)
        assert refused.exit_code == 2
        assert "people.csv" in refused.stderr
    assert (files / "people.csv").read_text() == before
    (files / "predictions.csv").write_text("mine")
    refused = predict(files)
    assert refused.exit_code == 2
    assert "--overwrite" in refused.stderr
    assert (files / "predictions.csv").read_text() == "mine"
    (files / "predictions.csv").unlink()
    assert predict(files).exit_code == 0
    assert predict(files, "--overwrite").exit_code == 0
