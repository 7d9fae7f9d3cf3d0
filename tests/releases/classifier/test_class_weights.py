"""Weights of labels: from noisy counts, on the grid, and what a run does with them (proofs/weights.md)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.data.records import GroupedRecords, InMemory
from pcqr.data.records.user_level import WHOLE, Weighted, weighed
from pcqr.errors import ParameterError
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.hypotheses.trees import Predicate
from pcqr.privacy.composition import Branch, Context, Sequence, Stage, account
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.noise import discrete_laplaces
from pcqr.releases.classifier.descent import balanced_weights, noisy_label_counts, on_the_grid
from pcqr.releases.classifier.empirical_bayes import _chances, _unweighted
from pcqr.releases.classifier.plan import ClassCountsStage, LeafCountsStage
from pcqr.releases.classifier.run import publish, publish_weighed
from pcqr.releases.protocol.stages import DrawStage

CUTS = (Predicate(0, 0.5), Predicate(0, 1.5))
TREES = DecisionTrees(depth=1, predicates=CUTS)
COUNTS = ClassCountsStage(2.0)


def records(count: int = 300) -> InMemory:
    """Of 100 records some 6 have label 1, most of them where x = 1."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (count, 1)).astype(float)
    return InMemory(X, (X[:, 0] == 1) & (rng.random(count) < 0.2))


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=6), st.integers(1, 10**6), st.floats(1e-3, 1e6))
def test_weights_are_inverse_to_counts_and_within_the_grid(noisy: list[int], n: int, scale: float) -> None:
    found = balanced_weights([n - sum(noisy), *noisy], scale)
    counts = [max(Fraction(each), Fraction(scale), Fraction(1)) for each in (n - sum(noisy), *noisy)]
    assert len(found) == len(noisy) + 1
    assert max(found) == WHOLE
    for weight, count in zip(found, counts, strict=True):
        exact = WHOLE * min(counts) / count
        assert weight == 1 if exact <= 1 else abs(weight - exact) <= Fraction(1, 2) + Fraction(1, 10**9)


def test_no_count_is_taken_to_be_less_than_one_record_or_the_scale_of_the_noise() -> None:
    assert balanced_weights([4.0, 0.3], 0.5) == (16, 64)
    assert balanced_weights([64.0, -9.0], 8.0) == (8, 64)


def test_declared_weights_are_rounded_and_have_a_floor() -> None:
    assert on_the_grid([1.0, 10.0]) == (6, 64)
    assert on_the_grid([1e-12, 3.0, 3.0]) == (1, 64, 64)
    assert on_the_grid([2.0, 2.0]) == (64, 64)


@pytest.mark.parametrize("labels", [2, 3])
def test_the_noise_has_the_scale_of_the_plan_times_the_parts_of_a_record(labels: int) -> None:
    """The counts are those of records or persons, with the noise that the same words make: of all labels but one."""
    rows = InMemory(np.arange(300.0), np.repeat(np.arange(labels), 300 // labels), labels)
    sources = (rows, Weighted(rows, by_row=np.full(300, 0.5)), GroupedRecords(rows, np.repeat(np.arange(150), 2)))
    stage = ClassCountsStage(5.0, labels)
    for source in sources:
        noise = discrete_laplaces(5.0 * source.whole, labels - 1, SeededEntropy(5))
        noisy = ((source.label_counts()[1:] + noise) / source.whole).tolist()
        found = noisy_label_counts(source, stage, SeededEntropy(5))
        assert found == [source.size - sum(noisy), *noisy]
        assert account(stage, Context(TREES, source.size, 1)).epsilon == pytest.approx((labels - 1) / 5.0)


def test_replaced_records_move_counts_by_what_the_stage_pays_for() -> None:
    for labels in (2, 3, 4):
        counts = []
        for last in range(labels):
            y = np.array([0, 1, last])
            counts.append(InMemory(np.zeros(3), y, labels).label_counts()[1:])
        moved = max(int(np.abs(a - b).sum()) for a in counts for b in counts)
        assert moved == ClassCountsStage(1.0, labels).moved


def test_every_stage_after_the_counts_sees_weighted_records() -> None:
    """A run is its parts on the same words: counts, then a tree and counts at its leaves on records with weights."""
    plain, entropy = records(), SeededEntropy(7)
    rest = Sequence((DrawStage(0.5), LeafCountsStage(4.0)))
    run, by_label = publish_weighed(Sequence((COUNTS, *rest.stages)), TREES, plain, SeededEntropy(7))
    weights = balanced_weights(noisy_label_counts(plain, COUNTS, entropy), COUNTS.scale)
    assert by_label == weights
    assert weights[0] < weights[1] == WHOLE
    assert run == publish(rest, TREES, weighed(plain, weights), entropy)
    assert run.predict([[1.0]]).tolist() == [1], "the rare label has the most weight there"
    unweighed, none = publish_weighed(rest, TREES, plain, SeededEntropy(7))
    assert none is None
    assert unweighed.predict([[1.0]]).tolist() == [0]


def test_declared_weights_come_back_from_a_run() -> None:
    weights = (4, WHOLE)
    found, told = publish_weighed(DrawStage(0.5), TREES, weighed(records(), weights), SeededEntropy(1))
    assert told == weights
    assert found == publish(DrawStage(0.5), TREES, weighed(records(), weights), SeededEntropy(1))


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        (Sequence((DrawStage(0.1), COUNTS, DrawStage(0.1))), "before everything else"),
        (Sequence((DrawStage(0.1), Sequence((COUNTS, DrawStage(0.1))))), "before everything else"),
        (Sequence((DrawStage(0.1), COUNTS)), "stages that end in a classifier"),
        (Sequence((ClassCountsStage(2.0, 3), DrawStage(0.1))), "a plan for 2 classes"),
        (Sequence((ClassCountsStage(2.0**48), DrawStage(0.1))), ""),
    ],
)
def test_counts_that_cannot_be_made_are_refused_before_anything_is_drawn(stage: Stage, told: str) -> None:
    class Silent(SeededEntropy):
        def fill(self, words: object) -> None:  # noqa: ARG002
            raise AssertionError("Drawn.")

    source = weighed(records(), (1, WHOLE)) if not told else records()
    with pytest.raises(ParameterError, match=told or r"2\*\*50"):
        publish(stage, TREES, source, Silent(0))
    with pytest.raises(ParameterError, match="decision trees"):
        publish(Sequence((COUNTS, DrawStage(0.1))), Thresholds(), records(), Silent(0))


def test_counts_in_an_option_have_no_figure() -> None:
    context = Context(TREES, 300, 1)
    stage = Branch((Sequence((COUNTS, DrawStage(0.1))), DrawStage(0.1)))
    with pytest.raises(ParameterError, match="options"):
        account(stage, context)


@given(st.floats(-12.0, 12.0), st.integers(1, WHOLE), st.integers(1, WHOLE))
def test_chances_among_weighted_records_are_those_of_all_with_other_odds(margin: float, zero: int, one: int) -> None:
    weights = zero / WHOLE, one / WHOLE
    chance, _ = _chances(np.array([margin]))
    p, change = _unweighted(*_chances(np.array([margin])), *weights)
    assert p[0] / (1.0 - p[0]) == pytest.approx(chance[0] / (1.0 - chance[0]) * weights[0] / weights[1], rel=1e-6)
    h = 1e-6
    if abs(margin) > 2 * h:  # the derivative jumps at 0
        up, down = (_unweighted(*_chances(np.array([margin + side])), *weights)[0][0] for side in (h, -h))
        assert change[0] == pytest.approx((up - down) / (2.0 * h), rel=1e-3, abs=1e-8)
    same = _unweighted(*_chances(np.array([margin])), 1.0, 1.0)
    assert all(math.isclose(a[0], b[0], rel_tol=0.0) for a, b in zip(same, _chances(np.array([margin])), strict=True))
