"""`pcqr fit`, `ask`, `status` and `export`: a release by commands, over many processes."""

from __future__ import annotations

import csv
import json
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support import postgres
from support.command_lines import call, said
from support.kept import kept
from typer.testing import Result

import pcqr
from pcqr.durable.ledger import Ledger
from pcqr.models import PublishedModel
from pcqr.release import Account

FIT = ("--class", "thresholds", "--epsilon", "4", "--delta", "1e-6", "--labels", "well,ill")


@pytest.fixture
def files(home: Path) -> Path:
    ages = np.random.default_rng(0).integers(0, 100, 4_000)
    _write(home / "private.csv", [("age", "state"), *((age, "ill" if age > 60 else "well") for age in ages)])
    _write(home / "queries.csv", [("age",), *((age,) for age in (5, 10, 90, 95, 10, 30))])
    return home


def _write(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def fit(home: Path, *more: object, name: str = "release") -> Path:
    result = call("fit", "--private", home / "private.csv", "--label", "state", *FIT, "--out", home / name, *more)
    assert result.exit_code == 0, result.output
    return home / name


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def ask(home: Path, *more: object, out: str = "answers.csv", queries: str = "queries.csv") -> Result:
    return call("ask", home / "release", "--queries", home / queries, "--out", home / out, *more)


def test_a_release_is_made_asked_shown_and_exported(files: Path) -> None:
    Account.create("hospital", epsilon=5.0, delta=1e-5)
    fit(files, "--account", "hospital")
    assert Account.open("hospital").charges[0].what
    result = ask(files)
    assert result.exit_code == 0, result.output
    answers = rows(files / "answers.csv")
    assert answers[0] == ["row", "label", "kind"]
    assert [row[1] for row in answers[1:6]] == ["well", "well", "ill", "ill", "well"]
    assert answers[5][2] == "repeated"
    described = json.loads(call("status", files / "release", "--verify", "--json").output)
    assert described["spent"]["queries"] == 5
    assert described["ledger"]["verified"]
    assert call("status", files / "release").exit_code == 0
    assert call("export", files / "release", "--out", files / "public").exit_code == 0
    transcript = rows(files / "public" / "transcript.csv")
    assert transcript[0] == ["age", "answer", "coin"]
    assert len(transcript) == 6
    assert json.loads((files / "public" / "guarantee.json").read_text())["epsilon"] <= 4.0


def test_asking_again_goes_on_and_pays_nothing_twice(files: Path) -> None:
    fit(files)
    assert ask(files).exit_code == 0
    before = rows(files / "answers.csv")
    spent = json.loads(call("status", files / "release", "--json").output)["spent"]
    assert ask(files).exit_code == 0
    assert rows(files / "answers.csv") == before, "kinds as they were"
    with (files / "queries.csv").open("a") as file:
        file.write("77\r\n")
    assert ask(files).exit_code == 0
    after = rows(files / "answers.csv")
    assert after[: len(before)] == before
    assert after[-1][0] == "7"
    assert json.loads(call("status", files / "release", "--json").output)["spent"]["queries"] == spent["queries"] + 1
    (files / "answers.csv").unlink()
    (files / "answers.csv.part.csv").write_text("row,label,kind\n1,well,stable\n2,well,sta")  # killed midway
    assert ask(files).exit_code == 0
    assert rows(files / "answers.csv")[1] == ["1", "well", "stable"]
    assert rows(files / "answers.csv")[2][2] == "repeated"
    assert not (files / "answers.csv.part.csv").exists()


def test_no_answer_and_no_query_in_a_file_is_a_formula(files: Path) -> None:
    """Labels and categories can be chosen to be run by the spreadsheet of whoever opens the answers."""
    schema = pcqr.Schema.from_dict(
        {"columns": [{"name": "ward", "kind": "categorical", "categories": ["@home", "=1+1"]}]}
    )
    wards = ["@home", "=1+1"] * 1_000
    labels = ["-cmd" if ward == "@home" else "+ill" for ward in wards]
    release = pcqr.SubsampleAggregate(pcqr.hypotheses.Stumps(), epsilon=4.0, queries=10, classes=("-cmd", "+ill"))
    release.fit({"ward": wards}, labels, schema=schema).save(files / "release", anchor=files / "anchor").close()
    (files / "queries.csv").write_text("ward\n'@home\n=1+1\n")
    how = ("--anchor", files / "anchor")
    for _ in range(2):  # the second run reads what the first has written
        result = ask(files, *how)
        assert result.exit_code == 0, result.output
        assert [row[1] for row in rows(files / "answers.csv")[1:]] == ["'-cmd", "'+ill"]
    (files / "answers.csv").rename(files / "answers.csv.part.csv")  # as though it had been stopped
    assert ask(files, *how).exit_code == 0
    assert call("export", files / "release", "--out", files / "public", *how).exit_code == 0
    assert rows(files / "public" / "transcript.csv")[1:] == [["'@home", "'-cmd", ""], ["'=1+1", "'+ill", ""]]
    student = pcqr.transfer(files / "public", DecisionTreeClassifier())
    assert student.predict({"ward": wards[:2]}).tolist() == labels[:2]
    again = ask(files, "--drop", "answer", "--drop", "coin", *how, out="again.csv", queries="public/transcript.csv")
    assert again.exit_code == 0, again.output
    assert {row[2] for row in rows(files / "again.csv")[1:]} == {"repeated"}


def test_an_output_in_parquet_with_unstable_answers_is_gone_on_with(files: Path) -> None:
    fit(files)
    _write(files / "hard.csv", [("age",), *((age,) for age in np.linspace(60.0, 61.0, 30))])
    first, again = (ask(files, out="answers.parquet", queries="hard.csv") for _ in range(2))
    assert "unstable" in first.output
    assert again.exit_code == first.exit_code, again.output


def test_the_output_of_other_queries_is_not_gone_on_with(files: Path) -> None:
    fit(files)
    assert ask(files).exit_code == 0
    _write(files / "others.csv", [("age",), *((age,) for age in (95, 90, 10, 5, 1, 2, 3))])
    spent = json.loads(call("status", files / "release", "--json").output)["spent"]
    result = ask(files, queries="others.csv")
    assert result.exit_code == 2
    assert "--overwrite" in result.output
    assert json.loads(call("status", files / "release", "--json").output)["spent"] == spent, "nothing was asked"
    assert ask(files, "--overwrite", queries="others.csv").exit_code == 0


def test_after_a_halt_the_known_rows_of_a_batch_are_found_by_one_look(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit(files)
    assert ask(files, out="few.csv").exit_code == 0
    _write(files / "hard.csv", [("age",), *((age,) for age in np.linspace(60.0, 61.0, 600))])
    assert ask(files, out="hard-answers.csv", queries="hard.csv").exit_code == 3, "it is exhausted"
    ages = [age for new in range(300) for age in (10 if new % 2 else 90, 100 + new)]
    _write(files / "mixed.csv", [("age",), *((age,) for age in ages)])
    turns = []
    take = Ledger.transaction

    def counted(ledger: Ledger) -> Any:
        turns.append(ledger)
        return take(ledger)

    monkeypatch.setattr(Ledger, "transaction", counted)
    result = ask(files, queries="mixed.csv")
    assert result.exit_code == 3, result.output
    assert len(turns) <= 4, "one until the halt, then one for the known rows of each of three batches"
    kinds = [row[2] for row in rows(files / "answers.csv")[1:]]
    assert kinds == ["repeated", "unanswered"] * 300
    again = ask(files, queries="mixed.csv")
    assert again.exit_code == 3, again.output
    assert [row[2] for row in rows(files / "answers.csv")[1:]] == kinds


def test_a_universal_release_needs_its_number_and_exports_its_model(files: Path) -> None:
    result = call(
        *("fit", "--private", files / "private.csv", "--label", "state", *FIT, "--out", files / "release"),
        *("--algorithm", "universal"),
    )
    assert result.exit_code == 2
    assert "--planned-queries" in result.output
    assert not (files / "release").exists()
    fit(files, "--algorithm", "universal", "--planned-queries", 4)
    assert ask(files).exit_code == 0
    assert "published" in [row[2] for row in rows(files / "answers.csv")]
    assert call("export", files / "release", "--out", files / "public").exit_code == 0
    model = PublishedModel.load(files / "public" / "model")
    assert model.predict({"age": [5, 95]}).tolist() == ["well", "ill"]
    assert not (files / "release" / "secret.pcqr").exists()


AGES = """{"columns": [{"name": "age", "kind": "numeric", "bounds": [0, 100]}]}"""


def test_a_release_by_one_draw_is_kept_cautiously_too_and_says_what_it_holds(files: Path) -> None:
    """Its draw is made: there is nothing to announce, so what was paid for is not refused."""
    (files / "ages.json").write_text(AGES)
    made = call(
        *("fit", "--private", files / "private.csv", "--label", "state", "--class", "trees", "--epsilon", 4),
        *("--delta", "1e-6", "--labels", "well,ill", "--schema", files / "ages.json", "--out", files / "release"),
        *("--cautious",),
    )
    assert made.exit_code == 0, made.output
    assert "It holds no secrets." in said(made)
    assert not (files / "release" / "secret.pcqr").exists()
    assert ask(files).exit_code == 0
    assert {row[2] for row in rows(files / "answers.csv")[1:]} == {"published"}
    status = call("status", files / "release")
    assert "its classifier answers, and is not shown" in said(status)
    exported = call("export", files / "release", "--out", files / "public")
    assert exported.exit_code == 0, exported.output
    assert not (files / "public" / "model").exists()


@pytest.mark.parametrize("shows", ["classifier", "answers"])
def test_the_classifier_of_a_universal_release_is_exported_where_it_is_shown(shows: str, tmp_path: Path) -> None:
    path = kept(tmp_path, "published at fit" if shows == "classifier" else "answers alone")
    where = (path, "--anchor", tmp_path / "anchor")
    is_shown = shows == "classifier"
    assert json.loads(call("status", *where, "--json").output)["published"] is is_shown
    assert ("is published" if is_shown else "is not shown") in said(call("status", *where))
    described = call("export", *where, "--out", tmp_path / "public", "--json")
    assert described.exit_code == 0, described.output
    assert json.loads(described.output)["published"] is is_shown
    assert (tmp_path / "public" / "model").exists() is is_shown
    assert (tmp_path / "public" / "guarantee.json").exists()


def test_the_command_that_is_shown_next_finds_the_release_again(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "600")
    monkeypatch.chdir(files)
    Path("the key").write_text("ab" * 32)
    Path("the key").chmod(0o600)
    Path("apart").mkdir()
    places = ("--key", "file:the key", "--anchor", "apart/anchor", "--ledger", "apart/ledger.sqlite")
    words = ("fit", "--private", "private.csv", "--label", "state", *FIT, "--algorithm", "universal")
    result = call(*words, "--planned-queries", 4, "--out", "a release", *places)
    assert result.exit_code == 0, result.output
    shown = next(line.split("next", 1)[1] for line in result.output.splitlines() if line.startswith("next"))
    assert all(option in shown for option in ("--key", "--anchor", "--ledger"))
    asked = call(*shlex.split(shown)[1:])
    assert asked.exit_code == 0, asked.output
    shown = next(line for line in asked.output.splitlines() if line.startswith("published"))
    command = shlex.split(shown.split("published", 1)[1])[1:-3]
    assert command[0] == "export"
    exported = call(*[word.replace("DIRECTORY", "public") for word in command])
    assert exported.exit_code == 0, exported.output


def test_a_dry_run_says_what_to_expect_and_spends_and_writes_nothing(files: Path) -> None:
    Account.create("hospital", epsilon=5.0, delta=1e-5)
    words = ("fit", "--private", files / "private.csv", "--label", "state", *FIT, "--out", files / "release")
    before = sorted(files.glob("*"))
    result = call(*words, "--account", "hospital", "--dry-run")
    assert result.exit_code == 0, result.output
    described = said(result)
    assert "of m = 300 planned queries are expected to be answered" in described
    assert "nothing was spent or written" in described
    assert "hospital has room for it" in described
    facts = json.loads(call(*words, "--account", "hospital", "--dry-run", "--json").output)
    assert facts["dry_run"] is True
    assert 0 < facts["expected_answers"] <= 300
    assert Account.open("hospital").charges == ()
    assert sorted(files.glob("*")) == before
    assert len(list((files / "state").rglob("anchors/*"))) == 1, "that of the account"
    made = json.loads(call(*words, "--account", "hospital", "--json").output)
    assert made["plan"]["guarantee"].pop("is_charged") is True, "by now"
    assert made["plan"] == facts["plan"], "the plan is the one that a run without it has"
    described = said(call(*words[:-1], files / "other", "--account", "hospital", "--dry-run"))
    assert "hospital has NO room for it" in described


def test_a_release_of_few_answers_is_warned_of_with_what_says_so_beforehand(files: Path) -> None:
    words = ("fit", "--private", files / "private.csv", "--label", "state", "--labels", "well,ill", "--delta", "1e-6")
    for more, words_of_it in ((("--dry-run",), "publish a classifier instead"), ((), "pcqr fit --dry-run")):
        numbers = ("--epsilon", "0.5", "--planned-queries", 3_000, "--vote", "stability", "--algorithm", "agnostic")
        result = call(*words, *numbers, "--out", files / "release", *more)
        described = said(result)
        assert "are expected to be answered" in described
        assert words_of_it in described


def test_what_is_exported_has_the_columns_of_the_queries(files: Path) -> None:
    """Words, dates and gaps come back as they were asked, not as they were encoded; no column is lost to another."""
    random = np.random.default_rng(0)
    ages, wards = random.integers(0, 100, 4_000), random.choice(["north wing", "south"], 4_000)
    header = ("age", "ward", "answer", "state")
    people = zip(ages, wards, ["2024-02-03"] * 4_000, ("ill" if age > 60 else "well" for age in ages), strict=True)
    _write(files / "private.csv", [header, *people])
    asked = [("5", "north wing", "2024-02-03"), ("90", "", ""), ("95", "south", "")]
    _write(files / "queries.csv", [header[:3], *asked])
    (files / "schema.toml").write_text(
        '[[columns]]\nname = "age"\nkind = "numeric"\nbounds = [0, 100]\n'
        '[[columns]]\nname = "ward"\nkind = "categorical"\ncategories = ["north wing", "south"]\n'
        '[[columns]]\nname = "answer"\nkind = "date"\nmissing = true\n'
    )
    universal = ("--schema", files / "schema.toml", "--class", "stumps", "--algorithm", "universal")
    fit(files, *universal, "--planned-queries", 3)
    assert ask(files).exit_code == 0
    assert call("export", files / "release", "--out", files / "public").exit_code == 0
    anchor, *lines = rows(files / "public" / "transcript.csv")
    assert anchor == ["age", "ward", "answer", "answer_", "coin"]
    assert [(str(float(line[0])), *line[1:3]) for line in lines] == [(str(float(age)), *more) for age, *more in asked]
    assert {path.name for path in (files / "public" / "model").iterdir()} == {
        *("model.json", "rules.txt", "card.md", "picture.svg", "model.onnx")
    }


def test_status_and_export_work_beside_a_writer(files: Path) -> None:
    import pcqr.release

    path = fit(files)
    writer = pcqr.release.open(path)
    writer.answer({"age": 5})
    assert json.loads(call("status", path, "--json").output)["spent"]["queries"] == 1
    assert call("export", path, "--out", files / "public").exit_code == 0
    result = ask(files)
    assert result.exit_code == 2
    assert "Only one may write" in result.output
    writer.close()


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"age\n\xff\xfe\n", "bad.csv"), (b"", "bad.csv"), (b"height\n5\n", "age"), (b"age\nold\n", "age")],
    ids=["not UTF-8", "empty", "another column", "text"],
)
def test_queries_that_cannot_be_read_are_refused_and_nothing_is_asked(files: Path, content: bytes, words: str) -> None:
    fit(files)
    (files / "bad.csv").write_bytes(content)
    result = ask(files, queries="bad.csv")
    assert result.exit_code == 2, result.output
    assert words in result.output
    assert json.loads(call("status", files / "release", "--json").output)["spent"]["queries"] == 0
    assert not (files / "answers.csv").exists()


def test_nothing_of_a_release_is_ever_an_output(files: Path) -> None:
    """Answers over a secret would end the release, and what was paid for it."""
    key, anchor = files / "key.csv", files / "anchor.csv"
    key.write_text("ab" * 32)
    key.chmod(0o600)
    release = fit(files, "--key", f"file:{key}", "--anchor", anchor)
    before = {path: path.read_bytes() for path in (*release.iterdir(), key, anchor)}
    (files / "link.csv").symlink_to(release / "secret.pcqr")
    (files / "hard.csv").hardlink_to(release / "secret.pcqr")
    for out in ("link.csv", "hard.csv", "release/answers.csv", "key.csv", "anchor.csv"):
        result = ask(files, "--overwrite", "--key", f"file:{key}", "--anchor", anchor, out=out)
        assert (result.exit_code, "which " in result.output) == (2, True), result.output
    result = call("export", release, "--anchor", anchor, "--out", release / "public", "--overwrite")
    assert (result.exit_code, "which is read" in result.output) == (2, True)
    assert {path: path.read_bytes() for path in (*release.iterdir(), key, anchor)} == before
    (files / "hard.csv").unlink()
    assert ask(files, "--key", f"file:{key}", "--anchor", anchor).exit_code == 0


@pytest.mark.parametrize("names", [None, ("age", "weight")])
def test_a_release_that_python_kept_without_a_schema_is_asked_by_a_table_of_numbers(
    files: Path, names: tuple[str, ...] | None
) -> None:
    X = np.random.default_rng(0).integers(0, 100, (4_000, 2))
    table = X if names is None else pd.DataFrame(X, columns=names)
    release = pcqr.SubsampleAggregate(epsilon=8.0, queries=100).fit(table, X[:, 0] > 60)
    release.save(files / "release").close()
    _write(files / "two.csv", [("weight", "age"), (1, 90), (99, 5)] if names else [("a", "b"), (90, 1), (5, 99)])
    result = ask(files, queries="two.csv")
    assert result.exit_code == 0, result.output
    assert "Warning" not in result.output
    assert [row[1] for row in rows(files / "answers.csv")[1:]] == ["1", "0"]
    for wrong in ([("age",), (1,)], [("age", "weight", "more"), (1, 2, 3)]):
        _write(files / "wrong.csv", wrong)
        result = ask(files, queries="wrong.csv", out="more.csv")
        assert (result.exit_code, "--queries must be" in result.output) == (2, True), result.output
    _write(files / "text.csv", [("age", "weight"), ("old", "heavy")])
    result = ask(files, queries="text.csv", out="more.csv")
    assert (result.exit_code, "numbers" in result.output, "heavy" in result.output) == (2, True, False)


def test_a_release_that_was_moved_needs_a_person(files: Path) -> None:
    fit(files)
    shutil.rmtree(files / "state" / "anchors")
    result = ask(files)
    assert result.exit_code == 2
    assert "pcqr ask RELEASE --adopt" in said(result)
    assert "no anchor" in call("status", files / "release").output
    assert ask(files, "--adopt").exit_code == 0
    assert ask(files).exit_code == 0


def test_a_release_that_has_halted_says_so(files: Path) -> None:
    labels = np.random.default_rng(1).choice(["ill", "well"], 4_000)
    _write(files / "private.csv", [("age", "state"), *((place % 100, label) for place, label in enumerate(labels))])
    _write(files / "many.csv", [("age",), *((age / 4,) for age in range(400))])
    fit(files, "--algorithm", "subsamp", "--vote", "stability")
    result = ask(files, queries="many.csv")
    unanswered = sum(row[2] == "unanswered" for row in rows(files / "answers.csv"))
    assert result.exit_code == 3
    assert f"Requested: {unanswered:,} more queries. " in said(result), "of the whole file"
    assert "it is exhausted" in said(call("status", files / "release"))


def test_a_place_that_is_taken_is_refused_before_anything_is_charged(files: Path) -> None:
    account = Account.create("hospital", epsilon=5.0, delta=1e-5)
    (files / "release").mkdir()
    (files / "release" / "thesis.tex").touch()
    args = ("fit", "--private", files / "private.csv", "--label", "state", *FIT, "--out", files / "release")
    for more in ((), ("--key", "env:NO_SUCH_KEY")):
        assert call(*args, "--account", "hospital", *more).exit_code == 2
    assert not account.charges


@pytest.mark.parametrize(
    ("out", "more"),
    [
        ("private.csv/release", ()),
        ("release", ("--ledger", "postgresql://nobody@127.0.0.1:1/none?ledger=x")),
        ("release", ("--ledger", "private.csv/ledger.sqlite")),
        ("release", ("--anchor", "private.csv/anchor")),
    ],
    ids=["out", "address", "ledger", "anchor"],
)
def test_a_place_that_cannot_be_written_costs_nothing(files: Path, out: str, more: tuple[str, ...]) -> None:
    account = Account.create("hospital", epsilon=5.0, delta=1e-5)
    before = _left_in(files)
    places = [files / value if value.startswith("private.csv") else value for value in more]
    names = ("--private", files / "private.csv", "--label", "state", *FIT, "--account", "hospital")
    result = call("fit", *names, "--out", files / out, *places)
    assert result.exit_code == 2, result.output
    assert not account.charges
    assert _left_in(files) == before, "nothing is left behind"


def _left_in(files: Path) -> list[Path]:
    """The user's own files and the anchors of ledgers."""
    return sorted([*files.iterdir(), *(files / "state" / "anchors").iterdir()])


def restored(files: Path) -> list[list[str]]:
    """A release that was asked, backed up, asked for more and restored; what it had said by the backup."""
    fit(files, "--anchor", files / "anchor")
    at = ("--anchor", files / "anchor")
    assert ask(files, *at).exit_code == 0
    shutil.copytree(files / "release", files / "backup")
    _write(files / "more.csv", [("age",), (41,), (42,)])
    assert ask(files, *at, queries="more.csv", out="more-answers.csv").exit_code == 0
    shutil.rmtree(files / "release")
    (files / "backup").rename(files / "release")
    return rows(files / "answers.csv")


def test_an_older_copy_comes_back_with_everything_written_off_and_says_so_for_ever(files: Path) -> None:
    before, at = restored(files), ("--anchor", files / "anchor")
    refused = ask(files, *at)
    assert refused.exit_code == 2
    assert "pcqr ask RELEASE --adopt --write-off" in said(refused)
    assert call("status", files / "release", *at).exit_code == 2
    assert "--write-off must be given with --adopt" in ask(files, *at, "--write-off").output
    assert ask(files, *at, "--adopt", "--write-off").exit_code == 0
    assert [row[1] for row in rows(files / "answers.csv")] == [row[1] for row in before]
    assert ask(files, *at, queries="more.csv", out="again.csv").exit_code == 3
    assert [row[2] for row in rows(files / "again.csv")[1:]] == ["unanswered"] * 2
    described = json.loads(call("status", files / "release", *at, "--verify", "--json").output)
    (adoption,) = described["adoptions"]
    assert (described["written_off"], adoption["written_off"], adoption["lost"] > 0) == (True, True, True)
    assert adoption["user"] is not None
    assert adoption["host"] is not None
    assert "This assumes that the copy adopted on" in described["promise"]
    assert any(text.startswith("the copy adopted on") for text in described["guarantee"]["assumptions"])
    assert described["plan"]["guarantee"] == described["guarantee"]
    shown = said(call("status", files / "release", *at))
    assert "it was written off, and repeats its logged answers alone" in shown
    assert adoption["host"] in shown
    exported = json.loads(call("export", files / "release", *at, "--out", files / "public", "--json").output)
    assert exported["adoptions"] == described["adoptions"]
    guarantee = (files / "public" / "guarantee.json").read_text()
    assert "the copy adopted on" in guarantee
    assert adoption["host"] not in guarantee, "what is handed on does not say who it was"


def test_status_and_fit_say_where_the_anchor_is_and_warn_where_it_would_be_restored_with_the_ledger(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("fit", "--private", files / "private.csv", "--label", "state", *FIT, "--out")
    made = call(*words, files / "release")
    described = json.loads(call("status", files / "release", "--json").output)
    anchor = files / "state" / "anchors" / described["ledger"]["identity"]
    assert (described["ledger"]["anchor"], described["ledger"]["anchor_apart"]) == (str(anchor), False)
    for result in (made, call("status", files / "release")):
        assert " ".join(result.stderr.split()).startswith("Warning: the anchor ")
        assert result.stderr.count("Warning") == 1
        assert "on the volume of the ledger" in " ".join(result.stderr.split())
        assert anchor.name in "".join(result.stdout.split())
    monkeypatch.setattr("pcqr.durable.ledger.ledger.on_one_volume", lambda *_: False)
    for result in (call(*words, files / "apart"), call("status", files / "release")):
        assert (result.exit_code, result.stderr) == (0, "")
    described = json.loads(call("status", files / "release", "--json").output)
    assert described["ledger"]["anchor_apart"]


@pytest.mark.parametrize("command", ["ask", "account"])
def test_a_wrong_password_of_a_database_is_called_that_and_not_shown(
    command: str, files: Path, postgres_server: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres_server.guard()
    kept(files)
    monkeypatch.setenv("PGPASSWORD", "swordfish")
    address = postgres_server.address("public").replace(f"{postgres.OWNER}@", f"{postgres.GUARDED}@") + "&ledger=x"
    release, anchor = files / "release", ("--anchor", files / "anchor")
    words: dict[str, tuple[object, ...]] = {
        "ask": (
            "ask",
            release,
            *anchor,
            "--queries",
            files / "queries.csv",
            "--out",
            files / "a.csv",
            "--ledger",
            address,
        ),
        "account": ("account", "show", address),
    }
    result = call(*words[command])
    described = said(result)
    assert result.exit_code != 0
    assert "the password is wrong, or the server does not know this user" in described, described
    assert "PGPASSWORD" in described
    assert "swordfish" not in described
