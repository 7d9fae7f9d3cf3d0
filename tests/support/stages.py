"""What tests of published classifiers share: a class, a feature map, stages, and a privacy profile in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence as Several
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from pcqr.data.records.arrays import Points
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.vectors import PredicateVectors
from pcqr.hypotheses.trees import DecisionTrees, Predicate
from pcqr.planner.request import Request
from pcqr.privacy.accounting import BoundedRangeEvent
from pcqr.privacy.composition import Context, Sequence, Stage, account
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.classifier.descent import shape_of
from pcqr.releases.classifier.feature_maps import coordinates, largest_mu, stage_for
from pcqr.releases.classifier.plan import LARGEST_TERM, LinearStage
from pcqr.releases.classifier.planning import plan_published
from pcqr.releases.classifier.rule import Recipe, recipe_for
from pcqr.releases.protocol.plan import Budget
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.plan import PublishedPlan

COLUMNS = 5
PREDICATES = tuple(Predicate(column, 0.5) for column in range(COLUMNS))
TREES = DecisionTrees(predicates=PREDICATES)
MAP = FeatureMap(PredicateVectors.of(PREDICATES, COLUMNS), None, 256)
BUDGETS = [
    *((10_000, 1.0, delta) for delta in (1e-3, 1e-6, 1e-11)),
    *((300_000, 0.03, 1e-6), (32_561, 0.3, 1e-9), (2_000, 5.0, 1e-5)),
]
"""(n, ε, δ) that the stated figures are checked at."""


def request_for(records: int, epsilon: float, delta: float = 1e-6) -> Request:
    return Request(records=records, features=COLUMNS, hypotheses=TREES, budget=Budget(epsilon, delta))


def context_for(records: int, trees: DecisionTrees = TREES) -> Context:
    return Context(trees, records, COLUMNS)


def guarantee_of(stage: Stage, records: int, delta: float = 1e-6, trees: DecisionTrees = TREES) -> Guarantee:
    return account(stage, context_for(records, trees), delta)


def planned(
    records: int,
    features: FeatureMap,
    recipe: Recipe,
    epsilon: float,
    delta: float = 1e-6,
    *,
    classes: int = 2,
    beside: tuple[BoundedRangeEvent, ...] = (),
) -> LinearStage:
    """The linear classifier of `recipe` on `features` that uses (ε, δ) up, `beside` other releases."""
    shape = shape_of(features)
    mu = largest_mu(((1.0, coordinates(shape, classes)),), float(epsilon), float(delta), beside)
    return stage_for("plain", records, shape, recipe, mu, classes=classes)


def plan_beside_tree(
    records: int,
    epsilon: float,
    delta: float = 1e-6,
    features: FeatureMap = MAP,
    public: Points | None = None,
    trees: DecisionTrees = TREES,
) -> PublishedPlan:
    """The plan of a tree and a linear classifier beside it: n·ε has to be 3,000 at least."""
    request = request_for(records, epsilon, delta).but(hypotheses=trees)
    name: Any = "plain" if features.ferns is None else "some ferns"
    return plan_published(request, "auto", {name: features}, public=public)


def beside_tree(plan: PublishedPlan | Stage) -> tuple[DrawStage, LinearStage]:
    """The two stages of such a plan."""
    stage = plan.stage if isinstance(plan, PublishedPlan) else plan
    assert isinstance(stage, Sequence)
    draw, linear = stage.stages
    assert isinstance(draw, DrawStage)
    assert isinstance(linear, LinearStage)
    return draw, linear


def stage_on(features: FeatureMap, records: int, steps: int, multiplier: float, **others: Any) -> LinearStage:
    """Noisy sums on `features` with σ/Δ = `multiplier`, and steps of a size that learns something."""
    sizes: dict[str, Any] = {"momentum": 0.5, "step_size": 0.05} | others
    return LinearStage(records, *shape_of(features), steps, LARGEST_TERM, multiplier * 2 * LARGEST_TERM, **sizes)


def bits(records: int) -> NDArray[np.float64]:
    return np.random.default_rng(0).integers(0, 2, (records, COLUMNS)).astype(np.float64)


def exact_delta(
    runs: Several[LinearStage],
    pure: Several[float],
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
    """μ of `shared`, on `MAP`, as a share of what a linear classifier would have of (ε, δ) by itself."""
    alone = planned(shared.records, MAP, recipe_for("plain", shared.records, epsilon), epsilon, delta)
    return math.sqrt(shared.sums.squared_mu / alone.sums.squared_mu)
