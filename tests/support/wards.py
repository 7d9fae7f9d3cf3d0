"""A small hospital for the tests of the page: columns of every kind, and names that try to be HTML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import pcqr
from pcqr.data.schema import Column
from pcqr.hypotheses import DecisionTrees, Stumps
from pcqr.models import PublishedModel

HOSTILE = "<img src=x onerror=alert(1)>"
WARDS = ("north", "south", HOSTILE)
SCHEMA = pcqr.Schema(
    (
        Column("age", bounds=(0, 100)),
        Column("ward", "categorical", WARDS, other=True),
        Column(f"since {HOSTILE}", "date", bounds=("2020-01-01", "2026-12-31"), missing=True),
        Column("weight", missing=True),
    )
)
LABELS = ("well", f"ill {HOSTILE}")


def rows(ages: Any) -> dict[str, list[Any]]:
    """A table of people with these ages, and whatever else."""
    size = len(ages)
    return {
        "age": [float(age) for age in ages],
        "ward": [WARDS[place % len(WARDS)] for place in range(size)],
        SCHEMA.names[2]: [f"2024-{1 + place % 12:02}-15" for place in range(size)],
        "weight": [None if place % 5 == 0 else 60.0 + place % 30 for place in range(size)],
    }


def as_csv(table: dict[str, list[Any]]) -> str:
    lines = [",".join(table)]
    lines += [",".join("" if cell is None else str(cell) for cell in row) for row in zip(*table.values(), strict=True)]
    return "\n".join(lines) + "\n"


def people(size: int = 4_000) -> tuple[dict[str, list[Any]], list[str]]:
    """Private records: whoever is above 40 is ill."""
    ages = np.random.default_rng(0).uniform(0, 100, size)
    return rows(ages), [LABELS[int(age > 40)] for age in ages]


def keep_release(folder: Path, estimator: Any) -> Path:
    """Fit it and keep it in `folder`, with its anchor beside it."""
    estimator.fit(*people(), schema=SCHEMA).save(folder / "release", anchor=folder / "anchor").close()
    return folder / "release"


def agnostic(**parameters: Any) -> Any:
    """Votes with pinned knobs and seeded coins: nothing has to be searched for, and nothing is left to chance."""
    pinned = {"entropy": 1, "teachers": 49, "unstable": 4, "sampling_rate": 0.5, "inverse_temperature": 0.5}
    return pcqr.AgnosticRelease(Stumps(), epsilon=8.0, delta=1e-6, queries=50, **(pinned | parameters))


def publish_model(folder: Path) -> Path:
    learner = pcqr.SemiPrivateLearner(DecisionTrees(depth=2), epsilon=1.0).fit(*people(), schema=SCHEMA)
    PublishedModel.from_learner(learner).save(folder)
    return folder


WIDE = pcqr.Schema(tuple(Column(f"measurement {place + 1}", bounds=(0, 100)) for place in range(60)))
ODD_COLUMNS = ("__proto__", "constructor", "toString")
ODD_LABELS = ("constructor", "=1+1")


def publish_wide_model(folder: Path) -> None:
    """Sixty columns, of which the first decides. Its labels are long, one of them in one word."""
    _publish_stump(folder, WIDE, ("a diagnosis that has a long name, " * 8, "Pneumonoultramicroscopic" * 8))


def publish_odd_model(folder: Path) -> None:
    """Names that every object of JavaScript has, and one that a spreadsheet would run."""
    schema = pcqr.Schema((*(Column(name, bounds=(0, 100)) for name in ODD_COLUMNS), *SCHEMA.columns[1:2]))
    _publish_stump(folder, schema, ODD_LABELS)


def _publish_stump(folder: Path, schema: pcqr.Schema, labels: tuple[str, str]) -> None:
    width = len(schema.feature_names)
    hypothesis = Stumps().learn([[20.0] * width, [60.0] * width], [0, 1])
    PublishedModel(hypothesis, labels, schema, pcqr.Guarantee(1.0)).save(folder)
