"""What many rows will cost, from public facts: so many that no request takes them all.

The server says of each row whether it was asked before. All else is counted here, as a release does it
(`pcqr.algorithms.preview`): what is left, what was planned and when a classifier is published are public.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pcqr.algorithms.preview import batch_cost, keys, with_range
from pcqr.client.replies import Facts
from pcqr.plan import BatchCost, Usage


def new_rows(pieces: Iterable[tuple[NDArray[np.float64], Sequence[bool]]]) -> NDArray[np.bool_]:
    """Which rows were neither asked before (`known`, of the rows of each piece) nor are equal to an earlier one."""
    seen: set[bytes] = set()
    marks: list[bool] = []
    for points, known in pieces:
        for key, is_known in zip(keys(points), known, strict=True):
            marks.append(not is_known and key not in seen)
            seen.add(key)
    return np.array(marks, dtype=np.bool_)


def cost_of_many(is_new: NDArray[np.bool_], facts: Facts, quota: Usage | None = None) -> BatchCost:
    """Return the cost that `preview` of the release states for a key with this quota, if nobody asks in between."""
    asked, votes_left = facts.spent.queries or 0, _votes_left(facts)
    cost = batch_cost(
        is_new,
        left=facts.left,
        planned=max(0, (facts.planned or 0) - asked),
        unstable_share=facts.unstable_share,
        votes_left=votes_left,
        quota=quota,
    )
    cost = with_range(cost, facts.unstable_range)
    return cost if votes_left is None else replace(cost, left=replace(cost.left, queries=None))


def _votes_left(facts: Facts) -> int | None:
    """The new queries after which a published classifier answers. None: there will be none."""
    if facts.kind == "model" or facts.state == "published":
        return 0
    if facts.publishes_after is None:
        return None
    return max(1, facts.publishes_after - (facts.spent.queries or 0))
