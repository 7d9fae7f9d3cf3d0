"""Records in parts, each worked on where it lies: files on one machine, or on several (proofs/parted.md)."""

from pcqr.records.parted.cluster import Cluster, ClusterLost
from pcqr.records.parted.engine import Arrays, Engine
from pcqr.records.parted.parquet import ParquetParts, Part, Reading, read_part
from pcqr.records.parted.source import Parted
from pcqr.records.parted.spool import Spool
from pcqr.records.parted.table import ParquetTable

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
