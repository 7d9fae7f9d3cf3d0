"""`pcqr fit` without a class or an algorithm: it publishes the classifier of `pcqr publish`, nothing being public."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.command_lines import call, said
from support.serving import serving
from typer.testing import Result

import pcqr
from pcqr.data.schema.raw import TYPES_ARE_PUBLIC
from pcqr.models import PublishedModel
from pcqr.release import Account
from pcqr.releases.subsample.plan import VotingPlan
from pcqr.releases.universal.plan import ClassifierPlan, UniversalPlan
from pcqr.server.service import Place

TYPES = ("--types", "age=number,job=text", "--types", "born=date")
ROWS = 6_000


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words, gaps and dates, as CSV, as Parquet and in parts; queries; public rows; a schema."""
    folder: Path = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    age, job = rng.integers(18, 90, ROWS), rng.choice(["cook", "nurse", "pilot"], ROWS, p=[0.5, 0.4, 0.1])
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20_000, ROWS), unit="D")
    frame = pd.DataFrame({"age": age, "job": job, "born": born.date, "ill": (age > 50).astype(int)})
    frame.loc[rng.random(ROWS) < 0.05, "job"] = None
    frame.to_csv(folder / "f.csv", index=False)
    frame.to_parquet(folder / "f.parquet")
    (folder / "parts").mkdir()
    for place, part in enumerate((frame[:1_000], frame[1_000:])):
        part.to_parquet(folder / "parts" / f"{place}.parquet", row_group_size=500)
    frame.assign(who=np.arange(ROWS) // 2).to_csv(folder / "persons.csv", index=False)
    frame.assign(ill=np.digitize(age, [40, 60])).replace({"ill": {0: "no", 1: "mild", 2: "bad"}}).to_csv(
        folder / "three.csv", index=False
    )
    asked = frame.drop(columns="ill")[:40].assign(job=["cook", None, "astronaut", "nurse"] * 10)
    asked.to_csv(folder / "queries.csv", index=False)
    shown = frame.drop(columns="ill").sample(60, random_state=1).assign(age=lambda rows: rows["age"] + 0.5)
    shown.to_csv(folder / "public.csv", index=False)
    (folder / "schema.toml").write_text(
        '[[columns]]\nname = "age"\nkind = "numeric"\nbounds = [18, 90]\n'
        '[[columns]]\nname = "job"\nkind = "categorical"\ncategories = ["cook", "nurse", "pilot"]\nother = true\n'
        '[[columns]]\nname = "born"\nkind = "date"\nbounds = ["1950-01-01", "2005-01-01"]\n'
    )
    return folder


def fit(private: Path, out: Path, *more: object, epsilon: float = 0.4) -> Result:
    needed = ("--private", private, "--label", "ill", "--epsilon", epsilon, "--delta", "1e-6", "--out", out)
    return call("fit", *needed, *more)


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


SOURCES: dict[str, tuple[str, tuple[str, ...]]] = {
    "a CSV file and kinds": ("f.csv", TYPES),
    "a Parquet file": ("f.parquet", ()),
    "a folder": ("parts", ()),
    "a schema": ("f.csv", ("--schema", "schema.toml")),
    "public rows": ("f.csv", ("--public", "public.csv")),
    "persons": ("persons.csv", ("--types", "age=number,job=text,born=date", "--groups", "who")),
    "three labels": ("three.csv", (*TYPES, "--labels", "no,mild,bad")),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", SOURCES)
def test_the_release_answers_as_the_model_of_pcqr_publish(
    source: str, tables: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same seed and the same options, label for label: queries are read as the release has read its table."""
    monkeypatch.chdir(tables)
    name, options = SOURCES[source]
    result = fit(Path(name), home / "release", *options, "--seed", 0)
    assert result.exit_code == 0, result.output
    assert "It holds no secrets" in said(result)
    needed = ("--private", name, "--label", "ill", "--epsilon", 0.4, "--delta", "1e-6", "--out", home / "model")
    made = call("publish", *needed, *options, "--seed", 0)
    assert made.exit_code == 0, made.output
    asked = call("ask", home / "release", "--queries", "queries.csv", "--out", home / "answers.csv")
    assert asked.exit_code == 0, asked.output
    call("predict", home / "model", "queries.csv", "--out", home / "labels.csv")
    answers = rows(home / "answers.csv")[1:]
    assert [row[:2] for row in answers] == rows(home / "labels.csv")[1:]
    assert len(answers) == 40
    assert {row[2] for row in answers} == {"published"}
    exported = call("export", home / "release", "--out", home / "public")
    assert exported.exit_code == 0, exported.output
    model = PublishedModel.load(home / "public" / "model")
    assert model.hypothesis == PublishedModel.load(home / "model").hypothesis
    assert (TYPES_ARE_PUBLIC in model.guarantee.assumptions) == (source in ("a Parquet file", "a folder"))
    status = json.loads(call("status", home / "release", "--verify", "--json").output)
    assert status["published"] is True
    assert status["spent"]["queries"] == 0


@pytest.mark.filterwarnings("ignore")
def test_a_kept_release_is_asked_in_a_new_process_without_its_table(tables: Path, home: Path) -> None:
    Account.create("hospital", epsilon=1.0, delta=1e-5)
    shutil.copy(tables / "f.csv", home / "private.csv")
    result = fit(home / "private.csv", home / "release", *TYPES, "--account", "hospital", "--json")
    assert result.exit_code == 0, result.output
    (charge,) = Account.open("hospital").charges
    assert charge.what == "UniversalRelease"
    (home / "private.csv").unlink()
    words = ("ask", home / "release", "--queries", tables / "queries.csv", "--out", home / "answers.csv")
    command = [sys.executable, "-c", "from pcqr.cli.main import app; app()", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert len(rows(home / "answers.csv")) == 41
    release = pcqr.release.open(home / "release", read_only=True)
    assert isinstance(release.plan_, ClassifierPlan)
    release.close()


@pytest.mark.filterwarnings("ignore")
def test_a_server_reads_words_and_dates_by_the_schema_of_the_release(tables: Path, home: Path) -> None:
    assert fit(tables / "f.csv", home / "release", *TYPES).exit_code == 0
    here = call("ask", home / "release", "--queries", tables / "queries.csv", "--out", home / "here.csv")
    assert here.exit_code == 0, here.output
    with serving(Place("hospital", home / "release")) as address:
        there = call("ask", f"{address}/hospital", "--queries", tables / "queries.csv", "--out", home / "there.csv")
        assert there.exit_code == 0, there.output
    assert (home / "here.csv").read_bytes() == (home / "there.csv").read_bytes()


@pytest.mark.filterwarnings("ignore")
def test_answers_alone_show_no_model(tables: Path, home: Path) -> None:
    result = fit(tables / "f.csv", home / "release", *TYPES, "--shows", "answers")
    assert result.exit_code == 0, result.output
    assert "keep it from those who are to see answers alone" in said(result)
    asked = call("ask", home / "release", "--queries", tables / "queries.csv", "--out", home / "answers.csv")
    assert asked.exit_code == 0, asked.output
    assert json.loads(call("status", home / "release", "--json").output)["published"] is False
    described = call("export", home / "release", "--out", home / "public", "--json")
    assert json.loads(described.output)["published"] is False
    assert not (home / "public" / "model").exists()


@pytest.mark.filterwarnings("ignore")
def test_an_older_copy_is_refused(tables: Path, home: Path) -> None:
    assert fit(tables / "f.csv", home / "release", *TYPES, "--anchor", home / "anchor").exit_code == 0
    words = ("ask", home / "release", "--queries", tables / "queries.csv", "--out", home / "answers.csv")
    shutil.copytree(home / "release", home / "older")
    (home / "anchor").unlink()
    assert call(*words, "--anchor", home / "anchor").exit_code == 2, "its anchor is missing"
    adopted = call(*words, "--anchor", home / "anchor", "--adopt")
    assert adopted.exit_code == 0, adopted.output
    shutil.rmtree(home / "release")
    shutil.copytree(home / "older", home / "release")
    refused = call(*words, "--anchor", home / "anchor", "--overwrite")
    assert refused.exit_code == 2
    assert "older" in said(refused)


@pytest.mark.parametrize("source", ["a folder", "public rows", "persons"])
def test_a_dry_run_shows_the_plan_of_pcqr_publish_and_spends_nothing(
    source: str, tables: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tables)
    Account.create("hospital", epsilon=1.0, delta=1e-5)
    name, options = SOURCES[source]
    charged = () if source == "persons" else ("--account", "hospital")  # that account is about records
    described = []
    for command in ("fit", "publish"):
        needed = ("--private", name, "--label", "ill", "--epsilon", 0.4, "--delta", "1e-6", "--out", home / "out")
        result = call(command, *needed, *options, *charged, "--dry-run", "--json")
        assert result.exit_code == 0, result.output
        described.append(json.loads(result.stdout))
    assert described[0] == described[1]
    assert "nothing was spent or written" in said(fit(Path(name), home / "out", *options, "--dry-run"))
    assert Account.open("hospital").charges == ()
    assert not (home / "out").exists()


REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "planned queries": (("--planned-queries", 50), "--planned-queries must be left out, or given with --class or"),
    "a mode": (("--mode", "paper"), "--mode must be left out, or given with --class or --algorithm"),
    "a vote": (("--vote", "stability"), "--vote must be left out"),
    "unstable answers": (("--on-unstable", "random"), "--on-unstable must be left out"),
    "α": (("--alpha", 0.2), "--alpha must be left out"),
    "a depth": (("--depth", 2), "--depth must be left out"),
    "caution": (("--cautious",), "--cautious must be left out"),
    "categories": (("--categories", "job=cook,nurse"), "--types says which columns are text"),
    "kinds and a schema": (("--schema", "schema.toml"), "--types must be left out with --public or --schema"),
    "kinds and a class": (("--class", "stumps"), "--types must be left out for a release that votes"),
    "kinds and votes": (("--algorithm", "subsamp"), "--types must be left out for a release that votes"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("dry_run", [True, False])
def test_an_option_that_does_not_apply_is_refused_before_anything(
    case: str, dry_run: bool, tables: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tables)
    more, message = REFUSED[case]
    result = fit(Path("f.csv"), home / "release", *TYPES, *more, *(("--dry-run",) if dry_run else ()))
    assert result.exit_code == 2
    assert message in said(result)
    assert not (home / "release").exists()


def test_kinds_are_needed_where_nothing_is_public(tables: Path, home: Path) -> None:
    result = fit(tables / "f.csv", home / "release")
    assert result.exit_code == 2
    assert "--types age=number,job=text" in result.output
    assert "nurse" not in result.output
    assert not (home / "release").exists()


@pytest.fixture
def ages(home: Path) -> Path:
    table = np.random.default_rng(0).integers(0, 100, 4_000)
    pd.DataFrame({"age": table, "ill": (table > 60).astype(int)}).to_csv(home / "ages.csv", index=False)
    return home / "ages.csv"


@pytest.mark.parametrize(
    ("options", "plan"),
    [
        (("--class", "thresholds"), VotingPlan),
        (("--algorithm", "subsamp"), VotingPlan),
        (("--algorithm", "agnostic"), VotingPlan),
        (("--algorithm", "universal", "--class", "thresholds", "--planned-queries", 5), UniversalPlan),
        (("--algorithm", "universal", "--planned-queries", 5, "--shows", "answers"), UniversalPlan),
        (("--algorithm", "universal", "--types", "age=number"), ClassifierPlan),
    ],
)
def test_a_class_an_algorithm_or_an_option_of_votes_asks_for_votes(
    options: tuple[Any, ...], plan: type, ages: Path, home: Path
) -> None:
    result = fit(ages, home / "release", *options, epsilon=4)
    assert result.exit_code == 0, result.output
    release = pcqr.release.open(home / "release", read_only=True)
    assert type(release.plan_) is plan
    release.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--algorithm", "universal", "--class", "thresholds"), "--planned-queries must be given"),
        (("--algorithm", "subsamp", "--shows", "answers"), "--shows must be left out for --algorithm subsamp"),
        (("--class", "thresholds", "--shows", "answers"), "--shows must be left out for --algorithm agnostic"),
    ],
)
def test_votes_have_their_own_options(options: tuple[Any, ...], message: str, ages: Path, home: Path) -> None:
    result = fit(ages, home / "release", *options, epsilon=4)
    assert result.exit_code == 2
    assert message in said(result)
    assert not (home / "release").exists()


@pytest.mark.parametrize("options", [(*TYPES,), ("--class", "trees", "--schema", "schema.toml")])
def test_a_signal_after_the_draw_waits_until_the_release_is_kept(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    """ε is spent by then: the release is on disk, whole, with the schema by which its queries are read."""
    estimator = pcqr.UniversalRelease if options == TYPES else pcqr.AgnosticRelease
    whole = estimator.fit

    def stopped(self: Any, *args: Any, **given: Any) -> Any:
        done = whole(self, *args, **given)
        os.kill(os.getpid(), signal.SIGTERM)
        return done

    monkeypatch.setattr(estimator, "fit", stopped)
    monkeypatch.chdir(tables)
    needed = ["fit", "--private", "f.csv", "--label", "ill", "--epsilon", 2, "--delta", "1e-6"]
    result = call(*needed, "--out", tmp_path / "kept", *options)
    assert result.exit_code == 4
    assert f"Stopped by SIGTERM. The release is in {tmp_path / 'kept'}." in result.stderr
    release = pcqr.release.open(tmp_path / "kept", read_only=True)  # the run that was stopped has it open
    assert release.schema_.names == ("age", "job", "born")
    assert release.queries_answered_ == 0
    release.close()
