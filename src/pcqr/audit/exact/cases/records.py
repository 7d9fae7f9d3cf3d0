"""Persons instead of records: all rows of one are replaced, by fewer or by more, and everything else stays.

The cases of other rooms on tables of persons: votes with either noise, committees, published trees and answers by
them, a step of the linear classifier, cuts and relabelling on one row of each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from pcqr.audit.exact.cases.classifiers import (
    FERNS,
    ONE_PLACE,
    UNEVEN_FERNS,
    Published,
    counted,
    gradient_step_case,
    gradient_step_plan,
    leaf_count_case,
    one_more,
    published_case,
    stacked,
)
from pcqr.audit.exact.cases.mechanisms import (
    DISSENTING,
    ONE_SIDED,
    UNANIMOUS,
    ag_priv_cl_case,
    sub_samp_case,
    votes_case,
)
from pcqr.audit.exact.cases.peers import noisy_max_case
from pcqr.audit.exact.cases.predicates import TreeOnCuts, cuts_stage, trees_on
from pcqr.audit.exact.cases.publication import KINDS, direct_case, poll_case, sspp_case
from pcqr.audit.exact.cases.tables import Pairs, Record, Table, all_neighbours, replacing_the_last
from pcqr.audit.exact.drawn import DrawnCase
from pcqr.audit.exact.events import in_full
from pcqr.audit.exact.verify import Case
from pcqr.data.records import GroupedRecords, InMemory
from pcqr.data.records.user_level import ByLabel, Weighted
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.hypotheses.trees import DecisionTrees, Predicate
from pcqr.mechanisms.noisy_max import ExponentialMax
from pcqr.privacy.composition import Context, account
from pcqr.privacy.composition import Sequence as Stages
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.agnostic.run import ag_priv_cl
from pcqr.releases.classifier.descent import noisy_label_counts
from pcqr.releases.classifier.plan import ClassCountsStage, LeafCountsStage, PredicatesStage
from pcqr.releases.classifier.run import publish
from pcqr.releases.protocol.log import PrivLabel
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.run import sspp
from pcqr.releases.subsample.plan import VoteStage

User = tuple[Record, ...]
"""Rows, one at least."""


@dataclass(frozen=True)
class UserTable(Table):
    """A private table of persons. `records` has one row of each: there are as many as persons."""

    users: tuple[User, ...] = ()

    @classmethod
    def of(cls, users: Sequence[User]) -> UserTable:
        return cls(tuple(user[0] for user in users), tuple(users))

    def source(self, labels: int = 2) -> GroupedRecords:  # type: ignore[override]  # asked as any other
        rows = self.as_rows()
        numbers = np.repeat(np.arange(len(self.users)), [len(user) for user in self.users])
        return GroupedRecords(InMemory(rows.points, rows.labels, labels), numbers)

    def as_rows(self) -> Table:
        """The same rows, as though each were a record of its own."""
        return Table(tuple(row for user in self.users for row in user))

    def __str__(self) -> str:
        return f"[{', '.join(str(Table(user)) for user in self.users)}]"


def replacing_the_last_user(common: Sequence[User], lasts: Sequence[User]) -> Pairs:
    """All pairs of tables that have the `common` persons and one more, who differs."""
    return list(itertools.combinations([UserTable.of((*common, last)) for last in lasts], 2))


def at_user_level_case(case: Case, note: str = "") -> Case:
    """`case` on tables of persons, with the same figures about them."""
    return replace(case, name=f"Persons: {case.name}{note}", claimed=case.claimed.at_user_level("records are persons"))


ONCE: User = (UNANIMOUS,)
OF_TWO_MINDS: User = (UNANIMOUS, DISSENTING, UNANIMOUS)
LASTS: tuple[User, ...] = (
    ((0.0, 0),),
    ((1.0, 1),),
    ((1.0, 1), (2.0, 0)),
    ((0.0, 1), (1.0, 1), (2.0, 1)),
    ((1.0, 1),) * 70,
    ((0.0, 1),) * 50 + ((2.0, 0),) * 60,
)
"""From one row to more rows than a whole has parts."""
CUTS = tuple(Predicate(0, cut) for cut in (0.5, 1.5))


@dataclass(frozen=True)
class TreeOnCutsOfUsers(TreeOnCuts):
    """Cuts of one row of each person or, broken, `of_all_rows`, and then a tree that asks at them, of weighted rows."""

    of_all_rows: bool = False

    def __call__(self, table: UserTable, entropy: Entropy) -> str:  # type: ignore[override]  # no other table
        users = table.source()
        rows = users.source if self.of_all_rows else users.source.rows(users.one_row_each(entropy))
        cuts = self.cuts(rows.gathered().X[:, 0].astype(np.int64), entropy)
        return f"cuts {cuts}, {in_full(sspp(trees_on(cuts), users, None, self.draw, entropy))}"


def _one_row_each(plan: VoteStage, table: UserTable, entropy: Entropy) -> PrivLabel:
    return ag_priv_cl(Thresholds(), table.source().one_each(entropy), None, plan, entropy)


def user_cases(*, full: bool) -> Iterator[Case]:
    three = replacing_the_last_user((ONCE, OF_TWO_MINDS), LASTS)
    four = replacing_the_last_user((ONCE, OF_TWO_MINDS, ONCE), (LASTS[0], LASTS[3]))
    rounds = 3 if full else 2
    yield at_user_level_case(sub_samp_case(Thresholds(), VoteStage(3, 3, 3, None, ONE_SIDED), three, rounds))
    yield at_user_level_case(sub_samp_case(Thresholds(), VoteStage(4, 3, 3, None, ONE_SIDED), four, rounds))
    yield at_user_level_case(noisy_max_case(ExponentialMax(0.5), 2, three))
    for kind in KINDS:
        if kind.hypotheses.labels == 2:
            common: tuple[User, ...] = (kind.common[:2], kind.common[2:], kind.common[:1])
            lasts: tuple[User, ...] = (kind.lasts[:1], kind.lasts[1:3], kind.lasts[:3] * 2)
            pairs = replacing_the_last_user(common if full else common[:2], lasts)
            yield at_user_level_case(poll_case(kind.name, kind.hypotheses, 2, pairs, kind.menu))
    two = replacing_the_last_user((OF_TWO_MINDS,), LASTS)
    many = replacing_the_last_user((ONCE,) * 20, LASTS)
    for depth in (1, 2) if full else (1,):
        trees = DecisionTrees(depth=depth, predicates=CUTS)
        for pairs in (two, many):
            yield at_user_level_case(sspp_case(trees, DrawStage(0.5), None, pairs), f", depth {depth}")
    yield at_user_level_case(direct_case(DecisionTrees(depth=1, predicates=CUTS), DrawStage(0.5), many))
    yield at_user_level_case(leaf_count_case(counted(0.5, 4.0), 2, two))
    for features, bound in ((FERNS, 16), (UNEVEN_FERNS, 8)):
        few = two if full else two[:4]
        yield at_user_level_case(gradient_step_case(features, gradient_step_plan(features, bound, 1.0), few, 0.01))
    bought = TreeOnCutsOfUsers(cuts_stage(3, 2 if full else 1, 1.0), 3)
    name = f"Private cuts of one row of each, then a tree on them: n = 3, L = {bought.stage.levels}, ε₀ = 1, η = 0.5"
    pairs = replacing_the_last_user((ONCE, OF_TWO_MINDS), LASTS[:4])
    yield at_user_level_case(Case.once(name, bought.claimed, pairs, bought))
    plan = VoteStage(3, 3, 3, 0.5, ONE_SIDED)
    yield at_user_level_case(ag_priv_cl_case(DecisionTrees(depth=1, predicates=CUTS[:1]), plan, three[:3], rounds))
    claimed = account(plan, Context(Thresholds(), plan.records, 1))
    short = replacing_the_last_user((ONCE, ONCE), LASTS[:4])
    name = "AgPrivCl, one row of each: Thresholds, n = 3, k = 3, η = 0.5"
    yield at_user_level_case(votes_case(name, claimed, short, partial(_one_row_each, plan), None, rounds))


# ---------------------------------------------------------------------------------------------------------------------
# Weighted records: counts of labels; what is published by weights, declared or made of the counts; trees on cuts.


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
    users = replacing_the_last_user((OF_TWO_MINDS,), LASTS)
    yield at_user_level_case(label_counts_case(ClassCountsStage(2.0), users))
    lasts = ((0.0, 1), (1.0, 0), (1.0, 1))
    for by_label in ((16, 64), (64, 64)):
        few = replacing_the_last_weighted(ONE_PLACE[:1], lasts, by_label)
        yield leaf_count_case(counted(0.5, 4.0), 2, few, f", weights {by_label}")
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
        yield leaf_count_case(counted(0.25, 40.0), 6, many, ", weights (3, 64)")
        yield balanced_case(balanced(6, 0.5, 2.0, 0.25), one_more(6), 0.001)
