"""Records that count less than one each, by weights of their own and of their labels.

Weights are whole numbers of `WHOLE`ths. No record counts more than a whole, so that sums move by no more than without
weights. What adds up records without their weights is refused. Proofs: proofs/weights.md, proofs/user_level.md.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer
from pcqr.data.records.arrays import Labels, Points
from pcqr.data.records.counting import MOST_RECORDS, ConjunctionCounts, IntArray, count_conjunctions
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.gradient_sums import GradientSums
from pcqr.data.records.in_memory import InMemory
from pcqr.data.records.predicates import Node, Predicate, counted_at_leaves, leaves_of
from pcqr.data.records.source import Labelling, Positions, Records
from pcqr.errors import DataError, ParameterError
from pcqr.privacy.entropy import Entropy
from pcqr.progress import stage_progress

WHOLE = 64
"""What a record counts at most: a power of two, so that η/WHOLE is exact."""
MOST_WEIGHTED = MOST_RECORDS // WHOLE
"""Weighted counts are 32-bit integers."""
_BLOCK = 1 << 16

Floats = NDArray[np.float64]
ByLabel = tuple[int, ...]
"""What a record of each label counts at most, in `WHOLE`ths. Public."""


class WeighedRows(Records):
    """Sums over rows that have weights, in `WHOLE`ths of a record, and nothing else.

    A subclass says what each of `_places` counts among the `_rows`: integers ≥ 0 that add up to at most `WHOLE` for a
    record.
    """

    whole: ClassVar[int] = WHOLE

    _rows: Records
    _places: IntArray
    _by_row: Floats | None
    """For each of the rows a number from 0 to 1. Private."""

    @abstractmethod
    def _weights(self) -> IntArray:
        """What each of `_places` counts. Private."""

    @property
    def source(self) -> Records:
        """Return all rows, each as a record that counts one."""
        return self._rows

    @abstractmethod
    def over(self, rows: Records) -> WeighedRows:
        """Return the same records, read by another schema: `rows` has the rows of `source` in their order."""

    @abstractmethod
    def weighed(self, by_label: ByLabel) -> WeighedRows:
        """The same records, where one of each label counts `by_label` at most, in `WHOLE`ths."""

    def blocks(self, rows: int) -> NoReturn:  # noqa: ARG002
        raise self._refused()

    def gathered(self) -> NoReturn:
        raise self._refused()

    def all_labels(self, rows: int) -> Iterator[Labels]:
        return self._rows.all_labels(rows)

    def error_counts(self, labellings: Sequence[Labelling]) -> IntArray:
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
        with stage_progress("counting weighted records"):  # how many different weights there are is private
            for weight in np.unique(weights[weights > 0]):
                counts = self._rows.rows(self._places[weights == weight]).conjunctions(predicates, depth).table
                counts *= np.int32(weight)
                table = counts if table is None else np.add(table, counts, out=table)
        if table is None:
            return count_conjunctions((), len(predicates), self.labels, depth)
        return ConjunctionCounts(len(predicates), depth, table)

    def gradient_sums(self, features: FeatureMap, bound: int) -> GradientSums:
        weights = self._weights()
        blocks = ((held.X, held.y) for held in (piece.gathered() for piece, _ in self._pieces(weights)))
        return GradientSums(features, blocks, self._places.size, bound, self.labels, weights=weights, whole=self.whole)

    def coinciding(self, shown: Points) -> int:
        return self._rows.coinciding(shown)

    def _pieces(self, weights: IntArray) -> Iterator[tuple[Records, IntArray]]:
        """The rows, one place after the other, with these weights, so many at a time as memory allows."""
        for start in range(0, self._places.size, self.point_rows):
            piece = slice(start, start + self.point_rows)
            yield self._rows.rows(self._places[piece]), weights[piece]

    def _units(self) -> IntArray | None:
        """What each of `_places` would count as a record of its own; None where all of them are whole. Private."""
        if self.class_weights is None and self._by_row is None:
            return None
        units = np.full(self._rows.size, WHOLE)
        if self.class_weights is not None:
            units = np.array(self.class_weights)[np.concatenate(list(self._rows.all_labels(_BLOCK)))]
        if self._by_row is not None:
            units = np.rint(self._by_row * units).astype(np.int64)
        return units[self._places]

    @abstractmethod
    def _refused(self) -> ParameterError: ...


class Weighted(WeighedRows):
    """n records, each of which counts as much as its weight. `size` counts records, whatever their weights.

    Parameters
    ----------
    records : Records
        Records that count one each.
    by_label : tuple of int or None, default None
        For each label what a record of it counts, in 64ths: from 1 to 64. Public. None: 64.
    by_row : ndarray of shape (n,) or None, default None
        For each record a number from 0 to 1, by which that is multiplied. Private. None: 1.

    Raises
    ------
    ParameterError
        When the records have parts, as persons have, or a weight of a label is outside its range.
    DataError
        When there is not one number from 0 to 1 for each record, or there are too many records.

    Examples
    --------
    >>> from pcqr.data.records import InMemory
    >>> from pcqr.data.records.user_level import Weighted
    >>> records = Weighted(InMemory([1.0, 2.0, 3.0, 4.0], [0, 0, 0, 1]), by_label=(21, 64))
    >>> records
    Weighted(4 records, 1 columns, 2 labels)
    >>> records.label_counts()  # whatever the weights are, in 64ths
    array([192,  64])
    """

    def __init__(self, records: Records, by_label: ByLabel | None = None, by_row: Floats | None = None) -> None:
        if records.whole != 1:
            raise ParameterError("records", "records that count one each", "records with weights")
        if records.size > MOST_WEIGHTED:
            raise DataError("X", f"at most {MOST_WEIGHTED:,} rows with weights", f"{records.size:,} rows")
        self._rows, self._places = records, np.arange(records.size)
        self._by_row = check_by_row(by_row, records.size)
        self.class_weights = check_by_label(by_label, records.labels)
        self.size, self.width, self.labels = records.size, records.width, records.labels

    def over(self, rows: Records) -> Weighted:
        return Weighted(rows, self.class_weights, self._by_row)

    def weighed(self, by_label: ByLabel) -> Weighted:
        return Weighted(self._rows, by_label, self._by_row)

    def rows(self, positions: Positions) -> Weighted:
        by_row = None if self._by_row is None else self._by_row[positions]
        return Weighted(self._rows.rows(positions), self.class_weights, by_row)

    def part(self, positions: Positions) -> NoReturn:  # noqa: ARG002
        raise self._refused()

    def relabelled(self, labelling: Labelling) -> NoReturn:  # noqa: ARG002
        raise self._refused()

    def kept(self) -> Weighted:
        return Weighted(self._rows.kept(), self.class_weights, self._by_row)

    def label_counts(self) -> IntArray:
        """Every record counts as a whole here, whatever its weight, so that all labels together count n."""
        return WHOLE * self._rows.label_counts()

    def _weights(self) -> IntArray:
        units = self._units()
        return np.full(self.size, WHOLE) if units is None else units

    def _refused(self) -> ParameterError:
        allowed = "None: what is asked here of records is not proved for records with weights"
        return ParameterError("sample_weight", allowed, "weights")


def weighed(records: Records, by_label: ByLabel) -> Records:
    """Return the same records, where one of each label counts `by_label` at most, in 64ths."""
    return records.weighed(by_label) if isinstance(records, WeighedRows) else Weighted(records, by_label)


def check_by_label(by_label: ByLabel | None, labels: int) -> ByLabel | None:
    """Return weights of labels, which are public, or raise."""
    if by_label is None:
        return None
    found = tuple(by_label)
    if len(found) != labels:
        raise ParameterError("class_weight", f"one weight for each of {labels} labels", f"{len(found)} weights")
    for weight in found:
        check_integer("class_weight", weight, least=1, most=WHOLE)
    return tuple(map(int, found))


def check_by_row(by_row: Floats | None, rows: int) -> Floats | None:
    """Return weights of rows, which are private, or raise without a word of them."""
    if by_row is None:
        return None
    if by_row.shape != (rows,) or not ((by_row >= 0.0) & (by_row <= 1.0)).all():
        raise DataError("sample_weight", "a number from 0 to 1 for each row", "others")
    return by_row


# ---------------------------------------------------------------------------------------------------------------------
# Records that are persons: all rows of one person behind the questions that are asked of one record.
#
# A person counts as much as one record does, however many rows it has: in sums the rows of a person have weights that
# add up to at most one, on a grid of whole numbers, and a teacher sees all of them. What adds up rows without weights
# is refused. Proofs: proofs/user_level.md, and proofs/weights.md where rows have weights of their own.


MOST_PERSONS = MOST_WEIGHTED


class GroupedRecords(WeighedRows):
    """N persons, each with all its rows. `size` counts persons; how many rows there are is private.

    Parameters
    ----------
    rows : Records
        All rows, whoever's they are.
    user_of : ndarray of integers of shape (rows,)
        For each row the number of its person: each of 0, …, N−1 occurs.
    most : int, default 1
        b: in sums a person of r rows counts as min(r, b)/b of a record. Public.
    by_row : ndarray of shape (rows,) or None, default None
        For each row a number from 0 to 1, by which its part of the person is multiplied. Private. None: 1.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.data.records import InMemory, GroupedRecords
    >>> persons = GroupedRecords(InMemory([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1]), np.array([0, 1, 0, 0]))
    >>> persons
    GroupedRecords(2 persons, 1 columns, 2 labels)
    >>> persons.part(np.array([0])).X.ravel()
    array([1., 3., 4.])
    >>> persons.label_counts()  # in 64ths of a person
    array([85, 43])
    """

    def __init__(self, rows: Records, user_of: IntArray, most: int = 1, by_row: Floats | None = None) -> None:
        counts = np.bincount(user_of)
        if user_of.shape != (rows.size,) or user_of.min() < 0 or not counts.all():
            raise DataError("user_of", "one of the numbers 0, …, N−1 of persons for each row", "others")
        check_integer("rows", most, least=1, most=WHOLE)
        if counts.size > MOST_PERSONS:
            raise DataError("groups", f"at most {MOST_PERSONS:,} persons", f"{counts.size:,} persons")
        if rows.size > MOST_RECORDS:
            raise DataError("X", f"at most {MOST_RECORDS:,} rows", "more")  # how many is private
        self._most, self._by_row = most, check_by_row(by_row, rows.size)
        self._hold(rows, np.argsort(user_of, kind="stable"), counts)

    def rows(self, positions: Positions) -> GroupedRecords:
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

    def relabelled(self, labelling: Labelling) -> GroupedRecords:
        return self._with(self._rows.relabelled(labelling), self._places, self._counts)

    def kept(self) -> GroupedRecords:
        return self._with(self._rows.kept(), self._places, self._counts)

    def over(self, rows: Records) -> GroupedRecords:
        return self._with(rows, self._places, self._counts)

    def weighed(self, by_label: ByLabel) -> GroupedRecords:
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

    def _with(self, rows: Records, places: IntArray, counts: IntArray) -> GroupedRecords:
        made = GroupedRecords.__new__(GroupedRecords)
        made._most, made._by_row, made.class_weights = self._most, self._by_row, self.class_weights
        made._hold(rows, places, counts)
        return made

    def _hold(self, rows: Records, places: IntArray, counts: IntArray) -> None:
        """User i has the next `counts[i]` of the `places` among `rows`."""
        self._rows, self._places, self._counts = rows, places, counts
        self._starts = np.cumsum(counts) - counts
        self.size, self.width, self.labels = counts.size, rows.width, rows.labels


def one_row_each(user_of: IntArray, entropy: Entropy) -> IntArray:
    """Return the position of one row of each person, chosen as by `GroupedRecords.one_each`, from the person of each
    row."""
    return _one_of_each(np.argsort(user_of, kind="stable"), np.bincount(user_of), entropy)


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
