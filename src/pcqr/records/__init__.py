"""The private records: where they lie, and the questions that algorithms ask of them (proofs/records.md)."""

from pcqr.records.encoded import Encoded
from pcqr.records.in_memory import InMemory
from pcqr.records.narrow import Narrow
from pcqr.records.parted import Cluster, ParquetTable
from pcqr.records.persons import Persons
from pcqr.records.source import Records

__all__ = ["Cluster", "Encoded", "InMemory", "Narrow", "ParquetTable", "Persons", "Records"]
