"""What the entries and the state of an account's ledger hold: public facts, as JSON, figures as exact fractions."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from pcqr.errors import LedgerTooNew
from pcqr.release.account.figures import Tally
from pcqr.release.account.filters import BasicFilter, ConcentratedFilter, Filter
from pcqr.unit import Unit

TERMS, CHARGE = "terms", "charge"
"""The kinds of entries: the first one, and all others."""
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


def terms_of(rule: Filter, unit: Unit, created: str) -> dict[str, Any]:
    """What is fixed for ever when an account is made."""
    return {
        "format": FORMAT,
        "filter": rule.name,
        "epsilon": rule.epsilon,
        "delta": rule.delta,
        "rho": rule.rho if isinstance(rule, ConcentratedFilter) else None,
        "unit": [unit.kind, unit.rows],
        "created": created,
    }


def read_terms(terms: dict[str, Any], place: str) -> tuple[Filter, Unit]:
    """The filter and the unit of an account. A ρ that does not imply its (ε, δ) is refused."""
    if terms["format"] != FORMAT:
        raise LedgerTooNew(place, f"has terms of format {terms['format']}", "Open it with a newer version of pcqr.")
    epsilon, delta = terms["epsilon"], terms["delta"]
    zcdp = terms["filter"] == ConcentratedFilter.name
    rule = ConcentratedFilter(epsilon, delta, terms["rho"]) if zcdp else BasicFilter(epsilon, delta)
    return rule, Unit(*terms["unit"])


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
