"""Records as arrays for a file, and back. All of it is private."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError
from pcqr.records.encoded import Encoded
from pcqr.records.in_memory import InMemory
from pcqr.records.source import Records
from pcqr.schema import Schema
from pcqr.schema.table import CompactTable


def kept_records(records: Records) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `restored_records` needs: the declarations, which JSON holds, and the arrays. **Private.**"""
    if isinstance(records, Encoded):
        return {"labels": records.labels} | Schema(records.columns).to_dict(), records.arrays()
    held = records.gathered()
    return {"labels": records.labels}, {"points": held.X, "labels": held.y}


def restored_records(declared: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Records:
    """The records that `kept_records` described. Raises `DataError`, which quotes nothing, for anything else."""
    try:
        if "columns" not in declared:
            return InMemory.of_checked(arrays["points"], arrays["labels"].astype(np.int8), declared["labels"])
        columns = Schema.from_dict({"columns": declared["columns"]}).columns
        table = CompactTable(columns, tuple(arrays[f"column {place}"] for place in range(len(columns))))
        return Encoded(table, arrays["labels"], declared["labels"])
    except KeyError:
        raise DataError("arrays", "those of records", "others") from None
