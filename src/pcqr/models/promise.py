"""The guarantee of a model, as its file says it and as it stands under its picture."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee, assumed
from pcqr.models.canvas import Caption
from pcqr.models.vocabulary import printable
from pcqr.unit import PERSON, RECORD

UNITS = (RECORD, PERSON)
"""Whom a published model protects."""


def describe_guarantee(guarantee: Guarantee, newest: int) -> dict[str, Any]:
    """All versions so far, up to the `newest`, say the adjacency in words: that of records, or of persons."""
    if guarantee.unit not in UNITS:
        raise ParameterError("guarantee.unit", f"RECORD or PERSON in a model file of version {newest}", guarantee.unit)
    return guarantee.facts()


def caption(title: str, guarantee: Guarantee) -> Caption:
    """What stands around a picture: its title, the promise and what it takes to be public."""
    promised = str(replace(guarantee, assumptions=(), is_charged=None))
    lines = (printable(line) for each in guarantee.assumptions for line in assumed([each]))
    return Caption(title, (promised[0].upper() + promised[1:], *lines), warning=not guarantee.is_private)
