"""Every estimator on every kind of table, through one schema: the same words come out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pcqr import (
    AgnosticRelease,
    NoisyMaxAggregate,
    PrivateClassifier,
    Schema,
    SemiPrivateLearner,
    SubsampleAggregate,
    UniversalRelease,
)
from pcqr.data.schema import Column
from pcqr.hypotheses import DecisionTrees

SCHEMA = Schema((Column("age", "numeric", bounds=(18, 90)), Column("job", "categorical", categories=("cook", "nurse"))))
TREES = DecisionTrees(depth=1)
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "SubSamp": lambda: SubsampleAggregate(TREES, epsilon=8.0, queries=5, teachers=51, entropy=0),
    "AgPrivCl": lambda: AgnosticRelease(TREES, epsilon=8.0, queries=5, teachers=51, entropy=0),
    "UnvPrivCl": lambda: UniversalRelease(TREES, epsilon=8.0, queries=5, teachers=51, publish_share=0.2, entropy=0),
    "noisy max": lambda: NoisyMaxAggregate(TREES, epsilon=8.0, queries=5, teachers=51, entropy=0),
    "SSPP": lambda: SemiPrivateLearner(TREES, 8.0, entropy=0),
    "tree": lambda: PrivateClassifier(8.0, method="tree", trees=TREES, entropy=0),
    "linear": lambda: PrivateClassifier(8.0, method="linear", entropy=0),
    "both": lambda: PrivateClassifier(8.0, trees=TREES, entropy=0),
}
TABLES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "numpy": lambda columns: {name: np.array(values) for name, values in columns.items()},
    "pandas": pd.DataFrame,
    "Polars": pl.DataFrame,
    "Arrow": pa.table,
}
LABELS: dict[str, Callable[[list[str]], Any]] = {
    "numpy": np.array,
    "pandas": pd.Series,
    "Polars": pl.Series,
    "Arrow": pa.array,
}


def people(records: int, seed: int) -> tuple[dict[str, Any], list[str]]:
    rng = np.random.default_rng(seed)
    jobs = rng.choice(["cook", "nurse"], records).tolist()
    return {"age": rng.integers(18, 90, records).tolist(), "job": jobs}, [
        "yes" if job == "nurse" else "no" for job in jobs
    ]


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("kind", TABLES)
def test_fit_and_ask(name: str, kind: str) -> None:
    columns, words = people(3_000, seed=0)
    estimator = ESTIMATORS[name]().set_params(classes=("no", "yes"))
    estimator.fit(TABLES[kind](columns), LABELS[kind](words), schema=SCHEMA)
    assert estimator.classes_.tolist() == ["no", "yes"]
    asked, expected = people(4, seed=1)
    assert estimator.predict(TABLES[kind](asked)).tolist() == expected
    assert estimator.score(TABLES[kind](asked), LABELS[kind](expected)) == 1.0
    if hasattr(estimator, "answer"):
        assert estimator.answer({"age": 30, "job": "nurse"}).label == "yes"
