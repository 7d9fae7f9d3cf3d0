"""Whom a guarantee protects: the unit of privacy, that is, what two neighbouring tables may differ in.

Everything that is proved in pcqr is proved for `RECORD`. A person who has several rows is another unit, and so is a
person who may have more of them: guarantees about different units do not add up.

Examples
--------
>>> from pcqr import Guarantee
>>> from pcqr.unit import RECORD
>>> Guarantee(1.0).unit == RECORD
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pcqr.checks import check_integer, keep_plain
from pcqr.documents import Document
from pcqr.errors import ParameterError

__all__ = ["RECORD", "Unit"]


@dataclass(frozen=True)
class Unit(Document):
    """What two neighbouring tables, of the same public size n, differ in.

    Parameters
    ----------
    kind : {"record", "person"}
        One row, or all rows of one person.
    rows : int or None, default None
        The most rows that a person has; None for a record.

    Attributes
    ----------
    adjacency : str
        What turns a table into a neighbour, in words.
    revealed : str
        What a δ that is too large might show of some units, in words.

    Raises
    ------
    ParameterError
        When `kind` is another, or `rows` does not fit it.

    Examples
    --------
    >>> from pcqr.unit import RECORD, Unit
    >>> RECORD.adjacency
    'replace one record'
    >>> Unit.person(5).adjacency
    'replace one person, who has at most 5 rows'
    """

    kind: Literal["record", "person"]
    rows: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("record", "person"):
            raise ParameterError("kind", "'record' or 'person'", self.kind)
        if self.kind == "person":
            check_integer("rows", self.rows, least=1)
        elif self.rows is not None:
            raise ParameterError("rows", "None for the unit 'record', which is one row", self.rows)
        keep_plain(self, integers=("rows",))

    @classmethod
    def person(cls, rows: int) -> Unit:
        """All rows of one person, at most `rows`."""
        return cls("person", rows)

    @property
    def adjacency(self) -> str:
        """What turns a table into a neighbour, in words."""
        if self.rows is None:
            return "replace one record"
        return f"replace one person, who has at most {self.rows:,} row{'s' * (self.rows != 1)}"

    def any_one(self, records: int | None = None) -> str:
        """Any unit of a table, in words, with n = `records` where it is known: what "Replace …" begins with."""
        if self.rows is None:
            return "any one private record" if records is None else f"any one of the {records:,} private records"
        among = "" if records is None else f" among the {records:,} private records"
        return f"the rows (at most {self.rows:,}) of any one person{among}"

    @property
    def revealed(self) -> str:
        """What a δ that is too large might show of some units, in words."""
        return "whole records" if self.rows is None else "all rows of some persons"


RECORD = Unit("record")
"""One row of the table: the unit that all proofs are for."""


def check_proved(unit: Unit) -> None:
    """Refuse a unit for which there is no proof yet, before anything is planned."""
    if unit != RECORD:
        raise ParameterError("unit", "RECORD, the only unit of privacy for which pcqr has proofs", unit)
