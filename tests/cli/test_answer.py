"""`pcqr answer` from files to files, with seeded entropy."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_lines import call, said
from typer.testing import CliRunner, Result

from pcqr import AgnosticRelease, UniversalRelease
from pcqr.cli.main import app
from pcqr.datasets import read_table, write_table
from pcqr.files import Journal
from pcqr.mechanisms.exponential import PUBLIC_POINTS
from pcqr.models import PublishedModel

RECORDS, QUERIES = 6000, 30


@dataclass(frozen=True)
class Files:
    """A private table on which 1[x > 0] is nearly right, and queries whose columns stand in another order."""

    directory: Path

    def write(self, suffix: str = ".csv", *, noise: float = 0.05, labels: tuple[Any, Any] = (0, 1)) -> None:
        generator = np.random.default_rng(0)
        x, z = generator.normal(size=(2, RECORDS))
        y = (x > 0) ^ (generator.random(RECORDS) < noise)
        colour = np.where(generator.random(RECORDS) < 0.5, "red", "blue")
        asked = np.linspace(-2, 2, QUERIES)
        self._write("train" + suffix, x=x, z=z, colour=colour, y=[labels[int(label)] for label in y])
        self._write("queries" + suffix, colour=["red"] * QUERIES, z=np.zeros(QUERIES), x=asked)

    def _write(self, name: str, **columns: Any) -> None:
        write_table(self.directory / name, {column: list(values) for column, values in columns.items()})

    def answer(self, *options: str, suffix: str = ".csv") -> Result:
        """Seeded, with the categories declared. An option given again in `options` wins."""
        return self.bare("--categories", "colour=red,blue", "--seed", "1", *options, suffix=suffix)

    def bare(self, *options: str, suffix: str = ".csv") -> Result:
        needed = {
            "--private": str(self.directory / f"train{suffix}"),
            "--queries": str(self.directory / f"queries{suffix}"),
            "--label": "y",
            "--epsilon": "4",
            "--delta": "1e-6",
            "--out": str(self.out(suffix)),
        }
        return call("answer", *(part for pair in needed.items() for part in pair), *options)

    def out(self, suffix: str = ".csv") -> Path:
        return self.directory / f"answers{suffix}"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    files = Files(tmp_path)
    files.write()
    return files


@pytest.mark.parametrize("suffix", [".csv.gz", ".parquet"])
def test_files_in_answers_out(tmp_path: Path, suffix: str) -> None:
    files = Files(tmp_path)
    files.write(suffix)
    result = files.answer(suffix=suffix)
    assert result.exit_code == 0, result.output
    answers = read_table(files.out(suffix))
    assert list(answers) == ["row", "label", "kind"]
    assert [int(row) for row in answers["row"]] == list(range(1, QUERIES + 1))
    stable = [kind == "stable" for kind in answers["kind"]]
    assert sum(stable) >= QUERIES // 2
    labels = [int(label) for label, answered in zip(answers["label"], stable, strict=True) if answered]
    truth = [int(x > 0) for x, answered in zip(np.linspace(-2, 2, QUERIES), stable, strict=True) if answered]
    assert np.mean(np.equal(labels, truth)) >= 0.9


def test_the_summary_speaks_of_guarantee_counts_and_plan(files: Files) -> None:
    output = files.answer().output
    for part in (
        "NOT PRIVATE",
        "6,000 private records",
        "30 queries",
        "answered by the votes",
        "k = ",
        "T = ",
        "n' = ",
        "η = ",
    ):
        assert part in " ".join(output.split())


def test_json_holds_the_same_for_machines_and_without_a_seed_it_is_private(files: Files) -> None:
    result = files.bare("--drop", "colour", "--json")
    summary = json.loads(result.stdout)
    assert summary["guarantee"]["is_private"] is True
    assert summary["guarantee"]["epsilon"] <= 4
    assert summary["records"] == RECORDS
    assert sum(summary["counts"].values()) == summary["queries"] == QUERIES
    assert summary["plan"]["vote"]["teachers"] % 2 == 1
    assert summary["out"] == str(files.out())


def test_a_schema_file_declares_the_columns(files: Files) -> None:
    schema = files.directory / "schema.toml"
    schema.write_text('[[columns]]\nname = "x"\nbounds = [-1, 1]\n')
    result = files.bare(
        *("--schema", str(schema), "--drop", "z", "--drop", "colour", "--class", "thresholds", "--seed", "1", "--json")
    )
    assert result.exit_code == 0, result.output
    counts = json.loads(result.stdout)["counts"]
    assert counts["repeated"] > 0  # clipping makes the queries beyond the bounds one and the same


def test_unstable_queries_get_no_label_or_a_random_one(files: Files) -> None:
    files.write(noise=0.5)
    assert files.answer("--algorithm", "subsamp", "--vote", "stability").exit_code == 3
    abstained = read_table(files.out())
    assert all(label is None for label, kind in zip(*_columns(abstained), strict=True) if kind == "unstable")
    assert (
        files.answer(
            "--algorithm", "subsamp", "--vote", "stability", "--on-unstable", "random", "--overwrite"
        ).exit_code
        == 3
    )
    drawn = read_table(files.out())
    assert {label for label, kind in zip(*_columns(drawn), strict=True) if kind == "unstable"} <= {"0", "1"}
    assert "unstable" in drawn["kind"]


def test_a_halted_release_keeps_its_answers_and_says_so(files: Files) -> None:
    files.write(noise=0.5)
    result = files.answer("--algorithm", "subsamp", "--vote", "stability")
    assert result.exit_code == 3
    assert "exhausted" in result.stderr
    kinds = list(read_table(files.out())["kind"])
    assert len(kinds) == QUERIES
    assert kinds[0] in ("stable", "unstable")
    assert kinds[-1] == "unanswered"
    machine = files.answer("--json", "--algorithm", "subsamp", "--vote", "stability", "--overwrite")
    assert machine.exit_code == 3
    error = json.loads(machine.stdout)["error"]
    assert error["type"] == "BudgetExhausted"
    assert error["remaining"]["unstable"] == 0
    assert "answers" not in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", "0"), "epsilon must be"),
        (("--label", "height"), "--label must be the name of one of the 4 columns in the first line; received"),
        (("--labels", "yes"), "--labels must be two different names"),
        (("--labels", "no,yes"), "must be one of no, yes in every row, as --labels says"),
        (("--label", "x"), "must be 0 or 1 in every row; declare other names"),
        (("--categories", "colour"), "--categories must be 'column=first,second,…'"),
        (("--categories", "colour=red"), "train.csv must be one of its 1 declared categories"),
        (("--categories", "x=1,2"), "column 'x' of"),
        (("--class", "rectangles"), "2 column"),
        (("--queries", "absent.csv"), "--queries must be a file that exists"),
        (("--out", "absent/answers.csv"), "--out must be a file in an existing directory"),
        (("--out", "answers.txt"), "--out must be a name that ends in .csv"),
        (("--epsilon", "0.0001"), "Nearest feasible change"),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do(files: Files, options: tuple[str, str], message: str) -> None:
    result = files.answer(*options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert not files.out().exists()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_dry_run_reads_no_value_and_spends_nothing(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels and values that no run would take are never looked at."""
    files = Files(tmp_path)
    files.write(suffix)
    silly = {name: ["neither number\nnor label"] * RECORDS for name in ("x", "z", "colour", "y")}
    write_table(tmp_path / f"train{suffix}", silly)
    monkeypatch.setattr(AgnosticRelease, "fit", lambda *_: pytest.fail("the release was fitted"))
    result = files.bare("--categories", "colour=red,blue", "--dry-run", suffix=suffix)
    assert result.exit_code == 0, result.output
    text = said(result)
    for part in (
        "If any one of the 6,000 private records were different",
        "30 rows: 30 new queries.",
        "The batch adds nothing to ε and δ",
        "an estimate and not a bound",
        "k = ",
        "dry run nothing was spent or written",
    ):
        assert part in text
    assert not files.out(suffix).exists()


def test_a_dry_run_says_what_the_run_then_does(files: Files) -> None:
    options = ("--json", "--drop", "z", "--drop", "colour", "--algorithm", "universal", "--publish-after", "12")
    described, done = (json.loads(files.bare("--seed", "1", *options, *extra).stdout) for extra in (("--dry-run",), ()))
    assert (described["guarantee"], described["plan"]) == (done["guarantee"], done["plan"])
    assert (described["records"], described["queries"], described["promise"]) == (
        done["records"],
        done["queries"],
        done["promise"],
    )
    assert described["cost"]["published"] <= done["counts"]["published"]
    assert described["cost"]["is_certain"] is True
    assert described["cost"]["epsilon"] == described["cost"]["delta"] == 0.0


def test_a_dry_run_counts_repeated_rows(files: Files) -> None:
    cost = json.loads(files.answer("--dry-run", "--json", "--drop", "x").stdout)["cost"]
    assert (cost["requested"], cost["new"], cost["repeated"]) == (QUERIES, 1, QUERIES - 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", "0.0001"), "Nearest feasible change"),
        (("--label", "height"), "--label must be the name of one of the 4 columns"),
        (("--class", "thresholds"), "1 column"),
        (("--private", "absent.csv"), "--private must be a file that exists"),
    ],
)
def test_a_dry_run_refuses_what_the_run_would_refuse(files: Files, options: tuple[str, ...], message: str) -> None:
    result = files.answer("--dry-run", *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_dry_run_compares_the_columns_of_both_files(files: Files) -> None:
    write_table(files.directory / "train.csv", {"z": [1.0], "colour": ["red"], "y": [0]})
    result = files.answer("--dry-run")
    assert result.exit_code == 2
    assert "one without 'x'" in result.stderr


def test_answers_need_a_place_and_dry_runs_do_not(files: Files) -> None:
    place = files.out().name
    options = ["answer", "--label", "y", "--epsilon", "4", "--delta", "1e-6", "--drop", "colour"]
    options += ["--private", str(files.directory / "train.csv"), "--queries", str(files.directory / "queries.csv")]
    assert CliRunner().invoke(app, [*options, "--dry-run"]).exit_code == 0
    refused = CliRunner().invoke(app, options)
    assert refused.exit_code == 2
    assert "--out must be given" in refused.stderr
    assert place not in {path.name for path in files.directory.iterdir()}


def test_bad_input_has_one_json_shape(files: Files) -> None:
    result = files.answer("--json", "--drop", "x", "--labels", "no,yes")
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert {"type", "message", "name", "allowed", "received"} == set(error)
    assert error["type"] == "DataError"


# What is public -------------------------------------------------------------------------------------------------------


def test_queries_that_are_private_rows_are_not_published(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """A universal release publishes cuts midway between queries: midway between two private values."""
    monkeypatch.setattr(UniversalRelease, "fit", lambda *_, **__: pytest.fail("the release was fitted"))
    private = read_table(files.directory / "train.csv")
    write_table(files.directory / "queries.csv", {name: private[name][::-7] for name in ("colour", "x", "z")})
    result = files.answer("--algorithm", "universal")
    assert result.exit_code == 2
    assert "--queries must be rows that are free to be shown, not private ones" in result.stderr
    assert not files.out().exists()


def test_queries_of_a_release_that_publishes_nothing_may_be_anything(files: Files) -> None:
    private = read_table(files.directory / "train.csv")
    write_table(files.directory / "queries.csv", {name: private[name][:20] for name in ("colour", "x", "z")})
    result = files.answer()
    assert result.exit_code == 0, result.output
    assert result.stderr == ""


def test_some_private_rows_among_the_queries_are_a_warning_to_the_data_holder_alone(files: Files) -> None:
    private, queries = read_table(files.directory / "train.csv"), read_table(files.directory / "queries.csv")
    mixed = {name: [*queries[name], *private[name][:2]] for name in ("colour", "x", "z")}
    write_table(files.directory / "queries.csv", mixed)
    result = files.answer("--algorithm", "universal", "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("Warning: Some of the rows of")
    assert "private file" not in result.stdout
    assert "private" not in files.out().read_text()


def test_queries_of_which_few_are_possible_are_public_if_the_data_holder_says_so(files: Files) -> None:
    for name in ("train.csv", "queries.csv"):
        table = read_table(files.directory / name)
        rounded = {column: [round(float(value)) for value in table[column]] for column in ("x", "z")}
        write_table(files.directory / name, table | rounded)
    assert files.answer("--algorithm", "universal").exit_code == 2
    result = files.answer("--algorithm", "universal", "--assume-public")
    assert result.exit_code == 0, result.output
    assert "of the rows" not in result.stderr  # nothing was compared, so that nothing can tell


@pytest.fixture
def public(files: Files) -> tuple[str, str]:
    generator = np.random.default_rng(1)
    x, z = generator.normal(size=(2, 200))
    colour = np.where(generator.random(200) < 0.5, "red", "blue")
    write_table(files.directory / "public.csv", {"z": list(z), "colour": list(colour), "x": list(x)})
    return "--public", str(files.directory / "public.csv")


def test_trees_ask_questions_made_of_public_rows(files: Files, public: tuple[str, str]) -> None:
    options = ("--class", "trees", "--depth", "1", *public, "--seed", "1", "--epsilon", "20", "--accept-weak-guarantee")
    described = files.bare(*options, "--dry-run")
    assert described.exit_code == 0, described.output
    result = files.bare(*options, "--algorithm", "universal", "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert PUBLIC_POINTS in summary["guarantee"]["assumptions"]
    assert summary["published"].startswith("if x > ")


def test_public_rows_say_what_the_columns_are(files: Files, public: tuple[str, str]) -> None:
    """Without --categories, which `colour` would need otherwise."""
    assert files.bare("--seed", "1").exit_code == 2
    result = files.bare("--seed", "1", *public)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--class", "trees"), "--class must be one that needs no public questions, unless --public or --schema"),
        (("--depth", "2"), "--depth must be left out, but for --class trees"),
        (("--show", "--json"), "--show must be left out with --json"),
        (("--drop", "colur"), "--drop must be the name of a column of one of the files"),
        (("--labels", "a\nb,c"), "on one line"),
    ],
)
def test_options_that_do_not_go_together(files: Files, options: tuple[str, ...], message: str) -> None:
    result = files.answer(*options)
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.parametrize("broken_off", [True, False])
def test_a_model_that_was_drawn_is_kept_whatever_stops_the_run(
    files: Files, monkeypatch: pytest.MonkeyPatch, broken_off: bool
) -> None:
    """The signal comes in the call that publishes, before its answer is back, or on the way of that answer to disk."""
    whole = UniversalRelease.answer

    def answer(self: UniversalRelease, x: Any) -> Any:
        given = whole(self, x)
        if broken_off and self.is_published_:
            os.kill(os.getpid(), signal.SIGTERM)
        return given

    def sync(_: Journal) -> list[str]:
        os.kill(os.getpid(), signal.SIGTERM)
        return []

    monkeypatch.setattr(UniversalRelease, "answer", answer)
    if not broken_off:
        monkeypatch.setattr("pcqr.cli.releases.WAIT", 0.0)
        monkeypatch.setattr(Journal, "sync", sync)
    result = files.answer("--algorithm", "universal", "--publish-after", "1")
    assert result.exit_code == 4
    assert "Stopped by SIGTERM." in result.stderr
    assert "The published model is in " in result.stderr
    folder = Path(result.stderr.rsplit(" is in ", 1)[1].partition(". This run has spent ")[0])
    assert PublishedModel.load(folder).provenance.records == RECORDS


def _columns(answers: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    return list(answers["label"]), list(answers["kind"])


def test_a_release_that_will_halt_early_says_so_in_one_plain_line(files: Files) -> None:
    files.write()
    result = files.answer("--epsilon", "1", "--class", "stumps", "--vote", "stability")
    assert "Warning: Of m = 30 planned queries about" in result.stderr
    assert "PrivateClassifier" in result.stderr
    assert ".py" not in result.stderr
    assert "Warning" not in result.stdout
