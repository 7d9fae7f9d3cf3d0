"""Published classifiers beyond one tree: steps of the head, with ferns; a tree or a head by a question or a contest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from pcqr.algorithms.asked import asked, asked_guarantee
from pcqr.algorithms.contest import contest, contest_guarantee
from pcqr.algorithms.head import descend, head_guarantee, shape_of
from pcqr.audit.exact.cases.tables import LINE, Pairs, Record, Table, all_neighbours, replacing_the_last
from pcqr.audit.exact.sums import Shown, SumCase
from pcqr.audit.exact.turns import PilotCase, TurningCase
from pcqr.audit.exact.verify import Case
from pcqr.entropy import Entropy
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.head import Head
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.plan import AskedStage, ContestStage, HeadStage
from pcqr.records.directions import Directions
from pcqr.records.ferns import Ferns
from pcqr.records.head_features import HeadFeatures
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import ColumnVectors, PredicateVectors

CUTS = (Predicate(0, 0.5), Predicate(0, 1.5))
TWO_PLACES: tuple[Record, ...] = LINE[:4]

HEAD_FEATURES = HeadFeatures(
    ColumnVectors(centres=(0.0,), scales=(0.0,), constant=1, features=1), Ferns(CUTS[:1] * 3, depth=1, features=1), 64
)
"""v = (0, 1) has a quarter of the squared norm and each of three ferns another one: ‖φ‖ = 1, on integers, too."""
UNEVEN_FEATURES = HeadFeatures(
    ColumnVectors(centres=(0.0,), scales=(1.0,), constant=1, features=1), Ferns(CUTS, depth=2, features=1), 128
)
"""v = (x, 1), and one fern has four cells, of which one is always empty."""
_UNIT = 2**10
"""Of the noisy sum, in weights: small enough that none is cut."""


def head_step_plan(features: HeadFeatures, bound: int, multiplier: float, classes: int = 2) -> HeadStage:
    """Two records, one step from θ = 0, after which θ is the noisy sum over 2¹⁰; σ = `multiplier`·2M."""
    scale, step_size = multiplier * 2 * bound, 2 * bound / _UNIT
    return HeadStage(2, *shape_of(features), 1, bound, scale, momentum=0.0, step_size=step_size, classes=classes)


def head_step_case(features: HeadFeatures, plan: HeadStage, neighbours: Pairs, delta: float) -> Case:
    name = (
        f"Head step: {plan.classes} classes, p = {plan.dense}, {plan.ferns} × {1 << plan.depth} cells, "
        f"n = {plan.records}, M = {plan.bound}, σ = {plan.scale:g}, δ = {delta:g}"
    )
    start = partial(Shown, partial(_head_weights, features, plan))
    return SumCase(name, head_guarantee(plan, delta), neighbours, start, event=plan.event)


def _head_weights(features: HeadFeatures, plan: HeadStage, table: Table, entropy: Entropy) -> tuple[float, ...]:
    """The published θ, block after block, in units of the noisy sum."""
    published = descend(features, table.source(plan.classes), plan, entropy)
    cells = (scale * block.reshape(-1) for scale, block in zip(published.scales, published.tables, strict=True))
    blocks = zip(published.weights, cells, strict=True)
    return tuple(float(_UNIT * weight) for dense, block in blocks for weight in (*dense, *block))


CONSTANT = HeadFeatures(ColumnVectors(centres=(0.0,), scales=(0.0,), constant=1, features=1), None, 256)
"""v = (0, 1): a head that knows of nothing but labels."""
ONE_CUT = DecisionTrees(depth=1, predicates=CUTS[:1])
IN_QUESTION = replacing_the_last(TWO_PLACES[:1], (*TWO_PLACES[:2], TWO_PLACES[3]))
"""Two records that agree; that differ, and no tree can tell them apart; that differ, and one cut can."""


NEVER = 10**6
"""More mistakes than there are, with any noise."""


def asked_plan(records: int, question: float, multiplier: float, tree: float) -> AskedStage:
    """A question that one record decides, and one step, M = 2, of a head; σ = `multiplier`·2M."""
    bound, scale = 2, multiplier * 2 * 2
    head = HeadStage(records, *shape_of(CONSTANT), 1, bound, scale, momentum=0.0, step_size=1.0)
    return AskedStage(question, 1, few=0, many=NEVER, tree=tree, depth=1, head=head)


@dataclass(frozen=True)
class Question:
    """The shipped question and what follows it, as a mechanism: the whole tree is shown, or all weights of a head."""

    plan: AskedStage

    def __call__(self, table: Table, entropy: Entropy) -> str:
        return _shown(asked(ONE_CUT, CONSTANT, table.source(), self.plan, entropy))


def _shown(found: Hypothesis) -> str:
    return f"a head, θ = {found.weights}" if isinstance(found, Head) else repr(found)


def asked_case(plan: AskedStage, neighbours: Pairs, delta: float) -> Case:
    name = f"Tree or head: n = {plan.records}, ε of the question = {plan.question:g}, σ = {plan.head.scale:g}, "
    claimed = asked_guarantee(plan, ONE_CUT, 1, delta)
    return TurningCase.once(f"{name}η = {plan.tree:g}, δ = {delta:g}", claimed, neighbours, Question(plan))


_LAST_OF_TWO = Directions.of(np.array([[0], [1]], dtype=np.int16), shift=8)  # 256 becomes 1
SEEN_CONSTANT = HeadFeatures(PredicateVectors(CUTS[:1], (0,), (0,), features=1, directions=_LAST_OF_TWO), None, 256)
"""The same, seen through a direction: what noisy sums say of it can be understood by public rows."""
PUBLIC_ROWS = np.zeros((4, 1))


def contest_plan(records: int, multiplier: float, tree: float, *, step_size: float = 1.0) -> ContestStage:
    """A pilot of one sum, a lead that one record decides, and one more sum, M = 1; σ = `multiplier`·2M everywhere.

    Both are steps, or posteriors if `step_size` is 0.
    """
    bound, scale, features = 1, multiplier * 2 * 1, CONSTANT if step_size else SEEN_CONSTANT
    step = HeadStage(records, *shape_of(features), 1, bound, scale, momentum=0.0, step_size=step_size)
    return ContestStage(step, shallow=1, scale=scale, tree_from=1, tree=tree, depth=1, head=step, slack=1e-6)


@dataclass(frozen=True)
class Contest:
    """The shipped contest, as a mechanism: the whole tree is shown, or all weights of the head that follows a pilot.

    What the pilot's sum came to is part of an outcome to the exact verifier: it may be shown, too.
    """

    plan: ContestStage

    def __call__(self, table: Table, entropy: Entropy) -> str:
        features = SEEN_CONSTANT if self.plan.head.is_posterior else CONSTANT
        return _shown(contest(ONE_CUT, (features,) * 2, table.source(), self.plan, entropy, public=PUBLIC_ROWS))


def contest_case(plan: ContestStage, neighbours: Pairs, delta: float) -> Case:
    kind = " of posteriors" if plan.head.is_posterior else ""
    name = f"Contest{kind}: n = {plan.records}, σ of the pilot = {plan.pilot.scale:g}, of the lead = {plan.scale:g}, "
    claimed = contest_guarantee(plan, ONE_CUT, 1, delta)
    return PilotCase.once(f"{name}η = {plan.tree:g}, δ = {delta:g}", claimed, neighbours, Contest(plan))


def classifier_cases(*, full: bool) -> Iterator[Case]:
    two = all_neighbours(2, TWO_PLACES)
    yield head_step_case(HEAD_FEATURES, head_step_plan(HEAD_FEATURES, 16, 1.0), two, 0.01)
    yield head_step_case(UNEVEN_FEATURES, head_step_plan(UNEVEN_FEATURES, 8, 1.0), two, 0.01)
    yield asked_case(asked_plan(2, 0.5, 2.0, 0.5), two if full else IN_QUESTION, 0.01)
    yield contest_case(contest_plan(2, 1.0, 0.5), two if full else IN_QUESTION, 0.05)
    yield contest_case(contest_plan(2, 1.0, 0.5, step_size=0.0), two if full else IN_QUESTION, 0.05)
    if full:
        three_labels = tuple((0.0, label) for label in range(3))
        plan = head_step_plan(HEAD_FEATURES, 16, 1.0, classes=3)
        yield head_step_case(HEAD_FEATURES, plan, all_neighbours(2, three_labels), 0.01)
