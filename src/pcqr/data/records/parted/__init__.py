"""Records in parts, each worked on where it lies: files on one machine, or on several (proofs/parted.md)."""

from __future__ import annotations

from pcqr.data.records.parted.cluster import Cluster, ClusterLost
from pcqr.data.records.parted.engine import Arrays, Engine, Spool
from pcqr.data.records.parted.parquet import ParquetParts, Part, Reading, read_part
from pcqr.data.records.parted.source import ParquetTable, Parted

__all__ = [
    "Arrays",
    "Cluster",
    "ClusterLost",
    "Engine",
    "ParquetParts",
    "ParquetTable",
    "Part",
    "Parted",
    "Reading",
    "Spool",
    "read_part",
]
