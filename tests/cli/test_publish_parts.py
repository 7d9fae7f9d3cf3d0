"""`pcqr publish` on a folder of Parquet files: the model of the table in memory, and refusals before a draw."""

from __future__ import annotations

import errno
import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest
from support.command_lines import call
from support.publishing import RECORDS, Files, forbid_draws

from pcqr.cli import inputs as parts
from pcqr.data.records.parted import engine as spool
from pcqr.data.records.parted import parquet
from pcqr.data.records.parted.engine import Spool
from pcqr.datasets import read_table, write_table

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pcqr[data]")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """`folder` has the rows of train.parquet, in three files of unequal size, read in many parts."""
    monkeypatch.setattr(parquet, "PART_ROWS", 100)
    files = Files(tmp_path)
    files.write(".parquet", labels=("no", "yes"))
    whole = read_table(files.path("train.parquet"))
    (tmp_path / "folder").mkdir()
    for name, low, high in (("a", 0, 700), ("b", 700, 701), ("c", 701, RECORDS)):
        rows = {column: list(cells[low:high]) for column, cells in whole.items()}
        write_table(tmp_path / "folder" / f"{name}.parquet", rows)
    (tmp_path / "folder" / "_SUCCESS").touch()
    return files


def model(files: Files, private: str, *options: str) -> bytes:
    result = files.publish("--private", files.path(private), "--labels", "no,yes", *options, suffix=".parquet")
    assert result.exit_code == 0, result.output
    written = (files.directory / "model" / "model.json").read_bytes()
    shutil.rmtree(files.directory / "model")
    return written


@pytest.mark.parametrize("private", ["folder", "train.parquet"])
def test_the_model_is_that_of_the_table_in_memory(files: Files, private: str, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    expected = model(files, "train.parquet")
    assert model(files, private, "--scratch", files.path("scratch")) == expected
    assert not list((tmp_path / "scratch").iterdir())


def test_so_it_is_with_a_linear_classifier(files: Files) -> None:
    options = (
        "--public",
        files.path("public.parquet"),
        "--labels",
        "no,yes",
        "--seed",
        "1",
        "--epsilon",
        "20",
        "--accept-weak-guarantee",
    )
    found = []
    for private in ("train.parquet", "folder"):
        needed = ["--private", files.path(private), "--label", "y", "--out", files.path("model"), *options]
        result = call("publish", *needed, "--method", "auto", "--delta", "1e-6")
        assert result.exit_code == 0, result.output
        found.append((files.directory / "model" / "model.json").read_bytes())
        shutil.rmtree(files.directory / "model")
    assert found[0] == found[1]


def test_large_files_are_read_in_parts_unasked(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = model(files, "train.parquet")
    monkeypatch.setattr(parts, "MANY_CELLS", 3 * RECORDS)
    held = []

    def spool(scratch: Path | None) -> Spool:
        held.append(scratch)
        return Spool(scratch)

    monkeypatch.setattr(parts, "Spool", spool)
    assert model(files, "train.parquet") == expected
    assert held == [None]


def refused(files: Files, *options: str, private: str = "folder") -> str:
    result = files.publish("--private", files.path(private), "--labels", "no,yes", *options, suffix=".parquet")
    assert result.exit_code == 2, result.output
    assert not (files.directory / "model").exists()
    return " ".join(result.output.split())


def test_a_label_that_is_not_declared_is_refused(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_draws(monkeypatch)
    write_table(files.path("folder/d.parquet"), {"x": [1.0], "colour": ["red"], "y": ["SECRET"]})
    said = refused(files)
    assert "one of no, yes in every row, as --labels says" in said
    assert "SECRET" not in said
    assert "d.parquet" not in said


def test_public_rows_that_are_private_ones_are_refused(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_draws(monkeypatch)
    rows = read_table(files.path("folder/c.parquet"))
    write_table(files.path("copy.parquet"), {name: list(rows[name]) for name in ("x", "colour")})
    assert "more than half of whose rows are rows of the private file" in refused(
        files, "--public", files.path("copy.parquet")
    )


def test_a_private_file_is_not_public(files: Files) -> None:
    rows = read_table(files.path("folder/b.parquet"))
    write_table(files.path("folder/b.parquet"), {name: list(rows[name]) for name in ("x", "colour", "y")})
    assert "rows that are public, not the private records" in refused(
        files, "--public", files.path("folder/b.parquet"), "--drop", "y"
    )


def test_persons_in_a_folder_are_refused_with_a_remedy(files: Files) -> None:
    assert "put its rows into one .parquet file" in refused(files, "--groups", "x")


def test_a_full_disk_is_refused(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_draws(monkeypatch)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100, 0, 100))
    assert "--scratch must be a directory with" in refused(files)


def test_scratch_is_for_parquet(files: Files) -> None:
    write_table(files.path("train.csv"), read_table(files.path("train.parquet")))
    said = refused(files, "--scratch", files.path("folder"), private="train.csv")
    assert "--scratch must be left out but for Parquet files" in said


def test_an_empty_folder_is_refused(files: Files, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "--private must be a .parquet file, or a folder of them" in refused(files, private="empty")


def test_a_file_that_changes_while_it_is_read_is_refused(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_draws(monkeypatch)
    batches = parquet._batches

    def touched(piece: parquet.Piece, *others: object) -> object:
        os.utime(files.path("folder/c.parquet"), ns=(1, 1))
        return batches(piece, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(parquet, "_batches", touched)
    assert "files that stay as they are while they are read" in refused(files)


def test_a_dry_run_reads_footers_alone(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "read_parts", None)
    result = files.publish("--private", files.path("folder"), "--dry-run", suffix=".parquet")
    assert result.exit_code == 0, result.output
    assert f"{RECORDS:,}" in result.output
    assert "it is read part by part" in result.output
    assert "GB on disk, until the end of the run" in result.output


def test_time_memory_and_scratch_are_told_before_a_record_is_read(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_check_stamp", None)
    result = files.publish("--private", files.path("folder"), "--labels", "no,yes", suffix=".parquet")
    assert isinstance(result.exception, TypeError)
    said = " ".join(result.output.split())
    assert "To publish: " in said
    assert " steps, a second or less on one core" in said
    assert "Memory: about 0.4 GB, the table included" in said
    assert "Scratch: about 0.0 GB on disk" in said


def test_a_disk_that_fills_up_ends_the_run_before_anything_is_drawn(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_draws(monkeypatch)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(spool._Scratch, "_write", full)
    result = files.publish("--private", files.path("folder"), "--labels", "no,yes", suffix=".parquet")
    assert result.exit_code == 4, result.output
    assert "No space left on device. No model was drawn, and nothing is written. Nothing was spent." in " ".join(
        result.output.split()
    )
    assert not (files.directory / "model").exists()


def test_answers_are_those_of_the_table_in_memory(files: Files) -> None:
    found = []
    for private in ("train.parquet", "folder"):
        needed = {
            "--private": files.path(private),
            "--label": "y",
            "--labels": "no,yes",
            "--queries": files.path("public.parquet"),
            "--schema": files.path("schema.toml"),
            "--out": files.path("answers.csv"),
            "--algorithm": "subsamp",
            "--epsilon": "4",
            "--delta": "1e-6",
            "--seed": "1",
        }
        result = call("answer", *(part for pair in needed.items() for part in pair), "--overwrite")
        assert result.exit_code in {0, 3}, result.output
        found.append((files.directory / "answers.csv").read_bytes())
    assert found[0] == found[1]


def test_a_release_that_is_kept_may_come_from_a_folder(files: Files) -> None:
    needed = {
        "--private": files.path("folder"),
        "--label": "y",
        "--labels": "no,yes",
        "--schema": files.path("schema.toml"),
        "--out": files.path("release"),
        "--epsilon": "4",
        "--delta": "1e-6",
        "--seed": "1",
    }
    command = ["fit", *(part for pair in needed.items() for part in pair)]
    for more in (["--dry-run"], []):
        result = call(*command, *more)
        assert result.exit_code == 0, result.output
        assert f"{RECORDS:,}" in result.output


def contents(files: Files) -> dict[str, bytes]:
    folder = files.directory / "folder"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("command", "option", "place"),
    [
        ("answer", "--out", "folder/a.parquet"),
        ("answer", "--model-out", "folder/model"),
        ("publish", "--out", "folder/model"),
        ("fit", "--out", "folder/release"),
        ("fit", "--ledger", "sqlite:///folder/ledger"),
        ("fit", "--anchor", "folder/anchor"),
        ("fit", "--account", "folder/spent.account"),
        ("publish", "--account-anchor", "folder/anchor"),
    ],
)
def test_nothing_is_written_into_the_private_folder(
    files: Files, monkeypatch: pytest.MonkeyPatch, command: str, option: str, place: str
) -> None:
    forbid_draws(monkeypatch)
    monkeypatch.chdir(files.directory)
    given = {"--private": "folder", "--label": "y", "--labels": "no,yes", "--schema": "schema.toml", "--epsilon": "4",
             "--delta": "1e-6", "--out": "out.parquet" if command == "answer" else "out"}  # fmt: skip
    if command == "answer":
        given |= {"--queries": "public.parquet", "--algorithm": "universal", "--class": "stumps"}
    if option == "--account-anchor":
        given |= {"--account": str(files.directory / "spent.account")}
    before = contents(files)
    said = [part for pair in (given | {option: place}).items() for part in pair]
    result = call(command, *said, *([] if command == "fit" else ["--overwrite"]))
    assert result.exit_code == 2, result.output
    described = " ".join(result.output.split())
    assert f"{option} must be a place outside folder, which is read" in described
    assert contents(files) == before


@pytest.mark.parametrize(("option", "value"), [("--scratch", "."), ("--workers", "1"), ("--scheduler", "local")])
def test_options_of_parts_are_refused_for_persons(files: Files, option: str, value: str) -> None:
    said = refused(files, "--groups", "x", option, value, private="train.parquet")
    assert f"{option} must be left out with --groups" in said


def test_a_missing_tmpdir_is_refused(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_draws(monkeypatch)
    monkeypatch.setenv("TMPDIR", files.path("none"))
    said = refused(files)
    assert "--scratch must be a directory that can be written to" in said
    assert "as TMPDIR says" in said
