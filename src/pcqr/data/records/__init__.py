"""The private records: where they lie, and the questions that algorithms ask of them (proofs/records.md)."""

from __future__ import annotations

from pcqr.data.records.in_memory import Encoded, InMemory, Narrow
from pcqr.data.records.parted.cluster import Cluster
from pcqr.data.records.parted.source import ParquetTable
from pcqr.data.records.source import Records
from pcqr.data.records.user_level import GroupedRecords

__all__ = ["Cluster", "Encoded", "GroupedRecords", "InMemory", "Narrow", "ParquetTable", "Records"]
