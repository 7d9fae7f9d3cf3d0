"""Relabelling: its cost is attained, and every dichotomy must be weighted once (proofs/relabel.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from support import sampler_law
from support.exact import hockey_stick, largest_log_ratio, mixture

from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.mechanisms.relabelling import relabel_cost, relabel_guarantee
from pcqr.privacy.guarantee import Guarantee

Record = tuple[float, int]
Pattern = tuple[int, ...]
COMMON: list[Record] = [(1.0, 0)] * 40


def columns(records: Sequence[Record]) -> tuple[list[float], list[int]]:
    return [x for x, _ in records], [y for _, y in records]


def common_pattern_law(
    hypotheses: HypothesisClass, common: Sequence[Record], last: Record, eta: float
) -> dict[Pattern, float]:
    """The law of ĥ on the common points, when `last` is the record that the neighbour does not share.

    It is all that a worst-case A may learn at no cost of its own: given it, the relabelled tables are neighbours.
    """
    law = sampler_law(hypotheses, *columns([*common, last]), eta)
    return mixture((math.exp(log_mass), {pattern[:-1]: 1.0}) for pattern, log_mass in law.items())


def test_the_cost_is_attained_by_thresholds() -> None:
    first = common_pattern_law(Thresholds(), COMMON, (0.0, 1), 0.5)
    second = common_pattern_law(Thresholds(), COMMON, (2.0, 0), 0.5)
    reached = largest_log_ratio(first, second)
    assert reached == pytest.approx(1.94815, abs=5e-6)
    assert relabel_cost(0.5, fixed=False) == pytest.approx(reached, abs=1e-5)
    assert reached <= relabel_cost(0.5, fixed=False)


@pytest.mark.parametrize("direction", ["up", "both"])
@pytest.mark.parametrize("eta", [0.0, 0.1, 2.0])
def test_no_pair_of_neighbours_exceeds_the_cost(direction: str, eta: float) -> None:
    hypotheses = Thresholds(direction=direction)
    values = [(x, y) for x in (0.0, 1.0, 2.0, 3.0) for y in (0, 1)]
    for common in ([(1.0, 0)] * 3, [(1.0, 0), (1.0, 1), (2.0, 1)], [(0.0, 1), (2.0, 0), (2.0, 0)]):
        laws = [common_pattern_law(hypotheses, common, value, eta) for value in values]
        assert max(largest_log_ratio(p, q) for p in laws for q in laws) <= relabel_cost(eta, fixed=False) + 1e-12


def test_leaving_out_the_empty_dichotomy_has_an_infinite_ratio() -> None:
    def law(last: Record) -> Mapping[Pattern, float]:
        x, y = columns([*COMMON, last])
        rows = Thresholds().enumerate(x)
        rows = rows[rows.any(axis=1)]
        weights = np.exp(-0.5 * (rows != np.array(y)).sum(axis=1))
        return mixture(
            (w / weights.sum(), {tuple(map(int, row[:-1])): 1.0}) for row, w in zip(rows, weights, strict=True)
        )

    assert largest_log_ratio(law((0.0, 1)), law((2.0, 0))) == math.inf


# --------------------------------------------------------------------------------------------------------------
# relabel-then-A for an A that is tight in both of its parameters


def revealing_response(bit: int, epsilon: float, delta: float) -> dict[tuple[str, int], float]:
    """The worst (ε, δ)-DP view of one bit: shown with probability δ, else randomised response."""
    truth = 1 / (1 + math.exp(-epsilon))
    return {("shown", bit): delta, ("told", bit): (1 - delta) * truth, ("told", 1 - bit): (1 - delta) * (1 - truth)}


def strongest_view(last: Record, bit: int, eta: float, inner: Guarantee) -> dict[tuple[Pattern, str, int], float]:
    """The pattern on the common points, and the worst view that `inner` allows of which of two records is there."""
    response = revealing_response(bit, inner.epsilon, inner.delta)
    patterns = common_pattern_law(Thresholds(), COMMON[:6], last, eta)
    return mixture((mass, {(pattern, *said): p for said, p in response.items()}) for pattern, mass in patterns.items())


@pytest.mark.parametrize("eta", [0.1, 0.5, 1.5])
@pytest.mark.parametrize("inner", [Guarantee(0.5, 0.001), Guarantee(1.0, 0.01)])
def test_relabel_then_an_algorithm_costs_what_is_claimed_and_delta_is_not_multiplied(
    eta: float, inner: Guarantee
) -> None:
    claimed = relabel_guarantee(inner, Thresholds(), len(COMMON[:6]) + 1, eta, 1)
    first = strongest_view((0.0, 1), 1, eta, inner)
    second = strongest_view((2.0, 0), 0, eta, inner)
    assert claimed.delta == inner.delta
    assert hockey_stick(first, second, claimed.epsilon) == pytest.approx(claimed.delta, rel=1e-9)
    assert hockey_stick(first, second, inner.epsilon) > 1.05 * claimed.delta, "relabelling is not free"
