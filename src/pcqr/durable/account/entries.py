"""What the entries and the state of an account's ledger hold: public facts, as JSON, figures as exact fractions."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pcqr.durable.account.filters import BasicFilter, ConcentratedFilter, Filter, Tally
from pcqr.errors import LedgerDamaged, OtherVersion
from pcqr.privacy.unit import Unit

if TYPE_CHECKING:
    from pcqr.durable.ledger import Entry


TERMS, CHARGE = "terms", "charge"
"""The kinds of entries: the first one, and all others."""
FIRST = 1
"""The number of the entry with the terms."""
FORMAT = 1

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
