"""A table whose columns have types that were chosen from all cells: one record changes how the others are read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from pcqr.algorithms.sspp import sspp
from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.raw import NUMBER, PLAN, SCHEMA, TREES, RawTable, published_tree
from pcqr.audit.shown import in_full
from pcqr.entropy import Entropy
from pcqr.plan import Context, account
from pcqr.records import InMemory


def tree_on_spelt_cells(table: RawTable, entropy: Entropy) -> str:
    """The shipped draw after an encoding that spells every cell as the type of its column has it.

    As a float 2⁵³ + 1 is spelt 2⁵³: with one gap in the column nobody has the declared number any more.
    """
    cells = table.columns["customer"]
    missing = np.isnan(cells)
    known = np.array([not gap and str(int(cell)) == str(NUMBER) for cell, gap in zip(cells, missing, strict=True)])
    encoded = np.column_stack((known, ~known & ~missing, missing)).astype(np.float64)
    return in_full(sspp(TREES, InMemory(encoded, table.labels), None, PLAN, entropy))


def _customers(last: int | None) -> RawTable:
    return RawTable((*((NUMBER, 1),) * 20, (last, 0)))


BUGS: Sequence[Bug] = (
    bug(
        "type from all cells",
        "A column's type is chosen from all cells: one gap makes floats of the integers, and large ones other numbers.",
        source="an early version of this library",
        claim=account(PLAN, Context(TREES, 21, len(SCHEMA.features))),
        broken=tree_on_spelt_cells,
        correct=partial(published_tree, SCHEMA),
        neighbours=(_customers(NUMBER), _customers(None)),
    ),
)
