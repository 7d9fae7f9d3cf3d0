"""Whatever ends a run, what it has given is in a file that reads well, and it says so."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.forks import Run, Server, server
from typer.testing import CliRunner, Result

from pcqr import SubsampleAggregate
from pcqr.cli.main import app
from pcqr.datasets import read_table, write_table
from pcqr.files import Journal

RECORDS, QUERIES = 300, 200
MANY = 10_000
"""Queries of a run that is stopped midway: answers come to disk in groups, every 50 ms. Repeated: few are unstable."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    x = np.random.default_rng(0).normal(size=RECORDS)
    write_table(tmp_path / "train.csv", {"x": list(x), "y": [int(value > 0) for value in x]})
    write_table(tmp_path / "queries.csv", {"x": list(np.linspace(-2, 2, QUERIES))})
    write_table(tmp_path / "many.csv", {"x": list(np.tile(np.linspace(-2, 2, QUERIES), MANY // QUERIES))})
    return tmp_path


def options(home: Path, *more: str, out: str = "answers.csv", queries: str = "queries.csv") -> list[str]:
    files = ["--private", str(home / "train.csv"), "--queries", str(home / queries), "--out", str(home / out)]
    numbers = ["--label", "y", "--class", "thresholds", "--algorithm", "subsamp", "--epsilon", "20", "--delta", "1e-3"]
    return ["answer", "--no-account", "--accept-weak-guarantee", *files, *numbers, *more]


def answer(home: Path, *more: str, out: str = "answers.csv") -> Result:
    return CliRunner().invoke(app, options(home, "--seed", "1", *more, out=out))


def given(path: Path) -> list[str]:
    """The complete lines of a file of answers, which any CSV reader must agree with."""
    text = path.read_text(encoding="utf-8")
    if not text:  # killed before the first answer
        return []
    assert text.endswith("\n")
    table = read_table(path) if text.count("\n") > 1 else {"row": []}
    lines = text.splitlines()
    assert [int(row) for row in table["row"]] == list(range(1, len(lines)))
    assert next(csv.reader(lines)) == ["row", "label", "kind"]
    return lines


# Killed ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forks() -> Iterator[Server]:
    with server() as started:
        yield started


def wait_for(run: Run, lines: int) -> None:
    for _ in range(300_000):
        if len(run.shown) >= lines:
            return
        time.sleep(0.001)
    raise AssertionError(f"It showed {len(run.shown)} lines only: {run.told}")


def check_kills(forks: Server, home: Path, kills: int, suffix: str) -> None:
    """Kill without warning: at an instant of the whole run, or a moment after a line that is picked at random."""
    random = np.random.default_rng()
    out, part = home / f"answers{suffix}", home / f"answers{suffix}.part.csv"
    midway = 0
    for kill in range(kills):
        run = forks.start(options(home, "--show", "--overwrite", out=out.name, queries="many.csv"), home / "shown")
        wait_for(run, lines=0 if kill % 4 == 3 else int(random.integers(1, MANY // 2)))
        time.sleep(random.uniform(0, 1.0 if kill % 4 == 3 else 0.05))
        run.kill()
        ended = run.wait()
        shown = [line for line in run.shown if re.fullmatch(r"\d+,\w*,\w+", line)]  # "10,000 queries" is none
        if ended == -signal.SIGKILL and part.exists():
            kept = given(part)[1:]
            midway += 0 < len(shown) < MANY
        else:
            assert not shown or ended == 0 or out.exists(), "it had not begun, or had come to its end"
            kept = shown if suffix != ".csv" or not out.exists() else given(out)[1:]
        assert kept[: len(shown)] == shown, "what was shown is in the file, line for line"
        for path in (out, part):
            path.unlink(missing_ok=True)
    assert 3 * midway >= kills, "else this proves little"


def test_kills_at_random_instants_lose_no_answer(forks: Server, home: Path) -> None:
    check_kills(forks, home, 3, ".csv")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_twenty_kills_at_random_instants_lose_no_answer(forks: Server, home: Path, suffix: str) -> None:
    check_kills(forks, home, 20, suffix)


def test_a_second_run_to_the_same_place_is_refused_while_the_first_goes_on(forks: Server, home: Path) -> None:
    first = forks.start(options(home, "--show", queries="many.csv"), home / "shown")
    wait_for(first, lines=5)
    first.kill(signal.SIGSTOP)
    second = answer(home, "--overwrite")
    first.kill(signal.SIGCONT)
    assert second.exit_code == 2
    assert "--out must be a file that no other run is writing to" in second.stderr
    assert first.wait() == 0
    assert len(given(home / "answers.csv")) == MANY + 1


def test_signals_from_outside_end_a_run_in_a_sentence(forks: Server, home: Path) -> None:
    run = forks.start(options(home, "--show", queries="many.csv"), home / "shown")
    wait_for(run, lines=5)
    run.kill(signal.SIGTERM)
    assert run.wait() == 4
    assert "Traceback" not in run.told
    kept = len(given(home / "answers.csv.part.csv")) - 1
    assert f"Stopped by SIGTERM. {kept:,} of {MANY:,} answers were given" in run.told


# Stopped --------------------------------------------------------------------------------------------------------------


def at_the_eighth_query(monkeypatch: pytest.MonkeyPatch, happens: Any) -> None:
    asked = iter(range(QUERIES))
    whole = SubsampleAggregate.answer

    def answer(self: SubsampleAggregate, x: Any) -> Any:
        if next(asked) == 7:
            happens()
        return whole(self, x)

    monkeypatch.setattr(SubsampleAggregate, "answer", answer)


def raise_(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_run_and_says_what_was_kept(home: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    at_the_eighth_query(monkeypatch, lambda: os.kill(os.getpid(), getattr(signal, name)))
    result = answer(home)
    assert result.exit_code == 4
    part = home / "answers.csv.part.csv"
    assert len(given(part)) == 1 + 7
    assert result.stderr == (
        f"Error: Stopped by {'Ctrl-C' if name == 'SIGINT' else name}. 7 of 200 answers were given and are in {part}. "
        "A new run is a new release and costs ε = 20 and δ = 0.001 again. This run has spent ε = 20 and δ = 0.001, and "
        "no account remembers it.\n"
    )
    assert not (home / "answers.csv").exists()


@pytest.mark.parametrize(
    ("error", "said", "code"),
    [
        (OSError(errno.EIO, "Input/output error"), "Input/output error. 7 of 200 answers were given", 4),
        (MemoryError(), "Not enough memory. 7 of 200 answers were given", 4),
        (KeyboardInterrupt(), "Stopped by Ctrl-C. 7 of 200 answers were given", 4),
        (ZeroDivisionError("a secret"), "ZeroDivisionError. 7 of 200 answers were given", 1),
    ],
)
def test_whatever_comes_what_was_given_is_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, said: str, code: int
) -> None:
    at_the_eighth_query(monkeypatch, lambda: raise_(error))
    result = answer(home)
    assert result.exit_code == code
    assert said in result.stderr
    assert len(given(home / "answers.csv.part.csv")) == 1 + 7


def test_machines_are_told_where_the_answers_are(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_the_eighth_query(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGTERM))
    result = answer(home, "--json")
    error = json.loads(result.stdout)["error"]
    assert (error["given"], error["asked"], error["file"]) == (7, QUERIES, str(home / "answers.csv.part.csv"))


def test_before_the_first_answer_nothing_is_left(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SubsampleAggregate, "fit", lambda *_, **__: os.kill(os.getpid(), signal.SIGINT))
    before = set(home.iterdir())
    result = answer(home)
    assert result.exit_code == 4
    assert "Stopped by Ctrl-C. No answer was given, and nothing is written. Nothing was spent." in result.stderr
    assert set(home.iterdir()) == before


def test_handlers_are_put_back(home: Path) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    assert answer(home).exit_code == 0
    assert {number: signal.getsignal(number) for number in before} == before


def test_what_is_ignored_stays_ignored(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        at_the_eighth_query(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGHUP))
        assert answer(home).exit_code == 0
    finally:
        signal.signal(signal.SIGHUP, before)


# Full disks and closed pipes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_a_disk_that_fills_up(home: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    whole, room = os.write, [120]

    def write(descriptor: int, data: Any) -> int:
        room[0] -= len(data)
        if room[0] < 0:
            whole(descriptor, bytes(data)[:3])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return whole(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    result = answer(home, out=f"answers{suffix}")
    monkeypatch.undo()
    assert result.exit_code == 4
    kept = given(home / f"answers{suffix}.part.csv")
    assert 1 < len(kept) < QUERIES
    assert f"No space left on device. {len(kept) - 1} of 200 answers were given" in result.stderr
    assert not (home / f"answers{suffix}").exists()


def test_no_room_for_the_last_file_keeps_all_answers(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr("pcqr.cli.releases.write_table", lambda *_: raise_(full))
    result = answer(home, out="answers.parquet")
    assert result.exit_code == 4
    part = home / "answers.parquet.part.csv"
    assert len(given(part)) == QUERIES + 1
    assert f"No space left on device. All 200 answers are in {part}." in result.stderr


def test_a_disk_that_fails_to_confirm_gives_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sync(_: Journal) -> list[str]:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Journal, "sync", sync)
    result = answer(home, "--show")
    assert result.exit_code == 4
    assert "Input/output error. 0 of 200 answers were given" in result.stderr
    assert result.stdout == "row,label,kind\n"


def test_nobody_reads_any_more(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def echo(line: str) -> None:
        if len(shown) == 5:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        shown.append(line)

    monkeypatch.setattr("pcqr.cli.releases.typer.echo", echo)
    result = answer(home, "--show")
    assert result.exit_code == 4
    assert "Nobody reads the output any more" in result.stderr
    assert given(home / "answers.csv.part.csv")[: len(shown)] == shown


def test_nobody_reads_the_summary(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pcqr.cli.answer._summarise", lambda *_, **__: raise_(BrokenPipeError(errno.EPIPE, "")))
    result = answer(home)
    assert result.exit_code == 4
    assert f"All 200 answers are in {home / 'answers.csv'}. This run has spent ε = 20 and δ = 0.001" in result.stderr
    assert len(given(home / "answers.csv")) == QUERIES + 1


# A second start -------------------------------------------------------------------------------------------------------


def test_answers_are_shown_in_the_words_of_the_file(home: Path) -> None:
    result = answer(home, "--show")
    lines = given(home / "answers.csv")
    assert result.stdout.splitlines()[: len(lines)] == lines


def test_a_second_start_says_what_is_there_and_what_going_on_costs(home: Path) -> None:
    assert answer(home).exit_code == 0
    first = (home / "answers.csv").read_bytes()
    again = answer(home)
    assert again.exit_code == 2
    assert again.stderr == (
        f"Error: {home / 'answers.csv'} exists: 200 rows. A new run is a new release and costs ε = 20 and δ = 0.001 "
        "again. Take another --out, or add --overwrite to replace it.\n"
    )
    assert (home / "answers.csv").read_bytes() == first
    assert answer(home, "--overwrite").exit_code == 0


@pytest.mark.parametrize(("torn", "described"), [("", ""), ("3,", ", and a torn line that does not count")])
def test_what_a_stopped_run_left_is_not_overwritten_unasked(home: Path, torn: str, described: str) -> None:
    part = home / "answers.csv.part.csv"
    part.write_text(f"row,label,kind\n1,0,stable\n2,0,stable\n{torn}")
    remaining = part.read_bytes()
    result = answer(home)
    assert result.exit_code == 2
    assert f"{part} exists: 2 answers that a run gave before it was stopped{described}. A new run" in result.stderr
    assert part.read_bytes() == remaining
    assert answer(home, "--overwrite").exit_code == 0
    assert not part.exists()


def test_bad_input_leaves_what_was_there_even_with_overwrite(home: Path) -> None:
    (home / "answers.csv").write_text("row,label,kind\n1,0,stable\n")
    part = home / "answers.csv.part.csv"
    part.write_text("row,label,kind\n1,0,stable\n")
    assert answer(home, "--overwrite", "--epsilon", "1e-5").exit_code == 2
    assert part.exists()
    assert (home / "answers.csv").read_text() == "row,label,kind\n1,0,stable\n"


# Inputs ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)])
def test_no_input_is_ever_replaced(home: Path, overwrite: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    (home / "soft.csv").symlink_to(home / "train.csv")
    (home / "hard.csv").hardlink_to(home / "train.csv")
    (home / "answers.csv.part.csv").hardlink_to(home / "queries.csv")
    (home / "schema.json").write_text("{}")
    before = {path.name: path.read_bytes() for path in home.iterdir()}
    spelled = ["train.csv", "queries.csv", "./train.csv", f"../{home.name}/train.csv", "soft.csv", "hard.csv"]
    for out in (*spelled, "answers.csv"):
        result = answer(home, *overwrite, out=out)
        assert result.exit_code == 2, out
        assert "which is read" in result.stderr, out
    assert {path.name: path.read_bytes() for path in home.iterdir()} == before
