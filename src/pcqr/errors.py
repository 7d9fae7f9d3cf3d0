"""Every exception that pcqr raises, and every warning that it gives; those about a server: `pcqr.client.errors`.

    PcqrError
    ├── ParameterError (ValueError)     a parameter outside what is allowed: its name, what is allowed, what came
    │   ├── MissingParameters           too many parameters left open: which, and how many to add
    │   ├── OutputExists                an output file is there already: what it holds, and what going on means
    │   └── Undecided                   a command needs a decision that an option states, such as --no-account
    ├── DataError (ValueError)          records, labels or queries that cannot be used
    ├── InfeasiblePlan (ValueError)     no parameters meet (ε, δ) with this n, or paper mode needs more records
    ├── BudgetExhausted (RuntimeError)  the unstable answers (or, in paper mode, the queries) are used up
    ├── CopyCannotAnswer (RuntimeError) a copy of a release was asked something new: it answers from its log alone
    ├── LedgerError (RuntimeError)      what outlives a process cannot be opened, read or written: why, the remedy
    │   ├── NotALedger                  no ledger is there, or one for another purpose
    │   ├── OtherVersion                it was written by another version of pcqr
    │   ├── LedgerInUse                 another writer has it, or a copy of it
    │   ├── LedgerUnwritable            full or read-only disk, no permission; what became of a turn is then not known
    │   ├── LedgerClosed                it was closed, or closed itself after such a failure: open it again
    │   ├── LedgerDamaged               its database or its chain is broken
    │   ├── LedgerRolledBack            an older copy: it lacks what was last replied
    │   ├── LedgerUnconfirmed           it ends in a turn that no writer has confirmed: nothing to show yet
    │   ├── AnchorMissing               nothing says what was last replied: a person must decide
    │   ├── AccountReplaced             another account was made at its place since
    │   └── ReleaseError                a directory holds no release, or one whose files do not belong together
    ├── AccountExhausted (RuntimeError) an account has no room for one more release; nothing was drawn or charged
    ├── SecretError (RuntimeError)      what must be kept secret is missing, edited, open to others, or lacks its key
    └── MissingExtra (ImportError)      an optional dependency is not installed; the message says how to get it

    PcqrWarning (UserWarning)
    ├── NothingPublic                   columns of which nothing is known are cut at numbers that suit no table
    ├── PublicRowsCoincide              rows that were called public are rows of the private table, some of them
    ├── NearUnique                      a column of the schema is an identifier or free text, by the public rows
    ├── NoGpu                           a GPU was asked for, and there is none: the CPU computes the same
    ├── FittedAgain                     copies of one estimator were fitted several times: their ε may add up
    ├── UnfinishedSave                  a save that was stopped had left files with secrets, and they were removed
    ├── WeakGuarantee                   a figure too large to mean much: said at `fit`, before anything is spent
    ├── NothingLearned                  n·ε is so small that the most common label is all to expect: said at `fit`, too
    ├── UnansweredWarning               most of the planned queries are expected to get no label: said at `fit`, too
    └── Exhausted                       a score counts rows that got no answer as half right

Messages carry public values only: parameters, shapes and counts that the caller chose. They never carry a
record, a label of a record, a vote or a margin. Warnings neither; that `PublicRowsCoincide` appears at all depends on
the private records, as errors of `fit` do: it is for the data holder.
"""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pcqr.addresses import without_password

if TYPE_CHECKING:
    from pcqr.releases.protocol.answers import Answer, Usage


class PcqrError(Exception):
    """The root of everything that pcqr raises on purpose.

    Examples
    --------
    >>> from pcqr import PcqrError, SubsampleAggregate
    >>> try:
    ...     SubsampleAggregate(epsilon=-1.0).fit([[0.0], [1.0]], [0, 1])
    ... except PcqrError as error:
    ...     print(type(error).__name__)
    ParameterError
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Exceptions are rebuilt from their message by default, which ours do not take: worker processes need this."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class ParameterError(PcqrError, ValueError):
    """A parameter has a value that is not allowed. One wording for all: name, allowed, received.

    Parameters
    ----------
    name : str
        The parameter.
    allowed : str
        What it must be, in words.
    received : object
        What came instead.

    Examples
    --------
    >>> from pcqr import ParameterError, SeededEntropy
    >>> SeededEntropy(0).below(0, size=1)
    Traceback (most recent call last):
        ...
    pcqr.errors.ParameterError: bound must be an integer in [1, 2**62); received 0.
    >>> try:
    ...     SeededEntropy(0).below(0, size=1)
    ... except ParameterError as error:
    ...     print(error.name, error.received)
    bound 0
    """

    def __init__(self, name: str, allowed: str, received: object) -> None:
        self.name = name
        self.allowed = allowed
        self.received = without_password(received) if isinstance(received, str) else received
        super().__init__(f"{name} must be {allowed}; received {self.received!r}.")


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


class Undecided(ParameterError):
    """A command needs an option that states a decision: `reason` says what would happen, `remedy` what to add."""

    def __init__(self, option: str, reason: str, remedy: str) -> None:
        super().__init__(option, "given", None)
        self.reason = reason
        self.remedy = remedy
        self.args = (f"{reason} {remedy}",)


class DataError(PcqrError, ValueError):
    """Data cannot be used as they are: NaN, infinities, a wrong width, labels that are not binary.

    The message speaks of shapes and kinds and never quotes a value: data may be private.

    Parameters
    ----------
    name : str
        What the data are called.
    allowed : str
        What they must be, in words.
    received : str
        What came instead, in words.

    Examples
    --------
    >>> from pcqr import DataError
    >>> from pcqr.hypotheses import Thresholds
    >>> try:
    ...     Thresholds().learn([1.0, float("nan")], [0, 1])
    ... except DataError as error:
    ...     print(error)
    X must be finite numbers; received NaN or infinity.
    """

    def __init__(self, name: str, allowed: str, received: str) -> None:
        self.name = name
        self.allowed = allowed
        self.received = received
        super().__init__(f"{name} must be {allowed}; received {received}.")


class InfeasiblePlan(PcqrError, ValueError):
    """No plan exists for these public numbers.

    Parameters
    ----------
    reason : str
        Why there is none.
    needed : str
        The nearest change that would make one.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import InfeasiblePlan, SubsampleAggregate
    >>> X = np.arange(200.0).reshape(-1, 1)
    >>> try:
    ...     SubsampleAggregate(epsilon=0.1).fit(X, X[:, 0] > 100)
    ... except InfeasiblePlan as error:
    ...     print(error.needed)
    about n ≥ 850 records at these ε and δ, or a larger ε
    """

    def __init__(self, reason: str, needed: str) -> None:
        self.reason = reason
        self.needed = needed
        super().__init__(f"{reason} Nearest feasible change: {needed}.")


class BudgetExhausted(PcqrError, RuntimeError):
    """The release is exhausted. The error says what was spent and keeps every answer given so far.

    A batch that must not be cut short can be refused beforehand: `release.preview(X).is_certain`.

    Parameters
    ----------
    spent : Usage
        Queries and unstable answers so far.
    requested : int
        The rows that got no answer.
    remaining : Usage
        What is left.
    answers : sequence of Answer, default ()
        The answers to the rows of the same call before them.

    Examples
    --------
    >>> from pcqr import BudgetExhausted
    >>> from pcqr.releases.protocol.answers import Usage
    >>> print(BudgetExhausted(spent=Usage(12, 5), requested=3, remaining=Usage(None, 0)))
    The release is exhausted: the unstable answers are used up. Spent: 12 queries and 5 unstable answers.
    Requested: 3 more queries. Remaining: 0 unstable answers. Queries asked before are still answered from the log
    at no cost.
    """

    def __init__(self, *, spent: Usage, requested: int, remaining: Usage, answers: Sequence[Answer[Any]] = ()) -> None:
        self.spent = spent
        self.requested = requested
        self.remaining = remaining
        self.answers = tuple(answers)
        rows = "1 more query" if requested == 1 else f"{requested:,} more queries"
        them, were = "it" if requested == 1 else "them", "was" if len(self.answers) == 1 else "were"
        given = f" ({len(self.answers):,} before {them} {were} answered: see .answers)" if self.answers else ""
        these = (
            "planned queries" if remaining.queries == 0 else "labels" if remaining.labels == 0 else "unstable answers"
        )
        super().__init__(
            f"The release is exhausted: the {these} are used up. Spent: {spent}. Requested: {rows}{given}. "
            f"Remaining: {remaining}. Queries asked before are still answered from the log at no cost."
        )


class CopyCannotAnswer(PcqrError, RuntimeError):
    """A copy of a release was asked something new. Two that decide would count one budget twice.

    Examples
    --------
    >>> from pcqr import CopyCannotAnswer
    >>> print(CopyCannotAnswer())
    This release is a copy, forked, or open for reading: it answers from its log, which lacks the query.
    """

    def __init__(self) -> None:
        what = "a copy, forked, or open for reading"
        super().__init__(f"This release is {what}: it answers from its log, which lacks the query.")


class LedgerError(PcqrError, RuntimeError):
    """A ledger, or what is kept with it, cannot be used. `place` is where it is, the message names the remedy.

    Messages carry places and numbers of entries, and never what an entry, a key or the state holds.

    Parameters
    ----------
    place : str
        Where the ledger is: a path, or an address without a password.
    reason : str
        What is wrong, after "The ledger PLACE …".
    remedy : str
        What to do about it: whole sentences.
    """

    what = "The ledger"

    def __init__(self, place: str, reason: str, remedy: str) -> None:
        self.place = place
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{self.what} {place} {reason}. {remedy}")


class NotALedger(LedgerError):
    """There is no ledger, or it serves another purpose."""


class OtherVersion(LedgerError):
    """It was written by another version of pcqr, in a form that this one does not read."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(
            place,
            f"was written by another version of pcqr: it {reason}",
            "Open it with the version that wrote it, or make a new one: what was spent stays spent.",
        )


class LedgerInUse(LedgerError):
    """Somebody else is writing."""


class LedgerUnwritable(LedgerError):
    """It cannot be written, or not any more."""


class LedgerClosed(LedgerError):
    """It is closed in this process."""


class LedgerDamaged(LedgerError):
    """What is there does not fit together."""


class LedgerRolledBack(LedgerError):
    """It is older than what was replied from it."""


class LedgerUnconfirmed(LedgerError):
    """Its last turn was recorded and never confirmed; a reader does not show it."""


class AnchorMissing(LedgerError):
    """The anchor, the last position that was replied, is missing or cannot be read."""


class AccountExhausted(PcqrError, RuntimeError):
    """The account of a private table has no room for one more release. Nothing was drawn, and nothing was charged.

    Parameters
    ----------
    account : str
        Its name, or where it is.
    asked, remaining, limit : str
        What the release costs, what is left, and what there was, in the figures of the account's filter.
    """

    def __init__(self, *, account: str, asked: str, remaining: str, limit: str) -> None:
        self.account = account
        self.asked = asked
        self.remaining = remaining
        self.limit = limit
        super().__init__(
            f"The account {account} has no room for this release. It costs {asked}. Remaining: {remaining} of {limit}. "
            "Nothing was drawn, and nothing was charged."
        )


class AccountReplaced(LedgerError):
    """Another account was made at the place of one that is open. Nothing was read from it, or charged to it.

    Parameters
    ----------
    account : str
        Its name, or where it is.
    """

    what = "The account"

    def __init__(self, account: str) -> None:
        super().__init__(
            account,
            "is not the one that was opened: another one was made at its place since, and has forgotten what was spent",
            "Nothing was charged. Bring the earlier one back. If the new one is meant, open it: Account.open(…).",
        )


class ReleaseError(LedgerError):
    """The directory of a release cannot be made or opened."""

    what = "The release"


class SecretError(PcqrError, RuntimeError):
    """A secret file, or its key, cannot be used. The message says why, and the remedy; never what is in it."""

    def __init__(self, place: object, reason: str, remedy: str, *, what: str = "The secret file") -> None:
        self.place = str(place)
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{what} {place} {reason}. {remedy}")


class PcqrWarning(UserWarning):
    """The root of every warning that pcqr gives."""


class NothingPublic(PcqrWarning):
    """Neither public rows nor a schema were given: accuracy suffers, privacy does not."""


class PublicRowsCoincide(PcqrWarning):
    """Some of the public rows are private records, bit for bit. For the data holder alone."""


class NoGpu(PcqrWarning):
    """A GPU was asked for and is not there. The CPU takes longer and computes the same, to the last bit."""


class NearUnique(PcqrWarning):
    """A column of the schema is nearly unique in the public rows: an identifier, or free text."""


class FittedAgain(PcqrWarning):
    """An estimator, or copies of it, were fitted more than once. Each fit is a release and costs its own (ε, δ).

    Where a fit gets some records several times, as bagging does, each of these costs a multiple of ε in that fit alone.
    """


class UnfinishedSave(PcqrWarning):
    """Files of a save that was stopped, secrets among them, were found and removed."""


class Exhausted(PcqrWarning):
    """A release was exhausted before the last row of what it was scored on."""


class MissingExtra(PcqrError, ImportError):
    """`purpose` needs packages that only the optional dependency group `extra` installs."""

    def __init__(self, purpose: str, extra: str) -> None:
        self.purpose = purpose
        self.extra = extra
        super().__init__(f"{purpose} needs an optional dependency: pip install 'pcqr[{extra}]'.")


class WeakGuarantee(PcqrWarning):
    """ε or δ is so large that the guarantee says little. Said at `fit`, as `Guarantee.caveats` has it.

    Examples
    --------
    >>> from pcqr import Guarantee, WeakGuarantee
    >>> issubclass(WeakGuarantee, UserWarning)
    True
    >>> Guarantee(epsilon=0.5, delta=1e-2).caveats(records=1_000)
    ('δ = 0.01 is large, and not below 1/n for n = 1,000: showing whole records with that chance would satisfy
    it too.',)
    """


class NothingLearned(PcqrWarning):
    """n·ε is so small that no more than the most common label can be expected. Said at `fit`, with the n or ε to take.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from pcqr import PrivateClassifier
    >>> from pcqr.errors import NothingLearned
    >>> public = np.arange(100.0)[:, None]
    >>> with warnings.catch_warnings(action="always", record=True) as given:
    ...     _ = PrivateClassifier(epsilon=0.1).plan(records=200, public=public)
    >>> NothingLearned in {warning.category for warning in given}
    True
    """


class UnansweredWarning(PcqrWarning):
    """Most planned queries are expected to get no label: `VotingPlan.expected_answers` says how many do. Said at `fit`.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from pcqr import SubsampleAggregate, UnansweredWarning
    >>> with warnings.catch_warnings(action="always", record=True) as given:
    ...     tested = SubsampleAggregate(epsilon=0.5, queries=3, vote="stability")
    ...     _ = tested.fit(np.arange(300.0)[:, None], np.arange(300) > 150)
    >>> UnansweredWarning in {warning.category for warning in given}
    True
    """
