"""`pcqr schema`: a schema from rows that the user says are public."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from pcqr import Schema
from pcqr.cli.main import app
from pcqr.datasets import write_table

ROWS: dict[str, list[Any]] = {
    "age": [20, 31, 64, None],
    "job": ["nurse", "clerk", "nurse", "poet"],
    "member": [True, False, True, True],
    "income": ["low", "high", "low", "low"],
}


def make(directory: Path, *options: str, file: str = "public.parquet") -> Result:
    return CliRunner().invoke(app, ["schema", str(directory / file), *options])


@pytest.fixture
def public(tmp_path: Path) -> Path:
    write_table(tmp_path / "public.parquet", ROWS)
    return tmp_path


def test_it_says_what_each_column_is_and_that_the_rows_must_be_public(public: Path) -> None:
    result = make(public, "--drop", "income")
    assert result.exit_code == 0, result.output
    words = " ".join(result.output.split())
    assert "must be public" in words
    assert "3 columns from 4 public rows" in words
    for part in ("age", "20 … 64", "clerk, nurse, poet", "may be missing", "any other"):
        assert part in words
    assert "income" not in words
    assert "Nothing was written" in words
    assert "must be public" in " ".join(CliRunner().invoke(app, ["schema", "--help"]).output.split())


@pytest.mark.parametrize(("name", "read"), [("schema.toml", Schema.from_toml), ("schema.json", Schema.from_json)])
def test_what_it_writes_reads_back(public: Path, name: str, read: object) -> None:
    result = make(public, "--out", str(public / name), "--most-categories", "1", "--drop", "income")
    assert result.exit_code == 0, result.output
    assert callable(read)
    assert read(public / name) == Schema.from_public(ROWS, drop=("income",), most_categories=1)
    assert name in result.output


def test_a_column_with_too_many_values_is_pointed_out(public: Path) -> None:
    write_table(public / "public.parquet", ROWS | {"the id": ["a", "b", "c", "d"]})
    words = " ".join(make(public, "--most-categories", "3").output.split())
    assert "the id has 4 different values" in words
    assert "--drop 'the id'" in words
    assert "job has" not in words


def test_identifiers_and_free_text_are_pointed_out_and_remembered(tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {name: (values * 30)[:120] for name, values in ROWS.items()}
    rows |= {"the notes": [f"said {row * row}" for row in range(120)], "number": list(range(120))}
    write_table(tmp_path / "public.parquet", rows)
    result = make(tmp_path, "--out", str(tmp_path / "schema.toml"))
    words = " ".join(result.output.split())
    assert "Hardly any value of the notes occurs twice: an identifier or free text" in words
    assert "--drop 'the notes'" in words
    assert "--drop number" in words
    assert "different values" not in words
    schema = Schema.from_toml(tmp_path / "schema.toml")
    assert schema.near_unique == ("the notes", "number")
    assert schema.columns[4].categories == ()
    told = json.loads(make(tmp_path, "--json", "--drop", "number").stdout)
    assert told["near_unique"] == ["the notes"]


def test_json_for_machines(public: Path) -> None:
    summary = json.loads(make(public, "--json", "--out", str(public / "schema.toml")).stdout)
    assert summary["rows"] == 4
    assert Schema.from_dict(summary["schema"]) == Schema.from_public(ROWS)
    assert summary["out"] == str(public / "schema.toml")
    assert "public" in summary["declares"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--drop", "wages"), "--drop must be the name of a column"),
        (("--out", "schema.yaml"), "--out must be a name that ends in .toml or .json"),
        (("--most-categories", "0"), "most-categories"),
        (("--drop", "age", "--drop", "job", "--drop", "member", "--drop", "income"), "--drop must be fewer columns"),
    ],
)
def test_what_it_refuses(public: Path, options: tuple[str, ...], message: str) -> None:
    result = make(public, *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_no_file_is_replaced_unasked(public: Path) -> None:
    target = public / "schema.toml"
    target.write_text("mine")
    refused = make(public, "--out", str(target))
    assert refused.exit_code == 2
    assert "--overwrite" in refused.stderr
    assert target.read_text() == "mine"
    target.unlink()
    for more in ((), ("--overwrite",)):
        assert make(public, "--out", str(target), *more).exit_code == 0
    assert Schema.from_toml(target).names == tuple(ROWS)
