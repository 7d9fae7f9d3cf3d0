"""Weighted records: counts of labels; what is published by weights, declared or made of the counts; trees on cuts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pcqr.algorithms.class_weights import noisy_label_counts
from pcqr.algorithms.published import publish
from pcqr.algorithms.sspp import sspp
from pcqr.audit.exact.cases.classifiers import (
    FERNS,
    ONE_PLACE,
    Published,
    counted,
    counted_case,
    gradient_step_case,
    gradient_step_plan,
    one_more,
    published_case,
    stacked,
)
from pcqr.audit.exact.cases.persons import LASTS, OF_TWO_MINDS, about_persons, replacing_the_last_person
from pcqr.audit.exact.cases.predicates import TreeOnCuts, cuts_stage, trees_on
from pcqr.audit.exact.cases.tables import Pairs, Record, Table, all_neighbours, replacing_the_last
from pcqr.audit.exact.drawn import DrawnCase
from pcqr.audit.exact.verify import Case
from pcqr.audit.shown import in_full
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.plan import ClassCountsStage, Context, DrawStage, LeafCountsStage, PredicatesStage, account
from pcqr.plan import Sequence as Stages
from pcqr.records.weighted import ByLabel, Weighted


@dataclass(frozen=True)
class WeightedTable(Table):
    """A private table whose records have weights, each from 0 to 1, beside those of their labels."""

    weights: tuple[float, ...] = ()
    by_label: ByLabel = (64, 64)

    def source(self, labels: int = 2) -> Weighted:  # type: ignore[override]  # asked as any other
        return Weighted(super().source(labels), self.by_label[:labels], np.array(self.weights))

    def __str__(self) -> str:
        return f"{super().__str__()} of weights {', '.join(f'{weight:g}' for weight in self.weights)}"


LAST_WEIGHTS = (0.0, 0.25, 1.0)


def replacing_the_last_weighted(common: Sequence[Record], lasts: Sequence[Record], by_label: ByLabel) -> Pairs:
    """All pairs of tables that have the `common` records, of weights 1, ½, 1, …, and one more, of any weight."""
    weights = tuple(itertools.islice(itertools.cycle((1.0, 0.5)), len(common)))
    tables = [WeightedTable((*common, last), (*weights, weight), by_label) for last in lasts for weight in LAST_WEIGHTS]
    return list(itertools.combinations(tables, 2))


@dataclass(frozen=True)
class LabelCounts:
    """The shipped counts of labels, as a mechanism."""

    stage: ClassCountsStage

    def __call__(self, table: Table, entropy: Entropy) -> str:
        return str(noisy_label_counts(table.source(self.stage.classes), self.stage, entropy))


def label_counts_case(stage: ClassCountsStage, neighbours: Pairs) -> DrawnCase:
    records = len(neighbours[0][0].records)
    claimed = account(stage, Context(Thresholds(), records, 1))
    name = f"Noisy counts of {stage.classes} labels: n = {records}, b = {stage.scale:g}"
    return DrawnCase.once(name, claimed, neighbours, LabelCounts(stage))


def balanced(records: int, scale: float, multiplier: float, tree: float) -> Published:
    """Counts of two labels, then a tree of depth 1 and one step of a linear classifier beside it, weighted by them."""
    beside = stacked(records, multiplier, tree)
    return replace(beside, stage=Stages((ClassCountsStage(scale), *beside.stage.within())))


def balanced_case(published: Published, neighbours: Pairs, delta: float) -> DrawnCase:
    counts, draw, linear = published.stage.within()
    name = (
        f"Weights by noisy counts, a tree, a linear classifier: n = {len(neighbours[0][0].records)}, "
        f"b = {counts.scale:g}, η = {draw.inverse_temperature:g}, σ = {linear.scale:g}"  # type: ignore[attr-defined]
    )
    return published_case(name, published, neighbours, delta)


@dataclass(frozen=True)
class WeighedTreeOnCuts(TreeOnCuts):
    """Cuts of all records, each of which counts one, and then a tree that asks at them, of weighted records."""

    def __call__(self, table: WeightedTable, entropy: Entropy) -> str:  # type: ignore[override]  # no other table
        records = table.source()
        cuts = self.cuts(records.source.gathered().X[:, 0].astype(np.int64), entropy)
        return f"cuts {cuts}, {in_full(sspp(trees_on(cuts), records, None, self.draw, entropy))}"


@dataclass(frozen=True)
class BalancedTreeOnCuts(TreeOnCuts):
    """Cuts, then counts of labels that weigh the records, and a tree that asks at the cuts, with counts at its leaves.

    Its `weighing` is what follows the cuts.
    """

    weighing: Stages = field(kw_only=True)

    @property
    def claimed(self) -> Guarantee:
        stages = Stages((self.stage, *self.weighing.stages))
        return account(stages, Context(trees_on(range(1, self.high)), self.stage.records, 1))

    def __call__(self, table: Table, entropy: Entropy) -> str:
        records = table.source()
        cuts = self.cuts(records.gathered().X[:, 0].astype(np.int64), entropy)
        return f"cuts {cuts}, {in_full(publish(self.weighing, trees_on(cuts), records, entropy))}"


def balanced_on_cuts_case(stage: PredicatesStage, scale: float, common: Sequence[Record]) -> DrawnCase:
    weighing = Stages((ClassCountsStage(scale), DrawStage(0.5), LeafCountsStage(4.0)))
    mechanism = BalancedTreeOnCuts(stage, 3, weighing=weighing)
    pairs = replacing_the_last(common, ((0.0, 0), (1.0, 1), (2.0, 1)))
    name = (
        f"Private cuts, weights by noisy counts, a tree: n = {stage.records}, ε₀ = {stage.selection:g}, b = {scale:g}"
    )
    case = DrawnCase.once(name, mechanism.claimed, pairs, mechanism)
    return replace(case, walked=1, farthest=math.ceil(12.0 * scale) + stage.records)


def weight_cases(*, full: bool) -> Iterator[Case]:
    yield label_counts_case(ClassCountsStage(2.0), all_neighbours(2))
    yield label_counts_case(ClassCountsStage(2.0, classes=3), all_neighbours(2, ONE_PLACE))
    persons = replacing_the_last_person((OF_TWO_MINDS,), LASTS)
    yield about_persons(label_counts_case(ClassCountsStage(2.0), persons))
    lasts = ((0.0, 1), (1.0, 0), (1.0, 1))
    for by_label in ((16, 64), (64, 64)):
        few = replacing_the_last_weighted(ONE_PLACE[:1], lasts, by_label)
        yield counted_case(counted(0.5, 4.0), 2, few, f", weights {by_label}")
    step = gradient_step_case(FERNS, gradient_step_plan(FERNS, 16, 1.0), few if full else few[2::3], 0.01)
    yield replace(step, name=f"{step.name}, weighted")
    yield balanced_case(balanced(2, 0.25, 2.0, 0.5), one_more(2), 0.001)
    bought = WeighedTreeOnCuts(cuts_stage(4, 2 if full else 1, 1.0), 3)
    common = ((0.0, 0), (1.0, 1), (2.0, 1))
    pairs = replacing_the_last_weighted(common, ((0.0, 0), (1.0, 1), (2.0, 0), (2.0, 1)), (16, 64))
    name = f"Private cuts, then a tree of weighted records: n = 4, L = {bought.stage.levels}, ε₀ = 1, η = 0.5"
    yield Case.once(name, bought.claimed, pairs, bought)
    yield balanced_on_cuts_case(cuts_stage(3, 1, 1.0), 0.5, ((1.0, 1), (2.0, 0)))
    if full:
        many = replacing_the_last_weighted(ONE_PLACE[:1] * 5, ((1.0, 0), (1.0, 1)), (3, 64))
        yield counted_case(counted(0.25, 40.0), 6, many, ", weights (3, 64)")
        yield balanced_case(balanced(6, 0.5, 2.0, 0.25), one_more(6), 0.001)
