"""Estimates from a noisy histogram: their ends solve the equation of the proof, and they cover the truth."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.score import measure
from pcqr import Guarantee, ParameterError, Schema
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.records.vectors import PredicateVectors
from pcqr.data.schema import Column
from pcqr.hypotheses import DecisionTree, Thresholds
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.mechanisms import NoisyHistogram
from pcqr.models import Estimate, PrivateScore, PublishedModel
from pcqr.models.scoring import BINS, Bins, Intervals

Q = 2.1
NOISE = NoisyHistogram.calibrate(1.0)
SCHEMA = Schema((Column("x"),))
STUMP = PublishedModel(Thresholds().learn([0.0, 1.0], [0, 1]), ("no", "yes"), SCHEMA, Guarantee(1.0))


def linear(*weights: float) -> PublishedModel:
    """Two classes, by predicates x > 0, 1, …"""
    predicates = tuple(Predicate(0, float(cut)) for cut in range(len(weights) - 1))
    features = FeatureMap(PredicateVectors.of(predicates, 1), None, 256)
    hypothesis = LinearClassifier.of(features, 2, np.array([weights]), np.zeros((1, 0, 1)))
    return PublishedModel(hypothesis, ("no", "yes"), SCHEMA, Guarantee(1.0))


def trees(labels: int) -> PublishedModel:
    tree = DecisionTree(Split(Predicate(0, 0.0), holds=Leaf(labels - 1), fails=Leaf(0)), 1)
    return PublishedModel(tree, tuple("abcdefgh"[:labels]), SCHEMA, Guarantee(1.0))


def score(*histogram: int, classes: int = 2, records: int | None = None, noise: NoisyHistogram = NOISE) -> PrivateScore:
    bins = (len(histogram) - 1) // classes
    labels = tuple((np.arange(bins) * classes // bins).tolist())
    size = sum(histogram) if records is None else records
    return PrivateScore(histogram, size, tuple("abcdefgh"[:classes]), labels, noise, noise.guarantee)


def variance(
    gradient: NDArray[np.float64], counts: NDArray[np.float64], extremes: tuple[float, ...], noise: NoisyHistogram
) -> tuple[float, float]:
    """(V, q²) of proofs/score.md, term by term."""
    v, size = noise.variance, counts.size
    found = sum(max(count, 0.0) * a * a for count, a in zip(counts, gradient, strict=True))
    found += v * (sum(a * a for a in gradient) - sum(gradient) ** 2 / size)
    found += Q * Q * sum(a * a for a in extremes)
    centred = gradient - gradient.mean()
    kurtosis = min(3.0, (3.0 + 1.0 / v) * v * v * sum(a**4 for a in centred) / found**2)
    return found, (Q + (Q**3 - 3.0 * Q) * kurtosis / 24.0) ** 2


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 20.0])
@pytest.mark.parametrize("records", [1_000, 1_020])
def test_the_ends_of_a_share_solve_its_equation(epsilon: float, records: int) -> None:
    noise = NoisyHistogram.calibrate(epsilon)
    found = score(440, 60, 90, 402, 8, records=records, noise=noise)
    counts = np.array([440, 60, 90, 402, 8.0]) + (records - 1_000) / 5
    cases = {
        found.accuracy: ([1, 0, 0, 1, 0], [1, 1, 1, 1, 1]),
        found.confusion[0][1]: ([0, 1, 0, 0, 0], [1, 1, 1, 1, 1]),
        found.confusion[1][0]: ([0, 0, 1, 0, 0], [1, 1, 1, 1, 1]),
        found.recall[1]: ([0, 0, 0, 1, 0], [0, 0, 1, 1, 0]),
        found.other: ([0, 0, 0, 0, 1], [1, 1, 1, 1, 1]),
    }
    for estimate, (part, whole) in cases.items():
        inside, total = np.array(part, dtype=float), np.array(whole, dtype=float)
        above, below = counts @ inside, counts @ total
        assert estimate.value == pytest.approx(above / below)
        _, squared = variance(inside - above / below * total, counts, (1 - above / below, above / below), noise)
        for end in (estimate.low, estimate.high):
            if 0.0 < end < 1.0:
                spread, _ = variance(inside - end * total, counts, (1.0 - end, end), noise)
                assert (above - end * below) ** 2 == pytest.approx(squared * spread, rel=1e-9)
        assert estimate.low < estimate.value < estimate.high


def test_the_ends_of_the_area_solve_its_equation() -> None:
    negative, positive = np.array([50.0, 30, 15, 5]), np.array([4.0, 16, 30, 70])
    found = score(50, 30, 15, 5, 4, 16, 30, 70, 0, noise=NOISE).auc
    assert found is not None
    later = [[(a < b) + 0.5 * (a == b) for b in range(4)] for a in range(4)]
    placed = np.array(later)
    above, below = negative @ placed @ positive, 100.0 * 120.0
    assert found.value == pytest.approx(above / below)
    counts = np.array([*negative, *positive, 0.0])
    rising, falling = np.array([*(placed @ positive), *(negative @ placed), 0.0]), np.repeat([120.0, 100.0, 0.0], 4)[:9]

    def extremes(t: float) -> tuple[float, ...]:
        return (100 * t, 100 * (1 - t), 120 * t, 120 * (1 - t))

    _, squared = variance(rising - found.value * falling, counts, extremes(found.value), NOISE)
    for end in (found.low, found.high):
        spread, _ = variance(rising - end * falling, counts, extremes(end), NOISE)
        assert (above - end * below) ** 2 == pytest.approx(squared * spread, rel=1e-9)
    assert 0.5 < found.low < found.value < found.high < 1.0


def test_balanced_accuracy_adds_squares_where_every_class_is_there() -> None:
    found = score(440, 60, 90, 402, 8)
    both, expected = found.recall, np.mean([each.value for each in found.recall])
    balanced = found.balanced_accuracy
    assert balanced.value == pytest.approx(expected)
    assert balanced.value - balanced.low == pytest.approx(math.hypot(*(each.value - each.low for each in both)) / 2)
    assert balanced.high - balanced.value == pytest.approx(math.hypot(*(each.high - each.value for each in both)) / 2)


def test_a_class_that_may_be_empty_may_be_right_or_wrong() -> None:
    found = score(900, 100, 2, -1, 0)
    assert found.recall[1] == Estimate(0.5, 0.0, 1.0)
    assert found.recall[0].low > 0.8
    balanced = found.balanced_accuracy
    assert balanced.value == pytest.approx((found.recall[0].value + 0.5) / 2)
    assert balanced.low == pytest.approx(found.recall[0].low / 2)
    assert balanced.high == pytest.approx((found.recall[0].high + 1.0) / 2)


@pytest.mark.parametrize("histogram", [(500, 300, 150, 50, -3, 1, 0, -9, 2), (2, -4, 0, 1, 300, 100, 300, 299, 0)])
def test_without_one_of_the_classes_nothing_is_known_of_the_area(histogram: tuple[int, ...]) -> None:
    assert score(*histogram).auc == Estimate(0.5, 0.0, 1.0)


def test_an_estimate_outside_is_moved_to_the_end_with_its_interval() -> None:
    found = score(520, -15, -12, 507, 0).accuracy
    assert found.value == found.high == 1.0
    assert 0.97 < found.low < 0.999
    lowest = score(-15, 520, 507, -12, 0).accuracy
    assert lowest.value == lowest.low == 0.0
    assert lowest.high == pytest.approx(1.0 - found.low)


def test_the_counts_sum_to_the_public_number() -> None:
    assert Intervals([1, 2, 3], 12, 1.0).counts.tolist() == [3.0, 4.0, 5.0]


# Coverage -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "records", "runs"), [("good", 200, 150), ("nearly perfect", 2_000, 150), ("ten classes", 2_000, 40)]
)
def test_intervals_cover(name: str, records: int, runs: int) -> None:
    """A short form of `python -m benchmarks.score`."""
    covered = measure(name, records, 0.3, runs, seed=0).covered
    assert min(share for figure, share in covered.items() if not figure.startswith("confusion")) >= 0.92
    assert np.mean(list(covered.values())) >= 0.95


# Bins -----------------------------------------------------------------------------------------------------------------


def test_bins_of_probabilities_belong_to_the_predicted_label() -> None:
    model = linear(-3.0, 2.0, 2.0, 3.0)
    X = np.array([[-1.0], [0.5], [1.5], [2.5]])
    chances, said = model.predict_proba(X)[:, 1], model.hypothesis.predict(X)
    bins = Bins.of(model, None)
    assert bins.count == BINS == 10
    places = bins.places(X)
    assert places.tolist() == np.minimum(np.floor(10 * chances), 9).astype(int).tolist()
    assert (places >= 5).tolist() == (said == 1).tolist()
    assert bins.labels().tolist() == [0] * 5 + [1] * 5
    assert len(set(places.tolist())) > 2


class _Contrary(PublishedModel):
    """Its probabilities have nothing to do with its labels; one is no number."""

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        second = np.array([1.0, 0.0, 0.45, np.nan])[: len(X)]
        return np.stack([1.0 - second, second], axis=1)


def test_a_bin_refines_the_predicted_label_whatever_the_probability_is() -> None:
    model = _Contrary(STUMP.hypothesis, STUMP.classes, SCHEMA, Guarantee(1.0))
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    assert Bins(model, 10).places(X).tolist() == [4, 5, 4, 5]
    assert Bins(model, 4).places(np.array([[1.0]])).tolist() == [3]


def test_more_than_two_classes_have_their_labels_as_bins() -> None:
    bins = Bins.of(trees(3), None)
    assert bins.are_labels
    assert bins.places(np.array([[1.0], [-1.0]])).tolist() == [2, 0]
    assert bins.labels().tolist() == [0, 1, 2]
    with pytest.raises(ParameterError, match="more than two classes"):
        Bins.of(trees(3), 6)


# What people see ------------------------------------------------------------------------------------------------------


def test_text_html_and_json_have_the_guarantee_and_every_figure() -> None:
    found = score(50, 30, 15, 5, 4, 16, 30, 70, 0)
    facts = json.loads(found.to_json())
    assert facts["accuracy"] == {"value": found.accuracy.value, "low": found.accuracy.low, "high": found.accuracy.high}
    assert facts["auc"]["value"] == pytest.approx(found.auc.value if found.auc else None)
    assert facts["histogram"] == [50, 30, 15, 5, 4, 16, 30, 70, 0]
    assert facts["guarantee"]["epsilon"] == NOISE.guarantee.epsilon
    assert facts["noise_scale"] == NOISE.scale
    assert facts["level"] == 0.95
    assert any("fitted on" in each for each in facts["assumptions"])
    assert [len(facts[name]) for name in ("recall", "confusion", "classes", "bin_labels")] == [2, 2, 2, 4]
    assert len(repr(found)) < 200
    assert str(found.accuracy) in repr(found)
    assert "220 records" in repr(found)
    html = replace(found, classes=("<b>", "b"))._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert "pure differential privacy" in html
    assert list(found.lines())[:3] == ["accuracy", "balanced accuracy", "AUC"]
    assert "of 4 bins" in found.lines()["AUC"]
