"""What `pcqr publish` refuses before anything is drawn, in one line each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.publishing import RECORDS, SCHEMA, Files, forbid_draws

from pcqr import Schema
from pcqr.datasets import read_table, write_table


@pytest.fixture
def files(tmp_path: Path) -> Files:
    files = Files(tmp_path)
    files.write()
    return files


@pytest.fixture
def no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_draws(monkeypatch)


@pytest.mark.parametrize("labels", [(17, 44), ("", 1)])
@pytest.mark.usefixtures("no_draw")
def test_labels_are_declared_or_are_0_and_1(files: Files, labels: tuple[Any, Any]) -> None:
    """Names read off the private rows, such as ages, would be published and paid for by nobody."""
    files.write(labels=labels)
    result = files.publish()
    assert result.exit_code == 2
    assert "label column 'y' must be 0 or 1 in every row; declare other names" in result.stderr
    assert "44" not in result.stderr
    assert not (files.directory / "model").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", "0"), "epsilon must be"),
        (("--depth", "0"), "depth must be an integer ≥ 1"),
        (("--depth", "9"), "depth must be at most 6"),
        (("--operations", "10"), "to allow more, raise operations"),
        (("--label", "height"), "--label must be the name of one of the 3 columns in the first line"),
        (("--labels", "yes"), "--labels must be 2 to 127 different names"),
        (("--labels", "no,yes"), "must be one of no, yes in every row"),
        (("--label", "x"), "label column 'x' must be 0 or 1 in every row"),
        (("--public", "absent.csv"), "--public must be a file that exists"),
        (("--schema", "absent.toml"), "a file that can be read"),
        (("--drop", "colur"), "--drop must be the name of a column"),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do(files: Files, options: tuple[str, ...], message: str) -> None:
    result = files.publish(*options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("Error: ") == 1
    assert message in result.stderr.strip().splitlines()[-1]
    assert not (files.directory / "model").exists()


def test_a_table_without_a_declared_column_is_named(files: Files) -> None:
    (files.directory / "schema.toml").write_text(SCHEMA + '[[columns]]\nname = "height"\n')
    result = files.publish("--schema", files.path("schema.toml"))
    assert result.exit_code == 2
    assert "public.csv must be a table with the columns" in result.stderr
    assert "without 'height'" in result.stderr
    result = files.bare("--schema", files.path("schema.toml"))
    assert result.exit_code == 2
    assert "train.csv must be a table with the columns" in result.stderr
    assert "without 'height'" in result.stderr


def test_neither_public_rows_nor_a_schema(files: Files) -> None:
    result = files.bare("--seed", "1")
    assert result.exit_code == 2
    assert "columns without a type" in result.stderr, "a CSV file has no types"


def test_a_public_file_of_one_row_or_constant_columns(files: Files) -> None:
    write_table(files.directory / "public.csv", {"x": [1.0], "colour": ["red"]})
    result = files.publish()
    assert result.exit_code == 2
    assert "rows that differ" in result.stderr


@pytest.mark.usefixtures("no_draw")
def test_the_private_file_is_not_public(files: Files) -> None:
    link = files.directory / "link.csv"
    link.symlink_to(files.path("train.csv"))
    for path in (files.path("train.csv"), str(link)):
        result = files.publish("--public", path)
        assert result.exit_code == 2
        assert "--public must be rows that are public, not the private records" in result.stderr


@pytest.mark.parametrize("rows", [slice(None), slice(700), slice(None, None, -3)])
@pytest.mark.usefixtures("no_draw")
def test_private_rows_are_not_public_whichever_and_in_whatever_order(files: Files, rows: slice) -> None:
    table = read_table(files.path("train.csv"))
    write_table(files.directory / "public.csv", {name: table[name][rows] for name in ("colour", "x")})
    result = files.publish()
    assert result.exit_code == 2
    assert "more than half of whose rows are rows of the private file" in result.stderr


def test_a_schema_made_of_the_private_file_is_refused(files: Files) -> None:
    """Also where a column was left out when it was made, and another is when it is used."""
    table = read_table(files.path("train.csv"))
    label = next(name for name in table if name not in ("colour", "x"))
    for drop in ((label,), (label, "colour")):
        Schema.from_public(table, drop=drop).to_toml(files.directory / "schema.toml")
        options = ("--schema", files.path("schema.toml"), *(("--drop", "colour") if "colour" in drop else ()))
        result = files.bare(*options, "--seed", "1")
        assert result.exit_code == 2
        assert "schema.toml, which was made of the very rows of the private file" in result.stderr
    assert files.bare(*options, "--assume-public", "--seed", "1").exit_code == 0


def test_a_few_private_rows_are_a_warning_for_the_data_holder_alone(files: Files) -> None:
    private, public = read_table(files.path("train.csv")), read_table(files.path("public.csv"))
    mixed = {name: [*public[name], *private[name][:20]] for name in ("colour", "x")}
    write_table(files.directory / "public.csv", mixed)
    result = files.publish("--json")
    assert result.exit_code == 0
    assert "Warning: Many of the rows of" in result.stderr
    assert "keep it to yourself" in result.stderr
    assert "private file" not in result.stdout
    assert not any("private file" in path.read_text(errors="ignore") for path in (files.directory / "model").iterdir())


def test_rows_of_which_few_are_possible_are_public_if_the_data_holder_says_so(files: Files) -> None:
    for name in ("train.csv", "public.csv"):
        table = read_table(files.path(name))
        table["x"] = [None if x is None else round(float(x)) for x in table["x"]]
        write_table(files.directory / name, table)
    assert files.publish().exit_code == 2
    result = files.publish("--assume-public")
    assert result.exit_code == 0, result.output
    assert "of the rows" not in result.stderr


@pytest.mark.usefixtures("no_draw")
def test_a_damaged_file_is_one_line(files: Files) -> None:
    files.write(".csv.gz")
    path = files.directory / "train.csv.gz"
    content = path.read_bytes()
    path.write_bytes(content[:40] + b"\xff" * 16 + content[56:])
    result = files.publish(suffix=".csv.gz")
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert "cannot be parsed" in result.stderr


def test_labels_of_lists_are_one_line(files: Files) -> None:
    table = dict(read_table(files.path("train.csv")))
    write_table(files.directory / "train.parquet", table | {"y": [[1], None] * (RECORDS // 2)})
    result = files.publish("--private", files.path("train.parquet"))
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1


def test_bad_input_has_one_json_shape(files: Files) -> None:
    result = files.publish("--json", "--depth", "0")
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert {"type", "message", "name", "allowed", "received"} == set(error)
