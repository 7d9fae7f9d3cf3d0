"""The mechanisms, each on the inputs that its own proof speaks of: values with distances, or counts of votes."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from pcqr.algorithms.relabel import relabel
from pcqr.audit.exact.cases.tables import Table
from pcqr.audit.exact.sessions import Session
from pcqr.audit.exact.verify import Case
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.intervals import Intervals
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.mechanisms.relabelling import relabel_guarantee
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, PaperSparseVector, RenyiSparseVector, SparseVector
from pcqr.mechanisms.stability import StabilityTest

HALTED = "halted"


def mechanism_cases(*, full: bool) -> Iterator[Case]:
    yield from _stability_tests(full=full)
    yield from _sparse_vectors(full=full)
    yield from _relabelling(full=full)


# --------------------------------------------------------------------------------------------------------------
# The stability test


class Valued(NamedTuple):
    """A value and its distance to instability."""

    value: str
    distance: int

    def __str__(self) -> str:
        return f"value {self.value} at distance {self.distance}"


def _stability_tests(*, full: bool) -> Iterator[Case]:
    settings = [(0.5, 0.01), (1.0, 1e-6)] + ([(0.1, 0.001), (4.0, 0.2)] if full else [])
    for epsilon, delta in settings:
        test = StabilityTest(epsilon, delta)
        distances = range(test.threshold + 3)
        neighbours = [(Valued("a", d), Valued("a", d + 1)) for d in distances]
        neighbours.append((Valued("a", 0), Valued("b", 0)))
        yield Case.once(
            f"StabilityTest(ε = {epsilon:g}, δ = {delta:g})", test.guarantee, neighbours, partial(_released, test)
        )


def _released(test: StabilityTest, given: Valued, entropy: Entropy) -> str | None:
    return test.release(*given, entropy)


# --------------------------------------------------------------------------------------------------------------
# Sparse vectors


@dataclass(frozen=True)
class Distances:
    """A query as it looks on the two neighbours: its distance on each, and whether its label differs.

    `times` asks so many of the kind, and ends early at ⊥.
    """

    first: int
    second: int
    flips: bool = False
    times: int = 1

    def __str__(self) -> str:
        told = "labels differ" if self.flips else f"d = {self.first}|{self.second}"
        return told if self.times == 1 else f"{self.times} × ({told})"


Side = Literal["S", "S⁻"]


class SparseVectorSession(Session[Distances]):
    """The running sparse vector on one of two neighbours."""

    def __init__(self, parameters: SparseVector, side: Side, entropy: Entropy) -> None:
        self._side = side
        self._running = parameters.start(entropy)

    def ask(self, query: Distances) -> Hashable:
        if self._running.has_halted:
            return HALTED
        distance = query.first if self._side == "S" else query.second
        for number in range(query.times):
            if not self._running.is_stable(distance):
                return "⊥" if query.times == 1 else f"⊥ at number {number + 1}"
        return f"the label on {self._side}" if query.flips else "the label"


def around_the_threshold(threshold: int, beyond: Sequence[int]) -> list[Distances]:
    """A flip, and steps of the distance by 1 at 0, at the threshold, where noise decides, and some way `beyond`."""
    steps = [(d, d + 1) for d in sorted({0, threshold, *(threshold + more for more in beyond)})]
    mirrored = [pair for low, high in steps for pair in ((low, high), (high, low))]
    return [Distances(0, 0, flips=True), *itertools.starmap(Distances, mirrored)]


def many_stable_ones(threshold: int) -> list[Distances]:
    """Ten queries whose stable answers all speak for one side, and single ones whose ⊥ speaks for it as well."""
    w = threshold
    return [Distances(w + 1, w, times=10), Distances(w, w + 1), Distances(0, 0, flips=True)]


def sparse_vector_case(parameters: SparseVector, menu: Sequence[Distances], rounds: int) -> Case:
    """The case of any sparse vector: parameters with a threshold, a guarantee and `start`."""
    return Case(
        f"{type(parameters).__name__}: w = {parameters.threshold}, E = {parameters.unstable}, {len(menu)} queries",
        parameters.guarantee,
        [("S", "S⁻")],
        partial(SparseVectorSession, parameters),
        menu,
        rounds,
    )


def _sparse_vectors(*, full: bool) -> Iterator[Case]:
    low: list[SparseVector] = [
        OneSidedSparseVector(0, 2.0, 4.0, 1),
        OneSidedSparseVector(4, 1.0, 1.0, 2),
        PaperSparseVector(6, 1.0, 2, 4, 1e-6),
        RenyiSparseVector(4, 1.5, 1.2, 0, 2, 1e-3),
    ]
    high: list[SparseVector] = [
        OneSidedSparseVector(40, 2.0, 4.0, 1),
        OneSidedSparseVector(40, 2.0, 4.0, 2),
        PaperSparseVector(60, 2.0, 1, 100, 1e-6),
    ]
    if full:
        low += [
            OneSidedSparseVector(2, 2.0, 4.0, 2),
            OneSidedSparseVector(8, 0.5, 2.0, 3),
            PaperSparseVector(4, 2.0, 1, 4, 1e-6),
        ]
        high += [OneSidedSparseVector(100, 5.0, 20.0, 2), PaperSparseVector(60, 2.0, 2, 100, 1e-6)]
    for parameters in low:
        menu = around_the_threshold(parameters.threshold, (1, 4) if full else ())
        yield sparse_vector_case(parameters, menu, 3)
    for parameters in high:
        yield sparse_vector_case(parameters, many_stable_ones(parameters.threshold), parameters.unstable + 1)


# --------------------------------------------------------------------------------------------------------------
# Relabelling


def _relabelling(*, full: bool) -> Iterator[Case]:
    """What ĥ says of the records that the neighbours share: all that a worst-case A may learn at no cost of its own."""
    classes: list[HypothesisClass] = [Thresholds(), Thresholds(direction="both"), Intervals()]
    common = [((1.0, 0),) * 40, ((0.0, 0), (1.0, 1), (2.0, 0))]
    lasts = [(0.0, 1), (2.0, 0), (1.0, 1), (3.0, 1)]
    for hypotheses in classes:
        for records in common:
            tables = [Table((*records, last)) for last in lasts]
            for eta in (0.5, 2.0) if full else (0.5,):
                claimed = relabel_guarantee(Guarantee(0.0), hypotheses, len(records) + 1, eta, 1)
                yield Case.once(
                    f"Relabel alone: {hypotheses}, n = {len(records) + 1}, η = {eta:g}",
                    claimed,
                    list(itertools.combinations(tables, 2)),
                    partial(_common_labels, hypotheses, eta),
                )


def _common_labels(hypotheses: HypothesisClass, eta: float, table: Table, entropy: Entropy) -> str:
    labels = relabel(hypotheses, table.source(), eta, None, entropy).gathered().y[:-1].tolist()
    return "labels " + ", ".join(f"{label}×{len(list(run))}" for label, run in itertools.groupby(labels))
