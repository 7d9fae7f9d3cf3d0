"""Published classifiers beyond one tree: steps of a linear one, a linear one beside a tree, pilots that choose one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from pcqr.audit.exact.cases.tables import LINE, Pairs, Record, Table, all_neighbours, replacing_the_last
from pcqr.audit.exact.drawn import DrawnCase
from pcqr.audit.exact.events import in_full
from pcqr.audit.exact.sums import Shown, SumCase
from pcqr.audit.exact.verify import Case
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.vectors import ColumnVectors, Directions, PredicateVectors
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees
from pcqr.privacy.accounting import ConcentratedEvent
from pcqr.privacy.composition import Branch, Context, Sequence, Stage, account, parts_of
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.classifier.descent import dp_gradient_descent, shape_of
from pcqr.releases.classifier.plan import ClassCountsStage, ComparisonStage, LeafCountsStage, LinearStage, MapName
from pcqr.releases.classifier.run import most_coordinates, publish
from pcqr.releases.protocol.stages import DrawStage

CUTS = (Predicate(0, 0.5), Predicate(0, 1.5))
TWO_PLACES: tuple[Record, ...] = LINE[:4]
ONE_PLACE: tuple[Record, ...] = tuple((1.0, label) for label in range(3))
"""Records at one place, each with another one of three labels."""

FERNS = FeatureMap(
    ColumnVectors(centres=(0.0,), scales=(0.0,), constant=1, features=1), Ferns(CUTS[:1] * 3, depth=1, features=1), 64
)
"""v = (0, 1) has a quarter of the squared norm and each of three ferns another one: ‖φ‖ = 1, on integers, too."""
UNEVEN_FERNS = FeatureMap(
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
        f"Step of a linear classifier: {plan.classes} classes, p = {plan.dense}, {plan.ferns} × {1 << plan.depth} "
        f"cells, n = {plan.records}, M = {plan.bound}, σ = {plan.scale:g}, δ = {delta:g}"
    )
    start = partial(Shown, partial(_linear_weights, features, plan))
    return SumCase(name, account(plan, context_of(plan), delta), neighbours, start, event=plan.sums)


def _linear_weights(features: FeatureMap, plan: LinearStage, table: Table, entropy: Entropy) -> tuple[float, ...]:
    """The published θ, block after block, in units of the noisy sum."""
    published = dp_gradient_descent(features, table.source(plan.classes), plan, entropy)
    cells = (scale * block.reshape(-1) for scale, block in zip(published.scales, published.tables, strict=True))
    blocks = zip(published.weights, cells, strict=True)
    return tuple(float(_UNIT * weight) for dense, block in blocks for weight in (*dense, *block))


def trees_of(cuts: tuple[Predicate, ...] = CUTS[:1], labels: int = 2) -> DecisionTrees:
    """Trees of depth 1."""
    return DecisionTrees(depth=1, predicates=cuts, labels=labels)


def context_of(stage: Stage, trees: DecisionTrees | None = None) -> Context:
    """What is public about tables with one column."""
    return Context(trees or trees_of(), parts_of(stage, LinearStage)[0].records, features=1)


@dataclass(frozen=True)
class Published:
    """The shipped `publish`, as a mechanism: shown are the drawn tree, if there is one, and all of what comes last.

    What sums came to is part of an outcome to the exact verifier. So pilots are shown, and the option that followed.
    """

    stage: Stage
    maps: Mapping[MapName, FeatureMap]
    public: tuple[float, ...]
    cuts: tuple[Predicate, ...] = CUTS[:1]

    @property
    def trees(self) -> DecisionTrees:
        return trees_of(self.cuts, parts_of(self.stage, LinearStage)[0].classes)

    @property
    def pilots(self) -> int:
        """How many noisy sums come before the last one, whichever option is taken."""
        return sum(part.steps for part in self.stage.longest() if isinstance(part, LinearStage)) - 1

    @property
    def walked(self) -> int:
        """How many noisy sums come before the last one, counts of labels among them."""
        return self.pilots + len(parts_of(self.stage, ClassCountsStage))

    @property
    def farthest(self) -> int:
        """What these sums come to at most, in 5 σ of their noise, and counts in 12 of its scale; 0 without any."""
        linears, counts = parts_of(self.stage, LinearStage), parts_of(self.stage, ClassCountsStage)
        reached = [math.ceil(5.0 * part.scale) + part.records * part.bound for part in linears[: self.pilots]]
        reached += [math.ceil(12.0 * part.scale) + linears[-1].records for part in counts]
        return max(reached, default=0)

    def claimed(self, delta: float) -> Guarantee:
        return account(self.stage, context_of(self.stage, self.trees), delta)

    def __call__(self, table: Table, entropy: Entropy) -> str:
        trees = _OverheardTrees(depth=1, predicates=self.cuts, labels=self.trees.labels)
        public = np.array(self.public)[:, None]
        found = publish(self.stage, trees, table.source(trees.labels), entropy, maps=self.maps, public=public)
        return " and ".join(map(in_full, (*trees.drawn_trees, found)))


@dataclass(frozen=True)
class _OverheardTrees(DecisionTrees):
    """Trees of which it is known what was drawn, the constant ones included, which a linear classifier does without."""

    drawn_trees: list[DecisionTree] = field(default_factory=list, compare=False)

    def _draw_on(self, *arguments: Any) -> DecisionTree:
        self.drawn_trees.append(super()._draw_on(*arguments))
        return self.drawn_trees[-1]


def published_case(name: str, published: Published, neighbours: Pairs, delta: float) -> DrawnCase:
    """The case of all that is published. Without pilots its zCDP, which accounts go by, is looked at as well."""
    claimed = published.claimed(delta)
    event = None if claimed.rho is None or published.walked else ConcentratedEvent(claimed.rho)
    return followed(DrawnCase.once(f"{name}, δ = {delta:g}", claimed, neighbours, published, event), published)


def followed(case: DrawnCase, published: Published) -> DrawnCase:
    """The case, with the sums of pilots walked through: all values but those of a chance of 10⁻⁷."""
    return replace(case, walked=published.walked, farthest=published.farthest)


NOT_HERE = (Predicate(0, 7.0), Predicate(0, 8.0), Predicate(0, 9.0))
"""None of them holds in a row, public or not: to a vector they are 0."""
BESIDE_TREES = FeatureMap(PredicateVectors(NOT_HERE, (0,) * 3, (0,) * 3, features=1), None, 256)
"""v = (0, 0, 0, 256), and (0, 0, 0, ±443, 256) at 1 beside a tree that is not constant: ‖v‖ = 511.65."""
MOSTLY_LEFT = (0.0,) * 12 + (1.0,)
"""Public rows, too few for directions."""


def _seen(cut: Predicate, rows: tuple[tuple[int, ...], ...]) -> FeatureMap:
    directions = Directions.of(np.array(rows, dtype=np.int16), shift=8)  # 256 becomes 1
    return FeatureMap(PredicateVectors((cut,), (256,), (0,), features=1, directions=directions), None, 256)


OPTIONS: Mapping[MapName, FeatureMap] = {
    "some ferns": _seen(CUTS[1], ((0,), (1,))),
    "mostly ferns": _seen(CUTS[1], ((1, 0), (0, 1))),
}
"""v = (1) and v = (0, 1) where x ≤ 1: two maps that are told apart, with sums of which records there move the last."""
ALL_LEFT = (0.0,) * 12
"""Public rows, enough for empirical Bayes; any tree says the same of all, so vectors are the same beside it."""


def one_more(records: int, labels: int = 2) -> Pairs:
    """So many at 1, of label 0, and another label for the last: a tree has all others right or all of them wrong.

    So its loss has two values, 2η apart. How many others there are decides where: the worst is among them.
    """
    return replacing_the_last(ONE_PLACE[:1] * (records - 1), ONE_PLACE[:labels])


def stacked(
    records: int,
    multiplier: float,
    tree: float,
    classes: int = 2,
    cuts: tuple[Predicate, ...] = CUTS[:1],
    *,
    beside: bool = True,
) -> Published:
    """A tree of depth 1, and one step of a linear classifier beside it; σ = `multiplier`·2M.

    M = 512 is just above the length of vectors, and noise is so fine that the closed form has the better figure. Unless
    `beside`, public rows do not tell trees apart, and vectors are those without a tree.
    """
    features, public = (BESIDE_TREES, MOSTLY_LEFT) if beside else (OPTIONS["some ferns"], ALL_LEFT)
    p, scale = most_coordinates(features, classes), multiplier * 2 * 512
    linear = LinearStage(
        records, p, 0, 0, 256, 1, 512, scale, momentum=0.0, step_size=1.0, classes=classes, whitening=0.5
    )
    return Published(Sequence((DrawStage(tree), linear)), {"plain": features}, public, cuts)


def stacked_case(published: Published, neighbours: Pairs, delta: float) -> DrawnCase:
    (draw,), (linear,) = parts_of(published.stage, DrawStage), parts_of(published.stage, LinearStage)
    where = "beside" if published.public == MOSTLY_LEFT else "after"
    name = (
        f"Linear classifier {where} a tree: {linear.classes} classes, cuts = {len(published.cuts)}, "
        f"n = {linear.records}, σ = {linear.scale:g}, η = {draw.inverse_temperature:g}"
    )
    return published_case(name, published, neighbours, delta)


def piloted(
    records: int,
    multipliers: tuple[float, float, float, float],
    *,
    lead: int = 1,
    tree: float | None = None,
    step_size: float = 1.0,
) -> Published:
    """Two pilots of one sum each, a comparison, and one more sum on the map of one or the other; M = 1.

    σ = 2M times the `multipliers`: of pilots, of the comparison, and of the two options. With an inverse temperature a
    `tree` comes before them. All are steps, or empirical Bayes if `step_size` is 0.
    """
    pilot, compared, *last = (2.0 * multiplier for multiplier in multipliers)
    maps = [(name, features.size if tree is None else most_coordinates(features)) for name, features in OPTIONS.items()]

    def linears(scales: Iterable[float]) -> Iterator[LinearStage]:
        for (name, dense), scale in zip(maps, scales, strict=True):
            yield LinearStage(records, dense, 0, 0, 256, 1, 1, scale, momentum=0.0, step_size=step_size, features=name)

    options = Branch(tuple(linears(last)))
    stages = (*linears((pilot, pilot)), ComparisonStage(records, 1, compared, lead), options)
    return Published(Sequence(stages if tree is None else (DrawStage(tree), *stages)), OPTIONS, ALL_LEFT)


def piloted_case(published: Published, neighbours: Pairs, delta: float) -> DrawnCase:
    (comparison,), linears = parts_of(published.stage, ComparisonStage), parts_of(published.stage, LinearStage)
    kind = "empirical Bayes" if linears[0].is_empirical_bayes else "steps"
    beside = "".join(f", a tree at η = {draw.inverse_temperature:g}" for draw in parts_of(published.stage, DrawStage))
    name = (
        f"Pilots, {kind}{beside}: n = {comparison.records}, σ = {linears[0].scale:g} and {linears[1].scale:g}, "
        f"then {comparison.scale:g}, then {linears[2].scale:g} or {linears[3].scale:g}"
    )
    return published_case(name, published, neighbours, delta)


@dataclass(frozen=True)
class Counted:
    """The shipped `publish` of a tree with counts at its leaves: shown are the drawn tree and what is published.

    What the counts come to is part of an outcome to the exact verifier.
    """

    stage: Stage
    depth: int = 1
    labels: int = 2

    def claimed(self, records: int) -> Guarantee:
        return account(self.stage, Context(self.trees, records, features=1))

    @property
    def trees(self) -> DecisionTrees:
        return DecisionTrees(depth=self.depth, predicates=CUTS, labels=self.labels)

    def __call__(self, table: Table, entropy: Entropy) -> str:
        trees = _OverheardTrees(depth=self.depth, predicates=CUTS, labels=self.labels)
        found = publish(self.stage, trees, table.source(self.labels), entropy)
        return " and ".join(map(in_full, (*trees.drawn_trees, found)))


def counted(tree: float, scale: float, depth: int = 1, labels: int = 2) -> Counted:
    """A tree at η = `tree`, and noise of this scale on the counts at its leaves."""
    return Counted(Sequence((DrawStage(tree), LeafCountsStage(scale))), depth, labels)


def leaf_count_case(mechanism: Counted, records: int, neighbours: Pairs, suffix: str = "") -> DrawnCase:
    """The case of a tree with counts. Its zCDP, which accounts go by, is looked at as well."""
    (draw,), (counts,) = parts_of(mechanism.stage, DrawStage), parts_of(mechanism.stage, LeafCountsStage)
    name = (
        f"Tree with counts at its leaves: {mechanism.labels} labels, depth {mechanism.depth}, n = {records}, "
        f"η = {draw.inverse_temperature:g}, b = {counts.scale:g}{suffix}"
    )
    claimed = mechanism.claimed(records)
    event = None if claimed.rho is None else ConcentratedEvent(claimed.rho)
    return DrawnCase.once(name, claimed, neighbours, mechanism, event)


def agreeing(records: int) -> Pairs:
    """So many at 1, of label 1, and the other label for the last."""
    return replacing_the_last(ONE_PLACE[1:2] * (records - 1), ONE_PLACE[:2])


def classifier_cases(*, full: bool) -> Iterator[Case]:
    two, alike = all_neighbours(2, TWO_PLACES), (0.3, 1.0, 1.0, 1.0)
    yield gradient_step_case(FERNS, gradient_step_plan(FERNS, 16, 1.0), two, 0.01)
    yield gradient_step_case(UNEVEN_FERNS, gradient_step_plan(UNEVEN_FERNS, 8, 1.0), two, 0.01)
    yield stacked_case(stacked(4, 2.0, 0.5), one_more(4), 0.001)
    yield from (
        stacked_case(stacked(4, 2.0, 0.5, classes=3, beside=beside), one_more(4, labels=3), 0.001)
        for beside in (True, False)
    )
    yield piloted_case(piloted(2, (0.5, 1.0, 0.5, 1.0)), agreeing(2), 0.01)
    yield piloted_case(piloted(1, alike, tree=0.5), agreeing(1), 0.01)
    yield piloted_case(piloted(1, alike, step_size=0.0), agreeing(1), 0.01)
    yield leaf_count_case(counted(0.0, 4.0), 2, all_neighbours(2))
    yield leaf_count_case(counted(0.5, 4.0), 2, all_neighbours(2))
    yield leaf_count_case(counted(0.5, 4.0, labels=3), 2, all_neighbours(2, ONE_PLACE))
    if full:
        yield leaf_count_case(counted(0.5, 2.5, depth=2), 2, all_neighbours(2))
        yield leaf_count_case(counted(0.25, 40.0), 6, one_more(6))
        yield stacked_case(stacked(2, 2.0, 0.5, cuts=CUTS), all_neighbours(2), 0.001)
        yield from (stacked_case(stacked(n, 2.0, 0.25), one_more(n), 1e-4) for n in (1, 6, 12))
        yield stacked_case(stacked(2, 2.0, 0.5, classes=3), all_neighbours(2, ONE_PLACE), 0.001)
        yield stacked_case(stacked(6, 2.0, 0.5, classes=3), one_more(6, labels=3), 0.001)
        yield piloted_case(piloted(2, (0.5, 1.0, 1.0, 1.0)), two, 0.01)
        yield piloted_case(piloted(5, (1.0, 1.0, 1.0, 1.0)), agreeing(5), 0.001)
        yield piloted_case(piloted(2, (0.5, 1.0, 0.5, 1.0), tree=0.5), two, 0.01)
        yield piloted_case(piloted(2, alike, tree=0.5, step_size=0.0), agreeing(2), 0.01)
        plan = gradient_step_plan(FERNS, 16, 1.0, classes=3)
        yield gradient_step_case(FERNS, plan, all_neighbours(2, ONE_PLACE), 0.01)
