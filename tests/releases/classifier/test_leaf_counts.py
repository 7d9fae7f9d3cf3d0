"""Counts at the leaves of a drawn tree, and the probabilities that are made of them (proofs/leaf_counts.md)."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcqr.data.records import GroupedRecords, InMemory
from pcqr.data.records.predicates import leaves_of
from pcqr.errors import ParameterError
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.hypotheses.trees import DecisionTree, Leaf, Predicate, Split
from pcqr.privacy.composition import Branch, Context, Sequence, Stage, account
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.noise import discrete_laplaces
from pcqr.releases.classifier.descent import AHEAD, leaf_counts, leaf_shares
from pcqr.releases.classifier.plan import LeafCountsStage
from pcqr.releases.classifier.run import publish
from pcqr.releases.protocol.stages import DrawStage

CUTS = (Predicate(0, 0.5), Predicate(0, 1.5))
TREE = DecisionTree(Split(CUTS[0], fails=Leaf(0), holds=Split(CUTS[1], fails=Leaf(1), holds=Leaf(0))), 1)
TREES = DecisionTrees(depth=2, predicates=CUTS)
COUNTS = Sequence((DrawStage(0.2), LeafCountsStage(8.0)))


def records(labels: int = 2) -> InMemory:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (300, 1)).astype(float)
    return InMemory(X, (X[:, 0] == 1) ^ (rng.random(300) < 0.1), labels)


def test_a_replaced_record_moves_two_counts_by_one_each() -> None:
    others = [(0.0, 0), (1.0, 1), (2.0, 1)]
    moved = set()
    for one, another in itertools.permutations([(x, y) for x in (0.0, 1.0, 2.0) for y in (0, 1)], 2):
        tables = [np.array([*others, last]) for last in (one, another)]
        first, second = (InMemory(table[:, :1], table[:, 1].astype(int)).leaf_counts(TREE.root) for table in tables)
        moved.add(int(np.abs(first - second).sum()))
    assert moved == {2}


def test_the_noise_has_the_scale_of_the_plan_times_the_parts_of_a_record() -> None:
    """The tree is what follows from the counts and the noise that the same words make. Counts of 0 have noise, too."""
    stage, rows = LeafCountsStage(8.0), records()
    people = GroupedRecords(rows, np.repeat(np.arange(150), 2))
    alike = InMemory(np.ones((5, 1)), np.ones(5, dtype=int))
    assert np.count_nonzero(alike.leaf_counts(TREE.root)) == 1
    for source in (rows, people, alike):
        found = leaf_counts(TREE, source, stage, SeededEntropy(5))
        noise = discrete_laplaces(8.0 * source.whole, 6, SeededEntropy(5)).reshape(3, 2)
        shares = leaf_shares((source.leaf_counts(TREE.root) + noise) / source.whole, 8.0, [0, 1, 0])
        assert found == TREE.with_shares(shares.tolist())
        assert account(stage, Context(TREES, source.size, 1)).epsilon == pytest.approx(2.0 / 8.0)


def slow_shares(noisy: Any, scale: float, label: int, overall: list[float]) -> list[float]:
    """Of one leaf: the nearest shares, in squares, with the most for the label, by trying all sets that are alike."""
    total = math.fsum(max(each, scale) for each in overall)
    row = [max(a, 0.0) + 2.0 * scale * max(b, scale) / total for a, b in zip(noisy, overall, strict=True)]
    row = [each / math.fsum(row) for each in row]
    best: list[float] = []
    others = [j for j in range(len(row)) if j != label]
    for size in range(len(others) + 1):
        for alike in itertools.combinations(others, size):
            found = list(row)
            mean = math.fsum(row[j] for j in (label, *alike)) / (size + 1)
            for j in (label, *alike):
                found[j] = mean
            allowed = all(found[j] <= found[label] * (1 + 1e-12) for j in others)
            if allowed and (not best or math.dist(found, row) < math.dist(best, row) - 1e-15):
                best = found
    best[label] = max(best[label], AHEAD * max(best[j] for j in others))
    return [each / math.fsum(best) for each in best]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 4), st.sampled_from([0.01, 1.0, 30.0, 1e9]))
def test_shares_are_positive_and_the_label_is_ahead(seed: int, classes: int, leaves: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    noisy = np.round(rng.normal(scale=50.0, size=(leaves, classes)))
    labels = rng.integers(0, classes, leaves).tolist()
    found = leaf_shares(noisy, scale, labels)
    assert (found > 0.0).all()
    assert found.sum(axis=1) == pytest.approx(1.0)
    for row, counts, label in zip(found, noisy, labels, strict=True):
        assert row[label] > np.delete(row, label).max()
        assert row.tolist() == pytest.approx(slow_shares(counts, scale, label, noisy.sum(axis=0).tolist()))


def test_a_leaf_without_records_has_the_shares_of_the_whole_table_but_for_its_label() -> None:
    found = leaf_shares(np.array([[900.0, 100.0], [0.0, 0.0], [-3.0, -5.0]]), 2.0, [0, 0, 1])
    assert found[1, 0] == pytest.approx(897 / 992)
    assert found[2].tolist() == pytest.approx([0.5, 0.5], abs=1e-6)
    ahead = float(np.float32(found[2, 1]) / np.float32(found[2, 0]))
    assert 1.0 < ahead < 1.0 + 1e-5, "also where probabilities have 32 bits"


def test_what_is_published_is_the_simplified_tree_with_shares() -> None:
    found = publish(COUNTS, TREES, records(), SeededEntropy(1))
    assert isinstance(found, DecisionTree)
    drawn = publish(COUNTS.stages[0], TREES, records(), SeededEntropy(1))
    assert isinstance(drawn, DecisionTree)
    assert [leaf.label for leaf in leaves_of(found.root)] == [leaf.label for leaf in leaves_of(drawn.simplified().root)]
    X = np.array([[0.0], [1.0], [2.0]])
    assert (found.predict(X) == drawn.predict(X)).all()
    shares = found.predict_proba(X)
    assert (shares.argmax(axis=1) == found.predict(X)).all()
    assert ((found.decision_function(X) > 0) == (found.predict(X) == 1)).all()
    assert found.decision_function(X) == pytest.approx(np.log(shares[:, 1] / shares[:, 0]))
    assert found.simplified() == found


@pytest.mark.parametrize(
    ("stage", "word"),
    [
        (LeafCountsStage(8.0), "draw of a tree"),
        (Sequence((LeafCountsStage(8.0), DrawStage(0.2))), "draw of a tree"),
        (Sequence((Branch((DrawStage(0.1), Sequence((DrawStage(0.2), DrawStage(0.3))))), LeafCountsStage(8.0))), ""),
        (Sequence((Branch((DrawStage(0.1), LeafCountsStage(8.0))), LeafCountsStage(8.0))), "draw of a tree"),
        (Sequence((DrawStage(0.1), LeafCountsStage(2.0**48))), "2**50"),
    ],
)
def test_plans_that_cannot_be_run_are_refused_before_anything_is_drawn(stage: Stage, word: str) -> None:
    people = GroupedRecords(records(), np.repeat(np.arange(150), 2))
    if not word:
        assert publish(stage, TREES, people, SeededEntropy(1))
        return
    entropy = SeededEntropy(1)
    with pytest.raises(ParameterError, match=word.replace("*", r"\*")):
        publish(stage, TREES, people, entropy)
    assert entropy.words(1).tolist() == SeededEntropy(1).words(1).tolist()


def test_only_trees_have_leaves() -> None:
    with pytest.raises(ParameterError, match="decision trees"):
        publish(COUNTS, Thresholds(), records(), SeededEntropy(1))


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.6, 0.4), (-0.1, 1.1), (0.3, 0.6), (1.0,), (0.2, 0.3, 0.5)])
def test_shares_that_are_none_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match="shares"):
        Leaf(1, shares)


def test_all_leaves_have_shares_or_none() -> None:
    with pytest.raises(ParameterError, match="at every leaf"):
        DecisionTree(Split(CUTS[0], Leaf(0), Leaf(1, (0.25, 0.75))), 1)
    with pytest.raises(ParameterError, match="shares"):
        TREE.predict_proba([[0.0]])
    several = TREE.with_shares([(0.5, 0.2, 0.3), (0.1, 0.8, 0.1), (0.4, 0.3, 0.3)])
    assert several.decision_function([[0.0]]).tolist() == [np.log([0.4, 0.3, 0.3]).tolist()]
