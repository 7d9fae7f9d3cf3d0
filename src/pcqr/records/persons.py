"""Records that are persons: all rows of one person behind the questions that are asked of one record.

A person counts as much as one record does, however many rows it has: in sums the rows of a person have weights that add
up to at most one, on a grid of whole numbers, and a teacher sees all of them. What adds up rows without weights is
refused. Proofs: proofs/persons.md, and proofs/weights.md where rows have weights of their own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer
from pcqr.entropy import Entropy
from pcqr.errors import DataError, ParameterError
from pcqr.records.counting import MOST_RECORDS, IntArray
from pcqr.records.in_memory import InMemory
from pcqr.records.source import Labelling, Positions, Records
from pcqr.records.weighted import (
    MOST_WEIGHTED,
    WHOLE,
    ByLabel,
    Floats,
    WeighedRows,
    check_by_label,
    check_by_row,
)

MOST_PERSONS = MOST_WEIGHTED


class Persons(WeighedRows):
    """N persons, each with all its rows. `size` counts persons; how many rows there are is private.

    Parameters
    ----------
    rows : Records
        All rows, whoever's they are.
    person_of : ndarray of integers of shape (rows,)
        For each row the number of its person: each of 0, …, N−1 occurs.
    most : int, default 1
        b: in sums a person of r rows counts as min(r, b)/b of a record. Public.
    by_row : ndarray of shape (rows,) or None, default None
        For each row a number from 0 to 1, by which its part of the person is multiplied. Private. None: 1.

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

    def __init__(self, rows: Records, person_of: IntArray, most: int = 1, by_row: Floats | None = None) -> None:
        counts = np.bincount(person_of)
        if person_of.shape != (rows.size,) or person_of.min() < 0 or not counts.all():
            raise DataError("person_of", "one of the numbers 0, …, N−1 of persons for each row", "others")
        check_integer("rows", most, least=1, most=WHOLE)
        if counts.size > MOST_PERSONS:
            raise DataError("groups", f"at most {MOST_PERSONS:,} persons", f"{counts.size:,} persons")
        if rows.size > MOST_RECORDS:
            raise DataError("X", f"at most {MOST_RECORDS:,} rows", "more")  # how many is private
        self._most, self._by_row = most, check_by_row(by_row, rows.size)
        self._hold(rows, np.argsort(person_of, kind="stable"), counts)

    def rows(self, positions: Positions) -> Persons:
        places, counts = self._of(positions)
        return self._with(self._rows, places, counts)

    def part(self, positions: Positions) -> InMemory:
        return self._rows.rows(self._of(positions)[0]).gathered()

    def one_each(self, entropy: Entropy) -> Records:
        """Return one row of each person, chosen by a secret coin each, in a secret order, as ordinary records."""
        return self._rows.rows(self.one_row_each(entropy))

    def one_row_each(self, entropy: Entropy) -> IntArray:
        """Return the positions of these rows in `source`."""
        return _one_of_each(self._places, self._counts, entropy)

    def relabelled(self, labelling: Labelling) -> Persons:
        return self._with(self._rows.relabelled(labelling), self._places, self._counts)

    def kept(self) -> Persons:
        return self._with(self._rows.kept(), self._places, self._counts)

    def over(self, rows: Records) -> Persons:
        return self._with(rows, self._places, self._counts)

    def weighed(self, by_label: ByLabel) -> Persons:
        made = self._with(self._rows, self._places, self._counts)
        made.class_weights = check_by_label(by_label, self.labels)
        return made

    # Sums over persons, in WHOLEths of a person -----------------------------------------------------------------------

    def label_counts(self) -> IntArray:
        """Here everybody counts as a whole, whatever the weights of rows, so that all labels together count N."""
        counts = np.zeros(self.labels, dtype=np.int64)
        for piece, weights in self._pieces(row_weights(self._counts)):
            for y in piece.all_labels(piece.size):
                np.add.at(counts, y, weights)
        return counts

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} persons, {self.width} columns, {self.labels} labels)"

    def _weights(self) -> IntArray:
        return row_weights(self._counts, self._most, self._units())

    def _refused(self) -> ParameterError:
        return ParameterError("groups", "None: what is asked here of records is not proved for persons", "persons")

    def _of(self, positions: Positions) -> tuple[IntArray, IntArray]:
        """Where the rows of these persons are, and how many each of them has."""
        counts = self._counts[positions]
        first = np.repeat(self._starts[positions], counts)
        return self._places[first + ranks(counts)], counts

    def _with(self, rows: Records, places: IntArray, counts: IntArray) -> Persons:
        made = Persons.__new__(Persons)
        made._most, made._by_row, made.class_weights = self._most, self._by_row, self.class_weights
        made._hold(rows, places, counts)
        return made

    def _hold(self, rows: Records, places: IntArray, counts: IntArray) -> None:
        """Person i has the next `counts[i]` of the `places` among `rows`."""
        self._rows, self._places, self._counts = rows, places, counts
        self._starts = np.cumsum(counts) - counts
        self.size, self.width, self.labels = counts.size, rows.width, rows.labels


def one_row_each(person_of: IntArray, entropy: Entropy) -> IntArray:
    """Return the position of one row of each person, chosen as by `Persons.one_each`, from the person of each row."""
    return _one_of_each(np.argsort(person_of, kind="stable"), np.bincount(person_of), entropy)


def _one_of_each(places: IntArray, counts: IntArray, entropy: Entropy) -> IntArray:
    """Return one of the next `counts[i]` of the `places` for each person i, by a coin each, in a secret order.

    The numbers of persons depend on all ids, so a new id may renumber all persons. The order must not be theirs.
    """
    coins = np.zeros(counts.size, dtype=np.int64)
    for count in np.unique(counts):
        alike = np.flatnonzero(counts == count)
        coins[alike] = entropy.below(int(count), alike.size)
    found: IntArray = places[np.cumsum(counts) - counts + coins][entropy.permutation(counts.size)]
    return found


def row_weights(counts: NDArray[np.int64], most: int = 1, units: IntArray | None = None) -> IntArray:
    """For persons with so many rows the weight of each row, person after person.

    Those of a person of r rows add up to min(r, `most`)/`most` of WHOLE, rounded down. With `units`, numbers of at most
    WHOLE, each row has about as many WHOLEths of what it has without.
    """
    of = np.repeat(counts, counts)
    share = WHOLE * np.minimum(of, most) // most
    if units is None:
        units = np.full(of.size, WHOLE)
    after = np.cumsum(units)
    firsts = np.repeat(np.cumsum(counts) - counts, counts)
    after -= (after - units)[firsts]  # Σ of the units of a person's rows, up to each of them
    weights: IntArray = share * after // (WHOLE * of) - share * (after - units) // (WHOLE * of)
    return weights


def ranks(counts: NDArray[np.int64]) -> IntArray:
    """0, …, r−1 for each r of `counts`, one after the other."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
