"""`pcqr publish --class-weight`, `--weight-column` and `--weight-bound`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_lines import call, said

from pcqr import AssumePublic, PrivateClassifier
from pcqr.datasets import read_table, write_table
from pcqr.models import PublishedModel

ROWS = 2_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 100 rows some 2 have the label "ill"; every third row has the weight 0."""
    place = tmp_path_factory.mktemp("weights")
    generator = np.random.default_rng(0)
    x = generator.uniform(0, 10, ROWS).round(3)
    ill = (x > 9) & (generator.random(ROWS) < 0.2)
    weights = [0.0, 2.0, 1.5] * (ROWS // 3) + [1.0, 1.0]
    columns = {"x": x.tolist(), "w": weights, "y": np.where(ill, "ill", "well").tolist()}
    write_table(place / "private.csv", columns)
    write_table(place / "private.parquet", columns)
    with (place / "public.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["x"], *([number / 20] for number in range(200))])
    return place


def common(folder: Path, out: Path, *options: Any, private: str = "private.csv") -> list[Any]:
    needed = ["publish", "--private", folder / private, "--label", "y", "--labels", "well,ill", "--epsilon", 4]
    return [*needed, "--seed", 0, "--public", folder / "public.csv", "--assume-public", "--out", out, *options]


def done(*arguments: Any) -> dict[str, Any]:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    facts: dict[str, Any] = json.loads(result.output)
    return facts


@pytest.mark.parametrize("method", [[], ["--delta", "1e-6", "--method", "linear"]])
def test_balanced_weights_are_bought_and_told(folder: Path, tmp_path: Path, method: list[str]) -> None:
    facts = done(*common(folder, tmp_path / "model", "--drop", "w", "--class-weight", "balanced", *method))
    assert facts["class_weight"]["ill"] == 1.0
    assert facts["class_weight"]["well"] < 0.2
    assert facts["guarantee"]["epsilon"] <= 4.0
    model = PublishedModel.load(tmp_path / "model")
    (step,) = (step for step in model.guarantee.steps if "by noisy counts of the labels" in step)
    assert "well " in step
    assert "probabilities are about weighted records" in (tmp_path / "model" / "card.md").read_text()
    assert model.predict({"x": [9.6, 1.0]}).tolist() == ["ill", "well"]
    plain = done(*common(folder, tmp_path / "plain", "--drop", "w", *method))
    assert plain["class_weight"] == {"well": 1.0, "ill": 1.0}
    assert PublishedModel.load(tmp_path / "plain").predict({"x": [9.6]}).tolist() == ["well"]


def test_declared_weights_are_those_of_fit(folder: Path, tmp_path: Path) -> None:
    options = ["--class-weight", "well=1, ill=16", "--weight-column", "w", "--weight-bound", 2]
    facts = done(*common(folder, tmp_path / "model", *options))
    assert facts["class_weight"] == {"well": 4 / 64, "ill": 1.0}
    model = PublishedModel.load(tmp_path / "model")
    assert model.schema.names == ("x",), "a column of weights is no feature"
    table, public = (read_table(folder / name) for name in ("private.csv", "public.csv"))
    fitted = PrivateClassifier(
        4.0, method="tree", entropy=0, classes=("well", "ill"), class_weight={"well": 1, "ill": 16}, weight_bound=2.0
    )
    frame = {"x": table["x"]}
    fitted.fit(frame, table["y"], public=AssumePublic(public), schema=model.schema, sample_weight=table["w"])
    grid = {"x": np.linspace(0, 10, 50).tolist()}
    assert fitted.predict(grid).tolist() == model.predict(grid).tolist()
    words = " ".join(call(*common(folder, tmp_path / "told", *options)).output.split())  # however wide the terminal is
    assert "weights of labels" in words
    assert "well 0.0625, ill 1" in words


def test_a_dry_run_has_the_plan(folder: Path, tmp_path: Path) -> None:
    method = ["--delta", "1e-6", "--method", "linear", "--epsilon", "3"]
    plans = []
    for weights in (["--drop", "w"], ["--weight-column", "w"], ["--drop", "w", "--class-weight", "balanced"]):
        facts = done(*common(folder, tmp_path / "none", *weights, *method, "--dry-run"))
        plans.append(json.dumps(facts["plan"]))
        ready = done(*common(folder, tmp_path / f"model{len(plans)}", *weights, *method))
        assert ready["guarantee"]["epsilon"] == facts["guarantee"]["epsilon"]
    assert len(set(plans)) == 3, "counts of labels come first; private weights leave no empirical Bayes"


@pytest.mark.parametrize(
    ("options", "described"),
    [
        (["--class-weight", "even"], "--class-weight must be balanced, or a positive number for labels of well, ill"),
        (["--class-weight", "well=1,sick=3"], "--class-weight must be"),
        (["--class-weight", "well=1,well=3"], "--class-weight must be"),
        (["--class-weight", "well=0"], "--class-weight must be"),
        (["--weight-column", "weight"], "--weight-column must be one of the 3 columns"),
        (["--weight-column", "y"], "--weight-column must be another column than those of --label"),
        (["--weight-column", "w", "--weight-bound", "0"], "--weight-bound must be"),
        (["--weight-column", "w", "--scratch", "."], "--scratch must be left out"),
    ],
)
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_what_cannot_be_used_is_refused(
    folder: Path, tmp_path: Path, options: list[str], described: str, dry: list[str]
) -> None:
    drop = [] if "--weight-column" in options else ["--drop", "w"]
    result = call(*common(folder, tmp_path / "model", *drop, *options, *dry))
    assert result.exit_code == 2
    assert described in said(result)
    assert not (tmp_path / "model" / "model.json").exists()


def test_weights_are_judged_without_a_word_of_them(folder: Path, tmp_path: Path) -> None:
    text = (folder / "private.csv").read_text()
    for bad in ("-7.25", "heavy", ""):
        (tmp_path / "private.csv").write_text(text.replace(",2.0,", f",{bad},", 1))
        changed = str(tmp_path / "private.csv")
        result = call(*common(folder, tmp_path / "model", "--weight-column", "w", private=changed))
        assert result.exit_code == 2
        assert "weight column 'w' must be a number of at least zero in every row" in said(result)
        assert not bad or bad not in result.output


def test_tables_in_parts_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.parquet").write_bytes((folder / "private.parquet").read_bytes())
    for options in (["--class-weight", "balanced", "--drop", "w"], ["--weight-column", "w"]):
        result = call(*common(folder, tmp_path / "model", *options, private=str(tmp_path / "parts")))
        assert result.exit_code == 2
        assert "left out for a folder; put its rows into one .parquet file" in said(result)
    whole = done(*common(folder, tmp_path / "model", "--weight-column", "w", private="private.parquet"))
    assert whole["records"] == ROWS
