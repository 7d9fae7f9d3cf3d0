"""What the accuracy benchmarks share: ask a release, count what came back, run many trials, write the results down."""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from scipy.stats import beta

from pcqr import BudgetExhausted
from pcqr.releases.base.answering import Release

WORKERS = 2

DATA = Path("../shared/data")
"""Where the Parquet files are: beside the checkout."""

J = TypeVar("J")
R = TypeVar("R")


@dataclass(frozen=True)
class Outcome:
    """What became of m queries, as shares of m.

    `error` counts a coin for every query that was unstable or came after the release had halted; `unstable` is the
    share answered ⊥, `unanswered` the share that came too late.
    """

    error: float
    unstable: float
    unanswered: float

    @property
    def halted(self) -> bool:
        return self.unanswered > 0


def ask(release: Release[Any], X: NDArray[np.float64], y: NDArray[np.int8], coins: np.random.Generator) -> Outcome:
    """Ask a fitted release with `on_unstable="random"` for the label of every row of `X` and compare with `y`."""
    labels = coins.integers(0, 2, y.size)
    unstable, asked = release.unstable_answers_, y.size
    try:
        labels[:] = release.predict(X)
    except BudgetExhausted as halted:
        asked = len(halted.answers)
        labels[:asked] = np.array([answer.label for answer in halted.answers], dtype=np.int8)
    return Outcome(
        error=float(np.mean(labels != y)),
        unstable=(release.unstable_answers_ - unstable) / y.size,
        unanswered=1.0 - asked / y.size,
    )


def clopper_pearson(hits: int, runs: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact two-sided confidence interval for a probability, `hits` of `runs` having succeeded."""
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, runs - hits + 1))
    high = 1.0 if hits == runs else float(beta.isf(tail, hits + 1, runs - hits))
    return low, high


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def seed_of(*cell: object) -> int:
    """A seed of its own for every cell and run: with run numbers for seeds, all cells would share their luck."""
    return int.from_bytes(sha256(repr(cell).encode()).digest()[:4])


def run_all(job: Callable[[J], R], jobs: Sequence[J], describe: Callable[[J], str], console: Console) -> list[R]:
    """`[job(j) for j in jobs]` on `WORKERS` processes, under a progress bar."""
    columns = (TextColumn("{task.description:36}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    context = multiprocessing.get_context("spawn")
    with (
        Progress(*columns, console=console, transient=True) as progress,
        ProcessPoolExecutor(WORKERS, mp_context=context) as pool,
    ):
        task = progress.add_task("starting", total=len(jobs))
        positions = {pool.submit(job, each): position for position, each in enumerate(jobs)}
        results: dict[int, R] = {}
        for done in as_completed(positions):
            position = positions[done]
            results[position] = done.result()
            progress.update(task, advance=1, description=describe(jobs[position]))
    return [results[position] for position in range(len(jobs))]


def run_alone(job: Callable[[J], R], given: J) -> R:
    """`job(given)` in a process of its own, so that its memory is its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(job, given).result()


def wide_console() -> Console:
    """The terminal as it is, or lines long enough for the tables where the output goes to a file."""
    console = Console()
    return console if console.is_terminal else Console(width=140)


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    """The table for a person, then the same table in Markdown for the README."""
    table = Table(title=title, title_justify="left")
    for position, name in enumerate(header):
        table.add_column(name, justify="left" if position < 2 else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print(markdown(header, rows), markup=False, highlight=False, soft_wrap=True)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_json(path: Path, settings: Mapping[str, Any], cases: Sequence[Mapping[str, Any]]) -> None:
    """One line for the settings and one for each case, so that a change shows up where it belongs."""
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{{"settings": {json.dumps(settings, ensure_ascii=False)},\n"cases": [\n{lines}\n]}}\n')


def read_cases(path: Path, of: Callable[..., R]) -> list[R]:
    """The cases that `write_json` wrote, each made by `of`: none where there is no file."""
    return [of(**fields) for fields in json.loads(path.read_text(encoding="utf-8"))["cases"]] if path.exists() else []


def parser_of(
    module: str, doc: str | None, tables: Sequence[str] = (), epsilons: Sequence[float] = ()
) -> argparse.ArgumentParser:
    """The parser of `python -m module`: the folder of the Parquet files, and which `tables` and `epsilons` of these."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=(doc or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the Parquet files")
    if tables:
        parser.add_argument("--tables", type=_listed, default=list(tables), help="some of them, with commas")
    if epsilons:
        parser.add_argument("--epsilons", type=lambda text: list(map(float, _listed(text))), default=list(epsilons))
    return parser


def _listed(text: str) -> list[str]:
    return list(filter(None, text.split(",")))
