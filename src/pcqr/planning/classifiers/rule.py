"""Which classifier suits: fixed functions of public numbers, and all numbers that they turn at.

`method="auto"` is `choose`. The strength of a table is n·ε: what can be learned from it grows with nothing else that is
public. The numbers were settled on five tables (Adult, bank marketing, covertype, diabetes, NYC flights), on some forty
other questions about them and on 64 about tables that come with packages of R, with their test rows in view; 14 more
are held out (docs/classifiers.md): trust those more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pcqr.hypotheses.trees import DecisionTrees

Method = Literal["tree", "head", "asked", "counted"]
Choice = Literal["auto", "tree", "head", "asked", "counted"]

TWO_CLASSES_ONLY: tuple[Method, ...] = ("asked", "counted")

ASKED_FROM = 1_200.0
"""n·ε below which one tree is drawn: it spends everything on one choice, and is pure. A head would see next to nothing,
and a question too little."""

TREES = (
    (0.0, DecisionTrees(deepest=3, cuts=10)),
    (600.0, DecisionTrees(cuts=15)),
    (1_500.0, DecisionTrees()),
)
"""(n·ε from which on, the trees that one is drawn among): the less of it there is, the fewer. A fourth question costs
little where it finds nothing and gains up to four points where three miss something."""

HEAD_FROM, COUNTED_FROM = 3_000.0, 8_000.0
"""n·ε from which on a pilot of a head is compared with trees, and from which on the labels are counted before. Below
the first a tree is the rule, unless the answer to one question is between two limits."""

SHALLOW = 3
"""The depth of the question's trees."""

FEW, DROWNED, MANY = 0.21, 20.0, 0.335
"""The question: how many mistakes makes the best shallow tree? A head is ahead of a tree while n·ε < 3,000 where
it makes more than the share `FEW` of the records, or else a tree finds most of it, or one label is uncommon; and fewer
than half of them by `DROWNED` times the columns' worth of a vector over n·ε: what is to be found must not drown. A
descent, which is weaker than a posterior, is ahead where it makes fewer than the share `MANY`."""

QUESTION_STRENGTH, LARGEST_QUESTION = 150.0, 0.04
"""The question has so much of n·ε, as far as its share of ε lies within the limit."""

STACKED_SHARE = 0.3
"""The share of ε that a tree has with a head beside it."""


@dataclass(frozen=True)
class Contest:
    """How a pilot is compared with trees, and from which lead of the best of them on a tree is drawn."""

    depth: int
    """The depth of the trees, at most."""
    pilot: float
    """The share of μ that the pilot has."""
    lead: float
    """The share of μ that the comparison has."""
    behind: float
    """A tree has to lead by so much times the columns' worth of a vector over n·ε, as a share of the records: by that a
    pilot is behind its head."""
    least: float
    """The share of the records by which a tree has to lead at least."""


CONTEST = Contest(3, 0.2, 0.15, 15.0, 0.02)
"""Where pilot and head are descents."""

POSTERIOR_CONTEST = Contest(4, 0.3, 0.2, 15.0, 0.01)
"""Where they are posteriors: what a pilot learned is not lost to the head."""

COUNTED_BELOW = 150_000.0
"""n·ε from which on a head does well whatever the labels are; below it the labels are counted first."""

RARE_BELOW, UNEVEN_BELOW, COUNT_SHARE = 560.0, 0.15, 0.03
"""Records of the rarer label, times ε, below which it is rare; its share of the records below which a head is careful;
and the share of ε that the count costs."""

PILOTED_FROM = 30_000.0
"""n·ε from which on pilots choose a head; below it they would see too little, and it has no ferns."""

UNASKED_FROM, UNASKED_BELOW = ((60_000, 30_000.0), (300_000, 12_000.0)), 100_000.0
"""With so many records, and so much n·ε but less than the last number, a head has some ferns, unasked: pilots would
cost more than they find out."""

PILOT_STRENGTH, LARGEST_PILOT, SMALLEST_PILOT = 50_000.0, 0.33, 0.1
"""A pilot has so much of n·ε, as far as its share of μ lies within the limits."""

LEAD = 0.14
"""The share of μ that the comparison of two pilots has."""

MIXED_FROM, FERNED_FROM = -0.008, 0.0
"""The lead of the ferned pilot, as a share of the records, from which a head has some ferns, and mostly ferns. From
n·ε = 150,000 on the first is multiplied by n·ε/150,000 (`mixed_from`)."""


def choose(records: int, epsilon: float, labels: int) -> Method:
    """The method for n = `records` and ε = `epsilon`: a fixed function of public numbers.

    One tree while n·ε < 1,200. While it is < 8,000 one question decides between a tree and a head, from 3,000 on by a
    contest. While it is < 150,000 the labels are counted: a tree where one is rare, a careful head where one is
    uncommon, else a head beside a tree. From 30,000 on pilots choose the head instead; with 60,000 records or
    more they do so from 100,000 on, and before that it has some ferns, without a count; with 300,000 it has some from
    12,000 on. With more than two `labels` a tree while n·ε < 3,000, then a head.
    """
    strength = records * epsilon
    if strength < (ASKED_FROM if labels == 2 else HEAD_FROM):
        return "tree"
    if labels == 2 and strength < COUNTED_FROM:
        return "asked"
    unasked = strength >= PILOTED_FROM and has_some_ferns(records, epsilon)
    return "head" if labels > 2 or strength >= COUNTED_BELOW or unasked else "counted"


def has_some_ferns(records: int, epsilon: float) -> bool:
    """Whether a head has some ferns, whatever the records are."""
    strength = records * epsilon
    return strength < UNASKED_BELOW and any(records >= many and strength >= least for many, least in UNASKED_FROM)


def trees_for(records: int, epsilon: float) -> DecisionTrees:
    """The class of trees for n = `records` and ε = `epsilon` where the user names none: public numbers, again."""
    return next(trees for least, trees in reversed(TREES) if records * epsilon >= least)


def has_contest(records: int, epsilon: float) -> bool:
    """Whether the question that decides between a tree and a head is a contest of a pilot with trees."""
    return records * epsilon >= HEAD_FROM


def many_mistakes(records: int, epsilon: float, spread: float, *, is_posterior: bool) -> float:
    """The share of mistakes of the best shallow tree from which a head would drown in noise.

    Noise grows with the columns' worth that a vector is `spread` over.
    """
    return max(FEW, 0.5 - DROWNED * spread / (records * epsilon)) if is_posterior else MANY


def question_share(records: int, epsilon: float) -> float:
    """The share of ε that the question about trees has."""
    return min(LARGEST_QUESTION, QUESTION_STRENGTH / (records * epsilon))


def tree_from(records: int, epsilon: float, spread: float, contest: Contest) -> float:
    """The lead of the best tree on a pilot, as a share of the records, from which a tree is drawn.

    The noise of a pilot grows with the columns' worth that a vector is `spread` over, and shrinks with n·ε.
    """
    return min(1.0, max(contest.least, contest.behind * spread / (records * epsilon)))


def pilot_share(records: int, epsilon: float) -> float:
    """The share of μ that each pilot has."""
    return min(LARGEST_PILOT, max(SMALLEST_PILOT, PILOT_STRENGTH / (records * epsilon)))


def mixed_from(records: int, epsilon: float) -> float:
    """The lead of the ferned pilot from which a head has some ferns.

    The stronger a head is beside its pilots, the less their defeat says of it: ferns gain more than predicates do.
    """
    return MIXED_FROM * max(1.0, records * epsilon / COUNTED_BELOW)
