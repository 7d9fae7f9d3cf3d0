"""`pcqr score`: a published model scored on a file of private records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_lines import call, said
from typer.testing import CliRunner, Result

from pcqr import Guarantee, Schema, private_score
from pcqr.cli import predict as command
from pcqr.cli.main import app
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.schema import Column
from pcqr.datasets import read_table, write_table
from pcqr.hypotheses import DecisionTree
from pcqr.models import PublishedModel
from pcqr.release import Account

SCHEMA = Schema((Column("age", bounds=(0, 99)),))
TREE = DecisionTree(Split(Predicate(0, 45.0), holds=Leaf(1), fails=Leaf(0)), 1)
MODEL = PublishedModel(TREE, ("<=50K", ">50K"), SCHEMA, Guarantee(0.5, proof="sspp"))
RECORDS = 600


@pytest.fixture
def files(home: Path) -> Path:
    MODEL.save(home / "model")
    ages = (np.arange(RECORDS) % 90).tolist()
    labels = [">50K" if age > 40 else "<=50K" for age in ages]
    labels[7] = "zebra"
    table: dict[str, list[Any]] = {"id": [each // 2 for each in range(RECORDS)], "age": ages, "income": labels}
    write_table(home / "held-out.csv", table)
    return home


def score(files: Path, *options: object, drop: bool = True, table: str = "held-out.csv") -> Result:
    given = ["score", files / "model", "--private", files / table, "--label", "income", *(["--drop", "id"] * drop)]
    epsilon = () if "--epsilon" in options else ("--epsilon", 1)
    return call(*given, *epsilon, *options)


def test_the_score_is_that_of_python(files: Path) -> None:
    result = score(files, "--seed", 3, "--json", "--out", files / "score.json")
    assert result.exit_code == 0, result.output
    table = read_table(files / "held-out.csv")
    expected = private_score(MODEL, {"age": table["age"]}, table["income"], 1.0, entropy=3)
    facts = json.loads(result.output)
    assert {name: facts[name] for name in expected.facts()} == json.loads(expected.to_json())
    assert facts["records"] == RECORDS
    assert facts["account"] is None
    assert facts["out"] == str(files / "score.json")
    assert json.loads((files / "score.json").read_text()) == json.loads(expected.to_json())


def test_the_summary_says_what_is_promised_and_assumed(files: Path) -> None:
    result = score(files)
    assert result.exit_code == 0, result.output
    words = said(result)
    assert "no outcome of this release would become more than e^1" in words
    assert "balanced accuracy" in words
    assert "none of these records is among those that the model was fitted on" in words
    assert "95 % intervals" in words
    assert "nothing remembers what was spent" in words
    assert "zebra" not in words


def test_an_account_is_charged_once(files: Path) -> None:
    account = Account.create("hospital", epsilon=1.5, delta=1e-6)
    dry = score(files, "--account", "hospital", "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert "hospital has room for it" in said(dry)
    assert "nothing was spent or written" in said(dry)
    assert not account.charges
    done = score(files, "--account", "hospital")
    assert done.exit_code == 0, done.output
    assert "hospital: charged. Remaining: ε = 0.5" in said(done)
    (charge,) = account.charges
    assert (charge.what, charge.facts["by"]) == ("private_score", "pcqr score")
    again = score(files, "--account", "hospital")
    assert again.exit_code == 2
    assert len(account.charges) == 1
    assert score(files, "--account", "hospital", "--dry-run").exit_code == 2


def test_to_spend_without_an_account_is_said_explicitly(files: Path) -> None:
    given = [files / "model", "--private", files / "held-out.csv", "--label", "income", "--drop", "id", "--epsilon", 1]
    refused = CliRunner().invoke(app, ["score", *map(str, given)])
    assert refused.exit_code == 2
    assert "No account would remember" in said(refused)


def test_a_dry_run_says_what_to_expect(files: Path) -> None:
    facts = json.loads(score(files, "--dry-run", "--json").output)
    assert facts["records"] == RECORDS
    assert facts["bins"] == 2
    assert 0.03 < facts["expected_error"] < 0.05
    assert "fitted on" in facts["assumptions"][0]
    assert "accuracy to ± 0.0" in said(score(files, "--dry-run"))
    user_level = json.loads(score(files, "--groups", "id", "--dry-run", "--json", drop=False).output)
    assert user_level["records"] == RECORDS // 2
    assert "person" in user_level["guarantee"]["adjacency"]


def test_persons(files: Path) -> None:
    result = score(files, "--groups", "id", "--json", "--seed", 0, drop=False)
    assert result.exit_code == 0, result.output
    facts = json.loads(result.output)
    assert facts["records"] == RECORDS // 2
    assert "all rows of any one of the 300 persons" in facts["promise"]
    assert "600" not in json.dumps(facts)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epsilon", "0"), "--epsilon must be"),
        (("--epsilon", "0.001"), "n·ε is below 10"),
        (("--bins", "10"), "--bins must be None"),
        (("--drop", "tall"), "--drop must be"),
        (("--label", "wages"), "--label must be"),
        (("--groups", "nobody"), "--groups must be"),
        (("--epsilon", "40"), "--accept-weak-guarantee"),
        (("--private", "nowhere.csv"), "--private must be"),
        (("--out", "held-out.csv"), "--out must be"),
    ],
)
@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["run", "dry run"])
def test_what_is_refused(files: Path, options: tuple[str, str], words: str, dry: tuple[str, ...]) -> None:
    name, value = options
    given = files / value if name == "--out" else value
    result = score(files, name, given, "--account", Account.create("hospital", epsilon=99, delta=1e-6).name, *dry)
    assert result.exit_code == 2, result.output
    assert words in said(result)
    assert not Account.open("hospital").charges


def test_a_column_that_the_model_does_not_know(files: Path) -> None:
    for dry in ((), ("--dry-run",)):
        result = score(files, *dry, drop=False)
        assert result.exit_code == 2
        assert "--drop id" in said(result)


def test_no_model(files: Path) -> None:
    result = call("score", files, "--private", "x.csv", "--label", "y", "--epsilon", 1)
    assert result.exit_code == 2
    assert "MODEL must be a folder with a published model" in said(result)


def test_a_score_that_cannot_be_written_is_printed(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(command, "write_whole", full)
    account = Account.create("hospital", epsilon=1.5, delta=1e-6)
    result = score(files, "--out", files / "score.json", "--account", "hospital", "--json")
    assert result.exit_code == 1
    described = json.loads(result.output)
    assert described["score"]["records"] == RECORDS
    assert "ε = 1 is spent, charged to the account hospital" in described["error"]["message"]
    assert len(account.charges) == 1


def test_what_ends_a_run_before_the_draw_says_that_nothing_was_spent(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(command, "units_of", gone)
    result = score(files)
    assert result.exit_code == 4
    assert "Nothing was spent" in said(result)
    monkeypatch.undo()
    monkeypatch.setattr("pcqr.models.scoring.noisy_histogram", gone)
    result = score(files)
    assert result.exit_code == 4
    assert "This run has spent ε = 1, and no account remembers it." in said(result)
