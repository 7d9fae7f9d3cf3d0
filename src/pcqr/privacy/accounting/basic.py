"""Basic composition: ε and δ add up (Dwork, Kenthapadi, McSherry, Mironov and Naor 2006)."""

from __future__ import annotations

import math

from pcqr.privacy.accounting.events import ApproximateEvent, BoundedRangeEvent, Ledger, PureEvent
from pcqr.privacy.guarantee import rounded_text, rounded_up

NAME = "basic"


def objection(ledger: Ledger, delta: float) -> str | None:
    """Why this accountant has no figure, or None."""
    for release, _ in ledger.releases:
        if not isinstance(release, PureEvent | ApproximateEvent | BoundedRangeEvent):
            return f"{type(release).__name__} comes with no (ε, δ) of its own"
    if total_delta(ledger) > delta:
        return f"the events alone have δ = {rounded_text(total_delta(ledger), 13)}"
    return None


def figures(ledger: Ledger, delta: float) -> tuple[float, float]:  # noqa: ARG001 - the signature of every accountant
    """(ε, δ) of the ledger, δ being what the events bring."""
    total = math.fsum(
        count * (release.by_itself.epsilon if isinstance(release, BoundedRangeEvent) else release.epsilon)
        for release, count in ledger.releases
        if isinstance(release, PureEvent | ApproximateEvent | BoundedRangeEvent)
    )
    return rounded_up(total), total_delta(ledger)


def total_delta(ledger: Ledger) -> float:
    """The sum of the δ that events bring with them, whoever accounts for their ε."""
    brought = [(release.delta, count) for release, count in ledger.releases if isinstance(release, ApproximateEvent)]
    total = math.fsum(delta * count for delta, count in brought)
    return rounded_up(total) if sum(count for _, count in brought) > 1 else total
