"""`pcqr account`, and `--account` of the commands that spend."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_lines import call, said
from typer.testing import Result

from pcqr import Guarantee, Schema
from pcqr.cli import account as command
from pcqr.data.schema import Column
from pcqr.datasets import write_table
from pcqr.durable.account import Account

pytestmark = pytest.mark.usefixtures("home")


def created(*options: object, name: str = "hospital") -> Result:
    result = call("account", "create", name, "--epsilon", 4, "--delta", "1e-5", *options)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def files(home: Path) -> Path:
    rng = np.random.default_rng(0)
    x = rng.random(4_000)
    write_table(home / "train.csv", {"x": x.tolist(), "y": (x > 0.4).astype(int).tolist()})
    write_table(home / "queries.csv", {"x": [0.1, 0.9, 0.2]})
    Schema((Column("x", bounds=(0, 1)),)).to_toml(home / "schema.toml")
    return home


def publish(files: Path, *options: object, label: str = "y", out: str = "model") -> Result:
    given = ("--private", files / "train.csv", "--label", label, "--schema", files / "schema.toml", "--depth", 1)
    return call("publish", *given, "--out", files / out, *options)


def answer(files: Path, *options: object, epsilon: float = 2.0) -> Result:
    given = ("--private", files / "train.csv", "--label", "y", "--queries", files / "queries.csv")
    budget = ("--class", "thresholds", "--epsilon", epsilon, "--delta", "1e-6", "--out", files / "answers.csv")
    return call("answer", *given, *budget, *options)


def charges() -> list[str]:
    return [charge.what for charge in Account.open("hospital").charges]


def test_create_says_what_is_promised_what_fits_and_how_to_use_it() -> None:
    words = said(created())
    assert "together (4, 1e-05)-differentially private under 'replace one record'" in words
    assert "one of ε = 4, or 10 of ε = 0.4, or 100 of ε = 0.04, with δ = 1e-05 in all" in words
    assert "--account hospital" in words


def test_create_zcdp_says_what_its_conversion_takes() -> None:
    result = json.loads(created("--filter", "zcdp", "--json").output)
    assert result["filter"] == "zcdp"
    assert result["conversion_delta"] == 5e-06
    assert result["limit"]["delta"] == 5e-06
    assert result["limit"]["rho"] == pytest.approx(0.352, abs=1e-3)
    assert "pays for turning ρ into ε, once" in said(call("account", "show", "hospital"))


def test_a_second_one_of_that_name_is_refused_and_bad_figures_are() -> None:
    created()
    for words in (("hospital", "--epsilon", 9, "--delta", "1e-5"), ("x", "--epsilon", -1, "--delta", "1e-5")):
        result = call("account", "create", *words)
        assert result.exit_code == 2
        assert "must be" in result.output
    assert call("account", "create", "x", "--epsilon", 1, "--delta", 0, "--filter", "zcdp").exit_code == 2
    assert call("account", "create", "../x\n", "--epsilon", 1).exit_code == 2
    assert json.loads(call("account", "list", "--json").output)["accounts"][0]["epsilon"] == 4.0


def test_units() -> None:
    created("--unit", "user", "--rows", 5, name="clinic")
    assert "replace one person, who has at most 5 rows" in said(call("account", "show", "clinic"))
    created("--unit", "user", name="ward")
    assert "replace one person, with all rows" in said(call("account", "show", "ward"))
    result = call("account", "create", "x", "--epsilon", 1, "--delta", "1e-6", "--rows", 5)
    assert result.exit_code == 2
    assert "--rows" in result.output


def test_another_unit_is_refused_before_anything_is_drawn(files: Path) -> None:
    created("--unit", "user", "--rows", 5)
    result = publish(files, "--epsilon", 1, "--account", "hospital")
    assert result.exit_code == 2
    assert "unit" in result.output
    assert charges() == []
    assert not (files / "model").exists()


def test_publish_and_answer_charge_it_and_say_what_is_left(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    created()
    first = publish(files, "--epsilon", 1, "--account", "hospital")
    assert first.exit_code == 0, first.output
    assert "hospital: charged. Remaining: ε = 3" in said(first)
    second = answer(files, "--account", Account.open("hospital").place, "--json")
    assert second.exit_code == 0, second.output
    assert json.loads(second.output)["account"]["remaining"]["epsilon"] == pytest.approx(1.0, rel=1e-6)
    monkeypatch.setenv("COLUMNS", "140")
    words = said(call("account", "show", "hospital"))
    assert "pcqr publish, PrivateClassifier, DecisionTrees, n = 4,000" in words
    assert "pcqr answer, AgnosticRelease, Thresholds, n = 4,000" in words
    assert "in 2 charges" in words


def test_what_does_not_fit_is_refused_with_what_is_left(files: Path) -> None:
    created()
    assert publish(files, "--epsilon", 3.5, "--account", "hospital").exit_code == 0
    for result in (
        publish(files, "--epsilon", 1, "--account", "hospital", out="b"),
        answer(files, "--account", "hospital"),
    ):
        assert result.exit_code == 2
        assert "has no room for this release" in said(result)
        assert "Remaining: ε = 0.5" in said(result)
    assert charges() == ["PrivateClassifier"]
    assert not (files / "answers.csv").exists()
    assert not (files / "b").exists()


def test_an_infeasible_run_costs_nothing(files: Path) -> None:
    created()
    assert answer(files, "--account", "hospital", epsilon=0.001).exit_code == 2
    assert charges() == []


def test_a_missing_account_is_told_before_the_private_file_is_read(files: Path) -> None:
    (files / "train.csv").unlink()
    for result in (publish(files, "--epsilon", 1, "--account", "clinic"), answer(files, "--account", "clinic")):
        assert result.exit_code == 2
        assert "--account must be one that exists" in said(result)
        assert "pcqr account create clinic --epsilon" in said(result)


def test_a_seed_does_not_go_with_an_account(files: Path) -> None:
    created()
    result = publish(files, "--epsilon", 1, "--account", "hospital", "--seed", 1)
    assert result.exit_code == 2
    assert "--seed must be left out with --account" in said(result)


def test_show_as_json_has_everything_and_a_picture(home: Path) -> None:
    created()
    account = Account.open("hospital")
    account.charge(Guarantee(0.5, 1e-6), "AgnosticRelease", records=10)
    account.charge(Guarantee(0.25), "my own")
    result: dict[str, Any] = json.loads(
        call("account", "show", "hospital", "--json", "--verify", "--plot", home / "account.svg").output
    )
    assert result["spent"] == {"epsilon": 0.75, "delta": 1e-06}
    assert result["remaining"] == {"epsilon": 3.25, "delta": 9e-06}
    assert [(charge["number"], charge["what"]) for charge in result["charges"]] == [
        (1, "AgnosticRelease"),
        (2, "my own"),
    ]
    assert result["charges"][0]["facts"] == {"records": 10}
    assert (home / "account.svg").exists()
    assert call("account", "show", "hospital", "--plot", home / "account.svg").exit_code == 2
    assert call("account", "show", "hospital", "--plot", home / "account.svg", "--overwrite").exit_code == 0


def test_show_lists_the_last_of_many_charges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_MOST_LINES", 2)
    created()
    for number in range(4):
        Account.open("hospital").charge(Guarantee(0.5), f"release-{number}")
    words = said(call("account", "show", "hospital"))
    assert "The last 2 of 4 charges" in words
    assert "release-1" not in words
    assert "release-3" in words
    assert "ε = 2, δ = 0, in 4 charges" in words


def test_list() -> None:
    assert "No account in" in said(call("account", "list"))
    created()
    created("--filter", "zcdp", name="clinic")
    words = said(call("account", "list"))
    assert "hospital basic ε = 4, δ = 1e-05" in words
    assert "clinic zcdp" in words


def test_adopt_after_the_anchor_was_lost(home: Path, files: Path) -> None:
    created()
    shutil.rmtree(home / "state")
    result = publish(files, "--epsilon", 1, "--account", "hospital")
    assert result.exit_code == 2
    assert "pcqr account adopt hospital" in said(result)
    assert "this may be an older copy" in said(call("account", "show", "hospital"))
    assert call("account", "adopt", "hospital").exit_code == 0
    assert publish(files, "--epsilon", 1, "--account", "hospital").exit_code == 0
    assert charges() == ["PrivateClassifier"]


def test_an_anchor_elsewhere_is_named_in_every_command(home: Path, files: Path) -> None:
    anchor = home / "another disk" / "anchor"
    created("--anchor", anchor)
    assert anchor.exists()
    assert publish(files, "--epsilon", 1, "--account", "hospital").exit_code == 2
    result = publish(files, "--epsilon", 1, "--account", "hospital", "--account-anchor", anchor)
    assert result.exit_code == 0, result.output
    assert json.loads(call("account", "show", "hospital", "--anchor", anchor, "--json").output)["confirmed"]
    described = call("account", "show", "hospital")
    assert "anchor of hospital is missing" in said(described)
    assert len(json.loads(call("account", "show", "hospital", "--anchor", anchor, "--json").output)["charges"]) == 1
    anchor.unlink()
    assert call("account", "adopt", "hospital", "--anchor", anchor).exit_code == 0
    assert anchor.exists()
    assert "--account-anchor" in said(publish(files, "--epsilon", 1, "--account-anchor", anchor, out="other"))


def test_an_account_whose_anchor_is_lost_says_so_wherever_it_is_shown(home: Path) -> None:
    created()
    assert json.loads(call("account", "show", "hospital", "--json").output)["confirmed"]
    assert "NO ANCHOR" not in said(call("account", "list"))
    shutil.rmtree(home / "state")
    described = json.loads(call("account", "list", "--json").output)["accounts"][0]
    assert not described["confirmed"]
    assert "(NO ANCHOR)" in said(call("account", "list"))
    assert "anchor of hospital is missing" in said(call("account", "show", "hospital"))


def test_an_older_account_is_written_off_and_says_so_for_ever(home: Path) -> None:
    created()
    path = home / "data" / "accounts" / "hospital.account"
    shutil.copy(path, home / "backup")
    Account.open("hospital").charge(Guarantee(0.5), "x")
    for beside in path.parent.glob("hospital.account*"):
        beside.unlink()
    shutil.copy(home / "backup", path)
    assert "pcqr account adopt hospital --write-off" in said(call("account", "show", "hospital"))
    assert call("account", "adopt", "hospital").exit_code == 2
    assert "written off" in said(call("account", "adopt", "hospital", "--write-off"))
    described = json.loads(call("account", "show", "hospital", "--verify", "--json").output)
    assert [(each["written_off"], each["lost"]) for each in described["adoptions"]] == [(True, 1)]
    assert described["remaining"]["epsilon"] == 0
    assert "(adopted)" in said(call("account", "list"))
    words = said(call("account", "show", "hospital", "--plot", home / "account.svg"))
    assert "This assumes that the copy adopted on" in words
    assert "and all that remained is written off" in words
    assert described["adoptions"][0]["host"] in words
    assert "written off" in (home / "account.svg").read_text()
    again = said(call("account", "adopt", "hospital", "--write-off", "--json"))
    assert again.count('"written_off"') == 1


def test_an_account_on_the_volume_of_its_anchor_is_warned_of(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    created()
    shown = call("account", "show", "hospital")
    assert shown.stderr.count("Warning") == 1
    assert str(home / "state") in said(shown)
    monkeypatch.setattr("pcqr.durable.ledger.ledger.on_one_volume", lambda *_: False)
    assert call("account", "show", "hospital").stderr == ""
    assert json.loads(call("account", "show", "hospital", "--json").output)["anchor_apart"]
