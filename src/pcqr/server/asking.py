"""Many requests in one turn of a release. An adapter, until releases answer together by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pcqr.algorithms.asking import Reply
from pcqr.errors import BudgetExhausted
from pcqr.plan import Answer, Usage
from pcqr.server.askers import NO_LIMIT


@dataclass(frozen=True)
class Asked:
    """The rows of one request, checked, and who asks."""

    points: Any
    asker: str | None = None
    allowance: Usage = NO_LIMIT
    token: bytes | None = None
    digest: bytes | None = None


@dataclass(frozen=True)
class Told:
    """The replies to one request. Fewer than rows: `stopped` says why."""

    replies: list[Reply[Any]]
    stopped: Literal["halted", "quota"] | None = None
    is_replay: bool = False


def ask_together(release: Any, asked: Sequence[Asked]) -> list[Told]:
    """Ask one by one."""
    return [_asked(release, each.points) for each in asked]


def _asked(release: Any, table: Any) -> Told:
    answers: list[Answer[Any]] = []
    halted = False
    try:
        answers.extend(release.answers(table))
    except BudgetExhausted as error:
        answers, halted = list(error.answers), True
    coins = release.predict(_first(table, len(answers))).tolist() if answers else []
    replies = [_reply(answer, coin) for answer, coin in zip(answers, coins, strict=True)]
    return Told(replies, "halted" if halted else None)


def _reply(answer: Answer[Any], coin: Any) -> Reply[Any]:
    spent, left = answer.spent, answer.remaining
    return Reply(
        answer.label,
        coin if answer.label is None else None,
        answer.kind,
        spent.queries or 0,
        spent.unstable or 0,
        left.queries,
        left.unstable,
        answer.beyond_plan,
    )


def _first(table: Any, rows: int) -> Any:
    return {name: cells[:rows] for name, cells in table.items()} if isinstance(table, dict) else table[:rows]
