"""What `pcqr export` wrote, read again: queries with their answers, and the guarantee that they have."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from pcqr.errors import DataError, ParameterError
from pcqr.estimators.labels import LabelArray, as_array
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Points
from pcqr.schema import Schema
from pcqr.schema.reading import number_of
from pcqr.schema.spreadsheets import unescaped

TRANSCRIPT, GUARANTEE, READING = "transcript.csv", "guarantee.json", "reading.json"
_FORMAT, _VERSION = "pcqr transcript reading", 1


@dataclass(frozen=True)
class Reading:
    """How the columns of a transcript are to be read. Public.

    `names` are those of the queries' columns where they have any, `features` the number of columns once encoded.
    """

    schema: Schema | None
    names: tuple[str, ...] | None
    features: int
    classes: tuple[Any, ...]

    def to_json(self) -> str:
        described = {
            "format": _FORMAT,
            "version": _VERSION,
            "schema": None if self.schema is None else self.schema.to_dict(),
            "names": self.names,
            "features": self.features,
            "classes": self.classes,
        }
        return json.dumps(described, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Reading:
        found = json.loads(text)
        if (found["format"], found["version"]) != (_FORMAT, _VERSION):
            raise ValueError
        schema = None if found["schema"] is None else Schema.from_dict(found["schema"])
        names = None if found["names"] is None else tuple(found["names"])
        return cls(schema, names, int(found["features"]), tuple(found["classes"]))


@dataclass(frozen=True)
class Lesson:
    """All that a student gets: answered queries, encoded, with their labels 0, 1, …, and what is promised of them."""

    X: Points
    y: LabelArray
    classes: LabelArray
    schema: Schema | None
    names: tuple[str, ...] | None
    guarantee: Guarantee


def exported(folder: Path) -> Lesson:
    """The lesson in a folder that `pcqr export` has written. Queries without a label are left out."""
    texts = []
    for name in (READING, GUARANTEE, TRANSCRIPT):
        try:
            texts.append((folder / name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            allowed = "a fitted release, the directory of one that is kept, or one that pcqr export wrote"
            raise ParameterError("release", allowed, str(folder)) from None
    try:
        reading = Reading.from_json(texts[0])
        rows = [[unescaped(cell) or None for cell in row] for row in csv.reader(StringIO(texts[2], newline=""))]
        places = {str(name): place for place, name in enumerate(reading.classes)}
        names, told = rows[0], [row for row in rows[1:] if row[-2] is not None]
        y = np.array([places[str(row[-2])] for row in told], dtype=np.int8)
        columns = {name: [row[place] for row in told] for place, name in enumerate(names[:-2]) if name is not None}
        if reading.schema is None:
            X = np.array([[number_of(cell) for cell in row[:-2]] for row in told], dtype=np.float64)
        else:
            X = reading.schema.encode(columns) if told else np.empty(0)
        X = X.reshape(len(told), reading.features)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        allowed = f"a transcript that pcqr export wrote, as {READING} says that it is read"
        raise DataError(str(folder), allowed, "something else") from error
    guarantee = Guarantee.from_json(texts[1])
    return Lesson(X, y, as_array(reading.classes), reading.schema, reading.names, guarantee)
