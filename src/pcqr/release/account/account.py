"""The account of a private table: what may ever be spent on it, and what was, over all releases.

A ledger with the purpose "account" (`pcqr.release.ledger`): append-only, chained by hashes, its anchor kept apart. Only
public facts are in it: figures of guarantees, the unit, what was run, the class, n and times.
"""

from __future__ import annotations

import json
import os
from copy import copy
from pathlib import Path

from pcqr.errors import AccountExhausted, LedgerDamaged, NotALedger, ParameterError
from pcqr.guarantee import Guarantee
from pcqr.release.account import places
from pcqr.release.account.entries import (
    CHARGE,
    TERMS,
    Charge,
    Fact,
    as_json,
    now,
    read_charge,
    read_state,
    read_terms,
    state_of,
    terms_of,
)
from pcqr.release.account.figures import Tally, at_least, at_most
from pcqr.release.account.filters import Filter, new_filter
from pcqr.release.account.keeping import PURPOSE, existing_place, ledger_at, missing, new_place
from pcqr.unit import RECORD, Unit


class Account:
    """What may ever be spent on one private table, and what was, kept on disk.

    Every release on the table must be charged to it, `Account.charge`, before its first random draw; estimators do so
    at `fit` when they have an `account`. Then all of them together are (ε, δ)-DP, although each may be chosen after the
    earlier ones and their answers overlap (proofs/account.md).

    An account is made by `Account.create` and found again by `Account.open`. The object itself holds nothing open: it
    may be copied, pickled and sent to other processes, which then charge the same account.

    Parameters
    ----------
    where : str or Path
        Its file, or the address of a database.
    rule : Filter
        Its filter, with the limit.
    unit : Unit
        Whom it protects.
    created : str
        When it was made.
    anchor : path or None
        Where its anchor is; None: in the user's state directory.

    Attributes
    ----------
    name : str
        Its name, or its path.
    place : str
        Where it is.
    epsilon, delta : float
        What all releases together may have.
    filter : Filter
        The rule by which they add up.
    unit : Unit
        Whom it protects. Releases about another unit are refused.
    created : str
        When it was made, in UTC.
    charges : tuple of Charge
        All that was charged, in order.
    spent, left : Tally
        What was spent, and what is left, by the filter: ε or ρ, and δ.

    Examples
    --------
    >>> import os, tempfile
    >>> from pcqr import Guarantee
    >>> from pcqr.release import Account
    >>> folder = tempfile.TemporaryDirectory()
    >>> place = os.path.join(folder.name, "hospital.account")
    >>> anchor = os.path.join(folder.name, "anchor")  # left out, it is in the user's state directory
    >>> account = Account.create(place, epsilon=1.0, delta=1e-5, anchor=anchor)
    >>> charge = account.charge(Guarantee(0.75, 1e-6), "my own release", records=10_000)
    >>> account.covers(Guarantee(0.25)), account.covers(Guarantee(0.26))
    (True, False)
    >>> account.charge(Guarantee(0.5), "another one")
    Traceback (most recent call last):
        ...
    pcqr.errors.AccountExhausted: The account ... has no room for this release. It costs ε = 0.5, δ = 0; left are
    ε = 0.25, δ = 9e-06 of ε = 1, δ = 1e-05. Nothing was drawn, and nothing was charged.
    >>> [(charge.what, charge.epsilon) for charge in Account.open(place, anchor=anchor).charges]
    [('my own release', 0.75)]
    >>> folder.cleanup()
    """

    def __init__(self, where: str | Path, rule: Filter, unit: Unit, created: str, anchor: str | Path | None) -> None:
        self._where = where
        self._anchor = anchor
        self._origin: str | None = None
        self.name = places.name_of(where)
        self.place = places.without_password(str(where))
        self.filter = rule
        self.unit = unit
        self.created = created

    @classmethod
    def create(
        cls,
        place: str | os.PathLike[str],
        epsilon: float,
        delta: float,
        *,
        filter: str = "basic",
        unit: Unit = RECORD,
        anchor: str | Path | None = None,
    ) -> Account:
        """Make a new account. Its terms are fixed for ever.

        Parameters
        ----------
        place : str or path
            A name, for the user's data directory (or PCQR_DATA_DIR); a path; or the address of a PostgreSQL database.
        epsilon, delta : float
            What all releases on the table together may have. δ may be 0 with the filter "basic".
        filter : {"basic", "zcdp"}, default "basic"
            How releases add up. "basic": ε and δ do. "zcdp": ρ = ε²/2 (less where that is proved) and δ do, against the
            ρ that implies (ε, δ) with a half of δ: better for many small releases, worse for a few large ones.
        unit : Unit, default RECORD
            Whom it protects.
        anchor : path or None, default None
            Where the anchor of its ledger is kept, which notices older copies. None: the user's state directory.

        Returns
        -------
        Account

        Raises
        ------
        ParameterError
            When a figure is not allowed, or there is something at that place.
        LedgerError
            When it cannot be written.
        """
        from pcqr.release.ledger import create_ledger  # noqa: PLC0415 - SQLAlchemy is slow to import

        rule = new_filter(filter, epsilon, delta)
        if not isinstance(unit, Unit):
            raise ParameterError("unit", "a Unit of pcqr.unit, such as RECORD", unit)
        where = new_place(place)
        created = now()
        with create_ledger(where, PURPOSE, anchor=anchor) as ledger, ledger.turn() as turn:
            turn.append(TERMS, as_json(terms_of(rule, unit, created)))
            turn.state = state_of(Tally(), 0)
        return cls(where, rule, unit, created, anchor)

    @classmethod
    def open(cls, place: str | os.PathLike[str], *, anchor: str | Path | None = None, adopt: bool = False) -> Account:
        """Find an account that exists.

        Parameters
        ----------
        place : str or path
            As for `create`.
        anchor : path or None, default None
            Where its anchor is, if not in the user's state directory.
        adopt : bool, default False
            Take it although its anchor is missing, and record this decision. Nothing then shows that it is no older
            copy.

        Returns
        -------
        Account

        Raises
        ------
        ParameterError
            When there is none; the message says how to make one.
        LedgerError
            When it is an older copy, damaged, or cannot be read; the message names the remedy.
        """
        where = existing_place(place)
        try:
            with ledger_at(where, anchor, adopt=adopt, writing=adopt) as ledger:
                terms = next((json.loads(entry.body) for entry in ledger.entries() if entry.kind == TERMS), None)
        except NotALedger as error:
            if not error.reason.startswith("does not exist"):
                raise
            raise missing(place) from None
        if terms is None:
            raise LedgerDamaged(
                places.without_password(str(where)),
                "was never finished: the account has no terms",
                "Nothing was ever charged to it. Remove it, and create it again.",
            )
        rule, unit = read_terms(terms, str(where))
        return cls(where, rule, unit, terms["created"], anchor)

    @property
    def epsilon(self) -> float:
        """ε of all releases together."""
        return self.filter.epsilon

    @property
    def delta(self) -> float:
        """δ of all releases together."""
        return self.filter.delta

    @property
    def spent(self) -> Tally:
        """What was charged so far, by the filter."""
        with ledger_at(self._where, self._anchor) as ledger:
            return read_state(ledger.state)[0]

    @property
    def left(self) -> Tally:
        """What may still be charged, by the filter."""
        return self.filter.limit - self.spent

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All that was charged, in order."""
        with ledger_at(self._where, self._anchor) as ledger:
            bodies = [json.loads(entry.body) for entry in ledger.entries() if entry.kind == CHARGE]
        return tuple(read_charge(number, body) for number, body in enumerate(bodies, start=1))

    @property
    def is_confirmed(self) -> bool:
        """Is its anchor there? Without it nothing shows that this is no older copy, and charges are refused."""
        with ledger_at(self._where, self._anchor) as ledger:
            return ledger.is_confirmed

    def verify(self) -> None:
        """Check every entry, and that what was spent is the sum of the charges. Raises `LedgerError` if not."""
        with ledger_at(self._where, self._anchor) as ledger:
            ledger.verify()
            stated = read_state(ledger.state)
        charges = self.charges
        if stated != (sum((charge.price for charge in charges), Tally()), len(charges)):
            raise LedgerDamaged(self.place, "is damaged: its sum is not that of its charges", "Bring back a good copy.")

    def covers(self, guarantee: Guarantee, *, concentration: float | None = None) -> bool:
        """Would a release with this guarantee fit now? Nothing is charged, and another may come first."""
        self._check(guarantee)
        return (self.spent + self.filter.price(guarantee, concentration)).within(self.filter.limit)

    def charge(self, guarantee: Guarantee, what: str, *, concentration: float | None = None, **facts: Fact) -> Charge:
        """Charge a release, whole, before its first random draw. When this returns, the charge is on disk for ever.

        Parameters
        ----------
        guarantee : Guarantee
            Of the release, whose parameters are now fixed.
        what : str
            What is run, in a few public words.
        concentration : float or None, default None
            ρ, if the release is ρ-zCDP by a proof of its own, in one piece or answer by answer (proofs/account.md).
        **facts : str, int, float or None
            Further public facts to be kept beside it. Never anything that depends on the records.

        Returns
        -------
        Charge

        Raises
        ------
        AccountExhausted
            When it does not fit. Nothing is charged then.
        ParameterError
            When the guarantee is about another unit, or its randomness was seeded.
        LedgerError
            When the account cannot be written. Whether the charge stands is then read when the account is opened again.
        """
        self._check(guarantee)
        if not all(value is None or isinstance(value, str | int | float) for value in facts.values()):
            raise ParameterError("facts", "texts, numbers or None", [type(value).__name__ for value in facts.values()])
        price = self.filter.price(guarantee, concentration)
        known = {"by": self._origin} if self._origin else {}
        body = {
            "what": what,
            "time": now(),
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "price": [str(price.loss), str(price.delta)],
            "facts": known | facts,
        }
        with ledger_at(self._where, self._anchor, writing=True) as ledger, ledger.turn() as turn:
            spent, count = read_state(turn.state)
            if not (spent + price).within(self.filter.limit):
                raise self._exhausted(price, spent)
            turn.append(CHARGE, as_json(body))
            turn.state = state_of(spent + price, count + 1)
        return read_charge(count + 1, body)

    def on_behalf_of(self, command: str) -> Account:
        """The same account for what a command runs: its charges say so."""
        same = copy(self)
        same._origin = command
        return same

    def told(self, tally: Tally, *, is_left: bool = False) -> str:
        """A tally in the filter's symbols: spent rounded up, left rounded down."""
        shown = at_most if is_left else at_least
        return f"{self.filter.symbol} = {shown(tally.loss)}, δ = {shown(tally.delta)}"

    def __repr__(self) -> str:
        return f"Account({self.name!r})"

    def _check(self, guarantee: Guarantee) -> None:
        if not guarantee.unit.implies(self.unit):
            remedy = "take an account of the release's unit, or say whose each row is: --person, groups="
            allowed = f"about the account's unit, '{self.unit.adjacency}' ({remedy})"
            raise ParameterError("guarantee", allowed, guarantee.adjacency)
        if not guarantee.is_private:
            raise ParameterError("guarantee", "that of a private run: a seeded one is not charged", str(guarantee))

    def _exhausted(self, price: Tally, spent: Tally) -> AccountExhausted:
        limit = self.filter.limit
        return AccountExhausted(
            account=self.name,
            asked=self.told(price),
            left=self.told(limit - spent, is_left=True),
            limit=self.told(limit, is_left=True),
        )


AccountLike = Account | str | os.PathLike[str]
"""What the parameter `account` of an estimator may be: the account, its name, or its path."""


def resolve_account(account: AccountLike | None) -> Account | None:
    """The account behind an `account=` parameter: itself, or the one of that name or at that path."""
    if account is None or isinstance(account, Account):
        return account
    if isinstance(account, str | os.PathLike):
        return Account.open(account)
    raise ParameterError("account", "an Account, its name, its path or None", account)
