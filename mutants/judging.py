"""The verdicts on many changes, by one process or by several that share the files among them."""

from __future__ import annotations

import multiprocessing
import sys
import traceback
from collections.abc import Iterator, Sequence
from itertools import groupby
from multiprocessing.queues import SimpleQueue

from mutants.mirror import tests_for
from mutants.patterns import Change
from mutants.runner import COPIES, Copy, Proof, Verdict

Told = tuple[Change, Verdict] | str
FORK = multiprocessing.get_context("fork")


def judged(changes: Sequence[Change], jobs: int = 1) -> Iterator[tuple[Change, Verdict]]:
    """Each change with its verdict, as it comes: in order with one process, else file by file.

    A file's changes are judged by one process: tests prove themselves on the unchanged code once for all of them. The
    number of processes changes no verdict.
    """
    files = [list(own) for _, own in groupby(changes, key=lambda change: change.path)]
    if jobs == 1:
        judge = Judge(Copy(COPIES / "0"))
        yield from ((change, judge(change)) for own in files for change in own)
        return
    files.sort(key=len, reverse=True)  # the longest work first: the processes end at about the same time
    todo: SimpleQueue[list[Change] | None] = FORK.SimpleQueue()
    told: SimpleQueue[Told] = FORK.SimpleQueue()
    workers = [FORK.Process(target=_work, args=(number, todo, told), daemon=True) for number in range(jobs)]
    for worker in workers:
        worker.start()
    for own in [*files, *[None] * jobs]:
        todo.put(own)
    try:
        for _ in changes:
            found = told.get()
            if isinstance(found, str):
                sys.exit(found)
            yield found
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


def _work(number: int, todo: SimpleQueue[list[Change] | None], told: SimpleQueue[Told]) -> None:
    """Judge file after file in a copy of its own, until there is none, and report errors."""
    try:
        judge = Judge(Copy(COPIES / str(number)))
        while (own := todo.get()) is not None:
            for change in own:
                told.put((change, judge(change)))
    except BaseException:
        told.put(traceback.format_exc())


class Judge:
    """The verdict on a change: by the mirrors of its file first, by further tests only where those notice nothing.

    A test judges nothing unless it has passed on the code as it is.
    """

    def __init__(self, copy: Copy) -> None:
        copy.prepare()
        self._copy = copy
        self._proof = Proof()
        self._proved: set[str] = set()

    def __call__(self, change: Change) -> Verdict:
        verdict = Verdict(None, 0.0)
        for tests in filter(None, tests_for(change.path)):
            self._prove(tests)
            verdict = self._copy.judge(change, tests, self._proof)
            if verdict.caught_by is not None:
                break
        return verdict

    def _prove(self, tests: list[str]) -> None:
        if unproved := [test for test in tests if test not in self._proved]:
            proof = self._copy.prove(unproved)
            for name in sorted(proof.failed):
                print(f"fails without any change, and judges nothing: {name}", flush=True)
            self._proved.update(unproved)
            self._proof |= proof
