"""Records that are persons: all rows of one person behind the questions that are asked of one record.

A person counts as much as one record does, however many rows it has: in sums the rows of a person have weights that add
up to one, on a grid of whole numbers, and a teacher sees all of them. What adds up rows without weights is refused.
Proof: proofs/persons.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer
from pcqr.entropy import Entropy
from pcqr.errors import DataError, ParameterError
from pcqr.progress import under_way
from pcqr.records.arrays import Labels, Points
from pcqr.records.branching import Node, counted_at_leaves, leaves_of
from pcqr.records.counting import MOST_RECORDS, ConjunctionCounts, IntArray
from pcqr.records.feature_map import FeatureMap
from pcqr.records.gradient_sums import GradientSums
from pcqr.records.in_memory import InMemory
from pcqr.records.predicates import Predicate
from pcqr.records.source import Labelling, Positions, Records

WHOLE = 64
"""What the weights of a person's rows add up to: a power of two, so that η/WHOLE is exact."""
MOST_PERSONS = MOST_RECORDS // WHOLE
"""Weighted counts are 32-bit integers."""


class Persons(Records):
    """N persons, each with all its rows. `size` counts persons; how many rows there are is private.

    Parameters
    ----------
    rows : Records
        All rows, whoever's they are.
    person_of : ndarray of integers of shape (rows,)
        For each row the number of its person: each of 0, …, N−1 occurs.
    most : int, default 1
        b: in sums a person of r rows counts as min(r, b)/b of a record. Public.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.records import InMemory, Persons
    >>> persons = Persons(InMemory([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1]), np.array([0, 1, 0, 0]))
    >>> persons
    Persons(2 persons, 1 columns, 2 labels)
    >>> persons.part(np.array([0])).X.ravel()
    array([1., 3., 4.])
    >>> persons.label_counts()  # in 64ths of a person
    array([85, 43])
    """

    whole: ClassVar[int] = WHOLE

    def __init__(self, rows: Records, person_of: IntArray, most: int = 1) -> None:
        counts = np.bincount(person_of)
        if person_of.shape != (rows.size,) or person_of.min() < 0 or not counts.all():
            raise DataError("person_of", "one of the numbers 0, …, N−1 of persons for each row", "others")
        check_integer("rows", most, least=1, most=WHOLE)
        if counts.size > MOST_PERSONS:
            raise DataError("groups", f"at most {MOST_PERSONS:,} persons", f"{counts.size:,} persons")
        if rows.size > MOST_RECORDS:
            raise DataError("X", f"at most {MOST_RECORDS:,} rows", "more")  # how many is private
        self._most = most
        self._hold(rows, np.argsort(person_of, kind="stable"), counts)

    def rows(self, positions: Positions) -> Persons:
        places, counts = self._of(positions)
        return self._with(self._rows, places, counts)

    def part(self, positions: Positions) -> InMemory:
        return self._rows.rows(self._of(positions)[0]).gathered()

    def one_each(self, entropy: Entropy) -> Records:
        """One row of each person, by a secret coin each, in a secret order: ordinary records, one of each person.

        Ids number the persons, so that a new id may renumber all of them: the order must not be that of the numbers.
        """
        coins = np.zeros(self.size, dtype=np.int64)
        for count in np.unique(self._counts):
            alike = np.flatnonzero(self._counts == count)
            coins[alike] = entropy.below(int(count), alike.size)
        return self._rows.rows(self._places[self._starts + coins][entropy.permutation(self.size)])

    def relabelled(self, labelling: Labelling) -> Persons:
        return self._with(self._rows.relabelled(labelling), self._places, self._counts)

    def kept(self) -> Persons:
        return self._with(self._rows.kept(), self._places, self._counts)

    def all_labels(self, rows: int) -> Iterator[Labels]:
        return self._rows.all_labels(rows)

    def blocks(self, rows: int) -> NoReturn:  # noqa: ARG002
        raise _refused()

    def gathered(self) -> NoReturn:
        raise _refused()

    # Sums over persons, in WHOLEths of a person -----------------------------------------------------------------------

    def label_counts(self) -> IntArray:
        """Here everybody counts as a whole, so that both labels together count N."""
        counts = np.zeros(self.labels, dtype=np.int64)
        for piece, weights in self._pieces(row_weights(self._counts)):
            for y in piece.all_labels(piece.size):
                np.add.at(counts, y, weights)
        return counts

    def mistakes(self, labellings: Sequence[Labelling]) -> IntArray:
        wrong = np.zeros(len(labellings), dtype=np.int64)
        for piece, weights in self._pieces(self._weights()):
            held = piece.gathered()
            wrong += [int(weights[labelling.predict(held.X) != held.y].sum()) for labelling in labellings]
        return wrong

    def leaf_counts(self, root: Node) -> IntArray:
        counts = np.zeros((len(leaves_of(root)), self.labels), dtype=np.int64)
        for piece, weights in self._pieces(self._weights()):
            held = piece.gathered()
            counts += counted_at_leaves(root, held.X, held.y, self.labels, weights)
        return counts

    def conjunctions(self, predicates: Sequence[Predicate], depth: int) -> ConjunctionCounts:
        weights, table = self._weights(), None
        with under_way("counting rows of persons"):  # how many different weights there are is private
            for weight in np.unique(weights[weights > 0]):
                counts = self._rows.rows(self._places[weights == weight]).conjunctions(predicates, depth).table
                counts *= np.int32(weight)
                table = counts if table is None else np.add(table, counts, out=table)
        if table is None:
            raise AssertionError("Everybody has a row with a weight: `most` is at most WHOLE.")
        return ConjunctionCounts(len(predicates), depth, table)

    def gradient_sums(self, features: FeatureMap, bound: int) -> GradientSums:
        weights = self._weights()
        blocks = ((held.X, held.y) for held in (piece.gathered() for piece, _ in self._pieces(weights)))
        return GradientSums(features, blocks, self._places.size, bound, self.labels, weights=weights, whole=self.whole)

    def coinciding(self, shown: Points) -> int:
        return self._rows.coinciding(shown)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} persons, {self.width} columns, {self.labels} labels)"

    def _weights(self) -> IntArray:
        return row_weights(self._counts, self._most)

    def _pieces(self, weights: IntArray) -> Iterator[tuple[Records, IntArray]]:
        """The rows, person after person, with these weights, so many at a time as memory allows."""
        for start in range(0, self._places.size, self.point_rows):
            piece = slice(start, start + self.point_rows)
            yield self._rows.rows(self._places[piece]), weights[piece]

    def _of(self, positions: Positions) -> tuple[IntArray, IntArray]:
        """Where the rows of these persons are, and how many each of them has."""
        counts = self._counts[positions]
        first = np.repeat(self._starts[positions], counts)
        return self._places[first + ranks(counts)], counts

    def _with(self, rows: Records, places: IntArray, counts: IntArray) -> Persons:
        made = Persons.__new__(Persons)
        made._most = self._most
        made._hold(rows, places, counts)
        return made

    def _hold(self, rows: Records, places: IntArray, counts: IntArray) -> None:
        """Person i has the next `counts[i]` of the `places` among `rows`."""
        self._rows, self._places, self._counts = rows, places, counts
        self._starts = np.cumsum(counts) - counts
        self.size, self.width, self.labels = counts.size, rows.width, rows.labels


def row_weights(counts: NDArray[np.int64], most: int = 1) -> IntArray:
    """For persons with so many rows the weight of each row, person after person.

    Those of a person of r rows add up to min(r, `most`)/`most` of WHOLE, rounded down.
    """
    rank, of = ranks(counts), np.repeat(counts, counts)
    share = WHOLE * np.minimum(of, most) // most
    weights: IntArray = share * (rank + 1) // of - share * rank // of
    return weights


def ranks(counts: NDArray[np.int64]) -> IntArray:
    """0, …, r−1 for each r of `counts`, one after the other."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _refused() -> ParameterError:
    return ParameterError("groups", "None: what is asked here of records is not proved for persons", "persons")
