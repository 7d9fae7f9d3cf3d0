"""What commands that spend ask first and say at the end: account, weak guarantees, dry runs, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_lines import SPENDING, said
from typer.testing import CliRunner, Result

from pcqr import Guarantee, PcqrError
from pcqr.cli.account import NOTHING_REMEMBERED
from pcqr.cli.main import app
from pcqr.data.schema import Column, Schema
from pcqr.datasets import write_table
from pcqr.release import Account
from pcqr.releases.base.fitting import PrivateEstimator

RECORDS = 2_000
OUT = {"answer": "answers.csv", "fit": "release", "publish": "model"}
pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def files(home: Path) -> Path:
    x = np.random.default_rng(0).random(RECORDS)
    user_level = np.arange(RECORDS) // 2
    write_table(home / "train.csv", {"x": x.tolist(), "y": (x > 0.4).astype(int).tolist()})
    write_table(
        home / "persons.csv", {"x": x.tolist(), "y": (x > 0.4).astype(int).tolist(), "who": user_level.tolist()}
    )
    write_table(home / "queries.csv", {"x": [0.1, 0.9, 0.2]})
    Schema((Column("x", bounds=(0, 1)),)).to_toml(home / "schema.toml")
    return home


def run(files: Path, command: str, *more: object, epsilon: float = 2.0, delta: float = 1e-6) -> Result:
    """The command as a user types it: nothing is added."""
    given: list[object] = ["--private", files / "train.csv", "--label", "y", "--schema", files / "schema.toml"]
    given += ["--epsilon", epsilon, "--delta", delta, "--out", files / OUT[command]]
    given += ["--depth", 1, "--method", "tree"] if command == "publish" else ["--class", "thresholds"]
    given += ["--queries", files / "queries.csv"] if command == "answer" else []
    return CliRunner().invoke(app, [str(word) for word in (command, *given, *more)])


@pytest.fixture
def account() -> Account:
    return Account.create("hospital", epsilon=4.0, delta=1e-5)


def forbid_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PrivateEstimator, "_charge", lambda *_: pytest.fail("it was charged"))


# The account ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", SPENDING)
def test_to_spend_without_an_account_is_said_explicitly(files: Path, command: str) -> None:
    (files / "train.csv").rename(files / "elsewhere.csv")
    refused = run(files, command)
    assert refused.exit_code == 2
    assert "No account would remember what this run spends." in said(refused)
    assert "pcqr account create NAME --epsilon … --delta …" in said(refused)
    assert "--no-account" in said(refused)
    (files / "elsewhere.csv").rename(files / "train.csv")
    assert run(files, command, "--dry-run").exit_code == 0, "a dry run spends nothing"
    done = run(files, command, "--no-account")
    assert done.exit_code == 0, done.output
    assert NOTHING_REMEMBERED in said(done)


@pytest.mark.parametrize("command", SPENDING)
def test_a_seeded_run_needs_the_word_too(files: Path, command: str) -> None:
    assert "--no-account" in said(run(files, command, "--seed", 1))
    assert not (files / OUT[command]).exists()


def test_an_account_and_none_exclude_each_other(files: Path, account: Account) -> None:
    for command in SPENDING:
        result = run(files, command, "--no-account", "--account", "hospital")
        assert result.exit_code == 2
        assert "--no-account must be left out with --account" in said(result)
    assert not account.charges


# Weak guarantees ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", SPENDING)
@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["run", "dry run"])
def test_a_large_epsilon_is_refused_unless_it_is_accepted(
    files: Path, account: Account, command: str, dry: tuple[str, ...]
) -> None:
    result = run(files, command, "--account", "hospital", *dry, epsilon=40)
    assert result.exit_code == 2
    assert "ε = 40 is so large that in the worst case it protects nobody" in said(result)
    assert "--accept-weak-guarantee" in said(result)
    assert not account.charges
    assert not (files / OUT[command]).exists()


@pytest.mark.parametrize("command", ["answer", "fit"])
def test_so_is_a_delta_from_one_over_n_on(
    files: Path, command: str, monkeypatch: pytest.MonkeyPatch, account: Account
) -> None:
    delta = 1.5 / RECORDS  # what is promised is a little less
    assert run(files, command, "--dry-run", delta=0.999 / RECORDS).exit_code == 0
    for dry in ((), ("--dry-run",)):
        result = run(files, command, "--account", "hospital", *dry, delta=delta)
        assert result.exit_code == 2, result.output
        assert f"not below 1/n for n = {RECORDS:,}" in said(result)
    assert run(files, command, "--dry-run", "--accept-weak-guarantee", delta=delta).exit_code == 0
    user_level = ("--private", files / "persons.csv", "--groups", "who", "--algorithm", "subsamp", "--no-account")
    forbid_draws(monkeypatch)
    result = run(files, command, *user_level, delta=1.5 * 2 / RECORDS)
    assert result.exit_code == 2
    assert f"not below 1/n for n = {RECORDS // 2:,}" in said(result), "n counts persons"
    assert not account.charges


def test_what_is_accepted_runs(files: Path) -> None:
    done = run(files, "publish", "--no-account", "--accept-weak-guarantee", epsilon=11)
    assert done.exit_code == 0, done.output
    assert "ε = 11 is so large" in said(done)
    result = CliRunner().invoke(app, ["account", "create", "ward", "--epsilon", "40", "--delta", "1e-6"])
    assert result.exit_code == 2
    assert "--accept-weak-guarantee" in result.output
    accepted = ["account", "create", "ward", "--epsilon", "40", "--delta", "1e-6", "--accept-weak-guarantee"]
    assert CliRunner().invoke(app, accepted).exit_code == 0


def test_a_tree_is_pure_and_its_delta_is_not_judged(files: Path) -> None:
    assert run(files, "publish", "--dry-run", delta=0.5).exit_code == 0


# Dry runs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", SPENDING)
def test_a_dry_run_says_what_would_be_left_and_exits_with_2_where_it_would_be_refused(
    files: Path, account: Account, command: str
) -> None:
    account.charge(Guarantee(1.0), "x")
    first = run(files, command, "--dry-run", "--account", "hospital")
    assert first.exit_code == 0, first.output
    assert "hospital has room for it. Remaining: ε = 3, δ = 1e-05, and after it ε = 1" in said(first)
    facts = json.loads(run(files, command, "--dry-run", "--account", "hospital", "--json").output)
    assert facts["dry_run"] is True
    assert facts["account"]["fits"] is True
    assert facts["account"]["remaining_after"]["epsilon"] == pytest.approx(1.0, rel=1e-6)
    account.charge(Guarantee(2.0), "y")
    second = run(files, command, "--dry-run", "--account", "hospital")
    assert second.exit_code == 2
    assert "hospital has NO room for it" in said(second)
    assert "The run would be refused. The account hospital has no room for this release." in said(second)
    described = run(files, command, "--dry-run", "--account", "hospital", "--json")
    assert described.exit_code == 2
    facts = json.loads(described.output)
    assert facts["account"]["fits"] is False
    assert facts["error"]["type"] == "AccountExhausted"
    assert len(account.charges) == 2


# Ctrl-C ---------------------------------------------------------------------------------------------------------------


def stop(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)


BEFORE, AFTER = "pcqr.releases.base.fitting.warn_if_weak", "pcqr.privacy.guarantee.Guarantee.charged"


@pytest.mark.parametrize("command", SPENDING)
@pytest.mark.parametrize(
    ("where", "with_account", "without"),
    [
        (BEFORE, "Nothing was spent, and the account hospital was not charged.", "Nothing was spent."),
        (AFTER, "This run was charged to the account hospital, ε = 2", "This run has spent ε = 2"),
    ],
    ids=["before the charge", "after it"],
)
def test_a_run_that_is_stopped_says_whether_it_was_charged(
    files: Path,
    account: Account,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    where: str,
    with_account: str,
    without: str,
) -> None:
    monkeypatch.setattr(where, stop)
    result = run(files, command, "--account", "hospital")
    assert result.exit_code == 4, result.output
    assert "Stopped by Ctrl-C." in said(result)
    assert with_account in said(result)
    assert len(account.charges) == (where == AFTER)
    result = run(files, command, "--no-account")
    assert result.exit_code == 4, result.output
    assert without in said(result)
    assert "no account remembers it" in said(result) or where == BEFORE
    assert not (files / OUT[command]).exists()


@pytest.mark.parametrize("command", SPENDING)
@pytest.mark.parametrize("is_late", [False, True], ids=["before it is on disk", "after that"])
def test_a_charge_that_is_interrupted_is_not_guessed_at(
    files: Path, account: Account, monkeypatch: pytest.MonkeyPatch, command: str, is_late: bool
) -> None:
    charge: Callable[..., Any] = Account.charge

    def interrupted(self: Account, *given: Any, **facts: Any) -> None:
        if is_late:
            charge(self, *given, **facts)
        stop()

    monkeypatch.setattr(Account, "charge", interrupted)
    result = run(files, command, "--account", "hospital")
    assert result.exit_code == 4
    assert "The account hospital was being charged with ε = 2" in said(result)
    assert "To see whether it was: pcqr account show hospital" in said(result)
    assert len(account.charges) == is_late


@pytest.mark.parametrize("command", SPENDING)
def test_ctrl_c_while_files_are_read_says_that_nothing_was_spent(
    files: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("pcqr.cli.inputs.read_table", stop)
    result = run(files, command, "--no-account", "--json")
    assert result.exit_code == 4
    assert "Nothing was spent." in said(result)


def test_a_release_that_cannot_be_kept_says_that_it_is_charged(
    files: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise PcqrError("No room.")

    monkeypatch.setattr("pcqr.releases.base.kept.KeptRelease.save", full)
    result = run(files, "fit", "--account", "hospital")
    assert result.exit_code == 2
    assert f"Nothing is kept in {files / 'release'}." in " ".join(result.output.split("\n"))
    assert "This run was charged to the account hospital" in said(result)
    assert len(account.charges) == 1


@pytest.mark.parametrize(
    ("command", "kept"), [("fit", "The release is in"), ("publish", "it is in"), ("answer", "All 3")]
)
def test_ctrl_c_at_the_very_end_says_it_too(
    files: Path, account: Account, monkeypatch: pytest.MonkeyPatch, command: str, kept: str
) -> None:
    monkeypatch.setattr(f"pcqr.cli.{command}._summarise", stop)
    result = run(files, command, "--account", "hospital")
    assert result.exit_code == 4
    assert kept in said(result)
    assert "charged to the account hospital" in said(result)
    assert (files / OUT[command]).exists()
    assert len(account.charges) == 1
