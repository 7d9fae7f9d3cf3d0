"""Persons instead of records: all rows of one are replaced, by fewer or by more, and everything else stays.

The cases of other rooms on tables of persons: votes with either noise, committees, published trees and answers by
them, a step of the linear classifier, cuts and relabelling on one row of each.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pcqr.algorithms.ag_priv_cl import ag_priv_cl
from pcqr.algorithms.log import PrivLabel
from pcqr.algorithms.sspp import sspp
from pcqr.audit.exact.cases.classifiers import (
    FERNS,
    UNEVEN_FERNS,
    counted,
    counted_case,
    gradient_step_case,
    gradient_step_plan,
)
from pcqr.audit.exact.cases.committees import KINDS, poll_case
from pcqr.audit.exact.cases.peers import noisy_max_case
from pcqr.audit.exact.cases.predicates import TreeOnCuts, cuts_stage, trees_on
from pcqr.audit.exact.cases.publication import direct_case, sspp_case
from pcqr.audit.exact.cases.tables import Pairs, Record, Table
from pcqr.audit.exact.cases.votes import DISSENTING, ONE_SIDED, UNANIMOUS, ag_priv_cl_case, sub_samp_case, votes_case
from pcqr.audit.exact.verify import Case
from pcqr.audit.shown import in_full
from pcqr.entropy import Entropy
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.hypotheses.trees import DecisionTrees, Predicate
from pcqr.mechanisms.noisy_max import ExponentialMax
from pcqr.plan import Context, DrawStage, VoteStage, account
from pcqr.records import InMemory, Persons

Person = tuple[Record, ...]
"""Rows, one at least."""


@dataclass(frozen=True)
class PersonTable(Table):
    """A private table of persons. `records` has one row of each: there are as many as persons."""

    persons: tuple[Person, ...] = ()

    @classmethod
    def of(cls, persons: Sequence[Person]) -> PersonTable:
        return cls(tuple(person[0] for person in persons), tuple(persons))

    def source(self, labels: int = 2) -> Persons:  # type: ignore[override]  # asked as any other
        rows = self.as_rows()
        numbers = np.repeat(np.arange(len(self.persons)), [len(person) for person in self.persons])
        return Persons(InMemory(rows.points, rows.labels, labels), numbers)

    def as_rows(self) -> Table:
        """The same rows, as though each were a record of its own."""
        return Table(tuple(row for person in self.persons for row in person))

    def __str__(self) -> str:
        return f"[{', '.join(str(Table(person)) for person in self.persons)}]"


def replacing_the_last_person(common: Sequence[Person], lasts: Sequence[Person]) -> Pairs:
    """All pairs of tables that have the `common` persons and one more, who differs."""
    return list(itertools.combinations([PersonTable.of((*common, last)) for last in lasts], 2))


def about_persons(case: Case, told: str = "") -> Case:
    """`case` on tables of persons, with the same figures about them."""
    return replace(case, name=f"Persons: {case.name}{told}", claimed=case.claimed.for_persons("records are persons"))


ONCE: Person = (UNANIMOUS,)
OF_TWO_MINDS: Person = (UNANIMOUS, DISSENTING, UNANIMOUS)
LASTS: tuple[Person, ...] = (
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
class TreeOnCutsOfPersons(TreeOnCuts):
    """Cuts of one row of each person or, broken, `of_all_rows`, and then a tree that asks at them, of weighted rows."""

    of_all_rows: bool = False

    def __call__(self, table: PersonTable, entropy: Entropy) -> str:  # type: ignore[override]  # no other table
        persons = table.source()
        rows = persons.source if self.of_all_rows else persons.source.rows(persons.one_row_each(entropy))
        cuts = self.cuts(rows.gathered().X[:, 0].astype(np.int64), entropy)
        return f"cuts {cuts}, {in_full(sspp(trees_on(cuts), persons, None, self.draw, entropy))}"


def _one_row_each(plan: VoteStage, table: PersonTable, entropy: Entropy) -> PrivLabel:
    return ag_priv_cl(Thresholds(), table.source().one_each(entropy), None, plan, entropy)


def person_cases(*, full: bool) -> Iterator[Case]:
    three = replacing_the_last_person((ONCE, OF_TWO_MINDS), LASTS)
    four = replacing_the_last_person((ONCE, OF_TWO_MINDS, ONCE), (LASTS[0], LASTS[3]))
    rounds = 3 if full else 2
    yield about_persons(sub_samp_case(Thresholds(), VoteStage(3, 3, 3, None, ONE_SIDED), three, rounds))
    yield about_persons(sub_samp_case(Thresholds(), VoteStage(4, 3, 3, None, ONE_SIDED), four, rounds))
    yield about_persons(noisy_max_case(ExponentialMax(0.5), 2, three))
    for kind in KINDS:
        if kind.hypotheses.labels == 2:
            common: tuple[Person, ...] = (kind.common[:2], kind.common[2:], kind.common[:1])
            lasts: tuple[Person, ...] = (kind.lasts[:1], kind.lasts[1:3], kind.lasts[:3] * 2)
            pairs = replacing_the_last_person(common if full else common[:2], lasts)
            yield about_persons(poll_case(kind.name, kind.hypotheses, 2, pairs, kind.menu))
    two = replacing_the_last_person((OF_TWO_MINDS,), LASTS)
    many = replacing_the_last_person((ONCE,) * 20, LASTS)
    for depth in (1, 2) if full else (1,):
        trees = DecisionTrees(depth=depth, predicates=CUTS)
        for pairs in (two, many):
            yield about_persons(sspp_case(trees, DrawStage(0.5), None, pairs), f", depth {depth}")
    yield about_persons(direct_case(DecisionTrees(depth=1, predicates=CUTS), DrawStage(0.5), many))
    yield about_persons(counted_case(counted(0.5, 4.0), 2, two))
    for features, bound in ((FERNS, 16), (UNEVEN_FERNS, 8)):
        few = two if full else two[:4]
        yield about_persons(gradient_step_case(features, gradient_step_plan(features, bound, 1.0), few, 0.01))
    bought = TreeOnCutsOfPersons(cuts_stage(3, 2 if full else 1, 1.0), 3)
    name = f"Private cuts of one row of each, then a tree on them: n = 3, L = {bought.stage.levels}, ε₀ = 1, η = 0.5"
    pairs = replacing_the_last_person((ONCE, OF_TWO_MINDS), LASTS[:4])
    yield about_persons(Case.once(name, bought.claimed, pairs, bought))
    plan = VoteStage(3, 3, 3, 0.5, ONE_SIDED)
    yield about_persons(ag_priv_cl_case(DecisionTrees(depth=1, predicates=CUTS[:1]), plan, three[:3], rounds))
    claimed = account(plan, Context(Thresholds(), plan.records, 1))
    short = replacing_the_last_person((ONCE, ONCE), LASTS[:4])
    name = "AgPrivCl, one row of each: Thresholds, n = 3, k = 3, η = 0.5"
    yield about_persons(votes_case(name, claimed, short, partial(_one_row_each, plan), None, rounds))
