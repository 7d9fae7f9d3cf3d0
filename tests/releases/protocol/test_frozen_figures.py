"""Guarantees of mechanisms that stay what they are: (ε, δ) and ρ as version after version states them.

A change here is a change of a privacy figure, and CHANGELOG.md has to name it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.stages import TREES

from pcqr import (
    AgnosticRelease,
    ConfidentMaxAggregate,
    GibbsPrediction,
    IndividualKNN,
    InteractiveMaxAggregate,
    MultipartyClassifier,
    NoisyMaxAggregate,
    PrivateKNN,
    SemiPrivateLearner,
    SubsampleAggregate,
    UniversalRelease,
)
from pcqr.hypotheses import HypothesisClass, LogisticTeachers, Stumps, Thresholds, UnionsOfIntervals
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, PaperSparseVector, RenyiSparseVector
from pcqr.privacy.composition import Branch, Context, Sequence, Stage, account
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.classifier.plan import LARGEST_TERM, ComparisonStage, LinearStage
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage
from pcqr.releases.universal.planning import universal_guarantee

Shape = tuple[int, int, int, int]
Figures = tuple[float, float, float | None]

M = LARGEST_TERM
STUMPS, THRESHOLDS, INTERVALS = Stumps(cuts=[0.5]), Thresholds(), UnionsOfIntervals(2)
VECTOR = OneSidedSparseVector.calibrate(0.9, 1e-6, 3)
PAPERS, RENYI = PaperSparseVector.from_paper(0.05, 1e-8, 2, 100), RenyiSparseVector(40, 20.0, 30.0, 12, 30, 1e-7)
PUBLIC = np.random.default_rng(0).normal(size=(200, 2))


def linear(
    records: int, shape: Shape, steps: int, multiplier: float, *, bound: int = M, classes: int = 2
) -> LinearStage:
    return LinearStage(records, *shape, steps, bound, multiplier * 2 * bound, 0.9, 0.001, classes)


SUMS = linear(5_000, (8, 0, 0, 256), 2, 9.0)
STEPS = linear(10_000, (40, 0, 0, 256), 100, 250.0)
SEVEN = linear(100_000, (60, 20, 6, 128), 80, 60.0, classes=7)
COARSE = linear(1_000, (6, 3, 2, 128), 5, 20.0, bound=1)
CELLS = linear(50_000, (300, 400, 11, 13), 80, 900.0)
PLAIN, SOME, MOSTLY = (40, 0, 0, 256), (40, 20, 6, 128), (40, 50, 9, 13)


def of(stage: Stage, hypotheses: HypothesisClass, records: int, features: int = 1, public: int | None = None) -> Any:
    return lambda: account(stage, Context(hypotheses, records, features, public))


def of_sums(stage: LinearStage, delta: float) -> Any:
    return lambda: account(stage, Context(TREES, stage.records, 5), delta)


def beside_tree(eta: float, stage: LinearStage, delta: float, **changes: Any) -> Any:
    context = Context(replace(TREES, **changes), stage.records, 5)
    return lambda: account(Sequence((DrawStage(eta), stage)), context, delta)


def piloted(
    pilots: tuple[tuple[int, float], ...],
    options: tuple[tuple[int, float], ...],
    lead: float,
    delta: float,
    classes: int = 2,
) -> Any:
    """Pilots without and with mostly ferns, and three options: (T, σ/Δ) of each."""
    n = 40_000

    def made(shapes: tuple[Shape, ...], sizes: tuple[tuple[int, float], ...]) -> tuple[LinearStage, ...]:
        return tuple(linear(n, shape, *size, classes=classes) for shape, size in zip(shapes, sizes, strict=True))

    branch = Branch(made((PLAIN, SOME, MOSTLY), options))
    stage = Sequence((*made((PLAIN, MOSTLY), pilots), ComparisonStage(n, M, lead * 2 * M, -100), branch))
    return lambda: account(stage, Context(TREES, n, 5), delta)


def votes(hypotheses: HypothesisClass = THRESHOLDS, **changes: Any) -> Any:
    return of(vote(**changes), hypotheses, 1_000)


def vote(**changes: Any) -> VoteStage:
    numbers: dict[str, Any] = {"inverse_temperature": 0.3, "sparse_vector": VECTOR, "subsample": 500} | changes
    return VoteStage(records=1_000, teachers=101, **numbers)


def universal(vote: VoteStage, draw: DrawStage, hypotheses: HypothesisClass) -> Any:
    return lambda: universal_guarantee(vote, draw, Context(hypotheses, 1_000, 1))


STAGES: dict[str, tuple[Callable[[], Guarantee], Figures]] = {
    "a stump": (of(DrawStage(0.5), STUMPS, 1_000), (1.0000000000012221, 0.0, 0.12500000000073608)),
    "a threshold among public points": (
        of(DrawStage(0.05), THRESHOLDS, 20_000, public=300),
        (0.1000000000005441, 0.0, 0.001250000000028455),
    ),
    "a tree": (of(DrawStage(0.25), replace(TREES, depth=2), 3_000, 5), (0.5000000000184519, 0.0, 0.03125000000464423)),
    "a blind draw": (of(DrawStage(0.0), STUMPS, 1_000), (0.0, 0.0, 0.0)),
    "two sums": (of_sums(SUMS, 1e-9), (0.8576320064178733, 1e-09, 0.012345679012358024)),
    "steps": (of_sums(STEPS, 1e-6), (0.1490601161051406, 1e-06, 0.0008000000000008001)),
    "ferns of seven classes": (of_sums(SEVEN, 1e-6), (0.6084510563234394, 1e-06, 0.011111111111122224)),
    "a coarse grid": (of_sums(COARSE, 1e-5), (0.4233191744652064, 1e-05, 0.0062500000000062506)),
    "many cells": (of_sums(CELLS, 1e-11), (0.05667585160775531, 1e-11, 4.93827160494321e-05)),
    "a tree and two sums": (beside_tree(0.1, SUMS, 1e-6), (0.748051369432223, 1e-06, 0.017345679019689173)),
    "a tree and steps": (beside_tree(0.1, STEPS, 1e-6), (0.30877948196804356, 1e-06, 0.0058000000101398365)),
    "a tree and ferns": (beside_tree(0.3, CELLS, 1e-6), (0.6151123156060646, 1e-06, 0.0450493828660754)),
    "a tree and seven classes": (
        beside_tree(0.1, SEVEN, 1e-6, labels=7, depth=2),
        (0.7155018054088225, 1e-06, 0.01611111111954282),
    ),
    "a tree and a coarse grid": (beside_tree(0.02, COARSE, 1e-5), (0.4305829211741338, 1e-05, 0.006450000000651316)),
    "a blind tree and steps": (beside_tree(0.0, STEPS, 1e-9), (0.20635022550730756, 1e-09, 0.0008000000000016001)),
    "pilots of equal options": (
        piloted(((50, 700.0), (50, 700.0)), ((100, 200.0), (100, 200.0), (100, 200.0)), 60.0, 1e-6),
        (0.20789791512201747, 1e-06, 0.0014909297052184017),
    ),
    "pilots, the first option is the costliest": (
        piloted(((50, 700.0), (60, 600.0)), ((100, 150.0), (100, 200.0), (100, 250.0)), 60.0, 1e-6),
        (0.2737486551135328, 1e-06, 0.0024954648526127015),
    ),
    "pilots, the longest option is the costliest": (
        piloted(((50, 700.0), (60, 600.0)), ((100, 250.0), (80, 200.0), (300, 150.0)), 60.0, 1e-9),
        (0.6348742406879776, 1e-09, 0.006939909297066036),
    ),
    "pilots of five classes": (
        piloted(((25, 400.0), (25, 400.0)), ((80, 200.0), (80, 200.0), (90, 150.0)), 40.0, 1e-6, classes=5),
        (0.27217916332291053, 1e-06, 0.002468750000004938),
    ),
    "votes": (votes(inverse_temperature=None), (0.5480066941720505, 4.185807031546437e-07, None)),
    "votes of all records": (
        votes(inverse_temperature=None, subsample=1_000),
        (0.8999999999990999, 8.371614063084502e-07, None),
    ),
    "relabelled votes": (votes(), (1.9866082063199746, 4.185807031546437e-07, None)),
    "votes relabelled by public points": (votes(public=50), (1.0082660974243605, 4.185807031546437e-07, None)),
    "votes relabelled by stumps": (votes(STUMPS), (1.0082660974243605, 4.185807031546437e-07, None)),
    "the paper's votes": (votes(sparse_vector=PAPERS, copies=6), (1.2111336114734075, 4.0355863447085236e-05, None)),
    "votes by Rényi divergences": (votes(sparse_vector=RENYI), (2.8934996744774746, 0.011375115974123738, None)),
    "votes, then a threshold": (
        universal(vote(), DrawStage(0.2, 40), THRESHOLDS),
        (2.3866082063228506, 4.185807031550623e-07, None),
    ),
    "votes, then intervals": (
        universal(vote(public=50), DrawStage(0.2), INTERVALS),
        (1.4082660974387728, 4.185807031550623e-07, None),
    ),
}

LEARNERS = LogisticTeachers
PLANS: dict[str, tuple[Callable[[], Any], Figures]] = {
    "SubSamp": (
        lambda: SubsampleAggregate(queries=20, teachers=499).plan(5_000, 1),
        (0.999999997999, 9.944134642281262e-07, None),
    ),
    "SubSamp of learners": (
        lambda: SubsampleAggregate(LEARNERS(), queries=50, epsilon=2.0, vote="stability").plan(20_000, 3),
        (1.9999999959980002, 7.666819903250568e-07, None),
    ),
    "AgPrivCl": (
        lambda: AgnosticRelease(THRESHOLDS, queries=20, vote="stability").plan(60_000, 1),
        (0.9999999985931285, 9.167073650839229e-07, None),
    ),
    "AgPrivCl with the paper's constants": (
        lambda: AgnosticRelease(THRESHOLDS, queries=100, mode="paper", epsilon=0.5, alpha=0.1).plan(10**12, 1),
        (0.05611152344659539, 6.46297778186923e-11, None),
    ),
    "UnvPrivCl": (
        lambda: UniversalRelease(THRESHOLDS, queries=20, teachers=199).plan(10_000, 1),
        (0.9999999973574749, 9.65438183560391e-07, None),
    ),
    "SSPP of public points": (
        lambda: SemiPrivateLearner(THRESHOLDS, epsilon=0.3).plan(5_000, public=PUBLIC[:, :1]),
        (0.29999999999969995, 0.0, 0.011250000000036231),
    ),
    "SSPP of declared stumps": (
        lambda: SemiPrivateLearner(STUMPS, epsilon=0.3).plan(5_000, 3),
        (0.29999999999969995, 0.0, 0.011250000000036231),
    ),
    "noisy max, exponential": (
        lambda: NoisyMaxAggregate(LEARNERS(), queries=30, noise="exponential").plan(60_000, 2),
        (0.9999996974855561, 1e-06, 0.024355956599163026),
    ),
    "noisy max, Gaussian": (
        lambda: NoisyMaxAggregate(LEARNERS(), queries=30, noise="gaussian").plan(60_000, 2),
        (0.9999998979672836, 1e-06, 0.027917804794320798),
    ),
    "noisy max, Gaussian, three classes": (
        lambda: NoisyMaxAggregate(LEARNERS(), queries=30, classes=(0, 1, 2), noise="gaussian").plan(60_000, 2),
        (0.9999994128177925, 1e-06, 0.027966013116983966),
    ),
    "noisy max, Laplace, three classes": (
        lambda: NoisyMaxAggregate(LEARNERS(), queries=30, classes=(0, 1, 2), noise="laplace").plan(60_000, 2),
        (0.999999337341765, 1e-06, 0.02806468316481235),
    ),
    "confident max": (
        lambda: ConfidentMaxAggregate(THRESHOLDS, queries=20).plan(60_000, 1),
        (0.9999994406484067, 1e-06, None),
    ),
    "interactive": (
        lambda: InteractiveMaxAggregate(THRESHOLDS, queries=20).plan(60_000, 1),
        (0.9999994406484067, 1e-06, None),
    ),
    "Gibbs": (
        lambda: GibbsPrediction(THRESHOLDS, queries=5).plan(5_000, public=PUBLIC[:, :1]),
        (0.999999759733691, 0.0, None),
    ),
    "individual k-NN": (
        lambda: IndividualKNN(queries=100).plan(20_000, public=PUBLIC),
        (0.999999600971496, 1e-06, None),
    ),
    "sampled k-NN": (lambda: PrivateKNN(queries=100).plan(20_000, public=PUBLIC), (0.9999153147140872, 1e-06, None)),
    "parties": (
        lambda: MultipartyClassifier(LEARNERS(), epsilon=1.0).plan(3_000, public=PUBLIC),
        (0.9999994407072921, 1e-06, 0.02801445283367205),
    ),
    "parties, three classes": (
        lambda: MultipartyClassifier(LEARNERS(), epsilon=1.0, classes=(0, 1, 2)).plan(3_000, public=PUBLIC),
        (0.9999994407835203, 1e-06, 0.028014452833672043),
    ),
}

LAST_DIGITS = 1e-13
"""Relative: logarithms of two machines may differ in their last bit."""


def check(stated: Guarantee, figures: Figures) -> None:
    """ρ of a draw is of its interval, which is rounded up: by less than 10⁻¹⁰ of it, and never down."""
    epsilon, delta, rho = figures
    assert stated.epsilon == pytest.approx(epsilon, rel=LAST_DIGITS, abs=0.0)
    assert stated.delta == pytest.approx(delta, rel=LAST_DIGITS, abs=0.0)
    if rho is None:
        assert stated.rho is None
        return
    assert stated.rho is not None
    assert rho * (1 - LAST_DIGITS) <= stated.rho <= rho * (1 + 1e-10)


@pytest.mark.parametrize("name", STAGES)
def test_stages_have_the_figures_that_they_always_had(name: str) -> None:
    stated, figures = STAGES[name]
    check(stated(), figures)


@pytest.mark.parametrize("name", PLANS)
def test_plans_have_the_figures_that_they_always_had(name: str) -> None:
    """What is planned for as well: the same budget is used up in the same way."""
    plan, figures = PLANS[name]
    check(plan().guarantee, figures)
