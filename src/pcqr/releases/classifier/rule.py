"""What a linear classifier is made of, by n and ε: fixed functions of public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from pcqr.data.records.feature_map import WHOLE_SHARE
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.releases.classifier.plan import MapName

WHITENING, LITTLE_WHITENING, BAYES_WHITENING = 0.55, 0.2, 0.4
"""Dense directions are divided by their public standard deviation to this power: as a rule, where n·ε < 5,000 and
descent would drown directions that hardly vary, and for empirical Bayes."""

LITTLE_BELOW, BAYES_SUMS = 5_000.0, 2

RAREST = ((0.0, 0.03), (12_000.0, 0.01), (30_000.0, 0.0025))
"""(n·ε from which on, the least share of the public rows at which a category is a predicate)."""

CELLS_A_RECORD = 16.0
MOST_FERNS, FEWEST_FERNS = 400, 50
MOST_ENTRIES = 4 * 10**8
"""Of the records' cells, one for each record and fern, of 16 bits each: 800 MB."""


@dataclass(frozen=True)
class Recipe:
    """How to make a linear classifier."""

    share: int
    """The dense part's share of the squared norm, in 256ths."""
    ferns: int
    depth: int
    noise: float
    """N, the noise of a margin."""
    largest_step: float
    """In units of 1/n."""
    least_steps: int
    most_steps: int
    whitening: float = WHITENING
    is_empirical_bayes: bool = False
    """Are the weights the mean of a posterior, after `least_steps` sums? Then there are no steps, and no noise N."""


DENSE = Recipe(WHOLE_SHARE, 0, 0, 1.2, 32.0, 100, 300, 0.3)
"""Columns through directions of public rows. Their vectors are centred: the loss is flat, and steps may be long."""

DENSE_AS_IT_IS = replace(DENSE, noise=1.0, largest_step=12.0)


def rarest_for(records: int, epsilon: float) -> float:
    """Return the least share of the public rows at which a category is a predicate: the smaller n·ε, the larger."""
    return max((least, share) for least, share in RAREST if least <= records * epsilon)[1]


def recipe_for(name: MapName, records: int, epsilon: float, classes: int = 2, *, may_use_bayes: bool = False) -> Recipe:
    """Return the recipe for a linear classifier on the map of this `name`."""
    match name:
        case "plain":
            return _plain(records, epsilon, classes, may_use_bayes=may_use_bayes)
        case "some ferns":
            return _some_ferns(records, classes)
        case "mostly ferns":
            return _mostly_ferns(records, epsilon, classes)
        case "dense":
            return DENSE


def _plain(records: int, epsilon: float, classes: int, *, may_use_bayes: bool) -> Recipe:
    """Predicates alone."""
    n_epsilon = records * epsilon
    noise = 0.7 if n_epsilon < FERNS_FROM else 0.85
    recipe = Recipe(WHOLE_SHARE, 0, 0, noise, 12.0, 100, 300)
    if classes == 2 and n_epsilon < DESCENT_FROM:
        made = replace(recipe, whitening=BAYES_WHITENING)
        return replace(made, is_empirical_bayes=True, least_steps=BAYES_SUMS) if may_use_bayes else made
    return replace(recipe, whitening=LITTLE_WHITENING) if n_epsilon < LITTLE_BELOW else recipe


def _some_ferns(records: int, classes: int) -> Recipe:
    """Predicates and ferns, half of the norm each; of many records ferns have five eighths."""
    return Recipe(128 if records < 300_000 else 96, _fewer(200, records, classes), 9, 0.85, 128.0, 80, 300)


def _mostly_ferns(records: int, epsilon: float, classes: int) -> Recipe:
    """Ferns, with a twentieth for the predicates. The more records, the deeper: some 16 cells a record at most."""
    depth = min(13, max(6, int(math.log2(records)) - 4))
    ferns = max(1, min(MOST_FERNS, int(CELLS_A_RECORD * records) >> depth))
    of_many = 1.0 if records * epsilon < 300_000.0 else 1.3
    noise = 0.8 if records < 100_000 else of_many
    return Recipe(13, _fewer(ferns, records, classes), depth, noise, 200.0, 80, 250)


def _fewer(ferns: int, records: int, classes: int) -> int:
    """With C > 2 classes each cell has C weights, so there are C/2 times fewer ferns; and what memory holds."""
    for_classes = min(ferns, max(2 * ferns // classes, FEWEST_FERNS))
    return max(1, min(for_classes, MOST_ENTRIES // records))


# ---------------------------------------------------------------------------------------------------------------------
# Which classifier is published: a fixed function of public numbers, and all numbers that it turns at.
#
# `method="auto"` is `choose`. What can be learned from a table grows with n·ε, with nothing else that
# is public. docs/classifiers.md says what was measured, on which tables the numbers were settled and which were held
# out.


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
    n_epsilon = records * epsilon
    if method == "tree" or (method == "auto" and n_epsilon < (BALANCED_FROM if is_balanced else LINEAR_FROM)):
        return Construction(has_tree=True, maps=())
    has_tree = method == "auto"
    if n_epsilon < FERNS_FROM:
        return Construction(has_tree, ("plain",))
    return Construction(has_tree, ("some ferns",) if n_epsilon < PILOTS_FROM else ("some ferns", "mostly ferns"))


def trees_for(records: int, epsilon: float) -> DecisionTrees:
    """Return the class of trees for n = `records` and ε = `epsilon` where the user names none."""
    return next(trees for least, trees in reversed(TREES) if records * epsilon >= least)


def least_n_epsilon(predicates: int, classes: int) -> float:
    """Return n·ε below which no more than the most common label can be expected of B predicates and C classes.

    A draw at η = ε/2 prefers a predicate that is right on g·n records more by the factor e^{nεg/2}. At 2/g·ln(B·C) this
    makes up for the number of predicates and labels. g = `LARGEST_GAIN`: below, only a predicate that decides nearly
    everything by itself is found. docs/classifiers.md says what was measured there.
    """
    return 2.0 / LARGEST_GAIN * math.log(predicates * classes)
