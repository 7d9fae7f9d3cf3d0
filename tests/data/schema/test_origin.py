"""A schema remembers which rows it was made of, by one digest of all of them, and which columns are nearly unique."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from pcqr import AssumePublic, DataError, ParameterError, PrivateClassifier, Schema, SemiPrivateLearner
from pcqr.data.records import ParquetTable
from pcqr.data.schema import Column
from pcqr.datasets import read_table, write_table
from pcqr.errors import NearUnique
from pcqr.hypotheses import DecisionTrees
from pcqr.models import PublishedModel

RNG = np.random.default_rng(0)
ROWS = 300
TABLE: dict[str, Any] = {
    "age": RNG.integers(0, 90, ROWS).astype(float).tolist(),
    "job": RNG.choice(["nurse", "cook", "pilot"], ROWS).tolist(),
    "born": [f"{year}-05-03" for year in RNG.integers(1950, 2000, ROWS)],
}
Y = (np.array(TABLE["age"]) > 45).astype(int)
OTHERS = {name: values[::-1][:-1] for name, values in TABLE.items()}
SCHEMA = Schema.from_public(TABLE)
LEARNER = SemiPrivateLearner(DecisionTrees(depth=1), 4.0, entropy=0)


def made(table: dict[str, Any], kind: str, folder: Path) -> Any:
    if kind.endswith(("csv", "parquet")):
        write_table(folder / kind, table)
        return read_table(folder / kind)
    frames: dict[str, Any] = {"pandas": pd.DataFrame, "Polars": pl.DataFrame, "Arrow": pa.table, "dict": dict}
    return frames[kind](table)


@pytest.mark.parametrize("kind", ["dict", "pandas", "Polars", "Arrow", "t.csv", "t.parquet"])
def test_a_schema_made_of_the_private_rows_is_refused(kind: str, tmp_path: Path) -> None:
    """In any order, with any further columns, in any kind of table, mended and read from a file."""
    order = RNG.permutation(ROWS)
    shuffled = {name: [values[row] for row in order] for name, values in reversed(TABLE.items())}
    SCHEMA.without("job").to_toml(tmp_path / "schema.toml")
    mended = (tmp_path / "schema.toml").read_text().replace("0.0", "-5.0", 1)
    (tmp_path / "schema.toml").write_text(mended)
    schema = Schema.from_toml(tmp_path / "schema.toml")
    assert schema.columns[0].bounds != SCHEMA.columns[0].bounds
    private = made(shuffled, kind, tmp_path)
    with pytest.raises(DataError, match=r"one that was made of the very rows of X") as refused:
        LEARNER.fit(private, Y[order], schema=schema)
    assert "pcqr.AssumePublic(schema)" in str(refused.value)


def test_a_schema_of_other_rows_is_taken_and_so_is_one_that_is_assumed_public() -> None:
    for schema in (Schema.from_public(OTHERS), AssumePublic(SCHEMA), Schema(SCHEMA.columns)):
        LEARNER.fit(TABLE, Y, schema=schema)
    one_cell = TABLE | {"age": [TABLE["age"][0] + 1, *TABLE["age"][1:]]}
    LEARNER.fit(one_cell, Y, schema=SCHEMA)
    assert LEARNER.plan(300, schema=AssumePublic(SCHEMA)) == LEARNER.plan(300, schema=SCHEMA)


def test_a_table_in_files_is_recognised_too(tmp_path: Path) -> None:
    table = pa.table(TABLE | {"ill": Y})
    pa.parquet.write_table(table[:100], tmp_path / "a.parquet", row_group_size=30)
    pa.parquet.write_table(table[100:], tmp_path / "b.parquet")
    private = ParquetTable(tmp_path, label="ill")
    with pytest.raises(DataError, match="made of the very rows of X"):
        LEARNER.fit(private, schema=SCHEMA)
    LEARNER.fit(private, schema=AssumePublic(SCHEMA))
    LEARNER.fit(private, schema=Schema.from_public(OTHERS))


def test_the_digest_is_of_all_rows_together_and_is_in_schema_files_alone(tmp_path: Path) -> None:
    assert SCHEMA.origin is not None
    for suffix in ("json", "toml"):
        path = tmp_path / f"schema.{suffix}"
        (SCHEMA.to_json if suffix == "json" else SCHEMA.to_toml)(path)
        read = (Schema.from_json if suffix == "json" else Schema.from_toml)(path)
        assert read == SCHEMA
        assert read.origin == SCHEMA.origin
        assert path.read_text().count(SCHEMA.origin.digest) == 1
    told = json.loads((tmp_path / "schema.json").read_text())["origin"]
    assert set(told) == {"rows", "columns", "digest", "near_unique"}
    assert len(told["digest"]) == 64
    learner = LEARNER.fit(OTHERS, Y[::-1][:-1], schema=SCHEMA)
    assert SCHEMA.origin.digest not in PublishedModel.from_learner(learner).to_json() + str(SCHEMA.to_dict())
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA.to_dict() | {"origin": {"rows": 3}}))
    with pytest.raises(ParameterError, match="origin of a schema must be a table with rows, columns, digest"):
        Schema.from_json(tmp_path / "schema.json")


NOTES = [f"patient {row} said {row * row}" for row in range(ROWS)]
SPARSE = [f"code {row // 3}" for row in range(ROWS)]


def test_free_text_becomes_no_categories_and_is_remembered(tmp_path: Path) -> None:
    table = TABLE | {"notes": NOTES, "id": list(range(1000, 1000 + ROWS)), "code": SPARSE, "few": NOTES[:60] * 5}
    schema = Schema.from_public(table)
    by_name = {column.name: column for column in schema.columns}
    assert by_name["notes"] == Column("notes", "categorical", (), other=True)
    assert len(by_name["code"].categories) == 100
    assert schema.near_unique == ("notes", "id")
    schema.to_toml(tmp_path / "schema.toml")
    read = Schema.from_toml(tmp_path / "schema.toml")
    assert read.near_unique == ("notes", "id")
    assert read.without("id").near_unique == ("notes",)
    private = {name: values[1:] for name, values in table.items()}
    with pytest.warns(NearUnique, match=r"public rows of 'notes', 'id': an identifier or free text.*--drop"):
        LEARNER.fit(private, Y[1:], schema=read)
    with pytest.warns(NearUnique, match="'notes'"):
        PrivateClassifier(1.0, method="tree", entropy=0).fit(private, Y[1:], public=AssumePublic(table))
    LEARNER.fit({name: private[name] for name in TABLE}, Y[1:], schema=read.without("notes", "id", "code", "few"))


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(size=ROWS),  # a measurement
        RNG.integers(0, 10**6, ROWS),  # an income
        [f"job {row % 40}" for row in range(ROWS)],
        ["a", "b", "c"] * 6,
        [float(year) for year in range(1950, 1968)],
    ],
    ids=["fractions", "far whole numbers", "common names", "few names", "few years"],
)
def test_what_is_no_identifier_is_not_pointed_out(values: Any) -> None:
    assert Schema.from_public({"a": list(values)}).near_unique == ()
