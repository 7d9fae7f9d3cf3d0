"""What every class must keep, checked on all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support import brute_force_law, sampler_law, sampler_outcomes
from support.releases import Forbidden

from pcqr.errors import DataError, ParameterError, PcqrError
from pcqr.hypotheses import (
    Draw,
    Finite,
    Halfspaces,
    HypothesisClass,
    Intervals,
    Rectangles,
    Stumps,
    Thresholds,
    UnionsOfIntervals,
)
from pcqr.hypotheses.stumps import Stump
from pcqr.hypotheses.thresholds import Threshold
from pcqr.privacy.entropy import SeededEntropy

CLASSES: dict[str, tuple[HypothesisClass, int]] = {
    "thresholds": (Thresholds(), 1),
    "thresholds, both": (Thresholds(direction="both"), 1),
    "intervals": (Intervals(), 1),
    "unions of 1": (UnionsOfIntervals(1), 1),
    "unions of 3": (UnionsOfIntervals(3), 1),
    "stumps": (Stumps(), 2),
    "stumps, declared": (Stumps([0.5, 1.0]), 2),
    "stumps, lists": (Stumps([[0.5], [1.0, 2.5]]), 2),
    "rectangles": (Rectangles(), 2),
    "halfspaces": (Halfspaces(), 2),
    "finite": (Finite([Threshold(0.5), Stump(0, 1.5, False, 1), Threshold(0.5)]), 1),
}
EVERY = pytest.mark.parametrize(("hypotheses", "features"), CLASSES.values(), ids=CLASSES)


@st.composite
def small_tables(draw: st.DrawFn, features: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Up to 5 points on a grid so coarse that ties, duplicates, constant columns and collinear points are common."""
    coordinates = st.tuples(*[st.integers(0, 3).map(float)] * features)
    points = draw(st.lists(coordinates, min_size=1, max_size=5))
    labels = draw(st.lists(st.integers(0, 1), min_size=len(points), max_size=len(points)))
    return np.array(points), np.array(labels)


def assert_same_law(law: dict[tuple[int, ...], float], exact: dict[tuple[int, ...], float]) -> None:
    assert law.keys() == exact.keys()
    assert max(abs(law[pattern] - exact[pattern]) for pattern in exact) < 1e-9


@EVERY
@settings(deadline=None, max_examples=30)
@given(st.data())
def test_the_sampler_has_the_law_of_brute_force(
    hypotheses: HypothesisClass, features: int, data: st.DataObject
) -> None:
    X, y = data.draw(small_tables(features))
    eta = data.draw(st.sampled_from([0.0, 0.3, 1.0, 4.0]))
    assert_same_law(sampler_law(hypotheses, X, y, eta), brute_force_law(hypotheses, X, y, eta))


@EVERY
@settings(deadline=None, max_examples=15)
@given(st.data())
def test_public_points_equal_to_the_private_ones_give_the_same_law(
    hypotheses: HypothesisClass, features: int, data: st.DataObject
) -> None:
    X, y = data.draw(small_tables(features))
    assert_same_law(sampler_law(hypotheses, X, y, 0.7, public=X), sampler_law(hypotheses, X, y, 0.7))


@EVERY
@settings(deadline=None, max_examples=25)
@given(st.data())
def test_draws_members_growth_and_learner_fit_together(
    hypotheses: HypothesisClass, features: int, data: st.DataObject
) -> None:
    X, y = data.draw(small_tables(features))
    members = hypotheses.enumerate(X)
    assert members.dtype == np.int8
    assert hypotheses.log_growth(len(X), features) >= math.log(len(members)) - 1e-12
    drawn = hypotheses.draw(X, y, 0.5, entropy=data.draw(st.integers(0, 1000)))
    assert isinstance(drawn, Draw)
    assert drawn.log_probability <= 1e-12
    learned = hypotheses.learn(X, y)
    for hypothesis in (drawn.hypothesis, learned):
        labels = hypothesis.predict(X)
        assert labels.dtype == np.int8
        assert labels.tolist() in members.tolist()
    assert np.count_nonzero(learned.predict(X) != y) == (members != y).sum(axis=1).min()
    assert hypotheses.learn(X, y) == learned, "the learner is deterministic"


@EVERY
def test_a_draw_has_the_probability_that_it_states(hypotheses: HypothesisClass, features: int) -> None:
    """Real draws, not only the enumerated branches: frequencies of patterns within 6 standard errors."""
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [2.0, 3.0]])[:, :features]
    y, entropy, draws = [0, 1, 1, 0], SeededEntropy(11), 400
    law = brute_force_law(hypotheses, X, y, 1.0)
    seen: dict[tuple[int, ...], int] = dict.fromkeys(law, 0)
    for _ in range(draws):
        seen[tuple(map(int, hypotheses.sample(X, y, 1.0, entropy=entropy).predict(X)))] += 1
    for pattern, log_probability in law.items():
        p = math.exp(log_probability)
        assert abs(seen[pattern] - draws * p) <= 6 * math.sqrt(draws * p * (1 - p)) + 3


@EVERY
def test_predictions_off_the_sample_are_labels_too(hypotheses: HypothesisClass, features: int) -> None:
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])[:, :features]
    elsewhere = np.array([[-1e9, 1e9], [0.5, 0.5], [1e-300, 7.0], [1e9, -1e9]])[:, :features]
    for hypothesis in (hypotheses.learn(X, [0, 1, 0]), hypotheses.sample(X, [0, 1, 0], 0.0, entropy=1)):
        labels = hypothesis.predict(elsewhere)
        assert labels.shape == (4,)
        assert labels.dtype == np.int8
        assert set(labels.tolist()) <= {0, 1}


@EVERY
def test_bad_input_is_named_before_entropy_is_touched(hypotheses: HypothesisClass, features: int) -> None:
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])[:, :features]
    y: list[object] = [0, 1, 0]
    words = [*X.astype(str).tolist()[:2], ["a"] * features]
    cases: list[tuple[str, object, object, float, object]] = [
        ("X", np.where(X == 1.0, math.nan, X), y, 1.0, None),
        ("X", np.where(X == 1.0, math.inf, X), y, 1.0, None),
        ("X", X[:0], [], 1.0, None),
        ("X", words, y, 1.0, None),
        ("X", X[:, :, None], y, 1.0, None),
        ("y", X, [0, 1, 2], 1.0, None),
        ("y", X, [0, 1, math.nan], 1.0, None),
        ("y", X, ["a", "b", "a"], 1.0, None),
        ("y", X, [[0, 1, 0]], 1.0, None),
        ("y", X, y[:2], 1.0, None),
        ("inverse_temperature", X, y, -0.1, None),
        ("inverse_temperature", X, y, math.nan, None),
        ("inverse_temperature", X, y, math.inf, None),
        ("public", X, y, 1.0, np.full_like(X, math.nan)),
        ("public", X, y, 1.0, np.ones((3, features + 1))),
    ]
    for name, bad_X, bad_y, eta, public in cases:
        with pytest.raises(PcqrError, match=f"^{name} must be ") as caught:
            hypotheses.draw(bad_X, bad_y, eta, public=public, entropy=Forbidden())  # type: ignore[arg-type]
        assert isinstance(caught.value, DataError | ParameterError)


@pytest.mark.parametrize(
    "hypotheses", [Thresholds(), Intervals(), UnionsOfIntervals(2), Rectangles(), Halfspaces(), Stumps([[], []])]
)
def test_a_table_of_the_wrong_width_is_refused_everywhere(hypotheses: HypothesisClass) -> None:
    assert hypotheses.features is not None
    X = np.arange(6.0).reshape(2, 3)
    calls: list[Callable[[], object]] = [
        lambda: hypotheses.draw(X, [0, 1], 1.0, entropy=Forbidden()),
        lambda: hypotheses.learn(X, [0, 1]),
        lambda: hypotheses.enumerate(X),
        lambda: hypotheses.learn(X[:, : hypotheses.features], [0, 1]).predict(X),
    ]
    for call in calls:
        with pytest.raises(DataError) as caught:
            call()
        assert caught.value.name == "X"


@EVERY
def test_numerical_error_bounds_are_tiny_and_grow_with_what_they_depend_on(
    hypotheses: HypothesisClass, features: int
) -> None:
    def error(records: int, eta: float) -> float:
        return hypotheses.log_probability_error(records, eta, features=features, public=50)

    assert 0 <= error(10, 0.1) <= error(1000, 0.1) <= error(1000, 1.0) < 1e-6
    assert error(1000, 1.0) > 0


@EVERY
def test_classes_are_values(hypotheses: HypothesisClass, features: int) -> None:
    assert hypotheses == hypotheses  # noqa: PLR0124
    assert hash(hypotheses) == hash(hypotheses)
    assert hypotheses.vc_dimension >= 1
    assert hypotheses.features in (None, features)


@EVERY
def test_a_published_hypothesis_has_no_bits_of_private_points(hypotheses: HypothesisClass, features: int) -> None:
    """A private −0.0 that ties with a public 0.0 once came out in the published coordinates."""
    public = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]])[:, :features]
    y = [1, 0]
    reached = [
        {repr(h) for h, _ in sampler_outcomes(hypotheses, np.array(X)[:, :features], y, 0.05, public)}
        for X in ([[0.0, 0.0], [5.0, 5.0]], [[-0.0, -0.0], [5.0, 5.0]], [[7.0, -1.0], [3.0, 1.0]])
    ]
    assert reached[0] == reached[1] == reached[2]


def test_refusals_for_size_depend_on_the_number_of_points_alone() -> None:
    for hypotheses in (Rectangles(), Halfspaces(), UnionsOfIntervals(10_000)):
        too_many = (hypotheses.largest_support or 0) + 1
        tied = np.zeros((too_many, hypotheses.features or 1))
        with pytest.raises(DataError, match=f"at most {hypotheses.largest_support:,} rows"):
            hypotheses.sample(tied, np.zeros(too_many), 0.1, entropy=Forbidden())


def test_a_member_that_transforms_in_place_harms_nothing() -> None:
    class InPlace:
        def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
            X -= 100.0
            return (X[:, 0] > -95.0).astype(np.int64)

    X = np.array([[4.0], [6.0], [7.0]])
    assert Finite([InPlace(), InPlace()]).enumerate(X).tolist() == [[0, 1, 1], [0, 1, 1]]
    assert X.ravel().tolist() == [4.0, 6.0, 7.0]


@pytest.mark.parametrize(
    "X", [[10**400, 1], np.array(["2020-01-01"], dtype="datetime64[D]"), np.ma.masked_array([1.0, 2.0], [True, False])]
)
def test_values_that_are_no_plain_numbers_are_refused(X: object) -> None:
    with pytest.raises(DataError, match="a table of numbers"):
        Thresholds().check_points(X)  # type: ignore[arg-type]


@EVERY
def test_one_class_only_and_a_single_point(hypotheses: HypothesisClass, features: int) -> None:
    X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])[:, :features]
    for count, label in product((1, 3), (0, 1)):
        y = [label] * count
        fewest = (hypotheses.enumerate(X[:count]) != label).sum(axis=1).min()
        assert np.count_nonzero(hypotheses.learn(X[:count], y).predict(X[:count]) != label) == fewest
        assert hypotheses.sample(X[:count], y, 1.0, entropy=2).predict(X[:count]).shape == (count,)
