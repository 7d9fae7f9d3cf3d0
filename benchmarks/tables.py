"""The tables that accuracy is measured on (`pcqr.bench.tables`), and other questions about them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pcqr.bench.tables import (
    PUBLIC,
    QUESTIONS,
    SOURCES,
    TABLES,
    TRAIN_SHARE,
    FloatArray,
    LabelArray,
    Source,
    Task,
    set_apart,
)
from pcqr.bench.tables import load as load_known

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


def load(name: str, folder: Path) -> Task:
    held_out = HELD_OUT.get(name)
    return load_known(name, folder) if held_out is None else held_out.task(name, folder)


__all__ = [
    "HELD_OUT",
    "PUBLIC",
    "QUESTIONS",
    "SOURCES",
    "TABLES",
    "TRAIN_SHARE",
    "FloatArray",
    "LabelArray",
    "Source",
    "Task",
    "load",
    "set_apart",
]
