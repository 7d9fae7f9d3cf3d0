"""Teachers by the thousand: a class trains them in one pass and holds them as arrays."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import chain, pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.compiled import compiled
from pcqr.data.records import InMemory, Records
from pcqr.data.records.arrays import Labels, Points, as_labels
from pcqr.data.records.source import Positions
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.base import MOST_LABELS, Hypothesis, HypothesisClass, check_label
from pcqr.hypotheses.cuts import midpoints
from pcqr.privacy.entropy import Entropy, resolve_entropy

# ---------------------------------------------------------------------------------------------------------------------
# What a committee is: k teachers held as a few arrays, whose votes are counted all at once.


Arrays = dict[str, NDArray[Any]]
IntArray = NDArray[np.int64]


class Committee(ABC):
    """k teachers, each with one vote on every point. Everything about it is private: votes, arrays, the lot.

    Attributes
    ----------
    size : int
        k.
    labels : int
        C: a vote is for one of 0, …, C−1.
    kind : str
        What `committee_from_arrays` tells committees apart by; each subclass has its own.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.hypotheses import Stumps
    >>> from pcqr.hypotheses.committees import Committee, trained
    >>> from pcqr.data.records import InMemory
    >>> records = InMemory([[1.0, 7.0], [2.0, 5.0], [3.0, 6.0], [4.0, 8.0]], [0, 1, 0, 1])
    >>> committee = trained(Stumps(), records, [np.array([0, 1]), np.array([2, 3])])
    >>> isinstance(committee, Committee), committee.size, committee.labels
    (True, 2, 2)
    >>> committee.counts(np.array([[3.7, 9.0]])).tolist()  # the votes for 0 and for 1
    [[0, 2]]
    >>> sorted(committee.arrays())
    ['base', 'borders', 'columns', 'features', 'kind', 'ones', 'size', 'starts']
    """

    kind: ClassVar[str]
    size: int
    labels: int = 2

    @abstractmethod
    def counts(self, X: Points) -> IntArray:
        """For each row of `X`, which are checked points, the votes for each label, in columns: k in every row."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """All that there is to know of the committee, without pickled objects. **Private.**"""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The committee that gave `arrays`; a `DataError` that quotes none of them where no committee did."""

    @staticmethod
    def checked(arrays: Mapping[str, NDArray[Any]], **wanted: tuple[str, int]) -> None:
        """Refuse arrays without the `wanted` names, kinds of numbers (numpy's letters) and dimensions."""
        for name, (letters, dimensions) in wanted.items():
            found = arrays.get(name)
            if not isinstance(found, np.ndarray) or found.dtype.kind not in letters or found.ndim != dimensions:
                raise DataError("arrays", f"those of a committee, with {name!r} among them", "others")


def of_width(X: Points, features: int) -> Points:
    """`X` in one piece, for kernels, which do not look where they read; refused where it has other columns."""
    if X.shape[1] != features:
        raise DataError("X", f"a table with {features} column(s), as the teachers had", f"{X.shape[1]} columns")
    return np.ascontiguousarray(X)


class TeachesWithCoins(ABC):
    """A hypothesis class whose teachers draw: each with coins of its own, which are drawn before the first is trained.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from pcqr.hypotheses import Estimators
    >>> from pcqr.hypotheses.committees import TeachesWithCoins
    >>> isinstance(Estimators(GaussianNB()), TeachesWithCoins)
    True
    """

    @abstractmethod
    def teach(self, records: Records, parts: Sequence[NDArray[np.signedinteger[Any]]], seeds: IntArray) -> Committee:
        """A teacher for each part of the records, a function of its part and of its seed alone."""


class TeachesInBulk(ABC):
    """A hypothesis class that trains many teachers in one pass. Each must be the one that `learn` gives, bit for bit.

    A subclass that has a `learn` of its own, and no `learn_parts`, is asked teacher by teacher. What a class promises
    by this is in proofs/ensemble.md.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.hypotheses.committees import TeachesInBulk
    >>> hypotheses = Thresholds()
    >>> isinstance(hypotheses, TeachesInBulk)
    True
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]]), np.array([0, 1, 0, 0, 1], dtype=np.int8)
    >>> hypotheses.learn_parts(X, y, ends=np.array([2, 5]))["switches"][:, 0].tolist()  # 1[x > c] switches at c
    [1.5, 4.5]
    """

    @property
    def teaches_one_by_one(self) -> bool:
        """Does each teacher take its time? Then they are trained one after the other, and progress is told of each."""
        return False

    @abstractmethod
    def learn_parts(self, X: Points, y: Labels, ends: IntArray) -> Arrays:
        """`learn` on the rows [0, ends[0]), [ends[0], ends[1]), …: in every array one row a part.

        The records are checked and no part is empty. What a row says is a function of the rows of its part alone.
        """

    @abstractmethod
    def committee(self, teachers: Arrays, features: int) -> Committee:
        """The committee of all teachers, from the arrays of `learn_parts` with their rows joined."""


# ---------------------------------------------------------------------------------------------------------------------
# A committee of teachers one by one: for finite and user-written classes, and the oracle of all other committees.


FIXED_VOTE = 0


@dataclass(frozen=True)
class Constant(Hypothesis):
    """The same label everywhere: the vote of a teacher that could not be trained."""

    label: int

    def __post_init__(self) -> None:
        check_label(self.label)

    def predict(self, X: ArrayLike) -> Labels:
        return np.full(np.asarray(X).shape[0], self.label, dtype=np.int8)


class Members(Committee):
    """Hypotheses in a list, asked in turn."""

    kind = "members"

    def __init__(self, members: Sequence[Hypothesis], labels: int) -> None:
        self.members = tuple(members)
        self.size, self.labels = len(self.members), labels

    def counts(self, X: Points) -> IntArray:
        counts = np.zeros((X.shape[0], self.labels), dtype=np.int64)
        rows = np.arange(X.shape[0])
        for member in self.members:
            counts[rows, _vote(member, X, self.labels)] += 1
        return counts

    def arrays(self) -> Arrays:
        """Their documents; a `ParameterError` where a member has none (`pcqr.serialization.register`)."""
        written = json.dumps([member.to_json() for member in self.members]).encode()
        return {
            "kind": np.array(self.kind),
            "labels": np.array(self.labels),
            "members": np.frombuffer(written, dtype=np.uint8).copy(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Members:
        cls.checked(arrays, labels=("iu", 0), members=("u", 1))
        try:
            texts = json.loads(arrays["members"].astype(np.uint8).tobytes())
            members = [Hypothesis.from_json(text) for text in texts]
        except (ValueError, TypeError, ParameterError, RecursionError):
            raise DataError("arrays", "the documents of hypotheses", "others") from None
        labels = int(arrays["labels"])
        if not members or not 2 <= labels <= MOST_LABELS:
            raise DataError("arrays", "those of at least one teacher for at least two labels", "others")
        return cls(members, labels)


def train_one(hypotheses: HypothesisClass, records: InMemory) -> Hypothesis:
    """What `learn` makes of one part. An exception would be an observable function of the records: a fixed vote."""
    try:
        return hypotheses.learn(records.X, records.y)
    except Exception:
        return Constant(FIXED_VOTE)


def train_one_by_one(hypotheses: HypothesisClass, X: Points, y: Labels, ends: IntArray) -> Iterator[Hypothesis]:
    """What `learn` makes of the rows [0, ends[0]), [ends[0], ends[1]), …: one teacher after the other."""
    for start, end in pairwise([0, *ends.tolist()]):
        yield train_one(hypotheses, InMemory.of_checked(X[start:end], y[start:end], hypotheses.labels))


def _vote(teacher: Hypothesis, X: Points, labels: int) -> IntArray:
    # Whatever a class returns, a teacher has one vote on each row, for a label that exists: sensitivity 1 rests on it.
    votes = np.full(X.shape[0], FIXED_VOTE, dtype=np.int64)
    try:
        said = teacher.predict(X).reshape(X.shape[0])
        for label in range(labels):
            votes[said == label] = label
        return votes
    except Exception:
        return np.full(X.shape[0], FIXED_VOTE, dtype=np.int64)


# ---------------------------------------------------------------------------------------------------------------------
# Committees from their arrays, by kind.


_HOMES = {
    "members": "pcqr.hypotheses.committees:Members",
    "borders": "pcqr.hypotheses.committees:Borders",
    "boxes": "pcqr.hypotheses.rectangles:Boxes",
    "sides": "pcqr.hypotheses.halfspaces:Sides",
    "planes": "pcqr.hypotheses.descent:Planes",
    "trees": "pcqr.hypotheses.trees.committee:TreeCommittee",
}
"""Where each kind is. Looked up when arrays need it: a class of hypotheses imports its committee, not the other way."""


def committee_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Committee:
    """The committee that `Committee.arrays` gave, of whichever kind. It votes as the one that gave them.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        The arrays by name, such as `np.load(file, allow_pickle=False)` reads them. **Private.**

    Returns
    -------
    Committee

    Raises
    ------
    DataError
        When no committee gave such arrays. It quotes none of them.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.hypotheses.committees import committee_from_arrays, trained
    >>> from pcqr.data.records import InMemory
    >>> records = InMemory([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0, 0, 0, 1, 1, 1])
    >>> committee = trained(Thresholds(), records, [np.array([0, 3]), np.array([1, 4]), np.array([2, 5])])
    >>> again = committee_from_arrays(committee.arrays())
    >>> again.counts(np.array([[0.0], [3.7], [9.0]])).tolist()  # the votes for 0 and for 1; private
    [[3, 0], [1, 2], [0, 3]]
    """
    kind = arrays.get("kind")
    home = _HOMES.get(str(kind)) if isinstance(kind, np.ndarray) and kind.ndim == 0 and kind.dtype.kind == "U" else None
    if home is None:
        raise DataError("arrays", "those of a committee, with its 'kind' among them", "others")
    module, _, name = home.partition(":")
    found: type[Committee] = getattr(import_module(module), name)
    return found.from_arrays(arrays)


# ---------------------------------------------------------------------------------------------------------------------
# Teachers that each look at one column and change their label at a few places of it: votes by binary search.


FloatArray = NDArray[np.float64]


class Borders(Committee):
    """For each column in use its sorted borders, where some teacher changes its label, with running sums of votes.

    The votes for 1 at x are `base` plus, for each column, the sum of all changes at borders below x[column]. One kind
    for thresholds, intervals, unions of intervals and stumps. O(log k) a column and query.
    """

    kind = "borders"

    def __init__(
        self,
        size: int,
        features: int,
        base: int,
        columns: IntArray,
        starts: IntArray,
        borders: FloatArray,
        ones: IntArray,
    ) -> None:
        self.size, self.features, self.base = size, features, base
        self.columns, self.starts, self.borders, self.ones = columns, starts, borders, ones
        """Column `columns[c]` has the borders from `starts[c]` to `starts[c + 1]`; `ones`: all changes up to there."""

    @classmethod
    def of(cls, columns: IntArray, switches: FloatArray, features: int) -> Borders:
        """Teacher j says 0 far to the left in column `columns[j]`, and the other label after each of `switches[j]`.

        A switch at −∞ lies before every x, one at +∞ after: the first makes a teacher begin with 1, the second is none.
        """
        change = np.broadcast_to(np.where(np.arange(switches.shape[1]) % 2, -1, 1), switches.shape)
        base = int(change[switches == -np.inf].sum())
        inside = np.isfinite(switches)
        column, border = np.broadcast_to(columns[:, None], switches.shape)[inside], switches[inside]
        order = np.lexsort((border, column))
        column, border, sums = column[order], border[order], np.cumsum(change[inside][order])
        is_last = np.ones(border.size, dtype=np.bool_)  # of those at one border
        is_last[:-1] = (column[1:] != column[:-1]) | (border[1:] != border[:-1])
        column, border, sums = column[is_last], border[is_last], sums[is_last]
        used, starts = np.unique(column, return_index=True)
        ones = sums - np.repeat(np.append(0, sums)[starts], np.diff(starts, append=border.size))
        return cls(switches.shape[0], features, base, used, np.append(starts, border.size), border, ones)

    def counts(self, X: Points) -> IntArray:
        points = of_width(X, self.features)
        return _counts(points, self.size, self.base, self.columns, self.starts, self.borders, self.ones)

    def arrays(self) -> Arrays:
        return {
            "kind": np.array(self.kind),
            "size": np.array(self.size),
            "features": np.array(self.features),
            "base": np.array(self.base),
            "columns": self.columns,
            "starts": self.starts,
            "borders": self.borders,
            "ones": self.ones,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Borders:
        numbers, vectors = ("size", "features", "base"), ("columns", "starts", "ones")
        cls.checked(arrays, **dict.fromkeys(numbers, ("i", 0)), **dict.fromkeys(vectors, ("i", 1)), borders=("f", 1))
        size, features, base = (int(arrays[name]) for name in numbers)
        columns, starts, ones = (arrays[name].astype(np.int64) for name in vectors)
        found = cls(size, features, base, columns, starts, arrays["borders"].astype(np.float64), ones)
        if not (found._is_in_order() and found._is_possible()):
            raise DataError("arrays", "those of a committee that can exist", "others")
        return found

    def _is_in_order(self) -> bool:
        """Columns increase, each has borders, and its borders increase."""
        columns, starts, borders = self.columns, self.starts, self.borders
        if starts.size != columns.size + 1 or starts[0] != 0 or not starts[-1] == borders.size == self.ones.size:
            return False
        # Neighbours are compared, not subtracted: differences overflow.
        if not ((starts[1:] > starts[:-1]).all() and (columns[1:] > columns[:-1]).all() and np.isfinite(borders).all()):
            return False
        rises = borders[1:] > borders[:-1]
        rises[starts[1:-1] - 1] = True
        return bool(rises.all() and (columns >= 0).all() and (columns < self.features).all())

    def _is_possible(self) -> bool:
        """Whatever x is, from 0 to k teachers vote for 1, k ≥ 1: the columns of x are free."""
        lows, highs = (each.reduceat(self.ones, self.starts[:-1]) for each in (np.minimum, np.maximum))
        least = self.base + sum(min(0, low) for low in lows.tolist())
        most = self.base + sum(max(0, high) for high in highs.tolist())
        return self.size >= 1 and least >= 0 and most <= self.size


class TeachesBorders(TeachesInBulk):
    """A class whose teachers switch their label at a few places of one column.

    `learn_parts` gives `switches`, one row a teacher as in `Borders.of`, and `columns`, unless all look at the first.
    """

    def learned(self, X: Points, y: Labels) -> list[float]:
        """The switches of a teacher that learns from all rows."""
        switches: list[float] = self.learn_parts(X, y, np.array([y.size]))["switches"][0].tolist()
        return switches

    def committee(self, teachers: Arrays, features: int) -> Borders:
        switches = teachers["switches"]
        columns = teachers.get("columns", np.zeros(switches.shape[0], dtype=np.int64))
        return Borders.of(columns, switches, features)


@compiled
def _counts(
    X: Points, size: int, base: int, columns: IntArray, starts: IntArray, borders: FloatArray, ones: IntArray
) -> IntArray:
    """The votes for 0 and for 1 in each row. A teacher switches at c where x > c: as many borders are passed."""
    counts = np.empty((X.shape[0], 2), np.int64)
    for row in range(X.shape[0]):
        votes = base
        for c in range(columns.size):
            x = X[row, columns[c]]
            low, high = starts[c], starts[c + 1]
            while low < high:
                middle = (low + high) // 2
                if borders[middle] < x:
                    low = middle + 1
                else:
                    high = middle
            if low > starts[c]:
                votes += ones[low - 1]
        counts[row, 0], counts[row, 1] = size - votes, votes
    return counts


# ---------------------------------------------------------------------------------------------------------------------
# Many parts of the records on a line, each as sorted groups with counts: what `Groups` is for one of them.


@dataclass(frozen=True, eq=False, repr=False)
class PartGroups:
    """Part j has the n_j records from `starts[j]` on, and G_j = `counts[j]` groups of equal values. **Private.**

    Each part has room for as many groups as it has records, so that the size of every array is public.
    """

    values: FloatArray
    """What the records of each group have in common, increasing; those of part j begin at `starts[j]`."""

    gains: IntArray
    """S_0, …, S_G as in `Groups.prefix_gain`; those of part j begin at `starts[j]` + j."""

    counts: IntArray
    starts: IntArray

    @classmethod
    def of(cls, values: FloatArray, labels: Labels, ends: IntArray) -> PartGroups:
        """The parts are the rows [0, ends[0]), [ends[0], ends[1]), …; none is empty.

        All values are sorted at once, and each record then falls to its own part: O(n log n), however many parts.
        """
        sizes = np.diff(ends, prepend=0)
        starts, part_of = ends - sizes, np.repeat(np.arange(ends.size), sizes)
        return cls(*_grouped(values, labels, np.argsort(values), part_of, starts), starts)

    @property
    def records(self) -> IntArray:
        """n_j."""
        return np.diff(self.starts, append=self.values.size)

    @property
    def ranks(self) -> IntArray:
        """0, …, G_j − 1 for the groups of each part, where `values` has them."""
        return np.arange(self.values.size) - np.repeat(self.starts, self.records)

    @property
    def balances(self) -> IntArray:
        """S_G: the 1s minus the 0s of each part."""
        balances: IntArray = self.gains[self.starts + np.arange(self.starts.size) + self.counts]
        return balances

    def edges(self, places: IntArray) -> FloatArray:
        """In row j the edges of part j (`Groups.edges`) at `places[j]`: −∞ at 0, +∞ at G_j, else a cut."""
        groups = self.counts[:, None]
        above = self.starts[:, None] + np.clip(places, 0, groups - 1)
        below = np.maximum(above - 1, 0)  # of another part, or of none, only where the place is 0
        cuts = midpoints(self.values[below], self.values[above])
        return np.where(places == 0, -np.inf, np.where(places == groups, np.inf, cuts))


@compiled
def _grouped(
    values: FloatArray, labels: Labels, order: IntArray, part_of: IntArray, starts: IntArray
) -> tuple[FloatArray, IntArray, IntArray]:
    """Records in increasing `order`: each opens a group of its part, or joins the last one."""
    groups = np.zeros(values.size)
    gains = np.zeros(values.size + starts.size, np.int64)
    counts = np.zeros(starts.size, np.int64)
    for record in order:
        part = part_of[record]
        start, count = starts[part], counts[part]
        if count == 0 or groups[start + count - 1] != values[record]:
            groups[start + count] = values[record]
            gains[start + part + count + 1] = gains[start + part + count]
            count += 1
            counts[part] = count
        gains[start + part + count] += 2 * labels[record] - 1
    return groups, gains, counts


# ---------------------------------------------------------------------------------------------------------------------
# k teachers from k parts of the records: in one pass where the class can, else one by one.


_GROUPS = 20
SEEDS = 1 << 32
"""The numbers that scikit-learn takes for a random state."""


def trained(
    hypotheses: HypothesisClass, records: Records, parts: Sequence[Positions], entropy: Entropy | None = None
) -> Committee:
    """One teacher for each part of the records. The votes are those of `learn`, whichever way it is done.

    Parameters
    ----------
    hypotheses : HypothesisClass
        What the teachers are out of. A class that is `TeachesInBulk` trains them in one pass.
    records : Records
        The private records.
    parts : sequence of arrays of integers
        The positions of the records that each teacher learns from; no part is empty.
    entropy : Entropy or None, default None
        Where a class that is `TeachesWithCoins` has them from; None is the operating system. Others draw nothing.

    Returns
    -------
    Committee
        **Private**, like all that comes of it but for a noisy answer.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.hypotheses import Intervals
    >>> from pcqr.hypotheses.committees import trained
    >>> from pcqr.data.records import InMemory
    >>> records = InMemory([1.0, 2.0, 3.0, 1.5, 2.5, 3.5], [0, 1, 0, 0, 1, 1])
    >>> committee = trained(Intervals(), records, [np.array([0, 1, 2]), np.array([3, 4, 5])])
    >>> committee.counts(np.array([[2.2], [9.0]])).tolist()  # the votes for 0 and for 1
    [[0, 2], [1, 1]]
    """
    if isinstance(hypotheses, TeachesWithCoins):
        seeds = resolve_entropy(entropy).below(SEEDS, len(parts))
        return hypotheses.teach(records, parts, seeds)
    if isinstance(hypotheses, TeachesInBulk) and _may_teach_in_bulk(hypotheses, records):
        return _in_bulk(hypotheses, records, parts)
    if records.is_elsewhere:
        together = list(groups(parts, group_rows(records)))
        found = records.taught(partial(_one_by_one, hypotheses), *joined(together))
        return Members(tuple(chain.from_iterable(found)), hypotheses.labels)
    return Members(tuple(records.taught(partial(train_one, hypotheses), parts)), hypotheses.labels)


def _in_bulk(hypotheses: TeachesInBulk, records: Records, parts: Sequence[Positions]) -> Committee:
    in_turn = hypotheses.teaches_one_by_one or records.whole > 1  # how many rows a part of persons has is private
    rows = 1 if in_turn else group_rows(records) if records.is_elsewhere else records.point_rows
    whole, ends = joined(list(groups(parts, rows)))
    taught = list(records.taught(partial(_learned, hypotheses), whole, None if in_turn else ends))
    teachers = {name: np.concatenate([arrays[name] for arrays in taught]) for name in taught[0]}
    return hypotheses.committee(teachers, records.width)


def _learned(hypotheses: TeachesInBulk, held: InMemory, ends: IntArray | None = None) -> Arrays:
    """The teachers of one group, whose parts end there; without `ends` all of it is one part."""
    return hypotheses.learn_parts(held.X, held.y.astype(np.int8), np.array([held.size]) if ends is None else ends)


def _one_by_one(hypotheses: HypothesisClass, held: InMemory, ends: IntArray) -> list[Hypothesis]:
    return list(train_one_by_one(hypotheses, held.X, held.y, ends))


def group_rows(records: Records) -> int:
    """How many rows are gathered at a time, where progress is told, or others can work at the same time."""
    return min(records.point_rows, max(1, records.size // _GROUPS))


def joined(together: Sequence[Sequence[Positions]]) -> tuple[list[Positions], list[IntArray]]:
    """The positions of each group, one part after the other, and where its parts end."""
    ends = [np.cumsum([part.size for part in group]) for group in together]
    return [np.concatenate(group) for group in together], ends


def groups(parts: Sequence[Positions], rows: int) -> Iterator[Sequence[Positions]]:
    """Neighbouring parts, as many as have `rows` rows together, and one at least: no more is gathered at a time."""
    first = held = 0
    for place, part in enumerate(parts):
        if held and held + part.size > rows:
            yield parts[first:place]
            first, held = place, 0
        held += part.size
    yield parts[first:]


def _may_teach_in_bulk(hypotheses: HypothesisClass, records: Records) -> bool:
    """Has nobody changed how the class learns, and is there nothing in the records that `learn` refuses?

    Labels are those of a drawn hypothesis, and one that others have written may say anything.
    """
    order = type(hypotheses).__mro__
    learns, teaches = (next(c for c in order if name in vars(c)) for name in ("learn", "learn_parts"))
    if not issubclass(teaches, learns):
        return False
    try:
        hypotheses.check_source(records)
        for y in records.all_labels(records.point_rows):
            as_labels(y, hypotheses.labels)
    except DataError:
        return False
    return True


# ---------------------------------------------------------------------------------------------------------------------
# Teachers by the thousand: a class trains them in one pass and holds them as arrays.


__all__ = ["Committee", "TeachesInBulk", "TeachesWithCoins", "committee_from_arrays", "trained"]
