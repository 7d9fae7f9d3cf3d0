"""The account of a private table: what may ever be spent on it, and what was, over all releases.

A ledger with the purpose "account" (`pcqr.durable.ledger`): append-only, chained by hashes, its anchor kept apart. Only
public facts are in it: figures of guarantees, the unit, what was run, the class, n and times.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcqr.addresses import DatabaseAddress
from pcqr.durable.account import keeping as places
from pcqr.durable.account.filters import BasicFilter, ConcentratedFilter, Filter, Tally, at_least, at_most, new_filter
from pcqr.durable.account.keeping import PURPOSE, existing_place, ledger_at, missing, new_place
from pcqr.errors import AccountExhausted, LedgerDamaged, NotALedger, OtherVersion, ParameterError
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.unit import RECORD, Unit

if TYPE_CHECKING:
    from pcqr.durable.ledger import Entry, Ledger
    from pcqr.durable.ledger.chain import Adoption

# ---------------------------------------------------------------------------------------------------------------------
# What the entries and the state of an account's ledger hold: public facts, as JSON, figures as exact fractions.


TERMS, CHARGE = "terms", "charge"
"""The kinds of entries: the first one, and all others."""
FIRST = 1
"""The number of the entry with the terms."""
FORMAT = 2

Fact = str | int | float | None


@dataclass(frozen=True)
class Charge:
    """One release that was charged, whatever became of it.

    Parameters
    ----------
    number : int
        The first is 1.
    time : str
        When, in UTC, by the clock of the machine. The order is that of the numbers.
    what : str
        What was run.
    epsilon, delta : float
        Of its guarantee.
    price : Tally
        What it cost by the account's filter.
    facts : dict, default {}
        Further public facts.
    """

    number: int
    time: str
    what: str
    epsilon: float
    delta: float
    price: Tally
    facts: dict[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True)
class Terms:
    """What is fixed for ever when an account is made."""

    rule: Filter
    unit: Unit
    created: str

    def written(self) -> bytes:
        rule, unit = self.rule, self.unit
        return as_json(
            {
                "format": FORMAT,
                "filter": rule.name,
                "epsilon": rule.epsilon,
                "delta": rule.delta,
                "rho": rule.rho if isinstance(rule, ConcentratedFilter) else None,
                "unit": [unit.kind, unit.rows],
                "created": self.created,
            }
        )

    @classmethod
    def read(cls, entry: Entry | None, place: str) -> Terms:
        """Return the terms in the first entry of an account. Refuse a ρ that does not imply its (ε, δ)."""
        if entry is None or entry.kind != TERMS:
            raise LedgerDamaged(
                place,
                "was never finished: the account has no terms",
                "Nothing was ever charged to it. Remove it, and create it again.",
            )
        terms = json.loads(entry.body)
        if terms["format"] != FORMAT:
            raise OtherVersion(place, f"has terms of format {terms['format']}, where this pcqr reads {FORMAT}")
        epsilon, delta = terms["epsilon"], terms["delta"]
        zcdp = terms["filter"] == ConcentratedFilter.name
        rule = ConcentratedFilter(epsilon, delta, terms["rho"]) if zcdp else BasicFilter(epsilon, delta)
        return cls(rule, Unit(*terms["unit"]), terms["created"])


def read_charge(number: int, body: dict[str, Any]) -> Charge:
    """A charge from its entry."""
    price = Tally(*map(Fraction, body["price"]))
    return Charge(number, body["time"], body["what"], body["epsilon"], body["delta"], price, body["facts"])


def state_of(spent: Tally, count: int) -> bytes:
    """What was spent so far, in so many charges."""
    return as_json({"loss": str(spent.loss), "delta": str(spent.delta), "charges": count})


def read_state(state: bytes) -> tuple[Tally, int]:
    found = json.loads(state)
    return Tally(Fraction(found["loss"]), Fraction(found["delta"])), found["charges"]


def as_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def now() -> str:
    """The time in UTC. It is told, and nothing depends on it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


_ID_DIGITS = 12
"""Of the 32 of its ledger."""


class Account:
    """What may ever be spent on one private table, and what was, kept on disk.

    Every release on the table must be charged to it, `Account.charge`, before its first random draw; estimators do so
    at `fit` when they have an `account`. Then all of them together are (ε, δ)-DP, although each may be chosen after the
    earlier ones and their answers overlap (proofs/account.md).

    An account is made by `Account.create` and found again by `Account.open`. The object itself holds nothing open: it
    may be copied, pickled and sent to other processes, which then charge the same account. It stands for one account,
    not for a place: if another account is made at that place, the object raises `AccountReplaced`. A pickle has no
    password: the other process takes it from PGPASSWORD or a password file.

    Parameters
    ----------
    where : DatabaseAddress or Path
        Its file, or the address of a database.
    identity : str
        That of its ledger.
    terms : Terms
        Its filter with the limit, its unit and when it was made.
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
    id : str
        Public digits that tell it from all other accounts, wherever it is.
    spent, remaining : Tally
        What was spent, and what is left, by the filter: ε or ρ, and δ.
    adoptions : tuple of Adoption
        Every decision of a person to go on with a copy of it, in order.

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
    pcqr.errors.AccountExhausted: The account ... has no room for this release. It costs ε = 0.5, δ = 0. Remaining:
    ε = 0.25, δ = 9e-06 of ε = 1, δ = 1e-05. Nothing was drawn, and nothing was charged.
    >>> [(charge.what, charge.epsilon) for charge in Account.open(place, anchor=anchor).charges]
    [('my own release', 0.75)]
    >>> folder.cleanup()
    """

    def __init__(self, where: DatabaseAddress | Path, identity: str, terms: Terms, anchor: str | Path | None) -> None:
        self._where = where
        self._identity = identity
        self._terms = terms
        self._anchor = anchor
        self._origin: str | None = None
        self.name = places.name_of(where)
        self.place = str(where)

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
        from pcqr.durable.ledger import create_ledger  # noqa: PLC0415 - SQLAlchemy is slow to import

        rule = new_filter(filter, epsilon, delta)
        if not isinstance(unit, Unit):
            raise ParameterError("unit", "a Unit of pcqr.privacy.unit, such as RECORD", unit)
        where = new_place(place)
        terms = Terms(rule, unit, now())
        with create_ledger(where, PURPOSE, anchor=anchor) as ledger, ledger.transaction() as transaction:
            transaction.append(TERMS, terms.written())
            transaction.state = state_of(Tally(), 0)
        return cls(where, ledger.identity, terms, anchor)

    @classmethod
    def open(
        cls,
        place: str | os.PathLike[str],
        *,
        anchor: str | Path | None = None,
        adopt: bool = False,
        write_off: bool = False,
    ) -> Account:
        """Find an account that exists.

        Parameters
        ----------
        place : str or path
            As for `create`.
        anchor : path or None, default None
            Where its anchor is, if not in the user's state directory.
        adopt : bool, default False
            Take it although its anchor is missing, and record this decision. Nothing then shows that it is no older
            copy: `adoptions` says so for ever.
        write_off : bool, default False
            With `adopt`: bring back an older copy, too, with all that was left of it counted as spent.

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
        if write_off and not adopt:
            raise ParameterError("write_off", "False without adopt", write_off)
        where = existing_place(place)
        try:
            with ledger_at(
                where, anchor, adopt=adopt, writing=adopt, write_off=_written_off if write_off else None
            ) as ledger:
                terms = Terms.read(next(ledger.entries(limit=1), None), str(where))
        except NotALedger as error:
            if not error.reason.startswith("does not exist"):
                raise
            raise missing(place) from None
        return cls(where, ledger.identity, terms, anchor)

    @property
    def filter(self) -> Filter:
        """The rule by which releases add up, with the limit."""
        return self._terms.rule

    @property
    def unit(self) -> Unit:
        """The privacy unit."""
        return self._terms.unit

    @property
    def created(self) -> str:
        """When it was made, in UTC."""
        return self._terms.created

    @property
    def epsilon(self) -> float:
        """ε of all releases together."""
        return self.filter.epsilon

    @property
    def delta(self) -> float:
        """δ of all releases together."""
        return self.filter.delta

    @property
    def id(self) -> str:
        """Public digits that tell it from all other accounts, wherever it is."""
        return self._identity[:_ID_DIGITS]

    def id_of(self, charge: Charge) -> str:
        """Return the id of a charge to this account: the account's own, and the number of the charge."""
        return f"{self.id}-{charge.number}"

    @property
    def spent(self) -> Tally:
        """What was charged so far, by the filter."""
        with self._open() as ledger:
            return read_state(ledger.state)[0]

    @property
    def remaining(self) -> Tally:
        """What may still be charged, by the filter."""
        return self.filter.limit - self.spent

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All that was charged, in order."""
        with self._open() as ledger:
            return _charges(ledger)

    @property
    def is_confirmed(self) -> bool:
        """Is its anchor there? Without it nothing shows that this is no older copy, and charges are refused."""
        with self._open() as ledger:
            return ledger.is_confirmed

    @property
    def adoptions(self) -> tuple[Adoption, ...]:
        """Every adoption of a copy of the account, in order."""
        with self._open() as ledger:
            return ledger.adoptions

    @property
    def anchor(self) -> tuple[Path, bool]:
        """Where its anchor is, and whether that is apart: not on the volume of the account."""
        with self._open() as ledger:
            return ledger.anchor_path, ledger.is_apart

    def verify(self) -> None:
        """Check every entry, that what was spent is the sum of the charges, and that it is within the limit.

        An account that was written off has spent its limit since.

        Raises
        ------
        LedgerError
            When one of these is not so.
        """
        with self._open() as ledger:
            ledger.verify()
            terms = Terms.read(next(ledger.entries(limit=1), None), self.place)
            (spent, count), charges = read_state(ledger.state), _charges(ledger)
            expected = _summed(ledger, terms.rule.limit)
        if (spent, count) != (expected, len(charges)) or not all(Tally().within(each.price) for each in charges):
            raise LedgerDamaged(self.place, "is damaged: its sum is not that of its charges", "Bring back a good copy.")
        charged = sum((each.price for each in charges), Tally())
        if not charged.within(terms.rule.limit):
            raise LedgerDamaged(
                self.place,
                f"was charged {self.amount_text(charged)}, more than its limit of "
                f"{self.amount_text(terms.rule.limit, is_remaining=True)}",
                "Its (ε, δ) does not hold for what was released. Release nothing more on this table.",
            )

    def covers(self, guarantee: Guarantee) -> bool:
        """Would a release with this guarantee fit now? Nothing is charged, and another may come first."""
        try:
            self.remaining_after(guarantee)
        except AccountExhausted:
            return False
        return True

    def remaining_after(self, guarantee: Guarantee) -> Tally:
        """Return what would remain after a release with this guarantee. Nothing is charged, and another may come first.

        Parameters
        ----------
        guarantee : Guarantee
            Of the release.

        Returns
        -------
        Tally
            By the filter, as `remaining`.

        Raises
        ------
        AccountExhausted
            When it does not fit.
        ParameterError
            When the guarantee is about another unit, or its randomness was seeded.
        """
        _check(guarantee, self.unit)
        price, spent = self.filter.price(guarantee), self.spent
        if not (spent + price).within(self.filter.limit):
            raise self._exhausted(price, spent, self.filter.limit)
        return self.filter.limit - (spent + price)

    def charge(self, guarantee: Guarantee, what: str, **facts: Fact) -> Charge:
        """Charge a release, whole, before its first random draw. When this returns, the charge is on disk for ever.

        Parameters
        ----------
        guarantee : Guarantee
            Of the release, whose parameters are now fixed. Its ρ, where it has one, must be of a release that is ρ-zCDP
            by a proof of its own, in one piece or answer by answer (proofs/account.md).
        what : str
            What is run, in a few public words.
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
        AccountReplaced
            When another account was made at its place since it was opened. Nothing is charged then.
        LedgerError
            When the account cannot be written. Whether the charge stands is then read when the account is opened again.
        """
        if not all(value is None or isinstance(value, str | int | float) for value in facts.values()):
            raise ParameterError("facts", "texts, numbers or None", [type(value).__name__ for value in facts.values()])
        known = {"by": self._origin} if self._origin else {}
        with self._open(writing=True) as ledger, ledger.transaction() as transaction:
            terms = Terms.read(transaction.at([FIRST])[FIRST], self.place)
            _check(guarantee, terms.unit)
            price = terms.rule.price(guarantee)
            spent, count = read_state(transaction.state)
            if not (spent + price).within(terms.rule.limit):
                raise self._exhausted(price, spent, terms.rule.limit)
            body = {
                "what": what,
                "time": now(),
                "epsilon": guarantee.epsilon,
                "delta": guarantee.delta,
                "price": [str(price.loss), str(price.delta)],
                "facts": known | facts,
            }
            transaction.append(CHARGE, as_json(body))
            transaction.state = state_of(spent + price, count + 1)
        return read_charge(count + 1, body)

    def on_behalf_of(self, command: str) -> Account:
        """The same account for what a command runs: its charges say so."""
        same = copy(self)
        same._origin = command
        return same

    def amount_text(self, tally: Tally, *, is_remaining: bool = False) -> str:
        """A tally in the filter's symbols: spent rounded up, left rounded down."""
        shown = at_most if is_remaining else at_least
        return f"{self.filter.symbol} = {shown(tally.loss)}, δ = {shown(tally.delta)}"

    def __repr__(self) -> str:
        return f"Account({self.name!r})"

    def _open(self, *, writing: bool = False) -> AbstractContextManager[Ledger]:
        """Open the ledger of this account, and no other, for a moment."""
        return ledger_at(self._where, self._anchor, identity=self._identity, writing=writing)

    def _exhausted(self, price: Tally, spent: Tally, limit: Tally) -> AccountExhausted:
        return AccountExhausted(
            account=self.name,
            asked=self.amount_text(price),
            remaining=self.amount_text(limit - spent, is_remaining=True),
            limit=self.amount_text(limit, is_remaining=True),
        )


def _check(guarantee: Guarantee, unit: Unit) -> None:
    """Raise unless a release with this guarantee may be charged to an account of this unit."""
    if not guarantee.unit.implies(unit):
        remedy = "take an account of the release's unit, or say whose each row is: --groups, groups="
        allowed = f"about the account's unit, '{unit.adjacency}' ({remedy})"
        raise ParameterError("guarantee", allowed, guarantee.adjacency)
    if not guarantee.is_private:
        raise ParameterError("guarantee", "that of a private run: a seeded one is not charged", str(guarantee))


def _charges(ledger: Ledger) -> tuple[Charge, ...]:
    bodies = [json.loads(entry.body) for entry in ledger.entries() if entry.kind == CHARGE]
    return tuple(read_charge(number, body) for number, body in enumerate(bodies, start=1))


def _summed(ledger: Ledger, limit: Tally) -> Tally:
    """Return the sum of all charges, and of what was written off."""
    from pcqr.durable.ledger.chain import ADOPTED, read_adoption  # noqa: PLC0415  # as the imports of that module need

    spent = Tally()
    for entry in ledger.entries():
        if entry.kind == CHARGE:
            spent += read_charge(0, json.loads(entry.body)).price
        elif entry.kind == ADOPTED and read_adoption(entry).is_written_off:
            spent = limit
    return spent


def _written_off(state: bytes, entries: Iterator[Entry]) -> bytes:
    """Return the state of an account with nothing remaining: charges since the copy was made were at most that."""
    terms = Terms.read(next(entries, None), "that is adopted")
    return state_of(terms.rule.limit, read_state(state)[1])


AccountLike = Account | str | os.PathLike[str]
"""What the parameter `account` of an estimator may be: the account, its name, or its path."""


def resolve_account(account: AccountLike | None) -> Account | None:
    """The account behind an `account=` parameter: itself, or the one of that name or at that path."""
    if account is None or isinstance(account, Account):
        return account
    if isinstance(account, str | os.PathLike):
        return Account.open(account)
    raise ParameterError("account", "an Account, its name, its path or None", account)


# ---------------------------------------------------------------------------------------------------------------------
# An account as JSON tells it: public facts.


def account_facts(account: Account) -> dict[str, Any]:
    """Its terms, what was spent and what is left: no figure is rounded to the better."""
    rule = account.filter
    anchor, is_apart = account.anchor
    return {
        "account": account.name,
        "place": account.place,
        "id": account.id,
        "epsilon": account.epsilon,
        "delta": account.delta,
        "filter": rule.name,
        "limit": tally_facts(account, rule.limit, is_remaining=True),
        "conversion_delta": rule.conversion if isinstance(rule, ConcentratedFilter) else None,
        "unit": {"kind": account.unit.kind, "rows": account.unit.rows, "adjacency": account.unit.adjacency},
        "created": account.created,
        "spent": tally_facts(account, account.spent),
        "remaining": tally_facts(account, account.remaining, is_remaining=True),
        "adoptions": [each.facts(for_holder=True) for each in account.adoptions],
        "anchor": str(anchor),
        "anchor_apart": is_apart,
    }


def charge_facts(account: Account, charge: Charge) -> dict[str, Any]:
    """One release that was charged."""
    return {
        "number": charge.number,
        "time": charge.time,
        "what": charge.what,
        "epsilon": charge.epsilon,
        "delta": charge.delta,
        "price": tally_facts(account, charge.price),
        "facts": charge.facts,
    }


def tally_facts(account: Account, tally: Tally, *, is_remaining: bool = False) -> dict[str, float]:
    """ε or ρ, whichever the filter adds up, and δ: what is spent is rounded up, what is left down."""
    shown = at_most if is_remaining else at_least
    loss = "rho" if account.filter.symbol == "ρ" else "epsilon"
    return {loss: float(shown(tally.loss, 15)), "delta": float(shown(tally.delta, 15))}
