"""k teachers from k parts of the records: in one pass where the class can, else one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np

from pcqr.entropy import Entropy, resolve_entropy
from pcqr.errors import DataError
from pcqr.hypotheses.base import Hypothesis, HypothesisClass
from pcqr.hypotheses.committees.base import Arrays, Committee, IntArray, TeachesInBulk, TeachesWithCoins
from pcqr.hypotheses.committees.members import Members, trained_alone, trained_in_turn
from pcqr.records import InMemory, Records
from pcqr.records.arrays import as_labels
from pcqr.records.source import Positions

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
    >>> from pcqr.records import InMemory
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
        found = records.taught(partial(_in_turn, hypotheses), *joined(together))
        return Members(tuple(chain.from_iterable(found)), hypotheses.labels)
    return Members(tuple(records.taught(partial(trained_alone, hypotheses), parts)), hypotheses.labels)


def _in_bulk(hypotheses: TeachesInBulk, records: Records, parts: Sequence[Positions]) -> Committee:
    in_turn = hypotheses.teaches_in_turn or records.whole > 1  # how many rows a part of persons has is private
    rows = 1 if in_turn else group_rows(records) if records.is_elsewhere else records.point_rows
    whole, ends = joined(list(groups(parts, rows)))
    taught = list(records.taught(partial(_learned, hypotheses), whole, None if in_turn else ends))
    teachers = {name: np.concatenate([arrays[name] for arrays in taught]) for name in taught[0]}
    return hypotheses.committee(teachers, records.width)


def _learned(hypotheses: TeachesInBulk, held: InMemory, ends: IntArray | None = None) -> Arrays:
    """The teachers of one group, whose parts end there; without `ends` all of it is one part."""
    return hypotheses.learn_parts(held.X, held.y.astype(np.int8), np.array([held.size]) if ends is None else ends)


def _in_turn(hypotheses: HypothesisClass, held: InMemory, ends: IntArray) -> list[Hypothesis]:
    return list(trained_in_turn(hypotheses, held.X, held.y, ends))


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
