"""Weighted records and abstaining leaves: sums, the exact law, and the stated bound on its error."""

from __future__ import annotations

import decimal
import itertools
import math
from collections import defaultdict
from decimal import Decimal
from functools import lru_cache
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.laws import ScriptedChooser
from support.line import PRECISE, PreciseChooser

from pcqr.errors import DataError
from pcqr.hypotheses.trees import DecisionTree, Leaf, Predicate
from pcqr.hypotheses.trees.boosted import VOTES, votes_of
from pcqr.hypotheses.trees.weighted import ABSTAIN, draw_tree, log_probability_error
from pcqr.noise import Chooser
from pcqr.records import InMemory, weighing
from pcqr.records.counting import ConjunctionCounts
from pcqr.records.weighing import GRID

Cells = frozenset[int]


def asked(count: int) -> tuple[Predicate, ...]:
    return tuple(Predicate(j, 0.5) for j in range(count))


BY_LEAD = np.abs(np.arange(-GRID, GRID + 1)).astype(np.uint8)


def with_weights(holds: NDArray[np.bool_], y: NDArray[np.int8], weights: NDArray[np.uint8]) -> weighing.WeightedRecords:
    """Records whose leads are ± `weights`, by stumps that each say 1 of all that weigh more: `BY_LEAD` weighs them."""
    levels = tuple(Predicate(holds.shape[1], level + 0.5) for level in range(GRID))
    records = InMemory(np.column_stack((holds, weights)), y).weighing((*asked(holds.shape[1]), *levels))
    for level in levels:
        records.follow([(((level, False),), 0), (((level, True),), 1)])
    return records


def weighed(holds: NDArray[np.bool_], y: NDArray[np.int8], weights: NDArray[np.uint8], depth: int) -> ConjunctionCounts:
    return with_weights(holds, y, weights).weigh(BY_LEAD, np.arange(holds.shape[1]), depth)


def cells(predicates: int, seed: int, copies: int = 1) -> tuple[NDArray[np.bool_], NDArray[np.int8], NDArray[np.uint8]]:
    """Records in every cell that predicates can make, with weights that include 0 and G."""
    generator = np.random.default_rng(seed)
    every = np.array(list(itertools.product((False, True), repeat=predicates)))
    holds = np.repeat(every, copies, axis=0)[generator.permutation(every.shape[0] * copies)]
    y = np.asarray(generator.integers(0, 2, holds.shape[0]), dtype=np.int8)
    weights = generator.choice([0, 1, 7, GRID - 1, GRID], holds.shape[0]).astype(np.uint8)
    return holds, y, weights


# --------------------------------------------------------------------------------------------------------------
# Sums


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 200), predicates=st.integers(1, 6), depth=st.integers(1, 4))
def test_sums_of_weights_are_those_of_plain_addition(seed: int, count: int, predicates: int, depth: int) -> None:
    generator = np.random.default_rng(seed)
    holds = generator.random((count, predicates)) < 0.6
    y = generator.integers(0, 2, count).astype(np.int8)
    weights = generator.integers(0, GRID + 1, count).astype(np.uint8)
    offered = np.sort(generator.permutation(predicates)[: generator.integers(1, predicates + 1)])
    sums = with_weights(holds, y, weights).weigh(BY_LEAD, offered, depth)
    for size in range(min(depth, offered.size) + 1):
        for members in itertools.combinations(range(offered.size), size):
            inside = holds[:, offered[list(members)]].all(axis=1)
            (row,) = sums.sets.rows(np.array([members], dtype=np.int64).reshape(1, size))
            assert sums.table[row].tolist() == [int(weights[inside & (y == c)].sum(dtype=np.int64)) for c in (0, 1)]


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    holds, y, weights = cells(4, seed=3, copies=9)
    whole = weighed(holds, y, weights, 3)
    monkeypatch.setattr(weighing, "_BLOCK", 50)
    assert (weighed(holds, y, weights, 3).table == whole.table).all()


def test_the_heaviest_records_fit_into_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 2 * GRID * weighing.MOST_RECORDS < 2**31
    monkeypatch.setattr(weighing, "MOST_RECORDS", 3)
    with pytest.raises(DataError, match="at most 3 rows"):
        InMemory(np.zeros((4, 1)), np.zeros(4, dtype=np.int8)).weighing(asked(1))


# --------------------------------------------------------------------------------------------------------------
# The law


def sampled_law(
    holds: NDArray[np.bool_], y: NDArray[np.int8], weights: NDArray[np.uint8], depth: int, eta: float
) -> dict[tuple[int, ...], float]:
    """P(votes on the records) of the sampler's own code path, by walking through every branch."""
    sums, points = weighed(holds, y, weights, depth), holds.astype(np.float64)
    law: defaultdict[tuple[int, ...], float] = defaultdict(float)
    script: list[int] = []
    while True:
        chooser = ScriptedChooser(script)
        root = draw_tree(sums, asked(holds.shape[1]), eta, cast(Chooser, chooser))
        votes = votes_of(DecisionTree(root, holds.shape[1]), points)
        law[tuple(votes.tolist())] += math.exp(chooser.log_probability)
        script += [0] * (len(chooser.options) - len(script))
        while script and script[-1] + 1 == chooser.options[len(script) - 1]:
            script.pop()
        if not script:
            return dict(law)
        script[-1] += 1


def enumerated_law(
    holds: NDArray[np.bool_], y: NDArray[np.int8], weights: NDArray[np.uint8], depth: int, eta: float
) -> dict[tuple[int, ...], float]:
    """The same from the definition: every syntactic tree, every label of every leaf, unreachable ones included."""
    leaves, rows = 1 << depth, np.arange(y.size)
    said = np.array([-1, 1, 0])  # by label
    law: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for questions in itertools.product(range(holds.shape[1]), repeat=leaves - 1):
        place = np.zeros(y.size, dtype=np.int64)  # in heap order
        for _ in range(depth):
            place = 2 * place + 1 + holds[rows, np.array(questions)[place]]
        reached = sorted(set(place.tolist()))
        for labels in itertools.product(range(3), repeat=len(reached)):
            of_place = dict(zip(reached, labels, strict=True))
            votes = said[[of_place[p] for p in place.tolist()]]
            off = np.abs((votes + 1) / 2.0 - y)
            copies = 3 ** (leaves - len(reached))
            law[tuple(votes.tolist())] += copies * math.exp(-eta * float((weights / GRID * off).sum()))
    total = math.fsum(law.values())
    return {votes: mass / total for votes, mass in law.items()}


@pytest.mark.parametrize("eta", [0.0, 0.7, 6.0])
@pytest.mark.parametrize(("predicates", "depth"), [(1, 1), (3, 1), (1, 2), (2, 2), (1, 3)])
def test_the_law_is_that_of_all_syntactic_trees(predicates: int, depth: int, eta: float) -> None:
    for seed in range(3):
        holds, y, weights = cells(predicates, seed)
        actual, expected = (law(holds, y, weights, depth, eta) for law in (sampled_law, enumerated_law))
        assert actual.keys() == expected.keys()
        assert max(abs(math.log(actual[votes] / expected[votes])) for votes in expected) < 1e-11


def test_a_record_of_weight_zero_is_as_good_as_absent() -> None:
    holds, y, weights = cells(2, seed=1)
    weights[:] = [0, GRID, 0, 9]
    changed = y.copy()
    changed[[0, 2]] ^= 1
    assert (weighed(holds, y, weights, 2).table == weighed(holds, changed, weights, 2).table).all()


def test_an_undecided_leaf_abstains_and_a_decided_one_does_not() -> None:
    holds = np.array([[True], [True], [False], [False]])
    y, heavy = np.array([0, 1, 1, 1], dtype=np.int8), np.full(4, GRID, dtype=np.uint8)
    law = sampled_law(holds, y, heavy, 1, 5.0)
    undecided = {v: sum(mass for votes, mass in law.items() if votes[0] == v) for v in (-1, 0, 1)}
    assert undecided[0] == pytest.approx(1 / 3), "all three labels cost the same"
    assert sum(mass for votes, mass in law.items() if votes[2] == 1) > 0.98
    assert VOTES[ABSTAIN] == 0


# --------------------------------------------------------------------------------------------------------------
# The error of the arithmetic


class Exact:
    """Z by its definition, to 60 digits, on sets of records."""

    def __init__(self, holds: NDArray[np.bool_], y: NDArray[np.int8], weights: NDArray[np.uint8], eta: float) -> None:
        self.eta, self.predicates = Decimal(eta), int(holds.shape[1])
        self.weights = [(int(label), int(weight)) for label, weight in zip(y, weights, strict=True)]
        self.holding = [frozenset(np.flatnonzero(column).tolist()) for column in holds.T]
        self.everything: Cells = frozenset(range(y.size))
        self.z = lru_cache(maxsize=None)(self._z)
        self.labels = lru_cache(maxsize=None)(self._labels)

    def _labels(self, records: Cells) -> list[Decimal]:
        by_class = [sum(w for label, w in map(self.weights.__getitem__, records) if label == c) for c in (0, 1)]
        costs = [Decimal(by_class[1]), Decimal(by_class[0]), Decimal(sum(by_class)) / 2]
        return [(-self.eta * cost / GRID).exp() for cost in costs]

    def options(self, records: Cells, remaining: int) -> list[Decimal]:
        return [self.z(records & b, remaining - 1) * self.z(records - b, remaining - 1) for b in self.holding]

    def _z(self, records: Cells, remaining: int) -> Decimal:
        if remaining == 0:
            return sum(self.labels(records), Decimal(0)) / 3
        return sum(self.options(records, remaining), Decimal(0)) / self.predicates

    def log_probability(self, taken: list[int], depth: int) -> Decimal:
        """Of a sequence of choices in the order in which the sampler makes them."""
        choices = iter(taken)

        def chosen(options: list[Decimal]) -> tuple[int, Decimal]:
            index = next(choices)
            return index, (options[index] / sum(options, Decimal(0))).ln()

        def below(records: Cells, path: frozenset[int], remaining: int) -> Decimal:
            if remaining == 0:
                return chosen(self.labels(records))[1]
            index, total = chosen(self.options(records, remaining))
            if index in path:
                return total + below(records, path, remaining - 1)
            for side in (records - self.holding[index], records & self.holding[index]):
                total += below(side, path | {index}, remaining - 1)
            return total

        total = below(self.everything, frozenset(), depth)
        assert next(choices, None) is None
        return total


class Recorder(PreciseChooser):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.taken: list[int] = []

    def __call__(self, log_weights: NDArray[np.float64]) -> int:
        assert np.isfinite(log_weights).all(), "every option can be drawn"
        self.taken.append(super().__call__(log_weights))
        return self.taken[-1]


@pytest.mark.parametrize("eta", [0.0, 1e-3, 0.37, 40.0, 2e4])
@pytest.mark.parametrize(("predicates", "depth"), [(4, 3), (3, 2), (2, 4), (5, 1), (3, 4)])
def test_error_bound_holds_against_sixty_digits(predicates: int, depth: int, eta: float) -> None:
    holds, y, weights = cells(predicates, seed=depth, copies=4)
    sums = weighed(holds, y, weights, depth)
    bound = log_probability_error(y.size, predicates, depth, eta)
    assert bound < 1e-9 or eta > 100
    exact = Exact(holds, y, weights, eta)
    with decimal.localcontext(PRECISE):
        for seed in range(6):
            chooser = Recorder(seed)
            draw_tree(sums, asked(predicates), eta, cast(Chooser, chooser))
            assert abs(chooser.log_probability - exact.log_probability(chooser.taken, depth)) <= Decimal(bound)


@given(st.integers(1, 10**7), st.integers(1, 200), st.integers(1, 5), st.floats(0, 10, allow_subnormal=False))
def test_the_bound_grows_with_everything(records: int, predicates: int, depth: int, eta: float) -> None:
    bound = log_probability_error(records, predicates, depth, eta)
    assert 0 < bound <= log_probability_error(records + 1, predicates + 1, depth + 1, eta * 1.01)


def test_a_side_that_cannot_be_reached_is_left_out() -> None:
    holds, y, weights = cells(1, seed=0)
    root = draw_tree(weighed(holds, y, weights, 4), asked(1), 1.0, cast(Chooser, PreciseChooser(0)))
    tree = DecisionTree(root, 1)
    assert tree.depth == 1
    assert isinstance(root, Leaf) or tree.leaves == 2
