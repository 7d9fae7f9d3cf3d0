"""Several processes on one release, its ledger in PostgreSQL: one count, one answer to a query, one publication."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.kept import HARD, QUERIES, fitted
from support.ledgers import Shelf

import pcqr.release
from pcqr import BudgetExhausted
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import Asked

PROCESSES = 4


def together(act: Callable[[int], Any]) -> list[Any]:
    """What `act` returns in each of several processes that run at the same time."""
    pipes: list[int] = []
    pids: list[int] = []
    for number in range(PROCESSES):
        receive, send = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.write(send, json.dumps(act(number)).encode())
                code = 0
            finally:
                os._exit(code)
        os.close(send)
        pipes.append(receive)
        pids.append(pid)
    found = []
    for pipe, pid in zip(pipes, pids, strict=True):
        with os.fdopen(pipe, "rb") as outcome:
            found.append(outcome.read())
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return [json.loads(each) for each in found]


def asked(shelf: Shelf, number: int, rows: int) -> dict[str, tuple[str, int | None]]:
    release = pcqr.release.open(shelf.folder / "release", ledger=shelf.place(), anchor=shelf.anchor)
    rng, outcome = np.random.default_rng(number), {}
    for x in rng.permutation(np.concatenate([QUERIES, HARD]))[:rows, 0].tolist():
        try:
            answer = release.answer([x])
        except BudgetExhausted:
            continue
        outcome[repr(x)] = (answer.kind, answer.label)
    release.close()
    return outcome


@pytest.mark.parametrize("name", ["agnostic", "noisy max", "universal"])
def test_processes_that_ask_together_share_one_count(name: str, tables: Shelf) -> None:
    release = fitted(name)
    T, m = release.plan_.remaining.unstable, release.plan_.remaining.queries
    release.save(tables.folder / "release", ledger=tables.place(), anchor=tables.anchor).close()
    outcome = together(lambda number: asked(tables, number, 30))
    answers: dict[str, int | None] = {}
    decided = [x for each in outcome for x, (kind, _) in each.items() if kind in ("stable", "unstable")]
    assert len(decided) == len(set(decided)), "no query is decided twice"
    for each in outcome:
        for x, (kind, label) in each.items():
            if kind != "published":
                assert answers.setdefault(x, label) == label
    again = pcqr.release.open(tables.folder / "release", ledger=tables.place(), anchor=tables.anchor, read_only=True)
    assert again.queries_answered_ == len(decided)
    unstable = sum(kind == "unstable" for each in outcome for kind, _ in each.values())
    assert again.unstable_answers_ == unstable
    assert T is None or unstable <= T
    assert m is None or len(decided) <= m
    if name == "universal":
        assert again.is_published_
        assert len(decided) <= release.plan_.publish.after_queries
        assert not (tables.folder / "release" / "secret.pcqr").exists()
    again.close()


def test_an_allowance_is_one_for_all_processes(tables: Shelf) -> None:
    allowance = Usage(12, 3)

    def ask(number: int) -> list[int]:
        release = pcqr.release.open(tables.folder / "release", ledger=tables.place(), anchor=tables.anchor)
        quota_table, rng, outcome = release.quota_table(), np.random.default_rng(number), [0, 0]
        for x in rng.permutation(np.concatenate([QUERIES, HARD]))[:, None]:
            (found,) = release.ask_together([Asked(release.points(x), "ann", allowance)], quota_table)
            outcome[0] += any(reply.kind in ("stable", "unstable") for reply in found.replies)
            outcome[1] += any(reply.kind == "unstable" for reply in found.replies)
        release.close()
        return outcome

    fitted("agnostic", unstable=30).save(tables.folder / "release", ledger=tables.place(), anchor=tables.anchor).close()
    found = np.sum(together(ask), axis=0).tolist()
    again = pcqr.release.open(tables.folder / "release", ledger=tables.place(), anchor=tables.anchor)
    assert again.quota_table().usage("ann") == Usage(*found) == Usage(again.queries_answered_, again.unstable_answers_)
    assert found[0] == 12 or found[1] == 3, "and all of it can be had"
    assert found[0] <= 12
    assert found[1] <= 3
    again.close()
