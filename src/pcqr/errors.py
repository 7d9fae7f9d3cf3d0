"""Every exception that pcqr raises, and every warning that it gives.

    PcqrError
    ├── ParameterError (ValueError)     a parameter outside what is allowed: its name, what is allowed, what came
    │   ├── MissingParameters           too many parameters left open: which, and how many to add
    │   └── OutputExists                an output file is there already: what it holds, and what going on means
    ├── DataError (ValueError)          records, labels or queries that cannot be used
    ├── InfeasiblePlan (ValueError)     no parameters meet (ε, δ) with this n, or paper mode needs more records
    ├── BudgetExhausted (RuntimeError)  the unstable answers (or, in paper mode, the queries) are used up
    └── MissingExtra (ImportError)      an optional dependency is not installed; the message says how to get it

    PcqrWarning (UserWarning)
    ├── NothingPublic                   columns of which nothing is known are cut at numbers that suit no table
    ├── PublicRowsCoincide              rows that were called public are rows of the private table, some of them
    ├── FittedAgain                     copies of one estimator were fitted several times: their ε may add up
    ├── WeakGuarantee                   a figure too large to mean much: said at `fit`, before anything is spent
    ├── UnansweredWarning               most of the planned queries are expected to get no label: said at `fit`, too
    └── Halted                          a score counts rows that got no answer as half right

Messages carry public values only: parameters, shapes and counts that the caller chose. They never carry a
record, a label of a record, a vote or a margin. Warnings neither; that `PublicRowsCoincide` appears at all depends on
the private records, as errors of `fit` do: it is for the data holder.
"""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pcqr.plan import Answer, Usage


class PcqrError(Exception):
    """The root of everything that pcqr raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Exceptions are rebuilt from their message by default, which ours do not take: worker processes need this."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class ParameterError(PcqrError, ValueError):
    """A parameter has a value that is not allowed. One wording for all: name, allowed, received."""

    def __init__(self, name: str, allowed: str, received: object) -> None:
        self.name = name
        self.allowed = allowed
        self.received = received
        super().__init__(f"{name} must be {allowed}; received {received!r}.")


class MissingParameters(ParameterError):
    """Too many parameters were left open: all of `missing`, where at most `most` may be. Says which to add."""

    def __init__(self, missing: Sequence[str], most: int) -> None:
        names = f"{', '.join(missing[:-1])} and {missing[-1]}"
        super().__init__(names, f"given, all but {most} of them", None)
        more = len(missing) - most
        self.args = (
            f"Too much is left open: {names} are missing, and at most {most} of them may be. "
            f"Add at least {'one' if more == 1 else more} of them.",
        )


class OutputExists(ParameterError):
    """An output file is there already, and nobody said that it may be replaced. `holds` says what is in it."""

    def __init__(self, path: object, holds: str = "", *, cost: str = "", option: str = "--out") -> None:
        super().__init__(option, "a new file", str(path))
        told = [
            f"{path} exists{holds and ': '}{holds}.",
            cost,
            f"Take another {option}, or add --overwrite to replace it.",
        ]
        self.args = (" ".join(filter(None, told)),)


class DataError(PcqrError, ValueError):
    """Data cannot be used as they are: NaN, infinities, a wrong width, labels that are not binary."""

    def __init__(self, name: str, allowed: str, received: str) -> None:
        self.name = name
        self.allowed = allowed
        self.received = received
        super().__init__(f"{name} must be {allowed}; received {received}.")


class InfeasiblePlan(PcqrError, ValueError):
    """No plan exists for these public numbers. `needed` names the nearest change that would make one."""

    def __init__(self, reason: str, needed: str) -> None:
        self.reason = reason
        self.needed = needed
        super().__init__(f"{reason} Nearest feasible change: {needed}.")


class BudgetExhausted(PcqrError, RuntimeError):
    """The release has halted: what was spent, what was requested, what is left, and every answer given so far.

    `requested` counts the rows that got no answer, `answers` those of the same call that did. A batch that must not be
    cut short can be refused beforehand: `release.preview(X).is_certain`.
    """

    def __init__(self, *, spent: Usage, requested: int, left: Usage, answers: Sequence[Answer[Any]] = ()) -> None:
        self.spent = spent
        self.requested = requested
        self.left = left
        self.answers = tuple(answers)
        rows = "1 more query" if requested == 1 else f"{requested:,} more queries"
        them, were = "it" if requested == 1 else "them", "was" if len(self.answers) == 1 else "were"
        given = f" ({len(self.answers):,} before {them} {were} answered: see .answers)" if self.answers else ""
        used_up = "the planned queries" if left.queries == 0 else "the unstable answers"
        super().__init__(
            f"The release has halted: {used_up} are used up. Spent: {spent}. Requested: {rows}{given}. "
            f"Left: {left}. Queries asked before are still answered from the log at no cost."
        )


class PcqrWarning(UserWarning):
    """The root of every warning that pcqr gives."""


class NothingPublic(PcqrWarning):
    """Neither public rows nor a schema were given: accuracy suffers, privacy does not."""


class PublicRowsCoincide(PcqrWarning):
    """Some of the public rows are private records, bit for bit. For the data holder alone."""


class FittedAgain(PcqrWarning):
    """An estimator, or copies of it, were fitted more than once. Each fit is a release and costs its own (ε, δ)."""


class Halted(PcqrWarning):
    """A release halted before the last row of what it was scored on."""


class MissingExtra(PcqrError, ImportError):
    """`purpose` needs packages that only the optional dependency group `extra` installs."""

    def __init__(self, purpose: str, extra: str) -> None:
        self.purpose = purpose
        self.extra = extra
        super().__init__(f"{purpose} needs an optional dependency: pip install 'pcqr[{extra}]'.")


class WeakGuarantee(PcqrWarning):
    """ε or δ is so large that the guarantee says little (`Guarantee.caveats`)."""


class UnansweredWarning(PcqrWarning):
    """Most of the planned queries are expected to get no label, by public numbers (`VotingPlan.expected_answers`)."""
