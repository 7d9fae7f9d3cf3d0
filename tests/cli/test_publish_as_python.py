"""`pcqr publish` gives the model that `PrivateClassifier.fit` gives in Python for the same table, byte by byte."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_lines import call
from support.publishing import SCHEMA

from pcqr import AssumePublic, PrivateClassifier, Schema
from pcqr.datasets import read_table, write_table
from pcqr.hypotheses import DecisionTrees
from pcqr.models import PublishedModel

SEED = 1
WORDS = ("low", "middle", "high")


@dataclass(frozen=True)
class Case:
    """A table, what is public of it, and how it is asked for in both languages."""

    kind: str
    rows: int
    epsilon: float
    options: tuple[str, ...]
    parameters: dict[str, Any] = field(default_factory=dict)
    has_public: bool = True
    schema: str | None = None
    classes: tuple[str, ...] = WORDS[:2]


DELTA = ("--delta", "1e-5")
CASES = {
    "a tree by default": Case("mixed", 600, 1.0, (), {"method": "tree"}),
    "a tree of a depth": Case("mixed", 600, 1.0, ("--depth", "2"), {"method": "tree", "trees": DecisionTrees(depth=2)}),
    "a tree by a schema": Case("mixed", 600, 4.0, (), {"method": "tree"}, False, SCHEMA),
    "auto, three labels": Case("mixed", 1_000, 4.0, DELTA, classes=WORDS),
    "pilots by a schema": Case(
        "mixed", 1_000, 40.0, (*DELTA, "--method", "linear"), {"method": "linear"}, False, SCHEMA
    ),
    "dense features": Case("numbers", 400, 4.0, DELTA, classes=WORDS),
    "dense though few": Case("mixed", 400, 4.0, (*DELTA, "--features", "dense"), {"features": "dense"}),
    "predicates though many": Case(
        "numbers",
        400,
        4.0,
        (*DELTA, "--method", "linear", "--features", "predicates"),
        {"method": "linear", "features": "predicates"},
    ),
}


def tables(case: Case) -> tuple[dict[str, Any], list[str], dict[str, Any]]:
    generator = np.random.default_rng(0)
    count = case.rows + 120
    if case.kind == "numbers":
        numbers = generator.normal(size=(count, 101))
        table: dict[str, Any] = {f"c{place}": numbers[:, place].tolist() for place in range(101)}
        score = numbers[:, :3].sum(axis=1)
    else:
        score = generator.normal(size=count)
        gaps = [None if hidden else float(x) for hidden, x in zip(generator.random(count) < 0.05, score, strict=True)]
        table = {"x": gaps, "colour": np.where(generator.random(count) < 0.6, "red", "blue").tolist()}
    third = np.quantile(score, np.arange(1, len(case.classes)) / len(case.classes))
    y = [case.classes[place] for place in np.searchsorted(third, score)]
    private = {name: cells[120:] for name, cells in table.items()}
    return private, y[120:], {name: cells[:120] for name, cells in table.items()}


@pytest.mark.parametrize("name", CASES)
def test_the_command_and_python_give_one_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("pcqr.models.published._makers", lambda *_: {})  # the model alone, no picture of it
    case = CASES[name]
    private, y, public = tables(case)
    write_table(tmp_path / "train.csv", private | {"y": y})
    write_table(tmp_path / "public.csv", public)
    files = {"--private": "train.csv", "--out": "model"} | ({"--public": "public.csv"} if case.has_public else {})
    if case.schema is not None:
        (tmp_path / "schema.toml").write_text(case.schema)
        files["--schema"] = "schema.toml"
    places = [part for option, file in files.items() for part in (option, str(tmp_path / file))]
    asked = ["--label", "y", "--labels", ",".join(case.classes), "--epsilon", str(case.epsilon), "--seed", str(SEED)]
    result = call("publish", *places, *asked, *case.options, "--accept-weak-guarantee")
    assert result.exit_code == 0, result.output

    rows = read_table(tmp_path / "public.csv") if case.has_public else None
    schema = Schema.from_public(public) if case.schema is None else Schema.from_toml(tmp_path / "schema.toml")
    classifier = PrivateClassifier(case.epsilon, 1e-5, classes=case.classes, entropy=SEED, **case.parameters)
    classifier.fit(private, y, public=None if rows is None else AssumePublic(rows), schema=schema)
    PublishedModel.from_learner(classifier).save(tmp_path / "python", public=rows)
    assert (tmp_path / "model" / "model.json").read_bytes() == (tmp_path / "python" / "model.json").read_bytes()
