"""What a release says: an answer, what has been spent and is left, and what a batch of queries will cost."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from pcqr.hypotheses.base import Points
from pcqr.serialization import Document
from pcqr.serialization.codec import later

Kind = Literal["stable", "unstable", "published", "repeated"]
L = TypeVar("L")
LIKELY = 0.5
"""The least chance at which a batch is expected to exhaust its release."""


@dataclass(frozen=True)
class Usage(Document):
    """A number of queries and, among them, of unstable answers or of labels.

    Parameters
    ----------
    queries : int or None
        The queries; None where their number has no limit.
    unstable : int or None
        The unstable answers; None where no answer can be one, or where their number has no limit.
    labels : int or None, default None
        The labels; None where their number has no limit of its own.

    Examples
    --------
    >>> from pcqr.releases.protocol.answers import Usage
    >>> print(Usage(12, 5))
    12 queries and 5 unstable answers
    >>> print(Usage(None, 3))
    3 unstable answers and any number of stable ones
    >>> Usage(640, None, labels=286)
    Usage(queries=640, unstable=None, labels=286)
    """

    queries: int | None
    unstable: int | None
    labels: int | None = later(None)

    @property
    def is_nothing(self) -> bool:
        """Is one of them used up, so that no new query can be answered?"""
        return any(number is not None and number <= 0 for number in (self.queries, self.unstable, self.labels))

    def at_most(self, other: Usage | None) -> Usage:
        """Return what both this and `other` allow: the smaller of each two numbers. `other` may be None."""
        if other is None:
            return self
        pairs = ((self.queries, other.queries), (self.unstable, other.unstable), (self.labels, other.labels))
        return Usage(*(min((each for each in pair if each is not None), default=None) for pair in pairs))

    def __repr__(self) -> str:
        labels = "" if self.labels is None else f", labels={self.labels}"
        return f"{type(self).__name__}(queries={self.queries}, unstable={self.unstable}{labels})"

    def __str__(self) -> str:
        queries = "any number of queries" if self.queries is None else counted(self.queries, "query", "queries")
        if self.labels is not None:
            unstable = "" if self.unstable is None else f", {counted(self.unstable, 'unstable answer')}"
            return f"{queries}{unstable} and {counted(self.labels, 'label')}"
        if self.unstable is None:
            return queries
        unstable = counted(self.unstable, "unstable answer")
        if self.queries is not None:
            return f"{queries} and {unstable}"
        return f"{unstable} and any number of stable ones" if self.unstable else unstable


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun, as one says it.

    Parameters
    ----------
    number : int
        How many.
    one : str
        The noun for one of them.
    many : str, optional
        The noun for several; None adds an s.

    Returns
    -------
    str

    Examples
    --------
    >>> from pcqr.releases.protocol.answers import counted
    >>> counted(1, "query", "queries"), counted(2_000, "query", "queries"), counted(3, "row")
    ('1 query', '2,000 queries', '3 rows')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


@dataclass(frozen=True)
class Answer(Document, Generic[L]):
    """One answer to one query.

    Parameters
    ----------
    label : label or None
        None stands for ⊥: no label.
    kind : {"stable", "unstable", "published", "repeated"}
        How it came about.
    spent, remaining : Usage
        What has been spent, this answer included, and what is left.
    beyond_plan : bool, default False
        Is it past the planned number m of queries? Privacy holds; the accuracy bound was for fewer.

    Examples
    --------
    >>> from pcqr import Answer
    >>> from pcqr.releases.protocol.answers import Usage
    >>> answer = Answer(None, "unstable", spent=Usage(4, 1), remaining=Usage(None, 6))
    >>> answer.label is None, str(answer.remaining)
    (True, '6 unstable answers and any number of stable ones')
    """

    label: L | None
    kind: Kind
    spent: Usage
    remaining: Usage
    beyond_plan: bool = False


@dataclass(frozen=True, kw_only=True)
class BatchCost(Document):
    """What a batch of queries will cost, said before it is sent. It holds as long as nobody asks in between.

    The rows that are asked for are repeated, new or published. ε and δ were charged at `fit`: the batch adds nothing.

    Parameters
    ----------
    requested : int
        The rows of the batch.
    repeated : int
        Rows asked before, or earlier in the batch: free.
    new : int
        Rows that are put to the vote; each takes at most one unstable answer.
    published : int
        Rows that the published classifier answers: free. Should the unstable answers run out first, there will be more.
    certain : int
        The first so many rows get an answer, a label or ⊥, whatever the votes say.
    left : Usage
        What is left before the batch.
    beyond_plan : int
        New queries past the planned number m.
    expected_unstable : float or None
        Unstable answers that the planner's model expects: an estimate, not a bound. None where there is no model.
    chance_of_halting : float or None
        The chance, by the model, that some row stays unanswered. Exactly 0 or 1 where the counts alone settle it.
    unstable_range : (float, float) or None, default None
        `expected_unstable` with the model as far off, to either side, as it was on real tables.
    epsilon, delta : float, default 0.0
        What the batch adds to ε and δ: nothing.
    quota : Usage or None, default None
        What the asker's quota has left before the batch, which counts beside `remaining`. None: there is no quota.
    chance_of_exhausting : float or None, default None
        The chance, by the model, that the batch uses up the release for everybody. Without a quota it is
        `chance_of_halting`. None where there is no model, and it is possible.

    Examples
    --------
    >>> from pcqr.releases.protocol.answers import BatchCost, Usage
    >>> cost = BatchCost(
    ...     requested=3, repeated=1, new=2, published=0, certain=3, remaining=Usage(None, 6),
    ...     beyond_plan=0, expected_unstable=0.2, chance_of_halting=0.0,
    ... )
    >>> cost.is_certain
    True
    >>> print(cost)
    3 rows: 2 new queries; 1 repeated, from the log at no cost.
    The batch adds nothing to ε and δ: all of it is charged once, at fit.
    Remaining: 6 unstable answers and any number of stable ones. Every row will be answered.
    The planner's model, an estimate and not a bound, expects about 0.2 unstable answers.
    """

    requested: int
    repeated: int
    new: int
    published: int
    certain: int
    remaining: Usage
    beyond_plan: int
    expected_unstable: float | None
    chance_of_halting: float | None
    unstable_range: tuple[float, float] | None = None
    epsilon: float = 0.0
    delta: float = 0.0
    quota: Usage | None = later(None)  # noqa: RUF009  (None, and not in older documents)
    chance_of_exhausting: float | None = later(None)

    @property
    def is_certain(self) -> bool:
        """Will every row be answered, whatever the votes say?"""
        return self.certain == self.requested

    @property
    def is_refused(self) -> bool:
        """Will some row stay unanswered, whatever the votes say?"""
        return not self.is_certain and self._ends(self.remaining.at_most(self.quota))

    @property
    def is_exhausting(self) -> bool:
        """Is the batch expected to exhaust the release, which is not exhausted yet? Ask for a confirmation then.

        True where the model finds it at least as likely as not, or, where there is no model, where it is possible and
        the batch has more new queries than were planned: a function of the transcript and of public numbers.
        """
        chance = self.chance_of_exhausting
        is_expected = self.beyond_plan > 0 and not self.is_certain if chance is None else chance >= LIKELY
        return is_expected and not self.remaining.is_nothing

    def __str__(self) -> str:
        kinds = [counted(self.new, "new query", "new queries")]
        kinds += [f"{self.repeated:,} repeated, from the log at no cost"] if self.repeated else []
        kinds += [f"{self.published:,} for the published classifier, at no cost"] if self.published else []
        lines = [
            f"{counted(self.requested, 'row')}: {'; '.join(kinds)}.",
            "The batch adds nothing to ε and δ: all of it is charged once, at fit.",
            (f"Remaining: {self.remaining}.{self._quota()} " if self.new else "") + self._certainty(),
        ]
        can_abstain = self.remaining.unstable is not None or self.remaining.labels is not None
        if self.expected_unstable is not None and can_abstain and self.new and not self.is_refused:
            lines.append(
                "The planner's model, an estimate and not a bound, expects about "
                f"{self.expected_unstable:,.1f} unstable answers{self._range()}{self._halting()}."
            )
        if self.beyond_plan:
            lines.append(f"Beyond the number for which accuracy was planned: {self.beyond_plan:,} of the new queries.")
        return "\n".join(lines)

    def _certainty(self) -> str:
        if self.is_certain:
            return "Every row will be answered."
        surely = "no row" if not self.certain else "the first " + counted(self.certain, "row").removeprefix("1 ")
        if self.is_refused:
            ends = "release will be exhausted" if self._ends(self.remaining) else "key's quota will end"
            return f"The {ends} before the last row; certain to be answered: {surely}."
        takes = "An unstable answer takes one of them, a stable one none"
        if self.remaining.labels is not None:
            takes = "A label takes one of the labels, an unstable answer none"
        return f"{takes}; certain to be answered: {surely}."

    def _ends(self, usage: Usage) -> bool:
        """Is there too little of `usage` for the new queries, whatever the votes say?"""
        return usage.is_nothing or (usage.queries is not None and usage.queries < self.new)

    def _quota(self) -> str:
        return "" if self.quota is None else f" Remaining of this key's quota: {self.quota}."

    def _range(self) -> str:
        if self.unstable_range is None:
            return ""
        least, most = self.unstable_range
        return f" ({least:,.1f} to {most:,.1f}, as far off as it was on real tables)"

    def _halting(self) -> str:
        if self.is_certain or self.chance_of_halting is None:
            return ""
        chance = self.chance_of_halting
        shown = "below 0.001" if chance < 0.001 else "above 0.999" if chance > 0.999 else f"of {chance:.2g}"
        who = "release is exhausted" if self.quota is None else "release is exhausted, or the key's quota ends,"
        return f", and a chance {shown} that the {who} before the last row"


# ---------------------------------------------------------------------------------------------------------------------
# What a batch of queries will cost: counting, before anything is sent.
#
# Everything here is a function of public values: which rows are new to the log, what is left, what was planned. No
# labeller, no entropy and no record is within reach, so nothing can be spent (proofs/priv_class.md).


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
    remaining: Usage,
    planned: int,
    unstable_share: float | None,
    votes_remaining: int | None = None,
    quota: Usage | None = None,
) -> BatchCost:
    """The cost of a batch whose new rows are marked by `is_new`.

    `planned` new queries are within the plan. After `votes_remaining` new queries a classifier is published (None:
    never), or earlier, when the unstable answers run out: such a release never halts. p = `unstable_share` is the
    predicted chance that a new query is unstable; the model takes new queries to be independent, though they share
    their teachers and often a noisy threshold: a small chance of halting is not to be relied on.

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
    voted = rows if votes_remaining is None else int((earlier < votes_remaining).sum())
    new = int(is_new[:voted].sum())
    both = remaining.at_most(quota)
    allowed = new if both.queries is None else min(new, both.queries)
    ends = both if votes_remaining is None else quota or Usage(None, None)  # a release that publishes does not halt
    surely = min(number for number in (new, ends.queries, ends.unstable, ends.labels) if number is not None)
    certain = int((earlier + is_new <= surely)[:voted].sum())
    certain = rows if certain == voted else certain
    return BatchCost(
        requested=rows,
        repeated=voted - new,
        new=new,
        published=rows - voted,
        certain=certain,
        remaining=remaining,
        beyond_plan=max(0, new - planned),
        expected_unstable=None if unstable_share is None else _expected_unstable(allowed, both, unstable_share),
        chance_of_halting=0.0 if certain == rows else _chance_of_halting(new, ends, unstable_share),
        quota=quota,
        chance_of_exhausting=0.0
        if votes_remaining is not None
        else _chance_of_exhausting(new, remaining, quota, unstable_share),
    )


def with_range(cost: BatchCost, shares: tuple[float, float] | None) -> BatchCost:
    """`cost` with the unstable answers that the least and the largest of `shares` let one expect; None: as it is."""
    if shares is None:
        return cost
    both = cost.remaining.at_most(cost.quota)
    asked = cost.new if both.queries is None else min(cost.new, both.queries)
    least, most = (_expected_unstable(asked, both, share) for share in shares)
    return replace(cost, unstable_range=(least, most))


def _expected_unstable(asked: int, remaining: Usage, share: float) -> float:
    if remaining.labels is not None:
        labels = _expected(asked, remaining.labels, 1.0 - share)
        return share * asked if share == 1.0 else labels * share / (1.0 - share)
    return 0.0 if remaining.unstable is None else _expected(asked, remaining.unstable, share)


def _expected(asked: int, limit: int, share: float) -> float:
    """E[min(limit, Bin(asked, share))]."""
    return float(bdtrc(np.arange(min(limit, asked)), asked, share).sum())


def _chance_of_exhausting(new: int, remaining: Usage, quota: Usage | None, share: float | None) -> float | None:
    """Return the chance that the batch exhausts the release before its last row."""
    asked = new if quota is None or quota.queries is None else min(new, quota.queries + 1)
    own = None if quota is None else quota.unstable
    if (
        own is not None and remaining.unstable is not None and own < remaining.unstable
    ):  # unstable answers end with the quota
        remaining = replace(remaining, unstable=None)
    else:
        own = None
    if (
        all(number is None or asked <= number for number in (remaining.queries, remaining.unstable, remaining.labels))
        or own == 0
    ):
        return 1.0 if remaining.is_nothing and new else 0.0
    if own is None or remaining.queries is None or remaining.queries == 0:
        return _chance_of_halting(asked, remaining, share)
    before_last = remaining.queries - 1
    return None if share is None else float(bdtr(min(own - 1, before_last), before_last, share))


def _chance_of_halting(new: int, remaining: Usage, share: float | None) -> float | None:
    if (remaining.queries is not None and remaining.queries < new) or remaining.is_nothing:
        return 1.0
    if share is None:
        return None
    unstable = 0.0 if remaining.unstable is None else float(bdtrc(remaining.unstable - 1, new - 1, share))
    labels = 0.0 if remaining.labels is None else float(bdtrc(remaining.labels - 1, new - 1, 1.0 - share))
    return min(1.0, unstable + labels)
