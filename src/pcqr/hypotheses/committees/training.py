"""k teachers from k parts of the records: in one pass where the class can, else one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pcqr.entropy import Entropy, resolve_entropy
from pcqr.errors import DataError
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.committees.base import Committee, TeachesInBulk, TeachesWithCoins
from pcqr.hypotheses.committees.members import Members, trained_alone
from pcqr.progress import tracked
from pcqr.records import Records
from pcqr.records.arrays import as_labels
from pcqr.records.source import Positions

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
    members = [trained_alone(hypotheses, records.part(part)) for part in tracked("teachers", parts)]
    return Members(members, hypotheses.labels)


def _in_bulk(hypotheses: TeachesInBulk, records: Records, parts: Sequence[Positions]) -> Committee:
    taught = []
    in_turn = hypotheses.teaches_in_turn or records.whole > 1  # how many rows a part of persons has is private
    rows = 1 if in_turn else records.point_rows
    for group in tracked("teachers", list(groups(parts, rows))):
        held = records.part(np.concatenate(group))
        ends = np.array([held.size]) if in_turn else np.cumsum([part.size for part in group])
        taught.append(hypotheses.learn_parts(held.X, held.y.astype(np.int8), ends))
    joined = {name: np.concatenate([arrays[name] for arrays in taught]) for name in taught[0]}
    return hypotheses.committee(joined, records.width)


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
