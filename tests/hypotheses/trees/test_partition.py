"""The partition function against its definition, with exact arithmetic, and the stated bound on its error."""

from __future__ import annotations

import decimal
import itertools
import math
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray
from support.line import PRECISE, PreciseChooser

from pcqr.data.records import counting
from pcqr.data.records.counting import block_rows, count_conjunctions
from pcqr.errors import ParameterError
from pcqr.hypotheses.trees import DecisionTrees, Predicate
from pcqr.hypotheses.trees import partition as splits
from pcqr.hypotheses.trees.partition import MistakeLaw, Node, PartitionFunction
from pcqr.privacy.noise import Chooser

Cells = frozenset[int]


class Exact:
    """Z by the definition, to 60 digits, on sets of records: it knows nothing of literals, ranks or signs.

    `holds` has a row for each cell, `counts` the cell's records of each class.
    """

    def __init__(self, holds: NDArray[np.bool_], counts: NDArray[np.int64], eta: float, stop: float) -> None:
        self.predicates, self.stop, self.eta = holds.shape[1], Decimal(stop), Decimal(eta)
        self.counts: list[list[int]] = counts.tolist()
        self.holding = [frozenset(np.flatnonzero(column).tolist()) for column in holds.T]
        self.everything: Cells = frozenset(range(holds.shape[0]))
        self.decay = lru_cache(maxsize=None)(lambda error_counts: (-self.eta * error_counts).exp())
        self.z = lru_cache(maxsize=None)(self._z)
        self.fewest = lru_cache(maxsize=None)(self._fewest)

    def labels(self, cells: Cells) -> list[Decimal]:
        totals = [sum(self.counts[cell][c] for cell in cells) for c in range(len(self.counts[0]))]
        return [self.decay(sum(totals) - own) for own in totals]

    def leaf(self, cells: Cells) -> Decimal:
        weights = self.labels(cells)
        return sum(weights, Decimal(0)) / len(weights)

    def options(self, cells: Cells, remaining: int) -> list[Decimal]:
        share = (1 - self.stop) / self.predicates
        splits = [share * self.z(cells & b, remaining - 1) * self.z(cells - b, remaining - 1) for b in self.holding]
        return [*splits, self.stop * self.leaf(cells)] if self.stop else splits

    def _z(self, cells: Cells, remaining: int) -> Decimal:
        return sum(self.options(cells, remaining), Decimal(0)) if remaining else self.leaf(cells)

    def _fewest(self, cells: Cells, remaining: int) -> int:
        if remaining == 0:
            totals = [sum(self.counts[cell][c] for cell in cells) for c in range(len(self.counts[0]))]
            return sum(totals) - max(totals)
        return min(self.fewest(cells & b, remaining - 1) + self.fewest(cells - b, remaining - 1) for b in self.holding)

    def log_probability(self, taken: list[int], depth: int) -> Decimal:
        """Of a sequence of choices in the order in which the sampler makes them."""
        choices = iter(taken)

        def chosen(weights: list[Decimal]) -> tuple[int, Decimal]:
            index = next(choices)
            return index, (weights[index] / sum(weights, Decimal(0))).ln()

        def below(cells: Cells, asked: frozenset[int], remaining: int) -> Decimal:
            if remaining:
                index, total = chosen(self.options(cells, remaining))
                if index in asked:
                    return total + below(cells, asked, remaining - 1)
                if index < self.predicates:
                    for side in (cells - self.holding[index], cells & self.holding[index]):
                        total += below(side, asked | {index}, remaining - 1)
                    return total
                return total + chosen(self.labels(cells))[1]
            return chosen(self.labels(cells))[1]

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


def cells_and_counts(predicates: int, classes: int, largest: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """All 2^B cells, some without records, with counts from 0 to `largest` of very different sizes."""
    generator = np.random.default_rng(predicates + 10 * classes)
    holds = np.array(list(itertools.product((False, True), repeat=predicates)))
    shape = holds.shape[0], classes
    counts = generator.integers(0, 2, shape) * np.exp(generator.random(shape) * math.log(largest)).astype(np.int64)
    return holds, counts


def records(holds: NDArray[np.bool_], counts: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
    classes = counts.shape[1]
    y = np.tile(np.arange(classes, dtype=np.int8), holds.shape[0])
    return np.repeat(np.repeat(holds, classes, axis=0), counts.ravel(), axis=0), np.repeat(y, counts.ravel())


@pytest.mark.parametrize("stop", [0.0, 0.3])
@pytest.mark.parametrize(("predicates", "depth", "classes"), [(1, 3, 2), (4, 3, 2), (4, 2, 3), (3, 4, 2), (5, 1, 4)])
def test_every_value_equals_the_definition(predicates: int, depth: int, classes: int, stop: float) -> None:
    holds, tallies = cells_and_counts(predicates, classes, 60)
    eta = 0.21
    counts = count_conjunctions([records(holds, tallies)], predicates, classes, depth)
    function = PartitionFunction(counts, MistakeLaw(counts, eta, stop))
    exact = Exact(holds, tallies, eta, stop)
    nodes = 0
    with decimal.localcontext(PRECISE):
        for size in range(min(depth, predicates) + 1):
            for members in itertools.combinations(range(predicates), size):
                for signs in itertools.product((False, True), repeat=size):
                    node = Node(tuple(zip(members, signs, strict=True)))
                    cells = frozenset(np.flatnonzero((holds[:, list(members)] == signs).all(axis=1)).tolist())
                    for remaining in range(depth - size + 1):
                        (error_counts,), (mass,) = function._values([node], remaining)
                        assert error_counts == exact.fewest(cells, remaining)
                        value = -Decimal(eta) * int(error_counts) + Decimal(float(mass)).ln()
                        assert abs(value - exact.z(cells, remaining).ln()) < Decimal("1e-13")
                        assert 0 < mass < 1 + 1e-12
                        nodes += 1
    assert nodes >= depth + 1


@pytest.mark.parametrize("eta", [0.0, 1e-300, 1e-3, 0.37, 5.0, 745.5, 1e9])
@pytest.mark.parametrize("stop", [0.0, 1e-6, 0.5, 1 - 1e-6])
@pytest.mark.parametrize(("predicates", "depth", "classes"), [(4, 3, 2), (3, 2, 4)])
def test_error_bound_holds_against_sixty_digits(
    predicates: int, depth: int, classes: int, stop: float, eta: float
) -> None:
    """ηn up to 10¹³, uniformly random branches: most drawn trees are unlikely beyond what float64 can hold."""
    holds, tallies = cells_and_counts(predicates, classes, 3000)
    rows, y = records(holds, tallies)
    asked = tuple(Predicate(j, 0.5) for j in range(predicates))
    hypotheses = DecisionTrees(depth=depth, stop=stop, labels=classes, predicates=asked)
    bound = hypotheses.log_probability_error(y.size, eta)
    counted = hypotheses.count(rows.astype(np.float64), y)
    choosers = [Recorder(seed) for seed in range(8)]
    for _ in hypotheses.draws_from(counted, eta, cast(list[Chooser], choosers)):
        pass
    exact = Exact(holds, tallies, eta, stop)
    with decimal.localcontext(PRECISE):
        for chooser in choosers:
            error = abs(chooser.log_probability - exact.log_probability(chooser.taken, depth))
            assert error <= Decimal(bound)
    assert bound < 1e-8 or eta > 100


def test_the_bound_holds_where_the_best_tree_has_almost_no_prior_mass() -> None:
    """64 cells with a label of their own among 127: m is near e^−560, not far from what is refused."""
    predicates, depth, classes, eta = 6, 6, 127, 900.0
    holds = np.array(list(itertools.product((False, True), repeat=predicates)))
    tallies = np.eye(classes, dtype=np.int64)[: holds.shape[0]]
    asked = tuple(Predicate(j, 0.5) for j in range(predicates))
    hypotheses = DecisionTrees(depth=depth, stop=0.93, labels=classes, predicates=asked)
    with pytest.raises(ParameterError, match="at most e\\^600 trees"):
        replace(hypotheses, stop=0.95).depth_for(64)
    rows, y = records(holds, tallies)
    counted = hypotheses.count(rows.astype(np.float64), y)
    (error_counts,), (mass,) = PartitionFunction(counted.counts, MistakeLaw(counted.counts, eta, 0.93))._values(
        [Node()], depth
    )
    assert error_counts == 0
    assert -600 < math.log(mass) < -500
    choosers = [Recorder(seed) for seed in range(3)]
    list(hypotheses.draws_from(counted, eta, cast(list[Chooser], choosers)))
    exact = Exact(holds, tallies, eta, 0.93)
    with decimal.localcontext(PRECISE):
        for chooser in choosers:
            error = abs(chooser.log_probability - exact.log_probability(chooser.taken, depth))
            assert error <= Decimal(hypotheses.log_probability_error(y.size, eta))
        assert abs(exact.z(exact.everything, depth).ln() - Decimal(float(mass)).ln()) < Decimal("1e-11")


def test_shares_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    holds, tallies = cells_and_counts(5, 3, 20)
    counts = count_conjunctions([records(holds, tallies)], 5, 3, 4)
    whole = PartitionFunction(counts, MistakeLaw(counts, 0.3, 0.1))
    monkeypatch.setattr(counting, "_LEAST_STEPS", 1)
    shared = PartitionFunction(counts, MistakeLaw(counts, 0.3, 0.1))
    for own, other in zip(itertools.chain(*whole._levels), itertools.chain(*shared._levels), strict=True):
        assert all((a == b).all() for a, b in zip(own, other, strict=True))


@pytest.mark.parametrize("eta", [0.0, 1e-3, 0.21, 50.0])
@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_leaves_of_two_classes_have_the_sums_of_any_number_to_the_last_bit(size: int, eta: float) -> None:
    """A kernel of their own, from differences of counts, against the one for all numbers of classes."""
    predicates = 6
    counts = count_conjunctions([records(*cells_and_counts(predicates, 2, 3000))], predicates, 2, size + 1)
    law, sets = MistakeLaw(counts, eta, 0.1), counts.sets.of_size(size)
    nodes, sums = counts.of_nodes(sets), []
    for kernel in (splits.add_leaf_pairs, splits._add_leaf_pairs):
        leaf_cost, mass = law.leaves(nodes)
        cost = leaf_cost.astype(np.int32)
        kernel(counts.table, counts.sets.start, counts.sets.steps, sets, nodes, law.decay, cost, mass)
        sums.append((cost.tolist(), mass.tolist()))
    assert sums[0] == sums[1]
    assert (np.array(sums[0][0]) < law.leaves(nodes)[0]).any(), "a split is better than a leaf"


def test_memory_is_what_the_class_says() -> None:
    predicates, depth, classes = 9, 4, 3
    generator = np.random.default_rng(0)
    block = generator.random((50, predicates)) < 0.5, generator.integers(0, classes, 50).astype(np.int8)
    counts = count_conjunctions([block], predicates, classes, depth)
    function = PartitionFunction(counts, MistakeLaw(counts, 0.1, 0.0))
    held = counts.table.nbytes + sum(array.nbytes for level in function._levels for pair in level for array in pair)
    asked = tuple(Predicate(j, 0.5) for j in range(predicates))
    trees = DecisionTrees(labels=classes, predicates=asked)
    assert held == trees.bytes_needed(depth) - 4 * block_rows(predicates) * predicates
    assert MistakeLaw(counts, 0.1, 0.0).decay.size == 51
    assert MistakeLaw(counts, 1e4, 0.0).decay.tolist() == [1.0, 0.0]


def test_what_all_options_cost_does_not_take_digits_from_their_weights() -> None:
    """Half of the records are wrong whatever is asked. η·n is so large that beside it a logarithm of a mass is lost."""
    holds = np.repeat(np.array([[False, False, True], [True, False, True], [True, True, False]]), 2, axis=0)
    holds = np.tile(holds, (1_000, 1))
    y = np.tile(np.array([0, 1], dtype=np.int8), 3_000)
    counts = count_conjunctions([(holds, y)], 3, 2, 2)
    cold, mild = (PartitionFunction(counts, MistakeLaw(counts, eta, 0.0)) for eta in (2.0**36, 50.0))
    np.testing.assert_allclose(cold.log_weights(Node(), 2), mild.log_weights(Node(), 2), atol=1e-9)
