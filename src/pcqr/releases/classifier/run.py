"""Classifiers that are published at once: run the stages of a plan, one after the other.

A tree finds what columns do together, a linear classifier what each of them does by itself. Public numbers cannot tell
which of the two is more, and asking the records costs more than having both: a tree is drawn, and its label is a
further column of the linear classifier (stacking, Wolpert 1992). With many records two pilots, which are short linear
classifiers with some and with mostly ferns, decide by a noisy comparison of their errors which of the two is published.
Proof: proofs/plans.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pcqr.data.records import Records
from pcqr.data.records.arrays import Points, as_points
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.user_level import ByLabel, weighed
from pcqr.data.records.vectors import ROWS_A_PREDICATE, PredicateVectors
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import LARGEST_EXPONENT, Hypothesis, HypothesisClass
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees
from pcqr.privacy.composition import Branch, Sequence, Stage, parts_of
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.noise import check_scale, discrete_gaussian
from pcqr.progress import stage_progress
from pcqr.releases.classifier.descent import (
    balanced_weights,
    check_records,
    dp_gradient_descent,
    leaf_counts,
    noisy_label_counts,
)
from pcqr.releases.classifier.empirical_bayes import MOST_COORDINATES, allows_empirical_bayes
from pcqr.releases.classifier.plan import ClassCountsStage, ComparisonStage, LeafCountsStage, LinearStage, MapName
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.run import sspp

Maps = Mapping[MapName, FeatureMap]
"""The public feature maps, without a tree, by the names that stages call them."""


def publish(
    stage: Stage,
    hypotheses: HypothesisClass,
    records: Records,
    entropy: Entropy,
    *,
    maps: Maps | None = None,
    public: Points | None = None,
) -> Hypothesis:
    """Run `stage` and return what it publishes last: `pcqr.plan.account` states the guarantee of all that it shows.

    Draws are from `hypotheses`. Linear classifiers are on `maps`, with the tree that was drawn before them, if one was.
    The `public` rows say how vectors vary and what the tree says how often. They make no class here: a class made of
    public points is published by `sspp`.
    """
    return publish_weighed(stage, hypotheses, records, entropy, maps=maps, public=public)[0]


def publish_weighed(
    stage: Stage,
    hypotheses: HypothesisClass,
    records: Records,
    entropy: Entropy,
    *,
    maps: Maps | None = None,
    public: Points | None = None,
) -> tuple[Hypothesis, ByLabel | None]:
    """`publish`, with what a record of each label counted in it, in 64ths; None where all counted the same."""
    run = _Run(hypotheses, records, entropy, maps or {}, public)
    run.check(stage)
    return run.last(stage), run.records.class_weights


@dataclass
class _Run:
    """A run so far: the tree that was drawn, the linear classifiers, and the option that a comparison speaks for."""

    hypotheses: HypothesisClass
    records: Records
    entropy: Entropy
    maps: Maps
    public: Points | None
    tree: DecisionTree | None = None
    linears: list[LinearClassifier] = field(default_factory=list)
    option: int = 0
    is_balanced: bool = False

    def last(self, stage: Stage) -> Hypothesis:
        """Run `stage` and return what it publishes last."""
        match stage:
            case Sequence(stages):
                *before, final = stages
                for each in before:
                    if isinstance(each, ComparisonStage):
                        self.option = self.compared(each)
                    elif isinstance(each, ClassCountsStage):
                        self.weigh(each)
                    else:
                        self.last(each)
                return self.last(final)
            case Branch(options):
                return self.last(options[self.option])
            case DrawStage():
                return self.drawn(stage)
            case LeafCountsStage():
                return self.counted(stage)
            case LinearStage():
                return self.trained(stage)
        raise ParameterError("plan", "stages that end in a classifier", type(stage).__name__)

    def weigh(self, stage: ClassCountsStage) -> None:
        """Weigh the records of each label by noisy counts of all labels, in all stages that follow."""
        with stage_progress("counting the labels"):
            counts = noisy_label_counts(self.records, stage, self.entropy)
        self.records = weighed(self.records, balanced_weights(counts, stage.scale))
        self.is_balanced = True

    def drawn(self, stage: DrawStage) -> Hypothesis:
        found = sspp(self.hypotheses, self.records, None, stage, self.entropy)
        if isinstance(found, DecisionTree):
            self.tree = found.simplified()
        return found

    def counted(self, stage: LeafCountsStage) -> DecisionTree:
        if self.tree is None:
            raise AssertionError("`check` refuses counts without a tree.")
        with stage_progress("counting at the leaves"):
            return leaf_counts(self.tree, self.records, stage, self.entropy)

    def trained(self, stage: LinearStage) -> LinearClassifier:
        features, labels = self.maps[stage.features], self.hypotheses.labels
        if self.tree is not None:
            features = features.beside(self.tree.root, self.public, stage.whitening, labels=labels)
        stage = replace(stage, dense=features.size)  # no more than planned: `check`
        called = "linear classifier" if not self.linears else f"linear classifier {len(self.linears) + 1}"
        found = dp_gradient_descent(
            features, self.records, stage, self.entropy, public=self.public, is_balanced=self.is_balanced, called=called
        )
        self.linears.append(found)
        return found

    def compared(self, stage: ComparisonStage) -> int:
        with stage_progress("comparing the pilots"):
            first, second = map(int, self.records.error_counts(self.linears[-2:]))
        lead = stage.bound * (first - second) // self.records.whole + discrete_gaussian(stage.scale, self.entropy)
        return stage.option(lead)

    def check(self, stage: Stage) -> None:
        """Raise where a stage cannot be run, whatever those before it show, before any of them is."""
        _check_order(stage)
        draws, linears = parts_of(stage, DrawStage), parts_of(stage, LinearStage)
        counts, of_labels = parts_of(stage, LeafCountsStage), parts_of(stage, ClassCountsStage)
        for draw in draws:
            if draw.inverse_temperature * float(self.records.size) > LARGEST_EXPONENT:
                raise ParameterError("inverse_temperature", "at most 2**52 / n", draw.inverse_temperature)
        if draws and (linears or counts or of_labels):
            self._check_trees()
        for each in counts:
            check_scale("scale", each.scale * self.records.whole)
        for labels in of_labels:
            check_scale("scale", labels.scale * self.records.whole)
            if labels.classes != self.records.labels:
                raise ParameterError("plan", f"a plan for {self.records.labels} classes", f"one for {labels.classes}")
        for linear in linears:
            if linear.features not in self.maps:
                raise ParameterError("maps", f"one called {linear.features!r}", sorted(self.maps))
            if self.public is not None:
                as_points(self.public, self.maps[linear.features].features, name="public", owner="the feature map")
            self._check_linear(linear, has_tree=bool(draws))
        for comparison in parts_of(stage, ComparisonStage):
            if comparison.records != self.records.size:
                raise ParameterError("plan", f"a plan for {self.records.size} records", comparison.records)

    def _check_trees(self) -> None:
        if not isinstance(self.hypotheses, DecisionTrees):
            allowed = "decision trees beside other stages"
            raise ParameterError("hypotheses", allowed, self.hypotheses)
        self.hypotheses.check_countable(self.records)

    def _check_linear(self, stage: LinearStage, *, has_tree: bool) -> None:
        features, labels = self.maps[stage.features], self.hypotheses.labels
        if has_tree and labels != stage.classes:
            raise ParameterError("plan", f"a plan for {labels} classes", f"one for {stage.classes}")
        check_records(features, self.records, replace(stage, dense=features.size))
        most = most_coordinates(features, labels) if has_tree else features.size
        if most > stage.dense:
            raise ParameterError("plan", f"a linear classifier with room for {most} coordinates", stage.dense)
        has_rows = self.public is not None and may_use_empirical_bayes(features, self.public, has_tree=has_tree)
        if stage.is_empirical_bayes and not has_rows:
            raise ParameterError("public", "public rows for empirical Bayes, four for each predicate", "fewer")


def _check_order(stage: Stage, trees: int = 0, linears: int = 0) -> tuple[int, int]:
    """Raise where a comparison has not two linear classifiers before it, or counts no tree, or a comparison is last.

    Counts of labels come first or not at all: an option would be weighed or not, and an earlier stage is not.

    Return how many draws and how many linear classifiers there are at least after `stage`, of so many before it.
    """
    match stage:
        case Sequence(stages):
            *first, final = stages
            for place, each in enumerate(first):
                if isinstance(each, ClassCountsStage):
                    if place or trees or linears:
                        raise ParameterError("plan", "counts of labels before everything else", "later ones")
                elif not isinstance(each, ComparisonStage):
                    trees, linears = _check_order(each, trees, linears)
                elif linears < 2:
                    raise ParameterError("plan", "two linear classifiers before a comparison", f"{linears} of them")
            return _check_order(final, trees, linears)
        case Branch(options):
            ends = [_check_order(option, trees, linears) for option in options]
            return min(end[0] for end in ends), min(end[1] for end in ends)
        case LinearStage():
            return trees, linears + 1
        case DrawStage():
            return trees + 1, linears
        case LeafCountsStage():
            if not trees:
                raise ParameterError("plan", "the draw of a tree before counts at its leaves", "none")
            return trees, linears
    raise ParameterError("plan", "stages that end in a classifier", type(stage).__name__)


def most_coordinates(features: FeatureMap, labels: int = 2) -> int:
    """Return p at most, with any tree beside `features`, or with none that says anything.

    There is one coordinate for each predicate, for each of the tree's `labels` but the first and for the constant, or
    fewer directions that they are seen through.
    """
    if features.tree is not None or not isinstance(features.dense, PredicateVectors):
        raise ParameterError("features", "a feature map of predicates, without a tree", "another one")
    return max(features.dense.width + labels - 1, features.size)


def may_use_empirical_bayes(features: FeatureMap, public: Points | None, *, has_tree: bool) -> bool:
    """Return whether the sums of a linear classifier for two classes are enough for empirical Bayes.

    With `has_tree`: whatever tree is beside `features`.
    """
    if not allows_empirical_bayes(features):
        return False
    if not has_tree:
        return True
    return has_rows_for(most_coordinates(features), public)


def has_rows_for(coordinates: int, public: Points | None) -> bool:
    """Return whether the public rows are enough for empirical Bayes with this many coordinates."""
    rows = 0 if public is None else public.shape[0]
    return coordinates <= MOST_COORDINATES and rows >= ROWS_A_PREDICATE * coordinates
