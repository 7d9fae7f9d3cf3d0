"""One name for one thing: every estimator, every algorithm of the command line and every note is in one table."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, get_args

import pytest
from typer import BadParameter
from typer.main import get_command

import pcqr
from pcqr.cli.main import app
from pcqr.cli.options import Algorithm
from pcqr.names import NAMES, option_named

ROOT = Path(__file__).parents[1]


def test_the_names_exist() -> None:
    for name in NAMES:
        assert hasattr(pcqr, name.estimator)
        assert (ROOT / "proofs" / name.note).exists()
    assert {name.option for name in NAMES if name.option is not None} == set(get_args(Algorithm))


@pytest.mark.parametrize("text", ["agnostic", "AgPrivCl", "AgnosticRelease", "agprivcl"])
def test_an_algorithm_is_known_by_all_its_names(text: str) -> None:
    assert option_named(text) == "agnostic"
    assert option_named("noisy max") is None


def test_the_glossary_has_them_all() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    for name in NAMES:
        row = next(line for line in glossary.splitlines() if line.startswith(f"| `{name.estimator}`"))
        for word in (name.paper, name.words, f"../proofs/{name.note}", *([name.command] if name.command else [])):
            assert word in row, (name.estimator, word)


def test_the_command_line_takes_all_of_them() -> None:
    command: Any = get_command(app)
    given = shlex.split("--private p --label y --queries q --epsilon 1 --delta 1e-6 --algorithm")
    for text in ("agnostic", "AgPrivCl", "AgnosticRelease"):
        context = command.commands["answer"].make_context("answer", [*given, text])
        assert context.params["algorithm"] == "agnostic"
    with pytest.raises(BadParameter, match="'noisy max' is not one of subsamp, agnostic, universal"):
        command.commands["answer"].make_context("answer", [*given, "noisy max"])
