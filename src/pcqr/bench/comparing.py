"""The whole comparison: which runs there are, in which order, which of them are still to be made."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pcqr import __version__
from pcqr.bench.methods import Method
from pcqr.bench.running import Bench
from pcqr.bench.runs import Cell, Run, Runs
from pcqr.bench.tables import Task

Tell = Callable[[int, int, Run], None]
"""Called with every run: its number, the number of all runs, and the run; also with those that are on file."""


@dataclass(frozen=True)
class Comparison:
    """For each table, ε, method and seed one run; for what uses no ε one for all of them."""

    methods: Sequence[Method]
    epsilons: Sequence[float]
    delta: float
    queries: int
    seeds: Sequence[int]
    environments: Path
    time_limit: float
    public_rows: int | None = None
    again: bool = False
    retry: bool = False
    show_errors: bool = False

    def cells(self, task: Task) -> Iterator[tuple[Method, Cell]]:
        """All runs on a table, the first seed of everything first."""
        fingerprint = task.fingerprint()
        for seed in self.seeds:
            for epsilon in self.epsilons:
                for method in self.methods:
                    if method.uses_epsilon or epsilon == self.epsilons[0]:
                        used = epsilon if method.uses_epsilon else 0.0
                        settings = (used, self.delta, self.queries, seed, self.public_rows)
                        yield method, Cell(task.name, fingerprint, method.name, *settings)

    def made(self, tables: Sequence[tuple[Task, str]], runs: Runs, tell: Tell) -> list[Run]:
        """Make the runs that are missing on `tables`, each with the options that name it; those of this comparison."""
        todo = [(task, source, *each) for task, source in tables for each in self.cells(task)]
        found = []
        with tempfile.TemporaryDirectory(prefix="pcqr-bench-") as folder:
            bench = Bench(Path(folder), self.environments, self.time_limit, self.show_errors)
            put: set[str] = set()
            for number, (task, source, method, cell) in enumerate(todo, start=1):
                run = None if self.again else runs.find(cell)
                if run is None or self._is_worth_another_try(run):
                    if task.name not in put:
                        bench.put(task)
                        put.add(task.name)
                    run = self._signed(bench.run(task, method, cell), source)
                    if run.has_begun:
                        runs.store(run)
                found.append(run)
                tell(number, len(todo), run)
        return found

    def _is_worth_another_try(self, run: Run) -> bool:
        if run.failed is None:
            return False
        return self.retry or (run.was_stopped and (run.limit or 0.0) < self.time_limit)

    def _signed(self, run: Run, source: str) -> Run:
        return replace(run, limit=self.time_limit, command=self._command(run.cell, source), version=__version__)

    def _command(self, cell: Cell, source: str) -> str:
        epsilon = cell.epsilon or self.epsilons[0]
        if cell.public_rows is not None:
            source += f" --public-rows {cell.public_rows}"
        return (
            f"pcqr bench {source} --epsilons {epsilon!r} --delta {cell.delta!r} --methods {shlex.quote(cell.method)} "
            f"--queries {cell.queries} --seeds {cell.seed} --time-limit {self.time_limit:g} --again"
        )
