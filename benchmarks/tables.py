"""The tables that accuracy is measured on (`pcqr.bench.tables`, but for diabetes), and other questions about them."""

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

ADULT, BANK = "adult.parquet", "bank_marketing.parquet"
DIABETES, FLIGHTS = "diabetes130.parquet", "nycflights13.parquet"
PART = ("split",)
"""Which rows of Adult are its published test part."""
CALL = ("duration",)
"""How long the client was on the telephone, which is known afterwards only."""
IDS = ("encounter_id", "patient_nbr")
MANUAL = ("Craft-repair", "Machine-op-inspct", "Transport-moving", "Handlers-cleaners", "Farming-fishing")
TIMES = ("month", "day", "hour", "sched_dep_time", "sched_arr_time")

DIABETES_BY_ENCOUNTER = Source(DIABETES, "readmitted", lambda y: y != "NO", drop=IDS)
"""Rows of one patient may be private and scored. `pcqr bench` splits by patient; the figures that are on file here, the
test rows that leads are paired by and what was asked for are of this split."""

IN_VIEW: Mapping[str, Source] = {
    "married": Source(ADULT, "marital-status", lambda y: y == "Married-civ-spouse", drop=("relationship", *PART)),
    "housing": Source(BANK, "housing", lambda y: y == "yes", drop=CALL),
    "insulin": Source(DIABETES, "insulin", lambda y: y != "No", drop=(*IDS, "change", "diabetesMed")),
    "spruce": Source("covertype.parquet", "Cover_Type", lambda y: y == 1),
    "newark": Source(FLIGHTS, "origin", lambda y: y == "EWR", keep=(*TIMES, "carrier", "dest", "distance")),
    "professional": Source(ADULT, "occupation", lambda y: y == "Prof-specialty", drop=PART),
    "metformin": Source(DIABETES, "metformin", lambda y: y != "No", drop=IDS),
    "krummholz": Source("covertype.parquet", "Cover_Type", lambda y: y == 7),
    "overtime": Source(ADULT, "hours-per-week", lambda y: y > 40, drop=PART),
    "cellular": Source(BANK, "contact", lambda y: y == "cellular", drop=CALL),
    "loan": Source(BANK, "loan", lambda y: y == "yes", drop=CALL),
    "long stay": Source(DIABETES, "time_in_hospital", lambda y: y > 4, drop=IDS),
    "emergency": Source(DIABETES, "admission_type_id", lambda y: y == 1, drop=IDS),
    "JetBlue": Source(FLIGHTS, "carrier", lambda y: y == "B6", keep=(*TIMES, "origin", "dest", "distance")),
    "man": Source(ADULT, "sex", lambda y: y == "Male", drop=("relationship", *PART)),
    "employee": Source(ADULT, "workclass", lambda y: y == "Private", drop=PART),
    "in May": Source(BANK, "month", lambda y: y == "may", drop=CALL),
    "married client": Source(BANK, "marital", lambda y: y == "married", drop=CALL),
    "woman": Source(DIABETES, "gender", lambda y: y == "Female", drop=IDS),
    "many diagnoses": Source(DIABETES, "number_diagnoses", lambda y: y > 8, drop=IDS),
    "graduate": Source(ADULT, "education-num", lambda y: y >= 13, drop=("education", *PART)),
    "white": Source(ADULT, "race", lambda y: y == "White", drop=PART),
    "over 40": Source(ADULT, "age", lambda y: y > 40, drop=PART),
    "manual work": Source(ADULT, "occupation", lambda y: y.isin(MANUAL), drop=PART),
    "never married": Source(ADULT, "marital-status", lambda y: y == "Never-married", drop=("relationship", *PART)),
    "own child": Source(ADULT, "relationship", lambda y: y == "Own-child", drop=PART),
    "forty hours": Source(ADULT, "hours-per-week", lambda y: y == 40, drop=PART),
    "capital gain": Source(ADULT, "capital-gain", lambda y: y > 0, drop=PART),
    "client over 40": Source(BANK, "age", lambda y: y > 40, drop=CALL),
    "tertiary": Source(BANK, "education", lambda y: y == "tertiary", drop=CALL),
    "blue collar": Source(BANK, "job", lambda y: y == "blue-collar", drop=CALL),
    "balance over 500": Source(BANK, "balance", lambda y: y > 500, drop=CALL),
    "called before": Source(BANK, "pdays", lambda y: y > -1, drop=(*CALL, "previous", "poutcome")),
    "first call": Source(BANK, "campaign", lambda y: y == 1, drop=CALL),
    "in summer": Source(BANK, "month", lambda y: y.isin(["jun", "jul", "aug"]), drop=CALL),
    "early in the month": Source(BANK, "day", lambda y: y <= 15, drop=CALL),
    "70 or older": Source(DIABETES, "age", lambda y: y.isin(["[70-80)", "[80-90)", "[90-100)"]), drop=IDS),
    "Caucasian": Source(DIABETES, "race", lambda y: y == "Caucasian", drop=IDS),
    "many medications": Source(DIABETES, "num_medications", lambda y: y > 15, drop=IDS),
    "many lab tests": Source(DIABETES, "num_lab_procedures", lambda y: y > 45, drop=IDS),
    "sent home": Source(DIABETES, "discharge_disposition_id", lambda y: y == 1, drop=IDS),
    "medication changed": Source(DIABETES, "change", lambda y: y == "Ch", drop=(*IDS, "diabetesMed")),
    "procedure": Source(DIABETES, "num_procedures", lambda y: y > 0, drop=IDS),
    "inpatient before": Source(DIABETES, "number_inpatient", lambda y: y > 0, drop=IDS),
    "glipizide": Source(DIABETES, "glipizide", lambda y: y != "No", drop=IDS),
    "JFK": Source(FLIGHTS, "origin", lambda y: y == "JFK", keep=(*TIMES, "carrier", "dest", "distance")),
    "United": Source(FLIGHTS, "carrier", lambda y: y == "UA", keep=(*TIMES, "origin", "dest", "distance")),
    "long flight": Source(FLIGHTS, "distance", lambda y: y > 900, keep=(*TIMES, "carrier", "origin")),
}
"""Other questions about these tables. Rules were settled with all of them in view."""


def load(name: str, folder: Path) -> Task:
    other = {"diabetes": DIABETES_BY_ENCOUNTER, **IN_VIEW}.get(name)
    return load_known(name, folder) if other is None else other.task(name, folder)


__all__ = [
    "DIABETES_BY_ENCOUNTER",
    "IN_VIEW",
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
