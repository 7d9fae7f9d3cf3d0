"""What outlives a process: accounts of private tables, releases in directories, their ledgers and secrets.

`pcqr.durable.account` says what may ever be spent on a table, and what was (docs/account.md). `pcqr.release.open` finds
a release again that `release.save(path)` has kept (docs/release.md).
"""

from __future__ import annotations

import os
from typing import Any

from pcqr import registry
from pcqr.durable.account import Account
from pcqr.errors import AnchorMissing, LedgerRolledBack

__all__ = ["Account", "open"]


def open(
    path: str | os.PathLike[str],
    *,
    ledger: str | os.PathLike[str] | None = None,
    anchor: str | os.PathLike[str] | None = None,
    key: str | None = None,
    adopt: bool = False,
    write_off: bool = False,
    read_only: bool = False,
) -> Any:
    """The release that was kept in a directory, as the estimator that it was: fitted, and counting where it stopped.

    Parameters
    ----------
    path : str or path
        The directory of `release.save(path)`.
    ledger : str or path, optional
        Where its log is, if that has moved, or needs a password.
    anchor : str or path, optional
        Where its anchor is, if not under the user's state directory.
    key : str, optional
        Where the key of its secrets is: "file:PATH" or "env:NAME".
    adopt : bool, default False
        Take a release without an anchor (moved, restored) to be the newest copy. The ledger records this decision, and
        `guarantee_.assumptions` says so for ever.
    write_off : bool, default False
        With `adopt`: bring back an older copy, with everything that may have been used since counted as used. It goes
        on with its logged answers and a published classifier, and decides nothing new.
    read_only : bool, default False
        Answer from the log alone, beside a running writer too. No secret is read.

    Returns
    -------
    Release
        An estimator. `close()` lets another process open it.

    Raises
    ------
    ReleaseError
        When there is no release, or its files do not belong together.
    SecretError
        When its secret is missing, was edited, or lacks its key.
    LedgerError
        When its ledger is an older copy, has no anchor, is damaged, or is written by another process.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pcqr
    >>> X = np.random.default_rng(0).uniform(0, 10, size=(5_000, 1))
    >>> release = pcqr.SubsampleAggregate(queries=20, entropy=0).fit(X, X[:, 0] > 6)  # seeded: NOT PRIVATE
    >>> place, anchor = tempfile.mkdtemp(), tempfile.mkdtemp() + "/anchor"
    >>> release.save(place, anchor=anchor).answer([9.0]).kind
    'stable'
    >>> release.close()
    >>> again = pcqr.release.open(place, anchor=anchor)
    >>> again.answer([9.0]).kind, again.queries_answered_
    ('repeated', 1)
    >>> again.close()
    """
    from pcqr.durable.directory import find  # noqa: PLC0415 - SQLAlchemy takes its time

    try:
        kept = find(path, ledger=ledger, anchor=anchor, key=key, adopt=adopt, write_off=write_off, read_only=read_only)
    except AnchorMissing as error:
        raise AnchorMissing(error.place, error.reason, f"{error.remedy} To adopt it: {_how_to_adopt()}.") from None
    except LedgerRolledBack as error:
        command = _how_to_adopt(write_off=True)
        lost = f"If that is lost, go on with this older copy, with everything counted as used: {command}."
        raise LedgerRolledBack(error.place, error.reason, f"{error.remedy} {lost}") from None
    try:
        estimator = registry.resolve(registry.algorithm(kept.facts.algorithm).estimator)
        return estimator.from_kept(kept)
    except BaseException:
        kept.log.close()
        raise


def _how_to_adopt(*, write_off: bool = False) -> str:
    """Return how to adopt a release, on the command line and in Python."""
    more, also = (" --write-off", ", write_off=True") if write_off else ("", "")
    served = "pcqr serve … --adopt NAME" + (" --write-off NAME" if write_off else "")
    return f"pcqr ask RELEASE --adopt{more}, {served}, or pcqr.release.open(…, adopt=True{also})"
