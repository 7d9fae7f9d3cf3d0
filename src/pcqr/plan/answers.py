"""What a release says: an answer, what has been spent and is left, and what a batch of queries will cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from pcqr.documents import Document

Kind = Literal["stable", "unstable", "published", "repeated"]
L = TypeVar("L")


@dataclass(frozen=True)
class Usage(Document):
    """A number of queries and, among them, of unstable answers.

    `queries` is None where it has no limit, `unstable` where no answer can be unstable.
    """

    queries: int | None
    unstable: int | None

    @property
    def is_nothing(self) -> bool:
        """Is one of the two used up, so that no new query can be answered?"""
        return any(number is not None and number <= 0 for number in (self.queries, self.unstable))

    def __str__(self) -> str:
        queries = "any number of queries" if self.queries is None else counted(self.queries, "query", "queries")
        if self.unstable is None:
            return queries
        unstable = counted(self.unstable, "unstable answer")
        if self.queries is not None:
            return f"{queries} and {unstable}"
        return f"{unstable} and any number of stable ones" if self.unstable else unstable


def counted(number: int, one: str, many: str | None = None) -> str:
    """`number` with its noun, as one says it: 1 query, 2,000 queries."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


@dataclass(frozen=True)
class Answer(Document, Generic[L]):
    """One answer: `label` (None stands for ⊥), how it came about, and what has been spent and is left.

    `beyond_plan` is True past the planned number of queries: privacy holds, the accuracy bound was for fewer.
    """

    label: L | None
    kind: Kind
    spent: Usage
    remaining: Usage
    beyond_plan: bool = False


@dataclass(frozen=True, kw_only=True)
class BatchCost(Document):
    """What a batch of queries will cost, said before it is sent. It holds as long as nobody asks in between.

    The `requested` rows are `repeated` (asked before, or earlier in the batch: free), `new` (one vote each, at most
    one unstable answer each) or `published` (answered by the published classifier: free; should the unstable answers
    run out first, there will be more of these). ε and δ were charged at fit: the batch adds `epsilon` = `delta` = 0.

    The first `certain` rows get an answer, a label or ⊥, whatever the votes say: of `left`, each new query takes at
    most one unstable answer. `beyond_plan` counts new queries past the planned number.

    `expected_unstable` answers and `chance_of_halting` (that some row stays unanswered) come from the planner's model:
    estimates, not bounds, and None where there is no model. A chance that the counts alone settle is exactly 0 or 1.
    `unstable_range` is `expected_unstable` with the model as far off, to either side, as it was on real tables.
    """

    requested: int
    repeated: int
    new: int
    published: int
    certain: int
    left: Usage
    beyond_plan: int
    expected_unstable: float | None
    chance_of_halting: float | None
    unstable_range: tuple[float, float] | None = None
    epsilon: float = 0.0
    delta: float = 0.0

    @property
    def is_certain(self) -> bool:
        """Will every row be answered, whatever the votes say?"""
        return self.certain == self.requested

    @property
    def is_refused(self) -> bool:
        """Will some row stay unanswered, whatever the votes say?"""
        short = self.left.queries is not None and self.left.queries < self.new
        return not self.is_certain and (short or self.left.is_nothing)

    def __str__(self) -> str:
        kinds = [counted(self.new, "new query", "new queries")]
        kinds += [f"{self.repeated:,} repeated, from the log at no cost"] if self.repeated else []
        kinds += [f"{self.published:,} for the published classifier, at no cost"] if self.published else []
        lines = [
            f"{counted(self.requested, 'row')}: {'; '.join(kinds)}.",
            "The batch adds nothing to ε and δ: all of it is charged once, at fit.",
            (f"Left: {self.left}. " if self.new else "") + self._certainty(),
        ]
        if self.expected_unstable is not None and self.left.unstable is not None and self.new and not self.is_refused:
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
            return f"The release will halt before the last row; certain to be answered: {surely}."
        return f"An unstable answer takes one of them, a stable one none; certain to be answered: {surely}."

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
        return f", and a chance {shown} that the release halts before the last row"
