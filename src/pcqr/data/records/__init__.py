"""The private records: where they lie, and the questions that algorithms ask of them (proofs/records.md)."""

from __future__ import annotations

from pcqr.data.records.encoded import Encoded, Narrow
from pcqr.data.records.in_memory import InMemory
from pcqr.data.records.parted import Cluster, ParquetTable
from pcqr.data.records.persons import Persons
from pcqr.data.records.source import Records

__all__ = ["Cluster", "Encoded", "InMemory", "Narrow", "ParquetTable", "Persons", "Records"]
