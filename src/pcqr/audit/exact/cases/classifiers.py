"""Published classifiers beyond one tree: steps of the linear classifier, with ferns; a linear classifier beside a tree; a tree or a linear classifier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pcqr.algorithms.asked import asked, asked_guarantee
from pcqr.algorithms.contest import contest, contest_guarantee
from pcqr.algorithms.linear import descend, linear_guarantee, shape_of
from pcqr.algorithms.stacked import most_coordinates, stacked, stacked_guarantee
from pcqr.audit.exact.cases.tables import LINE, Pairs, Record, Table, all_neighbours, replacing_the_last
from pcqr.audit.exact.drawn import DrawnCase
from pcqr.audit.exact.sums import Shown, SumCase
from pcqr.audit.exact.turns import PilotCase, TurningCase
from pcqr.audit.exact.verify import Case
from pcqr.audit.shown import in_full
from pcqr.entropy import Entropy
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees
from pcqr.plan import AskedStage, ContestStage, LinearStage, StackedStage
from pcqr.records.directions import Directions
from pcqr.records.feature_map import FeatureMap
from pcqr.records.ferns import Ferns
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import ColumnVectors, PredicateVectors

CUTS = (Predicate(0, 0.5), Predicate(0, 1.5))
TWO_PLACES: tuple[Record, ...] = LINE[:4]
ONE_PLACE: tuple[Record, ...] = tuple((1.0, label) for label in range(3))
"""Records at one place, each with another one of three labels."""

HEAD_FEATURES = FeatureMap(
    ColumnVectors(centres=(0.0,), scales=(0.0,), constant=1, features=1), Ferns(CUTS[:1] * 3, depth=1, features=1), 64
)
"""v = (0, 1) has a quarter of the squared norm and each of three ferns another one: ‖φ‖ = 1, on integers, too."""
UNEVEN_FEATURES = FeatureMap(
    ColumnVectors(centres=(0.0,), scales=(1.0,), constant=1, features=1), Ferns(CUTS, depth=2, features=1), 128
)
"""v = (x, 1), and one fern has four cells, of which one is always empty."""
_UNIT = 2**10
"""Of the noisy sum, in weights: small enough that none is cut."""


def gradient_step_plan(features: FeatureMap, bound: int, multiplier: float, classes: int = 2) -> LinearStage:
    """Two records, one step from θ = 0, after which θ is the noisy sum over 2¹⁰; σ = `multiplier`·2M."""
    scale, step_size = multiplier * 2 * bound, 2 * bound / _UNIT
    return LinearStage(2, *shape_of(features), 1, bound, scale, momentum=0.0, step_size=step_size, classes=classes)


def gradient_step_case(features: FeatureMap, plan: LinearStage, neighbours: Pairs, delta: float) -> Case:
    name = (
        f"Head step: {plan.classes} classes, p = {plan.dense}, {plan.ferns} × {1 << plan.depth} cells, "
        f"n = {plan.records}, M = {plan.bound}, σ = {plan.scale:g}, δ = {delta:g}"
    )
    start = partial(Shown, partial(_linear_weights, features, plan))
    return SumCase(name, linear_guarantee(plan, delta), neighbours, start, event=plan.event)


def _linear_weights(features: FeatureMap, plan: LinearStage, table: Table, entropy: Entropy) -> tuple[float, ...]:
    """The published θ, block after block, in units of the noisy sum."""
    published = descend(features, table.source(plan.classes), plan, entropy)
    cells = (scale * block.reshape(-1) for scale, block in zip(published.scales, published.tables, strict=True))
    blocks = zip(published.weights, cells, strict=True)
    return tuple(float(_UNIT * weight) for dense, block in blocks for weight in (*dense, *block))


CONSTANT = FeatureMap(ColumnVectors(centres=(0.0,), scales=(0.0,), constant=1, features=1), None, 256)
"""v = (0, 1): a linear classifier that knows of nothing but labels."""
ONE_CUT = DecisionTrees(depth=1, predicates=CUTS[:1])
IN_QUESTION = replacing_the_last(TWO_PLACES[:1], (*TWO_PLACES[:2], TWO_PLACES[3]))
"""Two records that agree; that differ, and no tree can tell them apart; that differ, and one cut can."""


NEVER = 10**6
"""More mistakes than there are, with any noise."""


def asked_plan(records: int, question: float, multiplier: float, tree: float) -> AskedStage:
    """A question that one record decides, and one step, M = 2, of a linear classifier; σ = `multiplier`·2M."""
    bound, scale = 2, multiplier * 2 * 2
    linear = LinearStage(records, *shape_of(CONSTANT), 1, bound, scale, momentum=0.0, step_size=1.0)
    return AskedStage(question, 1, few=0, many=NEVER, tree=tree, depth=1, linear=linear)


@dataclass(frozen=True)
class Question:
    """The shipped question and what follows it, as a mechanism: the whole tree is shown, or all weights of a linear classifier."""

    plan: AskedStage

    def __call__(self, table: Table, entropy: Entropy) -> str:
        return _shown(asked(ONE_CUT, CONSTANT, table.source(), self.plan, entropy))


def _shown(found: Hypothesis) -> str:
    """All of it: a tree, or the weights of a linear classifier, with the tree beside it if there is one."""
    if not isinstance(found, LinearClassifier):
        return in_full(found)
    tree = found.feature_map.tree
    return f"a linear classifier{'' if tree is None else f' beside {tree}'}, θ = {found.weights}"


def asked_case(plan: AskedStage, neighbours: Pairs, delta: float) -> Case:
    name = f"Tree or linear classifier: n = {plan.records}, ε of the question = {plan.question:g}, σ = {plan.linear.scale:g}, "
    claimed = asked_guarantee(plan, ONE_CUT, 1, delta)
    return TurningCase.once(f"{name}η = {plan.tree:g}, δ = {delta:g}", claimed, neighbours, Question(plan))


NOT_HERE = (Predicate(0, 7.0), Predicate(0, 8.0), Predicate(0, 9.0))
"""No row answers one of them with yes, public or not: to a vector they are 0."""
BESIDE_TREES = FeatureMap(PredicateVectors(NOT_HERE, (0,) * 3, (0,) * 3, features=1), None, 256)
"""v = (0, 0, 0, 256), and (0, 0, 0, ±443, 256) at 1 beside a tree that is not constant: ‖v‖ = 511.65."""
MOSTLY_LEFT = np.array([[0.0]] * 12 + [[1.0]])
"""Public rows, too few for directions."""


def one_more(records: int) -> Pairs:
    """So many at 1, of label 0, and another label for the last: a tree has all others right or all of them wrong.

    So its loss has two values, 2η apart. How many others there are decides where: the worst is among them.
    """
    return replacing_the_last(TWO_PLACES[2:3] * (records - 1), TWO_PLACES[2:])


def stacked_plan(records: int, multiplier: float, tree: float, classes: int = 2) -> StackedStage:
    """A tree of depth 1, and one step of a linear classifier beside it; σ = `multiplier`·2M.

    M = 512 is just above the length of vectors, and noise is so fine that the closed form has the better figure.
    """
    p, scale = most_coordinates(BESIDE_TREES, classes), multiplier * 2 * 512
    linear = LinearStage(records, p, 0, 0, 256, 1, 512, scale, momentum=0.0, step_size=1.0, classes=classes)
    return StackedStage(tree, depth=1, slack=1e-9, whitening=0.5, linear=linear)


@dataclass(frozen=True)
class _OverheardTrees(DecisionTrees):
    """Trees of which it is known what was drawn, the constant ones included, that a linear classifier does without."""

    heard: list[DecisionTree] = field(default_factory=list, compare=False)

    def _draw_on(self, *given: Any) -> DecisionTree:
        self.heard.append(super()._draw_on(*given))
        return self.heard[-1]


@dataclass(frozen=True)
class Stacked:
    """The shipped linear beside a tree, as a mechanism: the drawn tree is shown, and all weights of the linear classifier."""

    plan: StackedStage
    cuts: tuple[Predicate, ...] = CUTS[:1]

    def __call__(self, table: Table, entropy: Entropy) -> str:
        classes = self.plan.linear.classes
        trees = _OverheardTrees(depth=1, predicates=self.cuts, labels=classes)
        found = stacked(trees, BESIDE_TREES, table.source(classes), self.plan, entropy, public=MOSTLY_LEFT)
        return f"{in_full(trees.heard[-1])} and {_shown(found)}"


def stacked_case(plan: StackedStage, neighbours: Pairs, delta: float, cuts: tuple[Predicate, ...] = CUTS[:1]) -> Case:
    classes = plan.linear.classes
    name = f"Head beside a tree: {classes} classes, cuts = {len(cuts)}, n = {plan.records}, σ = {plan.linear.scale:g}, "
    claimed = stacked_guarantee(plan, DecisionTrees(depth=1, predicates=cuts, labels=classes), 1, delta)
    return DrawnCase.once(f"{name}η = {plan.tree:g}, δ = {delta:g}", claimed, neighbours, Stacked(plan, cuts))


_LAST_OF_TWO = Directions.of(np.array([[0], [1]], dtype=np.int16), shift=8)  # 256 becomes 1
SEEN_CONSTANT = FeatureMap(PredicateVectors(CUTS[:1], (0,), (0,), features=1, directions=_LAST_OF_TWO), None, 256)
"""The same, seen through a direction: what noisy sums say of it can be understood by public rows."""
PUBLIC_ROWS = np.zeros((4, 1))


def contest_plan(records: int, multiplier: float, tree: float, *, step_size: float = 1.0) -> ContestStage:
    """A pilot of one sum, a lead that one record decides, and one more sum, M = 1; σ = `multiplier`·2M everywhere.

    Both are steps, or posteriors if `step_size` is 0.
    """
    bound, scale, features = 1, multiplier * 2 * 1, CONSTANT if step_size else SEEN_CONSTANT
    step = LinearStage(records, *shape_of(features), 1, bound, scale, momentum=0.0, step_size=step_size)
    return ContestStage(step, shallow=1, scale=scale, tree_from=1, tree=tree, depth=1, linear=step, slack=1e-6)


@dataclass(frozen=True)
class Contest:
    """The shipped contest, as a mechanism: the whole tree is shown, or all weights of the linear classifier that follows a pilot.

    What the pilot's sum came to is part of an outcome to the exact verifier: it may be shown, too.
    """

    plan: ContestStage

    def __call__(self, table: Table, entropy: Entropy) -> str:
        features = SEEN_CONSTANT if self.plan.linear.is_empirical_bayes else CONSTANT
        return _shown(contest(ONE_CUT, (features,) * 2, table.source(), self.plan, entropy, public=PUBLIC_ROWS))


def contest_case(plan: ContestStage, neighbours: Pairs, delta: float) -> Case:
    kind = " of posteriors" if plan.linear.is_empirical_bayes else ""
    name = f"Contest{kind}: n = {plan.records}, σ of the pilot = {plan.pilot.scale:g}, of the lead = {plan.scale:g}, "
    claimed = contest_guarantee(plan, ONE_CUT, 1, delta)
    return PilotCase.once(f"{name}η = {plan.tree:g}, δ = {delta:g}", claimed, neighbours, Contest(plan))


def classifier_cases(*, full: bool) -> Iterator[Case]:
    two = all_neighbours(2, TWO_PLACES)
    yield gradient_step_case(HEAD_FEATURES, gradient_step_plan(HEAD_FEATURES, 16, 1.0), two, 0.01)
    yield gradient_step_case(UNEVEN_FEATURES, gradient_step_plan(UNEVEN_FEATURES, 8, 1.0), two, 0.01)
    yield asked_case(asked_plan(2, 0.5, 2.0, 0.5), two if full else IN_QUESTION, 0.01)
    yield stacked_case(stacked_plan(4, 2.0, 0.5), one_more(4), 0.001)
    yield contest_case(contest_plan(2, 1.0, 0.5), two if full else IN_QUESTION, 0.05)
    yield contest_case(contest_plan(2, 1.0, 0.5, step_size=0.0), two if full else IN_QUESTION, 0.05)
    if full:
        yield stacked_case(stacked_plan(2, 2.0, 0.5), all_neighbours(2), 0.001, CUTS)
        yield from (stacked_case(stacked_plan(n, 2.0, 0.25), one_more(n), 1e-4) for n in (1, 6, 12))
        yield stacked_case(stacked_plan(2, 2.0, 0.5, classes=3), replacing_the_last(ONE_PLACE[:1], ONE_PLACE), 0.001)
        plan = gradient_step_plan(HEAD_FEATURES, 16, 1.0, classes=3)
        yield gradient_step_case(HEAD_FEATURES, plan, all_neighbours(2, ONE_PLACE), 0.01)
