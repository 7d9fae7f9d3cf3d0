"""Plans for boosted trees: every setting is a fixed function of n, B, ε and δ.

The rules were settled once, by test accuracy on five tables together (Adult, bank marketing, diabetes, covertype, NYC
flights): none of them is best for one table, and a table that was not among them is the better judge.

* A long run pays where the draws are sharp: J = 64 rounds from n·ε = 20,000 on, else 32.
* Depth 4 pays where leaves stay full and draws sharp: from n·min(ε, 1) = 100,000 on, else depth 3.
* a = A/J: the votes of all trees together move a margin by at most A = 6, at depth 4 by 12.
* A round offers 80 predicates at depth 3 and 40 at depth 4, or as many as fit into `operations`.
* η is the largest that keeps (ε, δ).
"""

from __future__ import annotations

import math
from dataclasses import replace

from pcqr.algorithms.boosting import boosting_guarantee
from pcqr.checks import check_delta, check_integer, check_positive
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.hypotheses.base import LARGEST_EXPONENT
from pcqr.plan import BoostingStage
from pcqr.records.weighing import GRID

LONG_FROM, LONG, SHORT = 20_000.0, 64, 32
"""n·ε from which a run is long; the rounds of a long and of a short one."""

DEEP_FROM = 100_000.0
"""n·min(ε, 1) from which trees have depth 4."""

OFFERED = {3: 80, 4: 40}
TOTAL_STEP = {3: 6.0, 4: 12.0}
MOST_OPERATIONS = 6e11
"""Words of 64 records that a fit may look at; a core looks at some 10⁹ a second."""

_FEWEST_OFFERED = 8
_PRECISION = 1e-9


def plan_boosting(
    records: int, predicates: int, epsilon: float, delta: float, *, seed: int = 0, operations: float = MOST_OPERATIONS
) -> BoostingStage:
    """The plan for n = `records` rows and B = `predicates` public predicates within (`epsilon`, `delta`).

    δ = 0 asks for a pure guarantee. `seed` makes the public choice of the predicates that each round offers.
    """
    check_integer("records", records, least=1)
    check_integer("predicates", predicates, least=1)
    check_positive("epsilon", epsilon)
    check_positive("operations", operations)
    if delta != 0:
        check_delta(delta)
    depth = 4 if records * min(epsilon, 1.0) >= DEEP_FROM else 3
    rounds = LONG if records * epsilon >= LONG_FROM else SHORT
    shape = BoostingStage(
        records=int(records),
        predicates=int(predicates),
        offered=min(OFFERED[depth], int(predicates)),
        depth=depth,
        rounds=rounds,
        step=TOTAL_STEP[depth] / rounds,
        inverse_temperature=0.0,
        delta=float(delta),
        seed=int(seed),
    )
    while work(shape) > operations:
        if shape.offered <= _FEWEST_OFFERED:
            raise ParameterError("operations", f"at least {work(shape):.3g} for so many records", operations)
        shape = replace(shape, offered=shape.offered - 1)
    return sharpest(shape, float(epsilon))


def work(plan: BoostingStage) -> float:
    """Words of 64 records that a fit looks at: for each round, bit of a weight, and set of at most D predicates."""
    sets = sum(math.comb(plan.offered, size) for size in range(1, plan.depth + 1))
    return float(plan.rounds) * GRID.bit_length() * sets * math.ceil(plan.records / 64)


def sharpest(shape: BoostingStage, epsilon: float) -> BoostingStage:
    """`shape` with the largest η, to a relative 10⁻⁹, at which all its rounds together are within (ε, δ)."""

    def at(eta: float) -> BoostingStage | None:
        plan = replace(shape, inverse_temperature=eta)
        return plan if boosting_guarantee(plan).within(epsilon, shape.delta) else None

    best, low = at(0.0), 0.0
    if best is None:
        raise InfeasiblePlan(
            f"{shape.rounds} rounds exceed ε = {epsilon:g} by the rounding of float64 alone.", "a larger ε"
        )
    sharp = LARGEST_EXPONENT / shape.records  # sharper draws would lose their digits
    high = min(epsilon, sharp)
    while (found := at(high)) is not None:
        best, low, high = found, high, min(2.0 * high, sharp)
        if low == sharp:
            return best
    while high - low > _PRECISION * high:
        middle = 0.5 * (low + high)
        found = at(middle)
        best, low, high = (best, low, middle) if found is None else (found, middle, high)
    return best
