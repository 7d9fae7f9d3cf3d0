"""One change at a time: applied to a copy of src, judged by the tests, taken back.

Several processes can judge at once, each in a copy of its own.

The tests run in a child that is forked from a process which has imported what is slow to import and nothing of pcqr, so
a verdict takes as long as the tests that it needs. The first failing test ends it. Property tests are derandomised and
do not shrink. Within a file quick tests run first.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from mutants.patterns import Change
from mutants.selection import ROOT, SOURCES

COPIES = ROOT / "build" / "mutants"
SLOW_TO_IMPORT = ("numba", "pandas", "sklearn.base", "scipy.stats", "opendp.prelude", "hypothesis", "pytest")
TEST_LIMIT = 60.0
"""Seconds of CPU time that one test may take under a change, what it compiles included; more counts as a failure, since
loops without end must end."""
MEMORY_LIMIT = 8 << 30
"""Bytes; a change that needs more fails, too."""
OPTIONS = (
    *("-q", "-m", "not slow", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"),
    *("-W", "ignore:Module already imported so cannot be rewritten"),  # hypothesis, before the fork
)


@dataclass(frozen=True)
class Verdict:
    """`caught_by` is the test that failed, None for a survivor."""

    caught_by: str | None
    seconds: float


@dataclass(frozen=True)
class Proof:
    """What tests did on the code as it is: how long each took, and which of them, or which files, failed."""

    durations: dict[str, float] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()

    def __or__(self, other: Proof) -> Proof:
        return Proof(self.durations | other.durations, self.failed | other.failed)


class Copy:
    """A copy of src, below the folder `place`, in which one change at a time is judged."""

    def __init__(self, place: Path) -> None:
        self.path = place / "src"

    def prepare(self) -> None:
        """Bring the copy up to date, keeping the times of its files and so the caches of what is compiled."""
        for name in SLOW_TO_IMPORT:
            if find_spec(name.split(".")[0]) is not None:  # tests that need what is not installed are skipped
                import_module(name)
        wanted = {path.relative_to(SOURCES) for path in SOURCES.rglob("*") if path.is_file() and path.suffix != ".pyc"}
        wanted = {path for path in wanted if "__pycache__" not in path.parts}
        for stale in [path for path in self.path.rglob("*.py") if path.relative_to(self.path) not in wanted]:
            stale.unlink()
        for path in wanted:
            (self.path / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCES / path, self.path / path)

    def prove(self, tests: Sequence[str]) -> Proof:
        """Run `tests` (files below the root) on the code as it is."""
        status, note, log = self._run(("--continue-on-collection-errors",), tests, Proof(), write_bytecode=True)
        if not os.WIFEXITED(status) or os.WEXITSTATUS(status) not in (0, 1):
            raise RuntimeError(f"pytest could not run {' '.join(tests)}:\n{note}\n{log[-2000:]}")
        told = json.loads(note)
        return Proof(told["durations"], frozenset(told["failed"]))

    def judge(self, change: Change, tests: Sequence[str], proof: Proof) -> Verdict:
        """Does one of `tests` (files below the root, in this order) fail under `change`, and not without it?

        By their `proof` the quick ones of a file come first.
        """
        began = time.monotonic()
        able = [test for test in tests if test not in proof.failed]
        if not able:
            return Verdict(None, 0.0)
        left_out = [f"--deselect={name}" for name in sorted(proof.failed) if name.split("::")[0] in able]
        with self._applied(change):
            status, failed, log = self._run(("-x", *left_out), able, proof, write_bytecode=False)
        seconds = time.monotonic() - began
        if os.WIFSIGNALED(status):
            return Verdict(f"{failed} (signal {os.WTERMSIG(status)})", seconds)
        if os.WEXITSTATUS(status) in (0, 5):  # all have passed, or none was able to judge
            return Verdict(None, seconds)
        if os.WEXITSTATUS(status) in (1, 2, 3, 4):  # in a test, while collecting, or in a plugin before
            return Verdict(failed or "collection", seconds)
        raise RuntimeError(f"pytest could not run {' '.join(tests)}:\n{log[-2000:]}")

    def _run(
        self, options: Sequence[str], tests: Sequence[str], proof: Proof, *, write_bytecode: bool
    ) -> tuple[int, str, str]:
        """The status of a child that runs pytest, its note and its log. A limit holds where no bytecode is written."""
        if "pcqr" in sys.modules:
            raise RuntimeError("pcqr is imported already: the tests would not see the change")
        with tempfile.TemporaryDirectory() as folder:
            note = Path(folder) / "note"
            child = os.fork()
            if child == 0:
                watch = _Watch(self.path, note, proof.durations, 0.0 if write_bytecode else TEST_LIMIT)
                _run_tests([*options, *tests], watch, Path(folder), write_bytecode=write_bytecode)
            _, status = os.waitpid(child, 0)
            told = note.read_text(encoding="utf-8") if note.exists() else ""
            return status, told, (Path(folder) / "log").read_text(encoding="utf-8", errors="replace")

    @contextmanager
    def _applied(self, change: Change) -> Iterator[None]:
        original, target = SOURCES / change.path, self.path / change.path
        target.write_bytes(change.applied_to(original.read_bytes()))
        try:
            yield
        finally:
            shutil.copy2(original, target)


def _run_tests(arguments: Sequence[str], watch: _Watch, folder: Path, *, write_bytecode: bool) -> None:
    """In the child: run pytest and leave. The log goes to a file."""
    code = 70
    try:
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT, 0o600)
        for stream in (1, 2):
            os.dup2(log, stream)
        os.chdir(ROOT)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
        sys.dont_write_bytecode = not write_bytecode  # a stale .pyc of a changed file would hide the next change
        sys.path.insert(0, str(watch.sources))
        paths = os.pathsep.join(filter(None, (str(watch.sources), os.environ.get("PYTHONPATH"))))
        os.environ.update(PYTHONPATH=paths, CI="1", HYPOTHESIS_STORAGE_DIRECTORY=str(folder / "hypothesis"))
        code = int(pytest.main([*OPTIONS, *arguments], plugins=[watch]))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


class _Watch:
    """Writes to `note` which test is running, or has failed; without a limit how long each took, and all that failed.

    `sources` is the copy that the tests must import, `limit` the CPU time of each in seconds; 0: any.
    """

    def __init__(self, sources: Path, note: Path, durations: Mapping[str, float], limit: float) -> None:
        self.sources, self._limit = sources, limit
        self._note, self._known = note, durations
        self._taken: dict[str, float] = {}
        self._failed: list[str] = []

    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings  # noqa: PLC0415

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", deadline=None, derandomize=True, database=None, phases=phases)
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        files = list(dict.fromkeys(item.path for item in items))
        items.sort(key=lambda item: (files.index(item.path), self._known.get(item.nodeid, 0.0)))

    def pytest_collection_finish(self) -> None:
        module = sys.modules.get("pcqr")
        if module is not None and not str(module.__file__).startswith(str(self.sources)):
            pytest.exit(f"the tests import {module.__file__}, not the copy", returncode=70)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._note.write_text(nodeid, encoding="utf-8")
        signal.setitimer(signal.ITIMER_PROF, self._limit)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid)
        self._taken[report.nodeid] = self._taken.get(report.nodeid, 0.0) + report.duration

    def pytest_runtest_logfinish(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.0)

    def pytest_sessionfinish(self) -> None:
        if not self._limit:
            told = {"durations": self._taken, "failed": self._failed}
            self._note.write_text(json.dumps(told), encoding="utf-8")
