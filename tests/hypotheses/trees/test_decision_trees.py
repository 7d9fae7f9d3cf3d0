"""The class of decision trees: its exact law, its learner, its limits."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support import brute_force_law, sampler_law, sampler_outcomes
from support.releases import Forbidden

from pcqr.data.records import GroupedRecords, InMemory, Records, counting
from pcqr.data.records.user_level import Weighted
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses import DecisionTrees
from pcqr.hypotheses.trees import Predicate
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.noise import Chooser

BoolArray = NDArray[np.bool_]
Pattern = tuple[int, ...]

SIZES = ((1, 1, 2), (3, 1, 2), (3, 2, 2), (2, 2, 3), (2, 1, 4), (1, 3, 2))
"""(predicates, depth, classes)."""


def binary(predicates: int, depth: int | None = None, labels: int = 2, **others: Any) -> DecisionTrees:
    """Trees that ask columns of zeros and ones."""
    asked = tuple(Predicate(j, 0.5) for j in range(predicates))
    return DecisionTrees(depth=depth, labels=labels, predicates=asked, **others)


def random_table(predicates: int, classes: int, records: int, seed: int) -> tuple[NDArray[np.float64], list[int]]:
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 2, (records, predicates)).astype(np.float64)
    return X, generator.integers(0, classes, records).tolist()


def syntactic_trees(holds: BoolArray, classes: int, depth: int, stop: float) -> list[tuple[float, Pattern]]:
    """(prior, labels of the records) of every tree, unreachable sides included: the definition, written out."""
    constants = [(1.0 / classes, (label,) * holds.shape[0]) for label in range(classes)]
    if depth == 0:
        return constants
    below = syntactic_trees(holds, classes, depth - 1, stop)
    trees = [(stop * prior, labels) for prior, labels in constants] if stop else []
    for column in holds.T.tolist():
        for (p, fails), (q, true) in itertools.product(below, repeat=2):
            labels = tuple(t if held else f for held, f, t in zip(column, fails, true, strict=True))
            trees.append(((1.0 - stop) / holds.shape[1] * p * q, labels))
    return trees


def naive_law(
    holds: BoolArray, y: list[int], classes: int, depth: int, stop: float, eta: float
) -> dict[Pattern, float]:
    mass: dict[Pattern, list[float]] = defaultdict(list)
    for prior, labels in syntactic_trees(holds, classes, depth, stop):
        error_counts = sum(a != b for a, b in zip(labels, y, strict=True))
        mass[labels].append(prior * math.exp(-eta * error_counts))
    total = math.fsum(itertools.chain.from_iterable(mass.values()))
    return {labels: math.log(math.fsum(parts) / total) for labels, parts in mass.items()}


def assert_same_law(law: dict[Pattern, float], exact: dict[Pattern, float]) -> None:
    assert law.keys() == exact.keys()
    assert max(abs(law[pattern] - exact[pattern]) for pattern in exact) < 1e-9


# The law --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("predicates", "depth", "classes"), SIZES)
@pytest.mark.parametrize("eta", [0.0, 0.3, 2.5])
def test_the_sampler_has_the_law_of_brute_force(predicates: int, depth: int, classes: int, eta: float) -> None:
    hypotheses = binary(predicates, depth, classes)
    X, y = random_table(predicates, classes, 6, seed=predicates + depth)
    law = sampler_law(hypotheses, X, y, eta)
    assert_same_law(law, brute_force_law(hypotheses, X, y, eta))
    assert_same_law(law, naive_law(X > 0.5, y, classes, depth, 0.0, eta))


@pytest.mark.parametrize("stop", [1e-6, 0.4, 0.9])
@pytest.mark.parametrize(("predicates", "depth", "classes"), [(2, 2, 2), (2, 1, 3), (1, 3, 2)])
def test_the_stopping_prior_has_the_law_of_brute_force(predicates: int, depth: int, classes: int, stop: float) -> None:
    X, y = random_table(predicates, classes, 5, seed=7)
    law = sampler_law(binary(predicates, depth, classes, stop=stop), X, y, 0.6)
    assert_same_law(law, naive_law(X > 0.5, y, classes, depth, stop, 0.6))


@settings(deadline=None, max_examples=15)
@given(st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, 2.0])] * 2), min_size=1, max_size=5), st.data())
def test_the_law_with_dependent_predicates(rows: list[tuple[float, float]], data: st.DataObject) -> None:
    """Cuts of one column exclude or imply each other; one predicate is there twice; points lie on cuts."""
    asked = data.draw(st.lists(st.builds(Predicate, st.integers(0, 1), st.sampled_from([0.0, 1.0])), max_size=2))
    y = data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    hypotheses = DecisionTrees(depth=2, predicates=(Predicate(0, 0.0), *asked))
    assert_same_law(sampler_law(hypotheses, rows, y, 0.8), brute_force_law(hypotheses, rows, y, 0.8))


def test_without_temperature_the_draw_is_the_prior() -> None:
    hypotheses = binary(2, 2, stop=0.25)
    X, y = random_table(2, 2, 6, seed=1)
    outcomes = sampler_outcomes(hypotheses, X, y, 0.0)
    stopped = math.fsum(math.exp(p) for drawn, p in outcomes if drawn.depth == 0)  # type: ignore[attr-defined]
    assert stopped == pytest.approx(0.25, abs=1e-12)
    # No mistakes count: any other labels have the same law, path by path.
    other = sampler_outcomes(hypotheses, X, [1 - label for label in y], 0.0)
    assert [p for _, p in other] == pytest.approx([p for _, p in outcomes], abs=1e-12)


def test_no_neighbour_is_further_than_two_eta() -> None:
    """Over trees as values, for every pair of tables of three records that differ in one."""
    hypotheses, eta = binary(2, 1), 0.7
    rows = [(a, b, c) for a in (0.0, 1.0) for b in (0.0, 1.0) for c in (0, 1)]
    laws = []
    for last in rows:
        X, y = [(0.0, 0.0), (1.0, 0.0), last[:2]], [0, 1, last[2]]
        law: dict[Any, float] = defaultdict(float)
        for drawn, log_probability in sampler_outcomes(hypotheses, X, y, eta):
            law[drawn] += math.exp(log_probability)
        laws.append(law)
    ratios = [abs(math.log(p[tree] / q[tree])) for p in laws for q in laws for tree in p | q]
    assert max(ratios) <= 2 * eta + 2 * hypotheses.log_probability_error(3, eta)
    assert max(ratios) > eta


@pytest.mark.parametrize("eta", [1e3, 1e13])
def test_a_cold_draw_is_a_best_tree(eta: float) -> None:
    hypotheses = binary(4, 3)
    X, y = random_table(4, 2, 60, seed=3)
    best = int((hypotheses.learn(X, y).predict(X) != y).sum())
    assert best > 0
    for seed in range(5):
        assert int((hypotheses.sample(X, y, eta, entropy=seed).predict(X) != y).sum()) == best


# Counts ---------------------------------------------------------------------------------------------------------------


def test_counts_serve_any_number_of_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    hypotheses = binary(4, 2, 3)
    X, y = random_table(4, 3, 90, seed=4)
    counted = hypotheses.count(X, y)
    fresh = [hypotheses.sample(X, y, eta, entropy=9) for eta in (0.1, 1.0)]
    monkeypatch.setattr(Records, "conjunctions", None)
    again = [hypotheses.draw_from(counted, eta, Chooser(SeededEntropy(9))) for eta in (0.1, 1.0)]
    assert again == fresh
    assert len(list(hypotheses.draws_from(counted, 0.1, [Chooser(SeededEntropy(i)) for i in range(3)]))) == 3
    assert "90" not in repr(counted)


def test_counts_are_additive_and_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    hypotheses = binary(4, 3)
    X, y = random_table(4, 2, 90, seed=5)
    whole = hypotheses.count(X, y)
    monkeypatch.setattr(counting, "_BLOCK", 7)
    in_blocks = hypotheses.count(X, y)
    added = hypotheses.count(X[:40], y[:40]) + hypotheses.count(X[40:], y[40:])
    assert (in_blocks.counts.table == whole.counts.table).all()
    assert (added.counts.table == whole.counts.table).all()


@pytest.mark.parametrize("made", [Weighted, lambda rows: GroupedRecords(rows, np.arange(rows.size))])
def test_a_draw_from_counts_in_parts_of_a_record_has_the_law_of_records(made: Callable[[InMemory], Records]) -> None:
    """Were η not divided by what one record counts at most, it would cost 64 times what is stated."""
    hypotheses = binary(4, 2, 3)
    rows = InMemory(*random_table(4, 3, 90, seed=6), 3)
    for seed in range(5):
        alike, whole = Chooser(SeededEntropy(seed)), Chooser(SeededEntropy(seed))
        found = hypotheses.draw_from(hypotheses.count_on(made(rows)), 0.1, alike)
        assert found == hypotheses.draw_from(hypotheses.count_on(rows), 0.1, whole)
        assert alike.log_probability == pytest.approx(whole.log_probability, rel=1e-12)
    with pytest.raises(DataError, match="unit"):
        hypotheses.count_on(rows) + hypotheses.count_on(made(rows))


def test_counts_of_another_class_or_a_bad_temperature_are_refused() -> None:
    hypotheses = binary(2, 1)
    counted = hypotheses.count([(0.0, 1.0)], [1])
    chooser = Chooser(Forbidden())
    with pytest.raises(DataError, match="another class"):
        replace(hypotheses, stop=0.5).draw_from(counted, 1.0, chooser)
    with pytest.raises(DataError, match="same class"):
        counted + replace(hypotheses, cuts=3).count([(0.0, 1.0)], [1])
    for eta in (-1.0, math.nan, 1e300):
        with pytest.raises(ParameterError, match="inverse_temperature"):
            hypotheses.draw_from(counted, eta, chooser)


# Learning -------------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(st.sampled_from([(3, 1, 2), (3, 2, 2), (2, 2, 3), (2, 3, 2)]), st.integers(0, 10**6), st.integers(1, 9))
def test_learning_makes_the_fewest_mistakes(size: tuple[int, int, int], seed: int, records: int) -> None:
    predicates, depth, classes = size
    X, y = random_table(predicates, classes, records, seed)
    hypotheses = binary(predicates, depth, classes)
    learned = hypotheses.learn(X, y)
    # Only what separates the records matters: depth 3 with two predicates is depth 2.
    members = binary(predicates, min(depth, 2), classes).enumerate(X)
    assert int((learned.predict(X) != y).sum()) == int((members != np.array(y)).sum(axis=1).min())
    order = SeededEntropy(seed).permutation(records)
    assert hypotheses.learn(X[order], np.array(y)[order]) == learned


# Public points and limits ---------------------------------------------------------------------------------------------


def test_public_points_or_a_schema_are_needed() -> None:
    with pytest.raises(ParameterError, match="public"):
        DecisionTrees(depth=1).draw([[0.0], [1.0]], [0, 1], 1.0, entropy=Forbidden())
    for public in ([[1.0, 2.0]], [[1.0, 2.0]] * 5):
        with pytest.raises(DataError, match="rows that differ"):
            DecisionTrees(depth=1).draw([[0.0, 1.0]], [0], 1.0, public=public, entropy=Forbidden())


def test_public_points_fix_the_class_and_private_ones_never_do() -> None:
    public = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]])
    fixed = DecisionTrees(depth=2).prepared(public, None)
    assert fixed.is_fixed
    assert fixed.predicates == (Predicate(0, 0.5), Predicate(0, 1.5))
    assert fixed.prepared(public[:1], None) is fixed
    X, y = [[0.0, 1.0], [9.0, 2.0], [1.2, 3.0]], [0, 1, 0]
    assert DecisionTrees(depth=2).sample(X, y, 1.0, public=public, entropy=5) == fixed.sample(X, y, 1.0, entropy=5)


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"depth": 0}, "depth"), ({"depth": 7}, "depth"), ({"depth": 2.5}, "depth"), ({"depth": True}, "depth"),
        ({"stop": -0.1}, "stop"), ({"stop": 1.0}, "stop"), ({"stop": 1e-9}, "stop"), ({"stop": math.nan}, "stop"),
        ({"stop": "often"}, "stop"), ({"cuts": 0}, "cuts"), ({"labels": 1}, "labels"), ({"labels": 128}, "labels"),
        ({"predicates": ()}, "predicates"), ({"operations": 0}, "operations"), ({"memory": -1.0}, "memory"),
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(parameters: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        DecisionTrees(**parameters)


def test_a_depth_that_costs_too_much_is_refused_before_any_noise() -> None:
    X, y = np.zeros((1000, 300)), np.zeros(1000)
    with pytest.raises(ParameterError, match=r"depth 6 on 1,000 records and 300 predicates: .*raise operations"):
        binary(300, 6).draw(X, y, 1.0, entropy=Forbidden())
    with pytest.raises(ParameterError, match=r"at most 2e\+09 bytes .*raise memory"):
        binary(300, 5, operations=1e20).draw(X, y, 1.0, entropy=Forbidden())
    with pytest.raises(ParameterError, match="raise operations"):
        binary(3, operations=1.0).depth_for(10)
    assert binary(300, 5, operations=1e20, memory=1e12).depth_for(1000) == 5


@pytest.mark.parametrize(
    ("records", "predicates", "depth"),
    [(1, 1, 4), (32_561, 96, 4), (435_000, 150, 4), (10**7, 150, 3), (10**8, 400, 2)],
)
def test_the_default_depth_is_a_function_of_public_sizes(records: int, predicates: int, depth: int) -> None:
    assert binary(predicates).depth_for(records) == depth
    assert binary(predicates, stop=0.5).depth_for(records) == depth


def test_the_error_bound_grows_with_every_public_number() -> None:
    unfixed = DecisionTrees()
    base = unfixed.log_probability_error(1000, 0.5, features=3)
    assert 0 < base < 1e-9
    assert unfixed.log_probability_error(2000, 0.5, features=3) > base
    assert unfixed.log_probability_error(1000, 0.6, features=3) > base
    assert unfixed.log_probability_error(1000, 0.5, features=4) > base
    fixed = unfixed.prepared(np.random.default_rng(0).random((50, 3)), None)
    assert fixed.log_probability_error(1000, 0.5, features=3) <= base
    assert replace(fixed, depth=2).log_probability_error(1000, 0.5) < replace(fixed, depth=4).log_probability_error(
        1000, 0.5
    )
