"""An account as JSON tells it: public facts."""

from __future__ import annotations

from typing import Any

from pcqr.release.account.account import Account
from pcqr.release.account.entries import Charge
from pcqr.release.account.figures import Tally, at_least, at_most
from pcqr.release.account.filters import ConcentratedFilter


def told_account(account: Account) -> dict[str, Any]:
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
        "limit": told_tally(account, rule.limit, is_left=True),
        "conversion_delta": rule.conversion if isinstance(rule, ConcentratedFilter) else None,
        "unit": {"kind": account.unit.kind, "rows": account.unit.rows, "adjacency": account.unit.adjacency},
        "created": account.created,
        "spent": told_tally(account, account.spent),
        "left": told_tally(account, account.left, is_left=True),
        "adoptions": [each.facts(for_holder=True) for each in account.adoptions],
        "anchor": str(anchor),
        "anchor_apart": is_apart,
    }


def told_charge(account: Account, charge: Charge) -> dict[str, Any]:
    """One release that was charged."""
    return {
        "number": charge.number,
        "time": charge.time,
        "what": charge.what,
        "epsilon": charge.epsilon,
        "delta": charge.delta,
        "price": told_tally(account, charge.price),
        "facts": charge.facts,
    }


def told_tally(account: Account, tally: Tally, *, is_left: bool = False) -> dict[str, float]:
    """ε or ρ, whichever the filter adds up, and δ: what is spent is rounded up, what is left down."""
    shown = at_most if is_left else at_least
    loss = "rho" if account.filter.symbol == "ρ" else "epsilon"
    return {loss: float(shown(tally.loss, 15)), "delta": float(shown(tally.delta, 15))}
