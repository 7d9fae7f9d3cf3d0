"""Three labels through `pcqr answer`, `fit` and `ask`, for the algorithms that have them."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
from support.command_lines import spending
from typer.testing import CliRunner, Result

from pcqr.cli.main import app
from pcqr.datasets import read_table, write_table

ANSWERS = ["low"] * 10 + ["middle"] * 10 + ["high"] * 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records whose label says in which third of the line they are; queries far from both borders; public rows."""
    path = tmp_path_factory.mktemp("labels")
    x = np.random.default_rng(0).random(6_000)
    names = np.array(["low", "middle", "high"])
    write_table(path / "train.csv", {"x": list(x), "y": names[(3 * x).astype(int)].tolist()})
    asked = np.concatenate([np.linspace(0.1, 0.2, 10) + third / 3 for third in range(3)])
    write_table(path / "queries.csv", {"x": list(asked)})
    write_table(path / "public.csv", {"x": list(np.linspace(0.001, 0.999, 500))})
    return path


def call(folder: Path, command: str, *more: str) -> Result:
    given = {"--private": "train.csv", "--public": "public.csv"}
    if command == "answer":
        given |= {"--queries": "queries.csv", "--out": "answers.csv"}
    files = [part for option, name in given.items() for part in (option, str(folder / name))]
    stated = shlex.split("--label y --epsilon 4 --delta 1e-6 --class trees --depth 2 --labels low,middle,high --seed 1")
    return CliRunner().invoke(app, spending([command, *files, *stated, *more]))


def answered(path: Path) -> list[str]:
    return [str(label) for label in read_table(path)["label"]]


def test_an_answer_is_one_of_three_names(folder: Path) -> None:
    done = call(folder, "answer", "--algorithm", "subsamp")
    assert done.exit_code == 0, done.output
    assert answered(folder / "answers.csv") == ANSWERS
    shown = call(folder, "answer", "--algorithm", "subsamp", "--dry-run")
    assert shown.exit_code == 0, shown.output


def test_a_kept_release_is_asked_for_three(folder: Path) -> None:
    kept, anchor = str(folder / "kept"), str(folder / "anchor")
    fitted = call(folder, "fit", "--algorithm", "subsamp", "--planned-queries", "30", "--out", kept, "--anchor", anchor)
    assert fitted.exit_code == 0, fitted.output
    asked = [
        "ask",
        kept,
        "--anchor",
        anchor,
        "--queries",
        str(folder / "queries.csv"),
        "--out",
        str(folder / "asked.csv"),
    ]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert answered(folder / "asked.csv") == ANSWERS


@pytest.mark.parametrize("command", ["answer", "fit"])
def test_relabelling_is_refused_with_the_reason(folder: Path, command: str) -> None:
    more = ("--overwrite",) if command == "answer" else ("--out", str(folder / "refused"))
    done = call(folder, command, "--algorithm", "agnostic", *more)
    assert done.exit_code == 2
    assert "--labels must be two different names" in done.output
