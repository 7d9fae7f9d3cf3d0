"""The tables that accuracy is measured on, split and encoded in one way.

Adult comes with pcqr and has its own split and a published schema. The others are read from a folder of Parquet files,
split 75/25 with seed 0 and encoded by a schema that 2,000 public rows make (`Schema.from_public`). The public rows are
taken out of the test part with seed 1: their labels are not used and they are not scored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.datasets import load_adult
from pcqr.schema import Schema

PUBLIC = 2_000
TRAIN_SHARE = 0.75

FloatArray = NDArray[np.float64]
LabelArray = NDArray[np.int8]


@dataclass(frozen=True)
class Task:
    """A binary task: private records, public rows without labels, and the records to score on, all encoded."""

    name: str
    X: FloatArray
    y: LabelArray
    public: FloatArray
    X_test: FloatArray
    y_test: LabelArray
    schema: Schema

    @property
    def majority(self) -> float:
        """The accuracy of the more common label, which a classifier has to beat."""
        return max(float(self.y_test.mean()), 1.0 - float(self.y_test.mean()))


@dataclass(frozen=True)
class Source:
    """A Parquet file: its label column, which labels count as 1, and which columns are features (None: all others)."""

    file: str
    label: str
    is_one: Callable[[Any], Any]
    drop: Sequence[str] = ()
    keep: Sequence[str] | None = None

    def task(self, name: str, folder: Path) -> Task:
        import pandas as pd  # noqa: PLC0415

        frame = pd.read_parquet(folder / self.file)
        y = np.asarray(self.is_one(frame[self.label]), dtype=np.int8)
        frame = frame.drop(columns=[self.label, *self.drop])
        if self.keep is not None:
            frame = frame[list(self.keep)]
        order = np.random.default_rng(0).permutation(y.size)
        train, rest = np.split(order, [int(TRAIN_SHARE * y.size)])
        public, test = set_apart(rest)
        schema = Schema.from_public(frame.iloc[public])
        X, X_public, X_test = (schema.encode(frame.iloc[rows]) for rows in (train, public, test))
        return Task(name, X, y[train], X_public, X_test, y[test], schema)


SOURCES: Mapping[str, Source] = {
    "bank": Source("bank_marketing.parquet", "y", lambda y: y == "yes", drop=("duration",)),
    "covertype": Source("covertype.parquet", "Cover_Type", lambda y: y == 2),
    "diabetes": Source("diabetes130.parquet", "readmitted", lambda y: y != "NO", drop=("encounter_id", "patient_nbr")),
    "flights": Source(
        "nycflights13.parquet",
        "delayed",
        lambda y: y == 1,
        keep=(
            *("month", "day", "hour", "sched_dep_time", "sched_arr_time"),
            *("carrier", "origin", "dest", "distance"),
        ),
    ),
}
TABLES = ("adult", *SOURCES)
HELD_OUT: Mapping[str, Source] = {
    "married": Source(
        "adult.parquet", "marital-status", lambda y: y == "Married-civ-spouse", drop=("relationship", "split")
    ),
    "housing": Source("bank_marketing.parquet", "housing", lambda y: y == "yes", drop=("duration",)),
    "insulin": Source(
        "diabetes130.parquet",
        "insulin",
        lambda y: y != "No",
        drop=("encounter_id", "patient_nbr", "change", "diabetesMed"),
    ),
    "spruce": Source("covertype.parquet", "Cover_Type", lambda y: y == 1),
    "newark": Source(
        "nycflights13.parquet",
        "origin",
        lambda y: y == "EWR",
        keep=("month", "day", "hour", "sched_dep_time", "sched_arr_time", "carrier", "dest", "distance"),
    ),
    "professional": Source("adult.parquet", "occupation", lambda y: y == "Prof-specialty", drop=("split",)),
    "metformin": Source("diabetes130.parquet", "metformin", lambda y: y != "No", drop=("encounter_id", "patient_nbr")),
    "krummholz": Source("covertype.parquet", "Cover_Type", lambda y: y == 7),
}
"""Other questions about these tables; the last three have a rare answer."""
QUESTIONS = {
    "adult": "UCI Adult: income over $50,000",
    "bank": "Bank marketing: takes the deposit",
    "covertype": "Covertype: lodgepole pine or not",
    "diabetes": "Diabetes 130: readmitted",
    "flights": "NYC flights 2013: over 15 minutes late",
}


def load(name: str, folder: Path) -> Task:
    source = SOURCES.get(name) or HELD_OUT.get(name)
    if source is not None:
        return source.task(name, folder)
    data = load_adult()
    public, test = set_apart(np.arange(data.y_test.size))
    return Task(
        name, data.X_train, data.y_train, data.X_test[public], data.X_test[test], data.y_test[test], data.schema
    )


def set_apart(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(public rows, rows to score on) of the test part `rows`."""
    order = np.random.default_rng(1).permutation(rows)
    return order[:PUBLIC], order[PUBLIC:]
