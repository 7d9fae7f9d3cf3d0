from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.laws import sampler_outcomes

from pcqr.errors import ParameterError
from pcqr.hypotheses.stumps import Stump, Stumps

tables = st.integers(1, 3).flatmap(
    lambda features: st.lists(
        st.tuples(*[st.integers(-2, 2).map(float)] * features, st.integers(0, 1)), min_size=1, max_size=6
    )
)
Table = list[tuple[float, ...]]


def split(table: Table) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    values = np.array(table)
    return values[:, :-1], values[:, -1].astype(int)


def naive_triples(cuts: list[list[float]], X: NDArray[np.float64]) -> list[tuple[int, ...]]:
    """The labelling of every (feature, gap, direction), in the order of the law, without any of the tested code."""
    rows = []
    for feature, above in product(range(X.shape[1]), (True, False)):
        for cut in (-math.inf, *cuts[feature], math.inf):
            rows.append(tuple(int((x > cut) is above) for x in X[:, feature].tolist()))
    return rows


def naive_midpoints(X: NDArray[np.float64]) -> list[list[float]]:
    distinct = [sorted(set(column)) for column in X.T.tolist()]
    return [[(a + b) / 2 for a, b in pairwise(values)] for values in distinct]


@settings(deadline=None)
@given(tables)
def test_members_are_all_triples_of_feature_gap_and_direction(table: Table) -> None:
    X, _ = split(table)
    assert list(map(tuple, Stumps().enumerate(X).tolist())) == naive_triples(naive_midpoints(X), X)
    cuts = [0.5, -1.0]
    expected = naive_triples([sorted(cuts)] * X.shape[1], X)
    assert list(map(tuple, Stumps(cuts).enumerate(X).tolist())) == expected
    assert list(map(tuple, Stumps([cuts] * X.shape[1]).enumerate(X).tolist())) == expected


@settings(deadline=None, max_examples=60)
@given(tables, tables, st.sampled_from([0.0, 0.4, 2.0]))
def test_every_triple_has_its_own_exact_probability(table: Table, other: Table, eta: float) -> None:
    """Triple by triple, for private, public and declared cuts: ln p = −η·mistakes − ln Σ."""
    X, y = split(table)
    shown = np.resize(split(other)[0], (len(other), X.shape[1]))
    for hypotheses, public, cuts in (
        (Stumps(), None, naive_midpoints(X)),
        (Stumps(), shown, naive_midpoints(shown)),
        (Stumps([0.0, 1.5]), None, [[0.0, 1.5]] * X.shape[1]),
        (Stumps([0.0, 1.5]), shown, [[0.0, 1.5]] * X.shape[1]),
    ):
        rows = naive_triples(cuts, X)
        exponents = [-eta * sum(a != b for a, b in zip(row, y, strict=True)) for row in rows]
        normaliser = math.log(math.fsum(map(math.exp, exponents)))
        outcomes = sampler_outcomes(hypotheses, X, y, eta, public)
        assert [tuple(drawn.predict(X).tolist()) for drawn, _ in outcomes] == rows
        np.testing.assert_allclose([p for _, p in outcomes], np.array(exponents) - normaliser, rtol=0, atol=1e-9)


def test_relabelling_bound_holds_for_the_syntactic_law() -> None:
    """Every triple on the common points extends to one or two on all, with weights in [e^-η, 1 + e^-η]."""
    eta = 0.6
    common, labels = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [2.0, 3.0]]), [0, 1, 1, 0]
    marginals = []
    for point, label in product(([0.5, 1.0], [2.0, 9.0], [-1.0, 2.0]), (0, 1)):
        X, y = np.vstack([common, point]), [*labels, label]
        mass: dict[tuple[int, ...], float] = {}
        for stump, log_probability in sampler_outcomes(Stumps(), X, y, eta):
            pattern = tuple(stump.predict(common).tolist())
            mass[pattern] = mass.get(pattern, 0.0) + math.exp(log_probability)
        marginals.append(mass)
    bound = 2 * math.log(1 + math.exp(eta))
    ratios = [abs(math.log(a[p] / b[p])) for a, b in product(marginals, repeat=2) for p in a]
    assert all(a.keys() == marginals[0].keys() for a in marginals)
    assert 0.1 < max(ratios) <= bound


@settings(deadline=None)
@given(tables)
def test_the_learner_makes_the_fewest_mistakes_of_all_members(table: Table) -> None:
    X, y = split(table)
    for hypotheses in (Stumps(), Stumps([-0.5, 0.0, 0.1, 7.0]), Stumps([[0.5]] * X.shape[1]), Stumps([])):
        fewest = (hypotheses.enumerate(X) != y).sum(axis=1).min()
        learned = hypotheses.learn(X, y)
        assert (learned.predict(X) != y).sum() == fewest
        if hypotheses.cuts is not None:
            assert math.isinf(learned.cut) or learned.cut in np.ravel(hypotheses.cuts)


def test_teachers_on_labels_of_one_stump_agree_on_its_feature() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((4000, 8)) < 0.4).astype(float)
    y = Stump(5, 0.5, False, 8).predict(X)
    learned = {Stumps().learn(part, labels) for part, labels in zip(np.split(X, 40), np.split(y, 40), strict=True)}
    assert learned == {Stump(5, 0.5, False, 8)}


@pytest.mark.parametrize(
    "cuts", [[math.nan], [math.inf], "ab", ["a"], 0.5, [[1.0], 2.0], [[[1.0]]], [None], [[math.nan]], [[[1, 2], [3]]]]
)
def test_cuts_that_are_none_are_refused(cuts: object) -> None:
    with pytest.raises(ParameterError) as caught:
        Stumps(cuts)  # type: ignore[arg-type]
    assert caught.value.name == "cuts"


def test_the_learners_preferences() -> None:
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    assert Stumps().learn(X, [0, 0, 1, 1]) == Stump(0, 1.5, True, 2), "the lowest feature"
    assert Stumps().learn(X, [1, 1, 0, 0]) == Stump(0, 1.5, False, 2)
    assert Stumps().learn(X, [1, 0, 0, 1]) == Stump(0, 2.5, True, 2), "1[x > c] before its mirror"
    assert Stumps().learn(X, [0, 1, 0, 0]) == Stump(0, math.inf, True, 2), "a constant before an equally good cut"
    assert Stumps().learn(X, [1, 1, 1, 1]) == Stump(0, -math.inf, True, 2)
    assert Stumps().learn([[0.0], [1.0]], [0, 1]).cut == 0.5
    assert Stumps([0.1, 1.1, 1.2, 1.3, 1.4, 2.5]).learn(X, [0, 0, 1, 1]).cut == 1.2, "the middle of a tied run"
    split = [[-0.5], [1.5], [1.5], [5.0]]
    for labels in ([0, 0, 1, 1], [1, 1, 0, 0]):
        cut = Stumps([0.0, 1.0, 2.0, 3.0, 4.0]).learn(split, labels).cut
        assert cut == 2.0, "a run goes on past points whose labels cancel out"
    assert Stumps([-1.0, 9.0]).learn(X, [0, 0, 1, 1]) == Stump(0, math.inf, True, 2), "0 before 1"
    assert Stumps([1.5, 1.6, 3.5]).learn(X, [0, 0, 1, 1]).cut == 1.5


def test_one_point_one_class_and_neighbouring_floats() -> None:
    assert Stumps().learn([[3.0, 4.0]], [1]).predict([[0.0, 0.0]]).tolist() == [1]
    assert Stumps().enumerate([[3.0]]).tolist() == [[1], [0], [0], [1]]
    near = np.array([1.0, np.nextafter(1.0, 2.0)])
    assert Stumps().learn(near, [0, 1]).predict(near).tolist() == [0, 1]
    huge = np.array([-1.7e308, 1.7e308])
    assert Stumps().learn(huge, [0, 1]).predict(huge).tolist() == [0, 1]
