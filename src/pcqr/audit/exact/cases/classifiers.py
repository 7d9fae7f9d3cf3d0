"""Published classifiers beyond one tree: rounds of boosting, a step of the linear classifier, and one of the head."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from pcqr.accounting import BoundedRangeEvent, Repeated
from pcqr.algorithms.boosting import boost, boosting_guarantee
from pcqr.algorithms.head import descend, head_guarantee, shape_of
from pcqr.algorithms.linear import linear_descent, linear_guarantee, one_against_rest
from pcqr.audit.exact.cases.tables import LINE, Pairs, Record, Table, all_neighbours, replacing_the_last
from pcqr.audit.exact.cases.votes import UNANIMOUS
from pcqr.audit.exact.sums import Shown, SumCase
from pcqr.audit.exact.verify import Case
from pcqr.entropy import Entropy
from pcqr.hypotheses.trees import Predicate
from pcqr.hypotheses.trees.weighted import log_probability_error
from pcqr.plan import BoostingStage, DescentStage, HeadStage
from pcqr.records.features import LinearFeatures
from pcqr.records.ferns import Ferns
from pcqr.records.head_features import HeadFeatures
from pcqr.records.vectors import ColumnVectors


def classifier_cases(*, full: bool) -> Iterator[Case]:
    yield from _boosting(full=full)
    yield from _linear_steps(full=full)
    yield from _head_steps(full=full)


# --------------------------------------------------------------------------------------------------------------
# Boosting

CUTS = (Predicate(0, 0.5), Predicate(0, 1.5))
TWO_PLACES: tuple[Record, ...] = LINE[:4]
CROWD = (UNANIMOUS,) * 40
"""They agree, so that a tree that contradicts them is as surprising as it gets."""


def boosting_plan(records: int, rounds: int, *, cuts: int = 1, depth: int = 1, delta: float = 0.0) -> BoostingStage:
    """η = ½: a round has range 1. A record that a tree gets right weighs less in the next round."""
    return BoostingStage(records, cuts, cuts, depth, rounds, step=0.7, inverse_temperature=0.5, delta=delta)


def boosting_case(plan: BoostingStage, neighbours: Pairs) -> Case:
    """All trees, cuts and abstentions included. The second is drawn from weights that the first one has made."""
    slack = log_probability_error(plan.records, plan.offered, plan.depth, plan.inverse_temperature)
    a_round = BoundedRangeEvent(2.0 * plan.inverse_temperature + 4.0 * slack)
    name = (
        f"Boosting: J = {plan.rounds}, B = {plan.predicates}, depth {plan.depth}, n = {plan.records}, "
        f"η = {plan.inverse_temperature:g}" + (f", δ = {plan.delta:g}" if plan.delta else "")
    )
    return Case.once(
        name, boosting_guarantee(plan), neighbours, partial(_boosted, plan), Repeated(a_round, plan.rounds)
    )


def _boosted(plan: BoostingStage, table: Table, entropy: Entropy) -> str:
    return repr(boost(table.source(), CUTS[: plan.predicates], plan, entropy).trees)


def _boosting(*, full: bool) -> Iterator[Case]:
    three, crowd = all_neighbours(3, TWO_PLACES), replacing_the_last(CROWD, TWO_PLACES)
    yield boosting_case(boosting_plan(3, 1, cuts=2), all_neighbours(3) if full else replacing_the_last(LINE[1:3]))
    yield boosting_case(boosting_plan(len(CROWD) + 1, 1), crowd)
    yield boosting_case(boosting_plan(3, 2), three if full else replacing_the_last(TWO_PLACES[1:3], TWO_PLACES))
    yield boosting_case(boosting_plan(len(CROWD) + 1, 2), crowd)
    yield boosting_case(boosting_plan(len(CROWD) + 1, 2, delta=0.05), crowd)
    if full:
        yield boosting_case(boosting_plan(3, 1, depth=2), three)
        yield boosting_case(boosting_plan(3, 2, cuts=2), replacing_the_last(LINE[1:3]))


# --------------------------------------------------------------------------------------------------------------
# One step of the linear classifier

FEATURES = LinearFeatures(CUTS[:1], holding=(192,), failing=(0,), features=1)
"""‖φ‖ is 256 on the left and 320 on the right of the cut."""
LABEL_ONLY = LinearFeatures(CUTS[:1], holding=(0,), failing=(0,), features=1)
"""φ = (0, 256) everywhere."""


def step_plan(bound: int, multiplier: float, classes: int = 2) -> DescentStage:
    """Two records, one step from θ = 0, so long that θ is then the noisy sum itself; σ = `multiplier`·2M."""
    return DescentStage(2, 1, 1, bound, multiplier * 2 * bound, 0.0, float(2 * bound), classes)


def step_case(features: LinearFeatures, plan: DescentStage, neighbours: Pairs, delta: float) -> Case:
    name = (
        f"Linear step: {plan.classes} classes, n = {plan.records}, M = {plan.bound}, σ = {plan.scale:g}, δ = {delta:g}"
    )
    start = partial(Shown, partial(_weights, features, plan))
    return SumCase(name, linear_guarantee(plan, delta), neighbours, start, event=plan.event)


def _weights(features: LinearFeatures, plan: DescentStage, table: Table, entropy: Entropy) -> tuple[float, ...]:
    """The published θ, block after block."""
    if plan.classes == 2:
        return linear_descent(features, table.source(), plan, entropy).weights
    published = one_against_rest(features, table.source(plan.classes), plan, entropy)
    return tuple(weight for member in published.members for weight in member.weights)


def _linear_steps(*, full: bool) -> Iterator[Case]:
    two = all_neighbours(2, TWO_PLACES)
    yield step_case(FEATURES, step_plan(320, 2.0), two, 1e-5)
    yield step_case(FEATURES, step_plan(320, 1.0), two, 0.01)
    if full:
        yield step_case(FEATURES, step_plan(1000, 1.0), two, 0.01)
        three_labels = tuple((0.0, label) for label in range(3))
        yield step_case(LABEL_ONLY, step_plan(1792, 1.0, classes=3), all_neighbours(2, three_labels), 0.01)


# --------------------------------------------------------------------------------------------------------------
# One step of the head, with ferns

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


def _head_steps(*, full: bool) -> Iterator[Case]:
    two = all_neighbours(2, TWO_PLACES)
    yield head_step_case(HEAD_FEATURES, head_step_plan(HEAD_FEATURES, 16, 1.0), two, 0.01)
    yield head_step_case(UNEVEN_FEATURES, head_step_plan(UNEVEN_FEATURES, 8, 1.0), two, 0.01)
    if full:
        three_labels = tuple((0.0, label) for label in range(3))
        plan = head_step_plan(HEAD_FEATURES, 16, 1.0, classes=3)
        yield head_step_case(HEAD_FEATURES, plan, all_neighbours(2, three_labels), 0.01)
