"""Records with budgets of their own: exact laws of whole conversations against the claims.

Every value of the noise on the number of neighbours is put into the shipped code; the chance of each label follows from
the votes that the code was about to noise. Shown are the noisy numbers and the labels, more than any caller sees.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from pcqr.audit.exact import verify
from pcqr.audit.exact.cases.peers import AWAY, LINE_VECTORS, neighbour_cases, small_stage
from pcqr.audit.exact.cases.peers import NEIGHBOUR_POINTS as PUBLIC
from pcqr.audit.exact.cases.tables import Record, Table
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.knn import run as algorithm
from pcqr.releases.knn.plan import IndividualStage
from pcqr.releases.knn.run import IndividualVotes, Near, individual_votes

Law = dict[tuple[object, ...], float]
ORDERS = (1.5, 2.0, 4.0)
LEAST_MASS = 1e-13
FORGET = -1.0
"""Instead of a place to ask for."""


class Seen(IndividualVotes):
    """Shows the votes that are about to be noised."""

    votes: tuple[int, ...] | None = None
    scale = 0.0

    def _voting(self, counted: Near, scale: float) -> Near:
        voting = super()._voting(counted, scale)
        totals = np.bincount(self._surroundings.labels[voting.positions], voting.weights, self._stage.classes)
        self.votes, self.scale = tuple(map(int, totals)), scale
        return voting


State = tuple[tuple[object, ...], float, Seen]
"""What was shown, how likely it was, and what decides from there."""


@cache
def gaussian(scale: float) -> tuple[tuple[int, float], ...]:
    reach = math.ceil(8.5 * scale)
    mass = {z: math.exp(-0.5 * (z / scale) ** 2) for z in range(-reach, reach + 1)}
    total = math.fsum(mass.values())
    return tuple((z, weight / total) for z, weight in mass.items())


@cache
def chance_of_one(lead: int, scale: float) -> float:
    """P(second total + noise > first total + noise)."""
    law = gaussian(scale)
    below = np.concatenate(([0.0], np.cumsum([weight for _, weight in law])))
    low = law[0][0]
    return math.fsum(weight * below[min(max(z + lead - low, 0), len(law))] for z, weight in law)


def law(stage: IndividualStage, records: Sequence[Record], moves: Sequence[float]) -> Law:
    start = individual_votes(LINE_VECTORS, Table(tuple(records)).source(), PUBLIC, stage, SeededEntropy(0))
    states: list[State] = [((), 1.0, Seen(start._surroundings, stage, SeededEntropy(0)))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(algorithm, "discrete_gaussians", lambda _scale, count, _entropy: np.zeros(count, np.int64))
        for move in moves:
            states = [after for state in states for after in _moved(patch, stage, state, move)]
    found: defaultdict[tuple[object, ...], float] = defaultdict(float)
    for shown, mass, _ in states:
        found[shown] += mass
    return dict(found)


def _moved(patch: pytest.MonkeyPatch, stage: IndividualStage, state: State, x: float) -> list[State]:
    shown, mass, labeller = state
    if x == FORGET:
        after = copy.deepcopy(labeller)
        after.forget(np.array([stage.records - 1]))
        return [(shown, mass, after)]
    reached = []
    for z, chance in gaussian(stage.count_scale):
        if mass * chance < LEAST_MASS:
            continue
        patch.setattr(algorithm, "discrete_gaussian", lambda *_, z=z: z)
        after = copy.deepcopy(labeller)
        (near,) = after.counts(np.array([[x]]))
        able = (labeller._spent[near.positions] + stage.count_cost <= stage.budget).sum()
        label, noisy = after.decide(near), stage.grid * int(able) + z
        if label is None:
            reached.append(((*shown, noisy), mass * chance, after))
            continue
        assert after.votes is not None
        one = chance_of_one(after.votes[1] - after.votes[0], after.scale)
        reached += [((*shown, noisy, k), mass * chance * p, after) for k, p in ((0, 1.0 - one), (1, one))]
    return reached


def divergence(first: Law, second: Law, order: float) -> float:
    """Of that order, outcomes of next to no probability left out: never too large by more than rounding."""
    terms = (
        p**order * second[shown] ** (1.0 - order)
        for shown, p in first.items()
        if p > LEAST_MASS and second.get(shown, 0.0) > LEAST_MASS
    )
    return math.log(math.fsum(terms)) / (order - 1.0)


def squared_shift(first: Law, second: Law) -> float:
    """μ² of the Gaussian release that costs as much, by the worst of the orders."""
    return max(2.0 / order * divergence(a, b, order) for order in ORDERS for a, b in ((first, second), (second, first)))


STAGE = replace(small_stage(2, 1.0), count_scale=2.0, vote_scale=0.8)
ROWS: tuple[Record, ...] = ((0.0, 0), (0.0, 1), (1.0, 1), (AWAY, 0))
"""The last is an empty place."""


@pytest.mark.parametrize("budget", [1.1, 3.0])
@pytest.mark.parametrize("other", [(0.0, 0), (1.0, 1)])
def test_a_conversation_costs_no_more_than_budgets_allow(budget: float, other: Record) -> None:
    stage = replace(STAGE, budget=budget)
    laws = {row: law(stage, (other, row), (0.0, 0.0)) for row in ROWS}
    removed = max(squared_shift(laws[row], laws[ROWS[-1]]) for row in ROWS[:-1])
    replaced = max(squared_shift(laws[a], laws[b]) for a, b in itertools.combinations(ROWS, 2))
    assert 0.5 * budget < removed <= budget * (1.0 + 1e-9)
    assert removed <= replaced <= 2.0 * budget * (1.0 + 1e-9)


def test_what_suffices_for_removing_does_not_for_replacing() -> None:
    stage = replace(STAGE, budget=3.1, vote_scale=0.55)
    first, second = (law(stage, ((1.0, 0), row), (0.0,)) for row in ((0.0, 1), (AWAY, 0)))
    third = law(stage, ((1.0, 0), (0.0, 0)), (0.0,))
    assert squared_shift(first, second) <= stage.budget
    assert squared_shift(first, third) > squared_shift(first, second)


def test_the_forgotten_are_not_told_apart() -> None:
    """Deleted before the second query, a record is an empty place in it, whatever it was."""
    stage = replace(STAGE, budget=4.0)
    once, twice = (
        [law(stage, ((1.0, 0), row), moves) for row in ((0.0, 1), (0.0, 0))] for moves in ((0.0,), (0.0, FORGET, 0.0))
    )
    for order in ORDERS:
        first, second = divergence(once[0], once[1], order), divergence(twice[0], twice[1], order)
        assert second == pytest.approx(first, rel=1e-6)


def test_the_auditor_finds_the_claims_kept() -> None:
    for case in neighbour_cases(full=False):
        found = verify(case)
        assert found.passed
        least = 0.2 if case.name.startswith("Ind-kNN") else 0.1  # Rényi divergences of one sampled answer are loose
        assert least * case.claimed.epsilon < found.epsilon < case.claimed.epsilon
