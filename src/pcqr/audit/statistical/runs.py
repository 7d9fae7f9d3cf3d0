"""Running a mechanism as a black box, many times, on several processors."""

from __future__ import annotations

import itertools
import multiprocessing
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pcqr.entropy import Entropy, SystemEntropy
from pcqr.guarantee import Guarantee

Mechanism = Callable[[Any, Entropy], Hashable]
"""(private data, entropy) → everything that an observer sees, in a form that can be counted."""

CHUNK = 250
"""Runs in one task of a worker: a fraction of a second, so that progress is seen."""

A = TypeVar("A")
R = TypeVar("R")


class Submit(Protocol):
    """Runs a function on every task and yields (position of the task, result) as they come."""

    def __call__(self, function: Callable[[A], R], tasks: Sequence[A], /) -> Iterator[tuple[int, R]]: ...


@dataclass(frozen=True)
class Subject:
    """What is audited: a mechanism, a pair of neighbours, and what is claimed.

    `mechanism` must be picklable, and so must the neighbours `first` and `second`: the private data in whatever
    form the mechanism takes it. It is handed the operating system's entropy.
    """

    name: str
    claim: Guarantee
    mechanism: Mechanism
    first: Any
    second: Any


@dataclass(frozen=True)
class Task:
    """`count` runs of `mechanism` on `data`."""

    mechanism: Mechanism
    data: Any
    count: int


def observe(mechanism: Mechanism, data: Any, entropy: Entropy) -> Hashable:
    """One run. An exception is seen like any other outcome, with its type and its text."""
    try:
        return mechanism(data, entropy)
    except Exception as error:
        return ("raised", type(error).__name__, str(error))


def tally(task: Task) -> Counter[Hashable]:
    """The outcomes of a task, counted."""
    entropy = SystemEntropy()
    return Counter(observe(task.mechanism, task.data, entropy) for _ in range(task.count))


def split(mechanism: Mechanism, data: Any, count: int) -> list[Task]:
    """`count` runs in tasks of at most `CHUNK`."""
    return [Task(mechanism, data, min(CHUNK, count - done)) for done in range(0, count, CHUNK)]


def here(function: Callable[[A], R], tasks: Sequence[A]) -> Iterator[tuple[int, R]]:
    """`Submit` in this process."""
    return enumerate(map(function, tasks))


@contextmanager
def processes(workers: int) -> Iterator[Submit]:
    """`Submit` on so many processes of their own.

    They are started afresh, never forked: a forked generator of random bits could repeat itself.
    """
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:

        def submit(function: Callable[[A], R], tasks: Sequence[A]) -> Iterator[tuple[int, R]]:
            positions = {pool.submit(function, task): position for position, task in enumerate(tasks)}
            for done in as_completed(positions):
                yield positions[done], done.result()

        yield submit


def tallies(
    groups: Sequence[Sequence[Task]], submit: Submit, advance: Callable[[int], None]
) -> list[Counter[Hashable]]:
    """The outcomes of each group of tasks, all tasks in one queue; `advance` hears of every run that is done."""
    owner = [index for index, group in enumerate(groups) for _ in group]
    tasks = list(itertools.chain.from_iterable(groups))
    totals: list[Counter[Hashable]] = [Counter() for _ in groups]
    for position, counted in submit(tally, tasks):
        totals[owner[position]].update(counted)
        advance(tasks[position].count)
    return totals
