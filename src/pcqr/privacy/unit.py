"""Whom a guarantee protects: the unit of privacy, that is, what two neighbouring tables may differ in.

Everything that is proved in pcqr is proved for `RECORD`: one record is replaced by any other; nearly everything for
`USER`, too: all rows of one person are, however many (proofs/user_level.md). A person with a bounded number of rows is
another unit, about which `USER` says enough. So is `PRESENCE`: one record is there or is not. It promises less, since
replacing a record is removing one and adding another. Guarantees about different units do not add up.

Examples
--------
>>> from pcqr import Guarantee
>>> from pcqr.privacy.unit import USER, PRESENCE, RECORD
>>> Guarantee(1.0).unit == RECORD
True
>>> print(Guarantee(1.0, unit=USER))
pure differential privacy with ε = 1 under 'replace one person, with all rows'
>>> print(Guarantee(1.0, unit=PRESENCE))
pure differential privacy with ε = 1 under 'REMOVE OR ADD one record, which is less than to replace one'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pcqr.checks import check_integer, keep_plain
from pcqr.errors import ParameterError
from pcqr.serialization import Document

__all__ = ["PRESENCE", "RECORD", "USER", "Unit"]


@dataclass(frozen=True)
class Unit(Document):
    """What two neighbouring tables, of the same public size n, differ in.

    Parameters
    ----------
    kind : {"record", "user", "presence"}
        One row, or all rows of one person, replaced by others; or one row that is there or is left empty.
    rows : int or None, default None
        The most rows that a person has; None: any number. None for a record, and for its presence.

    Attributes
    ----------
    change : str
        What the unit of a neighbour is, in a word: different, or removed.
    adjacency : str
        What turns a table into a neighbour, in words.
    revealed : str
        What a δ that is too large might show of some units, in words.
    plural, another : str
        What n counts, and what a unit is replaced by.

    Raises
    ------
    ParameterError
        When `kind` is another, or `rows` does not fit it.

    Examples
    --------
    >>> from pcqr.privacy.unit import RECORD, Unit
    >>> RECORD.adjacency
    'replace one record'
    >>> Unit("user").adjacency
    'replace one person, with all rows'
    >>> Unit.user(5).adjacency
    'replace one person, who has at most 5 rows'
    >>> Unit("presence").adjacency
    'REMOVE OR ADD one record, which is less than to replace one'
    """

    kind: Literal["record", "user", "presence"]
    rows: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("record", "user", "presence"):
            raise ParameterError("kind", "'record', 'user' or 'presence'", self.kind)
        if self.rows is not None and self.kind == "user":
            check_integer("rows", self.rows, least=1)
        elif self.rows is not None:
            raise ParameterError("rows", f"None for the unit {self.kind!r}, which is one row", self.rows)
        keep_plain(self, integers=("rows",))

    @classmethod
    def user(cls, rows: int) -> Unit:
        """All rows of one person, at most `rows`."""
        return cls("user", rows)

    @property
    def adjacency(self) -> str:
        """What turns a table into a neighbour, in words."""
        if self.kind == "presence":
            return "REMOVE OR ADD one record, which is less than to replace one"
        if self.kind == "record":
            return "replace one record"
        if self.rows is None:
            return "replace one person, with all rows"
        return f"replace one person, who has at most {self.rows:,} row{'s' * (self.rows != 1)}"

    @property
    def change(self) -> str:
        """What a neighbour's unit is: the word after "If `any_one` were"."""
        return "removed" if self.kind == "presence" else "different"

    def any_one(self, records: int | None = None) -> str:
        """Any unit of a table, in words, with n = `records` of them where that is known."""
        if self.kind != "user":
            return "any one private record" if records is None else f"any one of the {records:,} private records"
        which = "any one person" if records is None else f"any one of the {records:,} persons"
        return f"all rows of {which}" if self.rows is None else f"the rows (at most {self.rows:,}) of {which}"

    @property
    def plural(self) -> str:
        """What n counts."""
        return "persons" if self.kind == "user" else "records"

    @property
    def another(self) -> str:
        """What `any_one` is replaced by."""
        return "those of any other" if self.kind == "user" else "any other"

    def implies(self, other: Unit) -> bool:
        """Does a guarantee about this unit hold, with the same figures, for the `other` as well?

        A person with any number of rows is one with a bounded number of them, too. All else is for itself.
        """
        return self == other or (self.kind == other.kind == "user" and self.rows is None)

    @property
    def member(self) -> str:
        """What is one of them called?"""
        return "person" if self.kind == "user" else "record"

    @property
    def revealed(self) -> str:
        """What a δ that is too large might show of some units, in words."""
        return "all rows of some persons" if self.kind == "user" else "whole records"


RECORD = Unit("record")
"""One row of the table, replaced by any other: what is promised where nobody says whose the rows are."""

USER = Unit("user")
"""All rows of one person, however many, replaced by those of another: what `fit(X, y, groups=…)` promises."""

PRESENCE = Unit("presence")
"""One row of the table, there or not: its place stays, empty, so that n is the same. Only `IndividualKNN` has it."""


def check_proved(unit: Unit, *proved: Unit) -> None:
    """Refuse a unit for which there is no proof, before anything is planned: others than RECORD and those `proved`."""
    if unit != RECORD and unit not in proved:
        raise ParameterError("unit", "RECORD, the only unit of privacy for which pcqr has proofs of this", unit)
