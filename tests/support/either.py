"""What tests of learners that publish a tree or a linear classifier share: a class, a feature map, a closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from pcqr.hypotheses.trees import DecisionTrees, Predicate
from pcqr.plan import Budget, LinearStage
from pcqr.planning.classifiers.linear import plan_linear
from pcqr.planning.classifiers.recipes import plain
from pcqr.planning.request import Request
from pcqr.records.feature_map import FeatureMap
from pcqr.records.vectors import PredicateVectors

COLUMNS = 5
PREDICATES = tuple(Predicate(column, 0.5) for column in range(COLUMNS))
TREES = DecisionTrees(predicates=PREDICATES)
MAP = FeatureMap(PredicateVectors.of(PREDICATES, COLUMNS), None, 256)
CAREFUL_MAP = FeatureMap(PredicateVectors.of(PREDICATES[:4], COLUMNS), None, 256)
PILOT_MAP = FeatureMap(PredicateVectors.of((*PREDICATES, Predicate(0, 0.25)), COLUMNS), None, 256)
BUDGETS = [
    *((10_000, 1.0, delta) for delta in (1e-3, 1e-6, 1e-11)),
    *((300_000, 0.03, 1e-6), (32_561, 0.3, 1e-9), (2_000, 5.0, 1e-5)),
]
"""(n, ε, δ) that the stated figures are checked at."""


def request_for(records: int, epsilon: float, delta: float = 1e-6) -> Request:
    return Request(records=records, features=COLUMNS, hypotheses=TREES, budget=Budget(epsilon, delta))


def bits(records: int) -> NDArray[np.float64]:
    return np.random.default_rng(0).integers(0, 2, (records, COLUMNS)).astype(np.float64)


def exact_delta(
    runs: Sequence[LinearStage],
    pure: Sequence[float],
    epsilon: float,
    lead: float = math.inf,
    ranged: float = 0.0,
) -> float:
    """The privacy profile of Gaussian releases beside randomised responses at each ε of `pure`, in closed form.

    The grid's share is added. `lead` is σ of one more number that moves as far as a sum. `ranged` is the length of the
    interval of one more release: of two losses that far apart, the larger one at any of 400 places.
    """
    shifts = (math.sqrt(run.steps) * run.sensitivity / run.scale for run in runs)
    shift = math.hypot(*shifts, runs[0].sensitivity / lead)
    grid = math.fsum(run.draws / (16 * run.scale**2) for run in runs) + 1 / (16 * lead**2)

    def gaussian(at: float) -> float:
        return float(ndtr(shift / 2 - at / shift) - math.exp(at) * ndtr(-shift / 2 - at / shift))

    def beside_pure(at: float) -> float:
        total = 0.0
        for losses in product(*((-part, part) for part in pure)):
            chance = math.prod(1 / (1 + math.exp(-loss)) for loss in losses)
            total += chance * gaussian(at - sum(losses))
        return total

    def beside_all(larger: float) -> float:
        chance = math.expm1(ranged - larger) / (math.exp(ranged - larger) - math.exp(-larger)) if ranged else 1.0
        return chance * beside_pure(epsilon - larger) + (1 - chance) * beside_pure(epsilon + ranged - larger)

    places = np.linspace(0.0, ranged, 400) if ranged else (0.0,)
    return max(beside_all(float(larger)) for larger in places) + (1 + math.exp(epsilon)) * grid


def share_kept(shared: LinearStage, epsilon: float, delta: float) -> float:
    """μ of `shared`, on `MAP`, whose budget others use as well, as a share of what the linear classifier would have alone."""
    alone = plan_linear(shared.records, MAP, plain(shared.records, epsilon), epsilon, delta)
    return (alone.scale / math.sqrt(alone.steps)) / (shared.scale / math.sqrt(shared.steps))
