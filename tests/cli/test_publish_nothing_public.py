"""`pcqr publish` with nothing public but columns and their kinds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from pcqr.cli.main import app
from pcqr.data.schema.raw import TYPES_ARE_PUBLIC
from pcqr.models import PublishedModel
from pcqr.releases.classifier.plan import PredicatesStage

TYPES = ("--types", "age=number,job=text", "--types", "born=date")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("nothing")
    rng = np.random.default_rng(0)
    age, job = rng.integers(18, 90, 6_000), rng.choice(["cook", "nurse", "pilot"], 6_000, p=[0.5, 0.4, 0.1])
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20_000, 6_000), unit="D")
    frame = pd.DataFrame(
        {"age": age, "job": job, "born": born.date, "ill": ((age > 50) ^ (job == "nurse")).astype(int)}
    )
    frame.loc[rng.random(6_000) < 0.05, "job"] = None
    frame.to_csv(folder / "f.csv", index=False)
    frame.to_parquet(folder / "f.parquet")
    return folder


def publish(private: Path, out: Path, *options: str, epsilon: float = 1.0) -> Result:
    named = ["--private", str(private), "--label", "ill", "--epsilon", str(epsilon), "--out", str(out), "--no-account"]
    return CliRunner().invoke(app, ["publish", *named, *options])


def plan_of(result: Result) -> Any:
    return json.loads(result.stdout)["plan"]


@pytest.mark.parametrize("name", ["f.csv", "f.parquet"])
def test_a_file_and_its_kinds_are_enough(name: str, files: Path, tmp_path: Path) -> None:
    options = TYPES if name == "f.csv" else ()
    result = publish(files / name, tmp_path / "model", "--seed", "0", *options)
    assert result.exit_code == 0, result.output
    model = PublishedModel.load(tmp_path / "model")
    frame = pd.read_parquet(files / "f.parquet")
    assert (model.predict(frame.drop(columns="ill")) == frame["ill"]).mean() > 0.9
    assert (TYPES_ARE_PUBLIC in model.guarantee.assumptions) == (name == "f.parquet")
    card = (tmp_path / "model" / "card.md").read_text(encoding="utf-8")
    bought = "private cuts of 2 numeric columns, 7 each, and private categories of 1 text column"
    assert re.search(rf"- Made by: {bought}, for [1-9]\d % of the Gaussian-DP parameter μ; then a draw from", card)
    assert "is made of bought predicates" in card
    assert (tmp_path / "model" / "model.onnx").exists()


def test_a_dry_run_looks_at_no_record(files: Path, tmp_path: Path) -> None:
    described = [
        publish(files / "f.csv", tmp_path / "model", "--dry-run", "--json", *TYPES),
        publish(files / "f.parquet", tmp_path / "model", "--dry-run", "--json"),
    ]
    assert all(result.exit_code == 0 for result in described), described[0].output
    assert plan_of(described[0]) == plan_of(described[1])
    assert PredicatesStage.__name__.removesuffix("Stage").lower() in described[0].stdout.lower()
    assert not (tmp_path / "model").exists()


def test_a_csv_file_without_kinds_is_refused_without_a_cell(files: Path, tmp_path: Path) -> None:
    result = publish(files / "f.csv", tmp_path / "model")
    assert result.exit_code == 2
    assert "--types age=number,job=text" in result.output
    assert "nurse" not in result.output


def test_kinds_are_left_out_where_something_is_public(files: Path, tmp_path: Path) -> None:
    result = publish(files / "f.csv", tmp_path / "model", "--public", str(files / "f.parquet"), *TYPES)
    assert result.exit_code == 2
    assert "--types must be left out with --public or --schema" in result.output


@pytest.fixture
def folder(files: Path, tmp_path: Path) -> Path:
    """The rows of f.parquet in two files."""
    (tmp_path / "parts").mkdir()
    frame = pd.read_parquet(files / "f.parquet")
    for place, part in enumerate((frame[:1_000], frame[1_000:])):
        part.to_parquet(tmp_path / "parts" / f"{place}.parquet", row_group_size=500)
    return tmp_path / "parts"


def test_a_folder_gives_the_model_of_the_table_in_memory(files: Path, folder: Path, tmp_path: Path) -> None:
    made = []
    for private, options in ((files / "f.parquet", ()), (folder, ()), (files / "f.csv", TYPES), (folder, TYPES)):
        result = publish(private, tmp_path / "model", "--seed", "0", "--overwrite", *options)
        assert result.exit_code == 0, result.output
        made.append((tmp_path / "model" / "model.json").read_text())
    assert made[0] == made[1]
    assert made[2] == made[3]
    assert TYPES_ARE_PUBLIC in made[1]
    assert TYPES_ARE_PUBLIC not in made[3]


def test_a_folder_is_announced_by_public_numbers(folder: Path, tmp_path: Path) -> None:
    described = json.loads(publish(folder, tmp_path / "model", "--dry-run", "--json").stdout)
    assert "GB on disk" in described["parts"]["scratch"]
    assert not (tmp_path / "model").exists()
    said = " ".join(publish(folder, tmp_path / "model", "--drop", "wages").output.split())
    assert "--drop must be the name of a column" in said
    result = publish(folder, tmp_path / "model", "--types", "job=number")
    assert result.exit_code == 2
    assert "nurse" not in result.output


def test_labels_of_a_folder_that_are_not_declared_are_refused_by_the_option(folder: Path, tmp_path: Path) -> None:
    options = ("--private", str(folder), "--label", "job", "--epsilon", "1", "--out", str(tmp_path / "model"))
    result = CliRunner().invoke(app, ["publish", *options, "--no-account"])
    assert result.exit_code == 2
    assert "--labels 'first,second'" in " ".join(result.output.split())
    assert "nurse" not in result.output


def test_a_tree_of_few_records_is_made_on_a_grid(files: Path, tmp_path: Path) -> None:
    result = publish(files / "f.csv", tmp_path / "model", "--method", "tree", "--seed", "0", *TYPES, epsilon=0.1)
    assert result.exit_code == 0, result.output
    assert PublishedModel.load(tmp_path / "model").guarantee.is_pure
