"""The guarantee of a model, as its file says it and as it stands under its picture."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pcqr.documents.reading import read_flag, read_list, read_number, read_object, read_text
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee, assumed
from pcqr.models.canvas import Caption
from pcqr.models.vocabulary import printable
from pcqr.unit import PERSON, RECORD

UNITS = (RECORD, PERSON)
"""Whom a published model protects."""


CHARGED, RHO = "is_charged", "rho"
"""Keys that files have where it is known whether an account was charged, and where a ρ of zCDP is proved."""


def describe_guarantee(guarantee: Guarantee, newest: int) -> dict[str, Any]:
    """All versions so far, up to the `newest`, say the adjacency in words: that of records, or of persons."""
    if guarantee.unit not in UNITS:
        raise ParameterError("guarantee.unit", f"RECORD or PERSON in a model file of version {newest}", guarantee.unit)
    return guarantee.facts()


def restore_guarantee(value: object, where: str) -> Guarantee:
    """What `describe_guarantee` described; anything else is refused with its place."""
    keys = ("epsilon", "delta", "proof", "assumptions", "is_private", "adjacency", "steps")
    known = [key for key in (CHARGED, RHO) if isinstance(value, dict) and key in value]
    entries = read_object(value, where, (*keys, *known))
    adjacency = read_text(entries["adjacency"], f"{where}.adjacency")
    units = {unit.adjacency: unit for unit in UNITS}
    if adjacency not in units:
        raise ParameterError(f"{where}.adjacency", f"one of {', '.join(map(repr, units))}", adjacency)

    def texts(key: str) -> tuple[str, ...]:
        listed = read_list(entries[key], f"{where}.{key}")
        return tuple(read_text(entry, f"{where}.{key}[{i}]") for i, entry in enumerate(listed))

    return Guarantee(
        epsilon=read_number(entries["epsilon"], f"{where}.epsilon"),
        delta=read_number(entries["delta"], f"{where}.delta"),
        proof=read_text(entries["proof"], f"{where}.proof"),
        assumptions=texts("assumptions"),
        is_private=read_flag(entries["is_private"], f"{where}.is_private"),
        unit=units[adjacency],
        steps=texts("steps"),
        is_charged=read_flag(entries[CHARGED], f"{where}.{CHARGED}") if CHARGED in known else None,
        rho=read_number(entries[RHO], f"{where}.{RHO}") if RHO in known else None,
    )


def caption(title: str, guarantee: Guarantee) -> Caption:
    """What stands around a picture: its title, the promise and what it takes to be public."""
    promised = str(replace(guarantee, assumptions=(), is_charged=None))
    lines = (printable(line) for each in guarantee.assumptions for line in assumed([each]))
    return Caption(title, (promised[0].upper() + promised[1:], *lines), warning=not guarantee.is_private)
