"""The planner in a process of its own: it takes seconds of computing, which must not delay an answer, and can be ended.

From public numbers alone: nothing that is served is touched.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import OrderedDict
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Any

from pcqr import registry
from pcqr.advice.advice import Situation, advise
from pcqr.advice.question import Question, compare, estimator_of, recommend
from pcqr.advice.solving import Varied, curves, fewest
from pcqr.errors import PcqrError
from pcqr.server.errors import Refusal

SCHEMA = "pcqr.plan-service/1"
CLASSES = {"thresholds": 1, "intervals": 1, "stumps": None, "rectangles": None, "halfspaces": 2}
"""Classes that can be planned for within seconds, and how many columns they take; None: any number."""
SECONDS = 60.0
"""After which a process that has not answered is ended."""
WAIT_SECONDS = 20.0
"""For the question of somebody else."""
MOST_WAITING = 8
"""Whoever waits holds a place among the requests in flight, and those are for asking."""
_LOOK_SECONDS = 0.05
_REMEMBERED = 64
_NICER = 5


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What is asked of the planner: public numbers."""

    hypotheses: str
    features: int
    records: int
    epsilon: float
    delta: float
    queries: int
    alpha: float
    beta: float
    over: Varied | None

    @property
    def question(self) -> Question:
        known = asdict(self)
        known["features"] = CLASSES[known.pop("hypotheses")] or self.features
        del known["over"]
        family = registry.hypothesis_class(self.hypotheses)
        return Question(hypotheses=registry.resolve(family.make)(), **known)


_busy = Lock()
_waiting = 0
_responses: OrderedDict[Planned, bytes] = OrderedDict()
"""The last replies: they never change."""


async def planned(asked: Planned, *, seconds: float = SECONDS, wait_seconds: float = WAIT_SECONDS) -> bytes:
    """The reply as JSON, made by another process. One at a time: others wait, and are refused when that is long."""
    if asked in _responses:
        _responses.move_to_end(asked)
        return _responses[asked]
    await _until_free(time.monotonic() + wait_seconds)
    try:
        told = await _computed(asked, seconds)
    finally:
        _busy.release()
    _responses[asked] = told
    if len(_responses) > _REMEMBERED:
        _responses.popitem(last=False)
    return told


async def _until_free(end: float) -> None:
    """Wait until nobody else is computing, or refuse at `end`; at once where enough are waiting."""
    global _waiting  # noqa: PLW0603 - of this process, as the lock is
    if _busy.acquire(blocking=False):
        return
    _waiting += 1
    try:
        while _waiting <= MOST_WAITING and time.monotonic() <= end:
            await asyncio.sleep(_LOOK_SECONDS)
            if _busy.acquire(blocking=False):
                return
    finally:
        _waiting -= 1
    raise Refusal("overloaded", "The planner is busy with other questions. Please ask again in a few seconds.")


async def _computed(asked: Planned, seconds: float) -> bytes:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__, json.dumps(asdict(asked))),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        told, _ = await asyncio.wait_for(child.communicate(), seconds)
    except TimeoutError:
        raise Refusal("overloaded", "This plan takes too long. On the command line, pcqr plan has time.") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode != 0:
        raise Refusal("internal", "The planner failed.")
    if told.startswith(b'"'):
        raise Refusal("bad_value", json.loads(told))
    return told


def reply(asked: Planned) -> dict[str, Any]:
    """What is expected at one point and what a proof needs; or, with `over`, the same while that number varies."""
    told: dict[str, Any] = {"schema": SCHEMA, "asked": asdict(asked)}
    if asked.over is not None:
        return told | {"curves": asdict(curves(asked.question, asked.over))}
    question = asked.question
    options = compare(question.request())
    best = recommend(options, asked.alpha)
    situation = Situation(asked.records, asked.epsilon, asked.delta, asked.features, asked.queries)
    return told | {
        "algorithms": [
            {
                "algorithm": option.algorithm,
                "estimator": estimator_of(option),
                "proved": option.proved,
                "expected": None if option.expected is None else asdict(option.expected),
                "objection": option.objection,
            }
            for option in options
        ],
        "recommendation": {
            "estimator": None if best.option is None else estimator_of(best.option),
            "reason": best.reason,
        },
        "needed": fewest(question),
        "published": _published(situation),
    }


def _published(situation: Situation) -> dict[str, Any]:
    """The option that was best on real tables, with what it lost there: measured, no bound."""
    advice = advise(situation)
    found = advice.best.measured
    return {
        "method": advice.best.method.words,
        "estimator": advice.best.method.algorithm.estimator_name,
        "reason": advice.reason,
        "loss": None if found is None else found.loss,
        "tables": [] if found is None else list(found.tables),
        "n_times_epsilon": None if found is None else found.n_epsilon,
        "extrapolated": found is not None and found.extrapolated,
        "shortfall": advice.shortfall,
        "notes": list(advice.notes),
    }


def main(text: str) -> str:
    """The reply to a question as JSON; one string where the question is refused."""
    try:
        return json.dumps(reply(Planned(**json.loads(text))), ensure_ascii=False)
    except PcqrError as error:
        return json.dumps(str(error), ensure_ascii=False)


if __name__ == "__main__":
    os.nice(_NICER)
    print(main(sys.argv[1]))
