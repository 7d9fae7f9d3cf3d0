"""`pcqr ask` says what a batch uses up, and does not use up a release for ever without --yes."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_lines import said
from support.kept import QUERIES, kept, reopened
from support.serving import clinic, clinic_place, serving
from typer.testing import CliRunner, Result

from pcqr.cli.ask import _refusal
from pcqr.cli.main import app
from pcqr.datasets import write_table
from pcqr.releases.protocol.answers import BatchCost, Usage

MANY = 3_000
COST = BatchCost(
    requested=100,
    repeated=0,
    new=100,
    published=0,
    certain=5,
    remaining=Usage(None, 5),
    beyond_plan=40,
    expected_unstable=1.0,
    chance_of_halting=0.1,
    chance_of_exhausting=0.1,
)


@pytest.fixture
def files(home: Path) -> Path:
    kept(home)
    write_table(home / "queries.csv", {"x0": QUERIES[:, 0].tolist()})
    write_table(home / "many.csv", {"x0": np.linspace(0.001, 0.999, MANY).tolist()})
    return home


def ask(place: object, queries: Path, *more: object) -> Result:
    words = ("ask", place, "--queries", queries, *more)
    return CliRunner().invoke(app, [str(word) for word in words])


def here(files: Path, *more: object, queries: str = "many.csv") -> Result:
    out = () if "--dry-run" in more else ("--out", files / "answers.csv")
    return ask(files / "release", files / queries, "--anchor", files / "anchor", *out, *more)


def asked(files: Path) -> int:
    with closing(reopened(files, read_only=True)) as release:
        return int(release.queries_answered_)


def test_a_dry_run_asks_nothing_needs_no_place_and_no_lock(files: Path) -> None:
    with closing(reopened(files)) as writer:
        result = here(files, "--dry-run", queries="queries.csv")
        assert result.exit_code == 0, result.output
        assert "40 rows: 40 new queries." in said(result)
        assert "nothing was asked or written" in said(result)
        facts = json.loads(here(files, "--dry-run", "--json", queries="queries.csv").output)
        assert (facts["queries"], facts["cost"]["new"], facts["dry_run"]) == (40, 40, True)
        assert writer.queries_answered_ == 0
    refused = ask(files / "release", files / "queries.csv", "--anchor", files / "anchor")
    assert (refused.exit_code, "--out must be given" in said(refused)) == (2, True)
    assert here(files, "--dry-run", "--adopt").exit_code == 2


def test_a_batch_that_is_expected_to_use_up_the_release_needs_a_yes(files: Path) -> None:
    for more in ((), ("--dry-run",)):
        result = here(files, *more)
        assert result.exit_code == 2, result.output
        assert f"{MANY:,} new queries are expected to exhaust the release, for everybody and for ever." in said(result)
        assert "--yes" in said(result)
        assert json.loads(here(files, *more, "--json").output)["error"]["type"] == "Undecided"
    assert asked(files) == 0
    assert not (files / "answers.csv").exists()
    assert here(files, "--dry-run", "--yes").exit_code == 0
    assert here(files, queries="queries.csv").exit_code == 0, "few are asked as before"
    assert here(files, "--yes", "--overwrite").exit_code == 3
    again = here(files)
    assert again.exit_code == 3, "an exhausted release has nothing to lose"


def test_so_it_is_on_a_server(home: Path) -> None:
    write_table(home / "few.csv", {name: list(values) for name, values in clinic(30).items()})
    write_table(home / "many.csv", {name: list(values) for name, values in clinic(60_000).items()})
    with serving(clinic_place(home / "there")) as address:
        place, out = f"{address}/clinic", ("--out", home / "answers.csv")
        assert ask(place, home / "few.csv", "--dry-run").exit_code == 0
        assert ask(place, home / "few.csv", *out).exit_code == 0
        for more in (out, ("--dry-run",)):
            result = ask(place, home / "many.csv", "--overwrite", *more)
            assert result.exit_code == 2, result.output
            assert "expected to exhaust the release" in said(result)
        described = json.loads(ask(place, home / "few.csv", *out, "--json").output)
        assert described["queries_answered"] == 30


@pytest.mark.parametrize(
    ("changes", "is_refused"),
    [
        ({}, False),
        ({"chance_of_exhausting": 0.5}, True),
        ({"chance_of_exhausting": 1.0, "remaining": Usage(None, 0)}, False),
        ({"chance_of_exhausting": None}, True),
        ({"chance_of_exhausting": None, "beyond_plan": 0}, False),
        ({"chance_of_exhausting": None, "certain": 100}, False),
        ({"chance_of_halting": 1.0, "chance_of_exhausting": 0.0, "quota": Usage(5, None)}, False),
        ({"chance_of_halting": 1.0, "chance_of_exhausting": 0.9, "quota": Usage(None, 5)}, True),
    ],
)
def test_which_batch_is_refused(changes: dict[str, Any], is_refused: bool) -> None:
    assert (_refusal(replace(COST, **changes)) is not None) == is_refused
