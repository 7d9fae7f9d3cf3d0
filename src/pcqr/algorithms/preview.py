"""What a batch of queries will cost: counting, before anything is sent.

Everything here is a function of public values: which rows are new to the log, what is left, what was planned. No
labeller, no entropy and no record is within reach, so nothing can be spent (proofs/priv_class.md).
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from pcqr.hypotheses.base import Points
from pcqr.plan import BatchCost, Usage


def key(x: Points) -> bytes:
    """What tells queries apart: the bits of the point."""
    return (x + 0.0).tobytes()  # −0.0 + 0.0 is 0.0: the two zeros are one query


def keys(X: Points) -> list[bytes]:
    """The `key` of every row."""
    return [row.tobytes() for row in X + 0.0]


def new_rows(X: Points, log: Container[bytes]) -> NDArray[np.bool_]:
    """Which rows of `X` are neither in the `log` nor equal to an earlier row of `X`."""
    seen: set[bytes] = set()
    marks = np.zeros(X.shape[0], dtype=np.bool_)
    for i, this in enumerate(keys(X)):
        marks[i] = this not in seen and this not in log
        seen.add(this)
    return marks


def batch_cost(
    is_new: NDArray[np.bool_],
    *,
    left: Usage,
    planned: int,
    unstable_share: float | None,
    votes_left: int | None = None,
    quota: Usage | None = None,
) -> BatchCost:
    """The cost of a batch whose new rows are marked by `is_new`.

    `planned` new queries are within the plan. After `votes_left` new queries a classifier is published (None: never),
    or earlier, when the unstable answers run out: such a release never halts. p = `unstable_share` is the predicted
    chance that a new query is unstable; the model takes new queries to be independent, though they share their teachers
    and often a noisy threshold: a small chance of halting is not to be relied on.

    With u unstable answers left and b new queries, b ≤ `left.queries`: the last of them is answered unless u of the
    b − 1 before it were unstable, P(Bin(b−1, p) ≥ u), and E[min(u, Bin(b, p))] = Σ_{j<u} P(Bin(b, p) > j). With ℓ
    labels left likewise, 1 − p for p: a share p of the queries that are asked is unstable, and E[min(ℓ, Bin(b, 1−p))]
    are not (Wald). Where neither has a limit, `left.queries` alone decides.

    `quota` is what the asker may still have: every new row counts against it, too, so that the smaller number decides.
    The release is used up by the rows that the quota lets through, and not at all where it lets fewer unstable answers
    through than the release has.
    """
    rows = is_new.shape[0]
    earlier: NDArray[np.int64] = np.cumsum(is_new, dtype=np.int64) - is_new  # new rows before each row
    voted = rows if votes_left is None else int((earlier < votes_left).sum())
    new = int(is_new[:voted].sum())
    both = left.at_most(quota)
    allowed = new if both.queries is None else min(new, both.queries)
    ends = both if votes_left is None else quota or Usage(None, None)  # a release that publishes does not halt
    surely = min(number for number in (new, ends.queries, ends.unstable, ends.labels) if number is not None)
    certain = int((earlier + is_new <= surely)[:voted].sum())
    certain = rows if certain == voted else certain
    return BatchCost(
        requested=rows,
        repeated=voted - new,
        new=new,
        published=rows - voted,
        certain=certain,
        left=left,
        beyond_plan=max(0, new - planned),
        expected_unstable=None if unstable_share is None else _expected_unstable(allowed, both, unstable_share),
        chance_of_halting=0.0 if certain == rows else _chance_of_halting(new, ends, unstable_share),
        quota=quota,
        chance_of_exhausting=0.0 if votes_left is not None else _chance_of_exhausting(new, left, quota, unstable_share),
    )


def with_range(cost: BatchCost, shares: tuple[float, float] | None) -> BatchCost:
    """`cost` with the unstable answers that the least and the largest of `shares` let one expect; None: as it is."""
    if shares is None:
        return cost
    both = cost.left.at_most(cost.quota)
    asked = cost.new if both.queries is None else min(cost.new, both.queries)
    least, most = (_expected_unstable(asked, both, share) for share in shares)
    return replace(cost, unstable_range=(least, most))


def _expected_unstable(asked: int, left: Usage, share: float) -> float:
    if left.labels is not None:
        labels = _expected(asked, left.labels, 1.0 - share)
        return share * asked if share == 1.0 else labels * share / (1.0 - share)
    return 0.0 if left.unstable is None else _expected(asked, left.unstable, share)


def _expected(asked: int, limit: int, share: float) -> float:
    """E[min(limit, Bin(asked, share))]."""
    return float(bdtrc(np.arange(min(limit, asked)), asked, share).sum())


def _chance_of_exhausting(new: int, left: Usage, quota: Usage | None, share: float | None) -> float | None:
    """Return the chance that the batch exhausts the release before its last row."""
    asked = new if quota is None or quota.queries is None else min(new, quota.queries + 1)
    own = None if quota is None else quota.unstable
    if own is not None and left.unstable is not None and own < left.unstable:  # unstable answers end with the quota
        left = replace(left, unstable=None)
    else:
        own = None
    if all(number is None or asked <= number for number in (left.queries, left.unstable, left.labels)) or own == 0:
        return 1.0 if left.is_nothing and new else 0.0
    if own is None or left.queries is None or left.queries == 0:
        return _chance_of_halting(asked, left, share)
    return None if share is None else float(bdtr(own - 1, left.queries - 1, share))


def _chance_of_halting(new: int, left: Usage, share: float | None) -> float | None:
    if (left.queries is not None and left.queries < new) or left.is_nothing:
        return 1.0
    if share is None:
        return None
    unstable = 0.0 if left.unstable is None else float(bdtrc(left.unstable - 1, new - 1, share))
    labels = 0.0 if left.labels is None else float(bdtrc(left.labels - 1, new - 1, 1.0 - share))
    return min(1.0, unstable + labels)
