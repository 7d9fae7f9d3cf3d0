"""Local files: CSV with the standard library, Parquet with the extra `data`, errors that say what to do."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pcqr.datasets import read_table, write_table
from pcqr.datasets.tables import table_size
from pcqr.errors import DataError, MissingExtra, ParameterError


def test_csv_is_read_as_text_with_empty_fields_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes('\ufeffa, b,c\r\n1, "x, y",\r\n\r\n007,,z\r\n'.encode())
    assert read_table(path) == {"a": ["1", "007"], "b": ["x, y", None], "c": [None, "z"]}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_first_line_says_what_separates_fields(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        separator.join(['"a, b; c"', "d", "e"]) + "\n" + separator.join(["1,5;2|3\t4".replace(separator, "_"), "", "x"])
    )
    table = read_table(path)
    assert list(table) == ["a, b; c", "d", "e"]
    assert [list(values) for values in table.values()][1:] == [[None], ["x"]]
    assert table_size(path) == (("a, b; c", "d", "e"), 1)
    assert read_table(path, delimiter=separator) == table


def test_records_have_no_say_in_what_separates_fields(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for record in ("1", "1;2;3;4", "a|b|c"):
        path.write_text(f"n\n0\n{record}\n")
        assert read_table(path) == {"n": ["0", record]}
    path.write_text("a;b\n1,5;2\n")
    assert read_table(path) == {"a": ["1,5"], "b": ["2"]}
    assert read_table(path, delimiter=";") == read_table(path)
    with pytest.raises(DataError, match="rows of 1 fields, like its header; received 2"):
        read_table(path, delimiter=",")
    with pytest.raises(ParameterError, match="delimiter must be one of"):
        read_table(path, delimiter="x")


def test_no_cell_of_a_csv_file_is_a_formula(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", {"=A1": ["=1+1", "-2"], "n": [-3, -0.5]})
    assert (tmp_path / "t.csv").read_text() == "'=A1,n\n'=1+1,-3\n-2,-0.5\n"


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "T.CSV"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    table: dict[str, list[Any]] = {"row": [1, 2], "label": ["<=50K", None], "naïve, quoted": ['a"b', "c\nd"]}
    table |= {"=HYPERLINK(1)": ["=1+1", "'=1+1"], "sign": ["-1", "@home"]}
    write_table(tmp_path / name, table)
    again = read_table(tmp_path / name)
    assert list(again) == list(table)
    assert [list(again[column]) for column in ("=HYPERLINK(1)", "sign")] == [["=1+1", "'=1+1"], ["-1", "@home"]]
    assert [str(value) for value in again["row"]] == ["1", "2"]
    assert list(again["naïve, quoted"]) == ['a"b', "c\nd"]
    assert again["label"][0] == "<=50K"
    assert pd.isna(again["label"][1])


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_the_size_is_known_without_the_values(tmp_path: Path, name: str) -> None:
    write_table(tmp_path / name, {"a": [1, 2, 3], "b": ["x\ny", None, "z"]})
    assert table_size(tmp_path / name) == (("a", "b"), 3)


def test_row_numbers_of_pandas_are_no_column(tmp_path: Path) -> None:
    pd.DataFrame({"a": [1, 2]}, index=[5, 6]).to_parquet(tmp_path / "t.parquet")
    assert table_size(tmp_path / "t.parquet") == (("a",), 2)
    assert list(read_table(tmp_path / "t.parquet")) == ["a"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "whose first line names the columns"),
        (b"a,b\n", "at least one row"),
        (b"s3cret,a,s3cret\n1,2,3\n", "different, non-empty names; received the same name for columns 1 and 3"),
        (b"a,\n1,2\n", "different, non-empty names; received no name for column 2"),
        (b"a,b\n1,2\n1,2,s3cret\n", "rows of 2 fields, like its header; received 3 in line 3"),
        (b"a\ns3cret\n\xff\n", "UTF-8"),
        (b'a\n"s3cret\n', "cannot be parsed"),
    ],
)
def test_a_broken_csv_is_refused_without_showing_values(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    for read in (read_table, table_size):
        with pytest.raises(DataError, match=message) as caught:
            read(path)
        found: BaseException | None = caught.value
        while found is not None:  # what a decoder raises has the bytes that it could not read
            assert "s3cret" not in f"{found} {found.args}"
            found = found.__cause__ or found.__context__


def damaged(content: bytes, start: int) -> bytes:
    """`content` with 16 bytes overwritten."""
    return content[:start] + b"\xff" * 16 + content[start + 16 :]


def parquet(path: Path) -> bytes:
    write_table(path, {"a": [f"value {i}" for i in range(1000)]})
    return path.read_bytes()


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pcqr.datasets.tables._open_text", refuse)
    with pytest.raises(DataError, match="a file that can be read"):
        read_table(path)


def test_a_broken_archive_is_refused(tmp_path: Path) -> None:
    for name, content in {
        "t.csv.gz": b"plain text",
        "u.csv.gz": gzip.compress(b"a\n1\n")[:-9],
        "v.csv.gz": damaged(gzip.compress(b"a,b\n" + b"1,2\n" * 1000, mtime=0), 20),
        "t.parquet": b"?",
        "u.parquet": damaged(parquet(tmp_path / "whole.parquet"), 4),
    }.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match="cannot be parsed"):
            read_table(tmp_path / name)


def test_unknown_and_absent_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"ends in \.csv, \.csv\.gz, \.parquet"):
        read_table(tmp_path / "t.xlsx")
    with pytest.raises(ParameterError, match="a file that exists"):
        read_table(tmp_path / "t.csv")


def test_parquet_without_its_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pcqr\[data\]'"):
        write_table(tmp_path / "t.parquet", {"a": [1]})
