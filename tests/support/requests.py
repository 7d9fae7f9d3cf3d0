"""Requests from one flat list of numbers."""

from __future__ import annotations

from typing import Any

from pcqr.hypotheses.base import Combinatorics
from pcqr.planner.request import Request
from pcqr.releases.protocol.plan import Aim, Budget


def request_of(
    records: int,
    features: int,
    hypotheses: Combinatorics,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    queries: int = 300,
    alpha: float = 0.1,
    beta: float = 0.05,
    **more: Any,
) -> Request:
    """A request; `more` are pins, or the number of `public` points."""
    budget, aim = Budget(epsilon, delta), Aim(queries, alpha, beta)
    plain = Request(records=records, features=features, hypotheses=hypotheses, budget=budget, aim=aim)
    return plain.but(**more)
