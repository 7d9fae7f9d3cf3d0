"""Records in the columns of a table answer every question as their encoded matrix does, bit for bit."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcqr import AgnosticRelease, PrivateClassifier, SemiPrivateLearner, SubsampleAggregate, UniversalRelease
from pcqr.data.records import Encoded, InMemory, source
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.records.vectors import PredicateVectors
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.table import CompactTable
from pcqr.errors import DataError
from pcqr.hypotheses import DecisionTrees
from pcqr.hypotheses.trees.tree import DecisionTree, from_schema

SCHEMA = Schema(
    (
        Column("age", bounds=(18, 90), missing=True),
        Column("job", "categorical", ("nurse", "cook"), other=True),
        Column("since", "date", bounds=("2010-01-01", "2020-01-01")),
        Column("score"),
    )
)
ROWS = st.tuples(
    st.one_of(st.none(), st.integers(0, 120), st.just(float("nan"))),
    st.sampled_from(["nurse", "cook", "pilot", None]),
    st.dates(datetime.date(2009, 1, 1), datetime.date(2021, 1, 1)),
    st.floats(-3, 3),
)
PREDICATES = (*from_schema(SCHEMA, 3), Predicate(7, 0.5), Predicate(7, -0.0), Predicate(2, -1.0), Predicate(2, 1.0))


def columns(rows: list[Any]) -> dict[str, list[Any]]:
    return {name: list(cells) for name, cells in zip(SCHEMA.names, zip(*rows, strict=True), strict=True)}


TABLES: dict[str, Callable[[list[Any]], Any]] = {
    "lists": columns,
    "pandas": lambda rows: pd.DataFrame(columns(rows)),
    "Polars": lambda rows: pl.DataFrame(columns(rows), strict=False),
    "Arrow": lambda rows: pa.table({name: pa.array(c, from_pandas=True) for name, c in columns(rows).items()}),
}


def check_the_same(records: Encoded, dense: InMemory) -> None:
    """Every question, for two labels."""
    assert (records.size, records.width, records.labels) == (dense.size, dense.width, dense.labels)
    assert records.gathered().X.tobytes() == dense.X.tobytes()
    for rows in (1, 5, 64):
        for (X, y), (other, labels) in zip(records.blocks(rows), dense.blocks(rows), strict=True):
            assert X.tobytes() == other.tobytes()
            assert y.tolist() == labels.tolist()
        for (holds, y), (others, labels) in zip(
            records.answers(PREDICATES, rows), dense.answers(PREDICATES, rows), strict=True
        ):
            assert holds.tobytes() == others.tobytes()
            assert y.tolist() == labels.tolist()
    tree = DecisionTree(Split(PREDICATES[0], Leaf(1), Split(PREDICATES[4], Leaf(0), Leaf(1))), dense.width)
    assert records.label_counts().tolist() == dense.label_counts().tolist()
    assert records.error_counts([tree]).tolist() == dense.error_counts([tree]).tolist()
    assert (records.conjunctions(PREDICATES, 2).table == dense.conjunctions(PREDICATES, 2).table).all()
    positions = np.random.default_rng(0).integers(0, dense.size, 9)
    for found, wanted in (
        (records.rows(positions).gathered(), dense.rows(positions)),
        (records.relabelled(tree).gathered(), dense.relabelled(tree)),
        (records.kept().gathered(), dense.kept()),
    ):
        assert found.X.tobytes() == wanted.X.tobytes()
        assert found.y.tolist() == wanted.y.tolist()
    features = FeatureMap(PredicateVectors.of(PREDICATES, dense.width), Ferns(PREDICATES[:4], 2, dense.width), 100)
    theta = np.linspace(-(2**20), 2**20, features.size, dtype=np.int32)[None]
    cells = np.arange(8, dtype=np.int32).reshape(1, 2, 4) << 17
    for part, wanted_part in zip(
        records.gradient_sums(features, 1 << 20).total(theta, cells),
        dense.gradient_sums(features, 1 << 20).total(theta, cells),
        strict=True,
    ):
        assert (part == wanted_part).all()
    shown = np.concatenate([dense.X[:2], dense.X[:1] + 0.25])
    assert records.coinciding(shown) == dense.coinciding(shown)


@pytest.mark.parametrize("kind", TABLES)
@settings(deadline=None, max_examples=12)
@given(rows=st.lists(ROWS, min_size=1, max_size=40), seed=st.integers(0, 99))
def test_a_table_answers_as_its_matrix_does(kind: str, rows: list[Any], seed: int) -> None:
    table = TABLES[kind](rows)
    y = np.random.default_rng(seed).integers(0, 2, len(rows))
    check_the_same(Encoded(SCHEMA.compact(table), y), InMemory(SCHEMA.encode(table), y))


def test_labels_are_a_copy_and_are_checked() -> None:
    table, y = SCHEMA.compact(columns([(30, "cook", datetime.date(2014, 5, 3), 0.5)] * 3)), np.array([0, 1, 1])
    records = Encoded(table, y)
    y[:] = 0
    assert records.kept().label_counts().tolist() == [1, 2]
    assert repr(records) == "Encoded(3 records, 8 columns, 2 labels)"
    for bad in ([0, 1], [0, 1, 2]):
        with pytest.raises(DataError, match=r"^y must"):
            Encoded(table, bad)
    with pytest.raises(DataError, match="at least one row"):
        Encoded(table.rows(slice(0)), [])


def test_a_table_that_the_caller_still_holds_cannot_be_edited() -> None:
    """`fit` takes a table that a schema has read, and a universal release reads it again at publication."""
    table = SCHEMA.compact(columns([(30, "cook", datetime.date(2014, 5, 3), 0.5)] * 3))
    kept = Encoded(table, [0, 1, 1]).kept()
    before = kept.gathered().X
    for held in (table, table.rows(slice(2)), table.rows(np.array([2, 0]))):
        for entries in held.entries:
            with pytest.raises(ValueError, match="read-only"):
                entries[:] = entries[::-1].copy()
    assert kept.gathered().X.tobytes() == before.tobytes()


class Strange:
    """What no class of pcqr says."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.where(X[:, 0] > 40.0, 7, 1)


def test_labels_from_a_class_of_another_are_not_judged_again() -> None:
    """Whether it would be refused depends on the records. A teacher that cannot learn from it has a fixed vote."""
    rows = [(age, "cook", datetime.date(2014, 5, 3), 0.5) for age in (30, 50, 60)]
    table, y = columns(rows), [0, 1, 1]
    for records in (InMemory(SCHEMA.encode(table), y), Encoded(SCHEMA.compact(table), y)):
        assert records.relabelled(Strange()).rows(np.array([2, 0])).gathered().y.tolist() == [7, 1]


RECORDS = 700


def some_table() -> tuple[pd.DataFrame, np.ndarray]:
    generator = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "age": generator.integers(10, 100, RECORDS),
            "job": generator.choice(["nurse", "cook", "pilot"], RECORDS),
            "since": generator.choice(["2012-05-03", "2019-12-31"], RECORDS),
            "score": generator.normal(size=RECORDS),
        }
    )
    return table, ((table["age"] > 50) ^ (table["job"] == "cook")).to_numpy().astype(int)


TREES = DecisionTrees(depth=1, cuts=3)
SEEDED: dict[str, Any] = {
    "tree": PrivateClassifier(2.0, method="tree", trees=TREES, entropy=0, classes=(0, 1)),
    "linear": PrivateClassifier(2.0, method="linear", trees=TREES, entropy=0, classes=(0, 1)),
    "auto": PrivateClassifier(8.0, trees=TREES, entropy=0, classes=(0, 1)),
    "semi-private": SemiPrivateLearner(TREES, 2.0, entropy=0, classes=(0, 1)),
    "sub-sampled": SubsampleAggregate(TREES, epsilon=8.0, queries=5, entropy=0, classes=(0, 1)),
    "agnostic": AgnosticRelease(TREES, epsilon=8.0, queries=5, entropy=0, classes=(0, 1)),
    "universal": UniversalRelease(TREES, epsilon=8.0, queries=5, entropy=0, classes=(0, 1)),
}


@pytest.mark.filterwarnings("ignore::pcqr.errors.UnansweredWarning")
@pytest.mark.parametrize("name", SEEDED)
def test_a_fit_with_a_schema_never_has_the_whole_matrix(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks for no more rows at a time than a block or a teacher has."""
    monkeypatch.setattr(source, "_MOST_ROWS", 64)
    sizes = []
    whole = CompactTable.encoded

    def watched(table: CompactTable) -> Any:
        sizes.append(len(table))
        return whole(table)

    monkeypatch.setattr(CompactTable, "encoded", watched)
    table, y = some_table()
    shown = pd.DataFrame({"age": [20, 40, 60], "job": ["cook", "nurse", "pilot"], "since": "2015-01-01", "score": 0.1})
    estimator = SEEDED[name].fit(table, y, public=shown, schema=SCHEMA)
    assert estimator.n_features_in_ == 8
    assert max(sizes) <= 64
