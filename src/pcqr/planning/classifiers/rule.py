"""Which classifier is published: a fixed function of public numbers, and all numbers that it turns at.

`method="auto"` is `choose`. The strength of a table is n·ε: what can be learned from it grows with nothing else that is
public. docs/classifiers.md says what was measured, on which tables the numbers were settled and which were held out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from pcqr.hypotheses.trees import DecisionTrees
from pcqr.plan.linear import MapName

Method = Literal["tree", "linear"]
Choice = Literal["auto", "tree", "linear"]

FEWEST = 10
"""n·ε below which nothing is published: it would be noise, whatever the records say."""

LARGEST_GAIN = 0.25
"""About the most that one predicate of a real table gains over the most common label, as a share of the records."""

TREES = (
    (0.0, DecisionTrees(deepest=2, stop=0.8, cuts=10)),
    (50.0, DecisionTrees(deepest=3, stop=0.5, cuts=10)),
    (600.0, DecisionTrees(cuts=15)),
    (1_500.0, DecisionTrees()),
)
"""(n·ε from which on, the trees that one is drawn among). The less of it there is, the fewer they are, and the likelier
is a node to stop: a single leaf is a draw of a label."""

LINEAR_FROM = 3_000.0
"""n·ε from which on there is a linear classifier beside a tree. Below, a tree, and counts at its leaves."""

BALANCED_FROM = 2_000.0
"""The same where noisy counts balance two labels and empirical Bayes is possible, which assumes that they are."""

DESCENT_FROM = 8_000.0
"""n·ε from which on weights are learned by DP gradient descent. Below, by empirical Bayes from two noisy sums."""

FERNS_FROM = 30_000.0
"""n·ε from which on half of the norm are random ferns, which find what columns do together."""

PILOTS_FROM = 150_000.0
"""n·ε from which on two pilots choose between some and mostly ferns."""

LEAF_SHARE = 0.05
"""The share of ε that the noisy counts at the leaves of a tree have, where a tree alone is published."""

TREE_SHARE = 0.2
"""The share of ε that the tree beside a linear classifier has."""

CLASS_COUNTS_SHARE = 0.1
"""The share of ε that noisy counts of the labels have, where records are weighed by them."""

PILOT_SHARE, COMPARISON_SHARE = 0.2, 0.14
"""The shares of μ that each pilot and their comparison have. Noise adds up by squares: .95 of μ is left."""


@dataclass(frozen=True)
class Construction:
    """What is published: a tree, a linear classifier on one or two feature maps, or both."""

    has_tree: bool
    maps: tuple[MapName, ...]
    """None without a linear classifier. Two: pilots on both choose between them."""

    @property
    def tree_share(self) -> float:
        """The share of ε that the tree has, if there is one, with the counts at its leaves where it is alone."""
        return TREE_SHARE if self.maps else 1.0


def choose(records: int, epsilon: float, method: Choice = "auto", *, is_balanced: bool = False) -> Construction:
    """Return what to publish for n = `records` and ε = `epsilon`: the same for any number of classes.

    `is_balanced`: do noisy counts balance two labels, and is empirical Bayes possible?
    """
    strength = records * epsilon
    if method == "tree" or (method == "auto" and strength < (BALANCED_FROM if is_balanced else LINEAR_FROM)):
        return Construction(has_tree=True, maps=())
    has_tree = method == "auto"
    if strength < FERNS_FROM:
        return Construction(has_tree, ("plain",))
    return Construction(has_tree, ("some ferns",) if strength < PILOTS_FROM else ("some ferns", "mostly ferns"))


def trees_for(records: int, epsilon: float) -> DecisionTrees:
    """Return the class of trees for n = `records` and ε = `epsilon` where the user names none."""
    return next(trees for least, trees in reversed(TREES) if records * epsilon >= least)


def least_strength(predicates: int, classes: int) -> float:
    """Return n·ε below which no more than the most common label can be expected of B predicates and C classes.

    A draw at η = ε/2 prefers a predicate that is right on g·n records more by the factor e^{nεg/2}. At 2/g·ln(B·C) this
    makes up for the number of predicates and labels. g = `LARGEST_GAIN`: below, only a predicate that decides nearly
    everything by itself is found. docs/classifiers.md says what was measured there.
    """
    return 2.0 / LARGEST_GAIN * math.log(predicates * classes)
