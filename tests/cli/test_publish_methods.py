"""`pcqr publish --method`: trees and linear classifiers from files to a directory, with seeded entropy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.command_lines import call
from typer.testing import Result

from pcqr.datasets import write_table
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.models import PublishedModel

RECORDS, PUBLIC = 3_000, 200


@pytest.fixture
def files(tmp_path: Path) -> Path:
    generator = np.random.default_rng(0)
    x = generator.normal(size=RECORDS + PUBLIC)
    colour = np.where(generator.random(RECORDS + PUBLIC) < 0.6, "red", "blue")
    y = ((x > 0) & (colour == "red")).astype(int)
    write_table(tmp_path / "train.csv", {"x": list(x[PUBLIC:]), "colour": list(colour[PUBLIC:]), "y": list(y[PUBLIC:])})
    write_table(tmp_path / "public.csv", {"x": list(x[:PUBLIC]), "colour": list(colour[:PUBLIC])})
    return tmp_path


def cross(files: Path) -> None:
    """x is above 0 or the colour red, not both: a tree's question."""
    lines = (files / "train.csv").read_text(encoding="utf-8").splitlines()
    rows = [line.split(",")[:2] for line in lines[1:]]
    labelled = [f"{x},{colour},{int((float(x) > 0) != (colour == 'red'))}" for x, colour in rows]
    (files / "train.csv").write_text("\n".join([lines[0], *labelled]) + "\n", encoding="utf-8")


def publish(files: Path, *options: str) -> Result:
    needed = ["--private", str(files / "train.csv"), "--label", "y", "--labels", "0,1", "--epsilon", "4"]
    places = ["--public", str(files / "public.csv"), "--out", str(files / "model"), "--overwrite", "--seed", "1"]
    return call("publish", *needed, *places, *options)


def test_a_linear_classifier_is_written_and_read(files: Path) -> None:
    result = publish(files, "--method", "linear", "--delta", "1e-5", "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["method"] == "linear"
    assert said["guarantee"]["proof"] == "linear"
    assert 0 < said["guarantee"]["rho"] < 4**2 / 2
    assert said["depth"] is None
    assert said["guarantee"]["epsilon"] <= 4
    assert 0 < said["guarantee"]["delta"] <= 1e-5
    assert "set of outcomes" in said["promise"]
    model = PublishedModel.load(files / "model" / "model.json")
    assert isinstance(model.hypothesis, LinearClassifier)
    labels = model.predict({"x": [1.0, 1.0, -1.0], "colour": ["red", "blue", "red"]})
    assert list(map(str, labels)) == ["1", "0", "0"]


def test_the_folder_of_a_linear_classifier_says_which_columns_matter(files: Path) -> None:
    """By its own predicates, more than trees can afford, and from public rows."""
    result = publish(files, "--method", "linear", "--epsilon", "20", "--accept-weak-guarantee")
    assert result.exit_code == 0, result.output
    model = PublishedModel.load(files / "model")
    assert model.effects is not None, "n·ε = 60,000: it has ferns"
    assert model.effects.rows == PUBLIC
    assert {each.column.name for each in model.effects.columns} == {"x", "colour"}
    table = (files / "model" / "importance.txt").read_text(encoding="utf-8").splitlines()
    assert table[0] == f"{PUBLIC} public rows, each column shuffled 5 times by public coins."
    assert {line.split()[-1] for line in table[2:]} == {"x", "colour"}
    assert (files / "model" / "importance.svg").exists()
    assert "This is no list of rules" in result.output
    assert f"{PUBLIC} public rows" in result.output


def test_without_delta_it_is_a_pure_tree_and_with_it_the_public_numbers_decide(files: Path) -> None:
    tree = json.loads(publish(files, "--json").stdout)
    assert tree["method"] == "tree"
    assert tree["guarantee"]["delta"] == 0
    chosen = json.loads(publish(files, "--delta", "1e-6", "--json").stdout)
    assert chosen["method"] == "linear", "n·ε = 12,000"
    assert chosen["guarantee"]["proof"] == "plans"
    x = np.random.default_rng(1).normal(size=RECORDS)
    write_table(files / "train.csv", {"x": list(x), "colour": ["red"] * RECORDS, "y": list((x > 2.0).astype(int))})
    rare = json.loads(publish(files, "--delta", "1e-6", "--json").stdout)
    assert rare["method"] == "linear", "whatever the records say"
    few = json.loads(publish(files, "--delta", "1e-6", "--epsilon", "0.9", "--json").stdout)
    assert (few["method"], few["guarantee"]["proof"], few["depth"]) == ("tree", "leaf_counts", 4), "n·ε = 2,700"


def test_a_tree_beside_a_linear_classifier_finds_what_none_finds_alone(files: Path) -> None:
    """And what the tree asks is in the summary, in the files and in what they are read as."""
    cross(files)
    result = publish(files, "--delta", "1e-6", "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert (said["method"], said["depth"]) == ("linear", None)
    assert "the tree says 1" in said["rules"]
    assert said["left_out"] == {}
    model = PublishedModel.load(files / "model")
    assert isinstance(model.hypothesis, LinearClassifier)
    assert model.hypothesis.feature_map.tree is not None
    corners = {"x": [-1.0, -1.0, 1.0, 1.0], "colour": ["red", "blue", "red", "blue"]}
    assert [int(label) for label in model.predict(corners)] == [1, 0, 0, 1]
    assert (files / "model" / "card.md").read_text(encoding="utf-8").count("The tree beside it is one random draw") == 1


def test_the_summary_is_short_even_for_a_long_scorecard(files: Path) -> None:
    rng = np.random.default_rng(0)
    for name, rows in (("train.csv", RECORDS), ("public.csv", PUBLIC)):
        columns = {f"x{place}": list(rng.normal(size=rows)) for place in range(5)}
        write_table(files / name, columns | ({"y": [0, 1] * (rows // 2)} if name == "train.csv" else {}))
    result = publish(files, "--method", "linear")
    assert result.exit_code == 0, result.output
    assert "more lines, in rules.txt" in result.stdout
    assert len(result.stdout.splitlines()) < 120


def test_a_depth_is_for_one_tree_only(files: Path) -> None:
    result = publish(files, "--method", "linear", "--depth", "2")
    assert result.exit_code == 2
    assert "--method must be tree, where --depth or --operations is given" in result.output
