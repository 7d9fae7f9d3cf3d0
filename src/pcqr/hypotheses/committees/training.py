"""k teachers from k parts of the records: in one pass where the class can, else one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.committees.base import Committee, TeachesInBulk
from pcqr.hypotheses.committees.members import Members, trained_alone
from pcqr.progress import tracked
from pcqr.records import Records
from pcqr.records.source import Positions


def trained(hypotheses: HypothesisClass, records: Records, parts: Sequence[Positions]) -> Committee:
    """One teacher for each of `parts`, positions of the records that it learns from; no part is empty.

    The votes are those of `learn`, teacher by teacher, whichever way it is done (proofs/ensemble.md).
    """
    if isinstance(hypotheses, TeachesInBulk) and _learns_as_it_teaches(type(hypotheses)):
        return _in_bulk(hypotheses, records, parts)
    members = [trained_alone(hypotheses, records.rows(part).gathered()) for part in tracked("teachers", parts)]
    return Members(members, hypotheses.labels)


def _in_bulk(hypotheses: TeachesInBulk, records: Records, parts: Sequence[Positions]) -> Committee:
    taught = []
    for group in tracked("teachers", list(_groups(parts, records.point_rows))):
        held = records.rows(np.concatenate(group)).gathered()
        taught.append(hypotheses.learn_parts(held.X, held.y, np.cumsum([part.size for part in group])))
    joined = {name: np.concatenate([arrays[name] for arrays in taught]) for name in taught[0]}
    return hypotheses.committee(joined, records.width)


def _groups(parts: Sequence[Positions], rows: int) -> Iterator[Sequence[Positions]]:
    """Neighbouring parts, as many as have `rows` rows together, and one at least: no more is gathered at a time."""
    first = held = 0
    for place, part in enumerate(parts):
        if held and held + part.size > rows:
            yield parts[first:place]
            first, held = place, 0
        held += part.size
    yield parts[first:]


def _learns_as_it_teaches(hypotheses: type) -> bool:
    """Does `learn` come from the class that `learn_parts` comes from, or from one above it: has nobody changed it?"""
    order = hypotheses.__mro__
    learns, teaches = (next(c for c in order if name in vars(c)) for name in ("learn", "learn_parts"))
    return issubclass(teaches, learns)
