"""One run in a process of its own: how it is scored, and what becomes of it where it fails."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import support.bench

from pcqr.bench import running, worker
from pcqr.bench.methods import KNOWN, Method, named
from pcqr.bench.outside.task import NOT_ASKED, UNANSWERED, Column, Task, carry_out
from pcqr.bench.running import Bench, Cell, Run, columns_of, score
from pcqr.bench.tables import Raw, toy
from pcqr.bench.tables import Task as Table
from pcqr.data.schema import Column as Declared
from pcqr.data.schema import Schema

TOY = toy()
JOBS = np.array(["cook", None, "nurse", "cook"] * 95, dtype=object)
CELLS = {"age": np.where(JOBS == "nurse", np.nan, np.arange(380.0)), "hours": np.arange(380.0) % 60, "job": JOBS}
SMALL = Table("toy", TOY.X[:300], TOY.y[:300], TOY.public[:50], TOY.X_test[:80], TOY.y_test[:80], TOY.schema)
UNKNOWN = replace(
    SMALL,
    public=SMALL.public[:0],
    raw=Raw(*({name: values[part] for name, values in CELLS.items()} for part in (slice(300), slice(300, None)))),
)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("PYTHONPATH", str(Path(support.bench.__file__).parents[1]))
    made = Bench(tmp_path / "session", tmp_path / "environments", 60.0)
    made.put(SMALL)
    return made


def run(bench: Bench, name: str, seed: int = 0, table: Table = SMALL) -> Run:
    method = named(name)
    return bench.run(table, method, Cell("toy", "f", name, 1.0, 1e-6, 20, seed))


def test_scores() -> None:
    truth = np.array([0, 1, 1, 0, 1], dtype=np.int8)
    labels = np.array([0, 1, UNANSWERED, NOT_ASKED, 1])
    found = score(labels, truth, np.array([0, 2]))
    assert found == {
        "accuracy": 1.0,  # the third row is taken for a 1, which was said most often
        "accuracy_answered": 1.0,
        "score": 0.75,  # of the queries one is right, one has no answer
        "answered": 0.75,
        "rows": 4,
    }
    silent = score(np.full(5, UNANSWERED), truth, np.array([0, 1]))
    assert silent["accuracy"] == 0.4  # label 0
    assert silent["accuracy_answered"] is None
    assert silent["answered"] == 0.0
    assert silent["score"] == 0.5


def test_loading_pcqr_is_not_counted(bench: Bench) -> None:
    run(bench, "majority")
    task = Task.read(bench.folder / "run")
    task.begun = 0.0
    worker.run(task)
    assert task.begun > 0.0


def test_columns_are_found_again_in_encoded_rows() -> None:
    schema = Schema(
        (
            Declared("job", "categorical", ("cook", "nurse"), other=True),
            Declared("age", bounds=(0, 99), missing=True),
            Declared("height"),
        )
    )
    X = schema.encode({"job": ["nurse", None], "age": [30, None], "height": [1.5, 2.5]})
    columns = tuple(Column(**column) for column in columns_of(schema))
    assert [column.name for column in columns] == ["job", "age", "age is missing", "height"]
    assert [column.size for column in columns] == [4, 0, 2, 0]
    assert [list(column.values(X)) for column in columns] == [[1, 3], [30, 0], [0, 1], [1.5, 2.5]]
    assert (columns[1].low, columns[1].high) == (0, 99)


def test_a_method_sees_no_label_of_a_test_row_and_gets_public_predicates(bench: Bench) -> None:
    run(bench, "support.bench:Common")
    task = Task.read(bench.folder / "run")
    assert not any("y_test" in path.name for path in bench.folder.rglob("*"))
    with np.load(bench.folder / "toy" / "arrays.npz") as stored:
        assert set(stored.files) == {"X", "y", "public", "X_test"}
    held = task.held(task.public)
    assert held.shape == (50, len(task.predicates))
    assert set(np.unique(held)) == {0.0, 1.0}
    assert task.native(task.X).shape == (300, 5)  # two numbers that may be missing, and a category


def test_public_rows_have_every_category_with_every_label(bench: Bench) -> None:
    run(bench, "support.bench:Common")
    task = Task.read(bench.folder / "run")
    rows, labels = task.with_every_category()
    assert set(labels) == {0, 1}
    for label in (0, 1):
        for place, column in enumerate(task.columns):
            values = rows[labels == label, place]
            shown = range(column.size) if column.size else column.values(task.public)
            assert set(values) <= set(shown)
            assert not column.size or set(values) == set(shown)
    again = replace(task, X=task.X[:1], y=task.y[:1])  # whatever the records are
    assert np.array_equal(again.with_every_category()[0], rows)


def test_an_own_method_runs_and_the_same_seed_gives_the_same(bench: Bench) -> None:
    first, second, other = (run(bench, "support.bench:Common", seed) for seed in (0, 0, 1))
    assert first.failed is None
    assert first.rows == 80
    assert first.answered == 1.0
    assert first.accuracy == second.accuracy != other.accuracy
    assert first.fit_seconds is not None
    assert (first.megabytes or 0) > 20


def test_with_nothing_public_methods_get_cells_as_they_are(bench: Bench) -> None:
    bench.put(UNKNOWN)
    assert UNKNOWN.raw is not None
    found = run(bench, "support.bench:NothingPublic", table=UNKNOWN)
    assert (found.failed, found.rows, found.answered) == (None, 20, 1.0)
    task = Task.read(bench.folder / "run")
    for cells, told in ((UNKNOWN.raw.X, task.raw), (UNKNOWN.raw.X_test, task.raw_test)):
        assert told is not None
        assert list(told) == ["age", "hours", "job"]
        assert told["job"].tolist() == cells["job"].tolist()
        assert np.array_equal(told["age"], cells["age"], equal_nan=True)
    assert None in task.raw["job"]  # type: ignore[index]
    assert task.predicates == ()


@pytest.mark.parametrize("name", ["tree", "majority"])
def test_with_nothing_public_ours_run_and_what_is_not_private(name: str, bench: Bench) -> None:
    bench.put(UNKNOWN)
    found = run(bench, name, table=UNKNOWN)
    assert (found.failed, found.rows) == (None, 80)
    assert (found.accuracy or 0.0) > 0.4


@pytest.mark.parametrize("table", [SMALL, UNKNOWN], ids=["public rows", "nothing public"])
def test_queries_one_at_a_time_get_the_answers_of_the_classifier(table: Table, bench: Bench) -> None:
    bench.put(table)
    published, asked = (run(bench, name, table=table) for name in ("auto", "universal"))
    assert (published.rows, asked.rows, asked.answered) == (80, 20, 1.0)
    assert published.score == asked.score == asked.accuracy is not None


def test_one_draw_answers_every_query(bench: Bench) -> None:
    found = run(bench, "agnostic")
    assert (found.failed, found.rows, found.answered) == (None, 20, 1.0)


def test_what_needs_something_public_says_what_and_is_not_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.put(UNKNOWN)
    monkeypatch.setattr(Bench, "_process", lambda *_: pytest.fail("must not run"))
    told = {method.name: method.needs for method in KNOWN.values() if method.needs is not None}
    assert set(KNOWN) - set(told) == {"auto", "tree", "linear", "universal", "majority", "boosting"}
    for name, needs in told.items():
        found = run(bench, name, table=UNKNOWN)
        assert found.failed == f"needs {needs}"
        assert not found.has_begun
    assert told["diffprivlib-forest"] == "public bounds and categories"


def test_an_own_method_may_answer_queries_alone(bench: Bench) -> None:
    found = run(bench, "support.bench:Asked")
    assert (found.rows, found.answered) == (20, 0.5)
    assert found.score == pytest.approx(0.25 + 0.5 * (found.accuracy_answered or 0.0))


def test_memory_is_that_of_the_run_and_not_of_who_started_it(bench: Bench) -> None:
    ballast = np.ones(100_000_000)  # 800 MB
    found = run(bench, "support.bench:Common")
    assert ballast.all()
    assert found.megabytes is not None
    assert found.megabytes < 700


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("support.bench:Broken", "RuntimeError"),
        ("support.bench:Killed", "ended with status 9"),
        ("support.bench:Wrong", "ValueError"),
        ("support.bench:Nowhere", "--method must be package.module:Class of a class that can be imported"),
        ("nowhere:Nothing", "--method must be"),
    ],
)
def test_a_failure_is_a_row_that_says_so_without_a_record(method: str, words: str, bench: Bench) -> None:
    found = run(bench, method)
    assert found.failed is not None
    assert words in found.failed
    assert "secret" not in found.failed
    assert found.accuracy is None


def test_a_run_that_takes_too_long_is_stopped(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = tmp_path / "notes.txt"
    notes.with_suffix(".wait").touch()
    monkeypatch.setenv("PCQR_TEST_NOTES", str(notes))
    hurried = Bench(bench.folder, bench.environments, 1.0)
    found = run(hurried, "support.bench:Waits")
    assert found.failed == "stopped after 1 s"
    assert found.was_stopped


def is_free(path: Path) -> bool:
    """Nobody holds the lock any more; whoever is killed is given a while to be gone."""
    import fcntl

    with path.open() as file:
        for _ in range(200):
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            time.sleep(0.05)
    return False


@pytest.mark.skipif(sys.platform == "win32", reason="there are no process groups")
@pytest.mark.parametrize("name", ["Leaves", "LeavesAndIsKilled"])
def test_what_a_run_has_started_ends_with_it(
    name: str, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PCQR_TEST_NOTES", str(tmp_path / "notes.txt"))
    run(bench, f"support.bench:{name}")
    assert is_free(tmp_path / "notes.lock")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no process groups")
def test_a_run_and_what_it_has_started_end_with_whoever_started_them(tmp_path: Path) -> None:
    lock = tmp_path / "notes.lock"
    started = f"""if True:
        import fcntl, os, subprocess, sys
        from pcqr.bench.outside.task import _end_with, _starter
        with open({str(lock)!r}, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            subprocess.Popen(["/bin/sleep", "60"], pass_fds=[file.fileno()])
        print(flush=True)
        while os.getppid() == int(os.environ["PCQR_BENCH_STARTED_BY"]):
            pass  # the starter is gone before anyone asks
        _end_with(_starter())"""
    starts = f"""if True:
        import os, subprocess, sys
        known = os.environ | {{"PCQR_BENCH_STARTED_BY": str(os.getpid())}}
        subprocess.Popen([sys.executable, "-c", {started!r}], start_new_session=True, env=known).wait()"""
    with subprocess.Popen([sys.executable, "-c", starts], stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
        assert is_free(lock)


def test_a_run_knows_who_has_started_it(bench: Bench) -> None:
    assert run(bench, "support.bench:Orphan").failed is None


def test_a_library_that_is_not_installed_is_a_row_that_says_how(bench: Bench) -> None:
    method = Method("far", "outside", "published", "", environment="dpmm", module="far")
    found = bench.run(SMALL, method, Cell("toy", "f", "far", 1.0, 1e-6, 20, 0))
    assert found.failed == "not installed: pcqr bench --install dpmm"
    assert not found.has_begun


def test_what_is_carried_outside_needs_no_pcqr_and_a_run_without_an_outcome_has_failed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "python_of", lambda *_: Path(sys.executable))
    method = Method("far", "outside", "published", "", environment="dpmm", module="task")
    found = bench.run(SMALL, method, Cell("toy", "f", "far", 1.0, 1e-6, 20, 0))
    assert found.failed == "ended without an outcome"
    seen = "import pcqr_outside.task, sys; sys.exit('pcqr' in sys.modules)"
    line = [sys.executable, "-c", seen]
    assert subprocess.run(line, cwd=bench.folder, check=False).returncode == 0  # noqa: S603


def test_errors_of_ours_keep_their_words(bench: Bench) -> None:
    run(bench, "support.bench:Common")

    def fail(_: Any) -> Any:
        raise KeyError("a record")

    assert carry_out(bench.folder / "run", fail) == 1
    assert "record" not in (bench.folder / "run" / "outcome.json").read_text(encoding="utf-8")
    assert carry_out(bench.folder / "run", fail, tells=(KeyError,)) == 1
    assert "a record" in (bench.folder / "run" / "outcome.json").read_text(encoding="utf-8")


def test_every_known_method_has_a_run_here_or_a_module_outside() -> None:
    from pcqr.bench.inside import RUNS

    outside = Path(support.bench.__file__).parents[2] / "src" / "pcqr" / "bench" / "outside"
    for method in KNOWN.values():
        if method.environment is None:
            assert method.name in RUNS
        else:
            assert (outside / f"{method.module}.py").is_file()
    assert set(RUNS) <= set(KNOWN)
