"""Lines that are on disk before they are shown, complete or not there, written by one process at a time."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pcqr.files import InUse, Journal, Remains


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.csv.part.csv"


def test_lines_are_in_the_file_at_once_and_given_after_sync(path: Path) -> None:
    journal = Journal(path)
    journal.begin("row,label")
    journal.append("1,yes")
    journal.append("2,é")
    assert path.read_text(encoding="utf-8") == "row,label\n1,yes\n2,é\n"
    assert journal.lines == 0
    assert journal.sync() == ["1,yes", "2,é"]
    assert journal.sync() == []
    assert journal.lines == 2
    journal.close()
    assert path.exists()


def test_sync_asks_the_disk_before_it_gives(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(path)
    journal.begin("row")
    journal.append("1")

    def broken(_: int) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="broken"):
        journal.sync()
    assert journal.lines == 0


def test_lines_age_from_the_first_that_waits(path: Path) -> None:
    now = [10.0]
    journal = Journal(path, clock=lambda: now[0])
    journal.begin("row")
    assert journal.age == 0
    journal.append("1")
    now[0] = 12.0
    journal.append("2")
    assert journal.age == 2.0
    journal.sync()
    assert journal.age == 0


def test_a_full_disk_leaves_no_torn_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(path)
    journal.begin("row,label")
    journal.append("1,yes")
    whole, room = os.write, [3]

    def nearly_full(descriptor: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written, room[0] = room[0], 0
        return whole(descriptor, bytes(data)[:written])

    monkeypatch.setattr(os, "write", nearly_full)
    with pytest.raises(OSError, match="No space left"):
        journal.append("2,yes")
    assert path.read_text() == "row,label\n1,yes\n"
    monkeypatch.undo()
    assert journal.sync() == ["1,yes"]


def test_a_short_write_is_gone_on_with(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(path)
    whole = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: whole(descriptor, bytes(data)[:2]))
    journal.begin("row,label")
    journal.append("1,yes")
    assert path.read_text() == "row,label\n1,yes\n"


@pytest.mark.parametrize(
    ("content", "remains"),
    [
        ("", Remains(0, is_torn=False)),
        ("row,la", Remains(0, is_torn=True)),
        ("row,label\n", Remains(0, is_torn=False)),
        ("row,label\n1,yes\n2,no\n", Remains(2, is_torn=False)),
        ("row,label\n1,yes\n2,n", Remains(1, is_torn=True)),
    ],
)
def test_what_is_left_counts_complete_lines(path: Path, content: str, remains: Remains) -> None:
    path.write_text(content)
    journal = Journal(path)
    assert journal.remains() == remains
    journal.close()
    assert not content or path.read_text() == content


def test_a_journal_that_never_began_leaves_nothing_behind_and_takes_nothing_away(path: Path) -> None:
    Journal(path).close()
    assert not path.exists()
    path.write_text("row\n1\n")
    Journal(path).close()
    assert path.read_text() == "row\n1\n"


def test_to_begin_is_to_give_up_what_was_there(path: Path) -> None:
    path.write_text("row,label\n1,yes\n2,no\n3,ma")
    journal = Journal(path)
    journal.begin("row")
    journal.append("1")
    journal.close()
    assert path.read_text() == "row\n1\n"


def test_a_second_writer_is_refused_until_the_first_is_gone(path: Path) -> None:
    first = Journal(path)
    first.begin("row")
    with pytest.raises(InUse):
        Journal(path)
    script = "import sys, pathlib; from pcqr.files import Journal; Journal(pathlib.Path(sys.argv[1]))"
    other = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert "InUse" in other.stderr
    first.close()
    Journal(path).close()
    assert path.read_text() == "row\n"


def test_a_journal_gets_its_final_name_whole(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.csv"
    out.write_text("old")
    journal = Journal(path)
    journal.begin("row")
    journal.append("1")
    journal.sync()
    journal.become(out)
    journal.close()
    assert out.read_text() == "row\n1\n"
    assert not path.exists()


def test_a_removed_journal_is_gone(path: Path) -> None:
    journal = Journal(path)
    journal.begin("row")
    journal.remove()
    journal.close()
    assert not path.exists()


def test_lines_that_the_disk_refused_once_never_count(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(path)
    journal.begin("row")
    journal.append("1")

    def fails(descriptor: int) -> None:
        raise OSError(errno.EIO, f"file {descriptor}")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fails)
        with pytest.raises(OSError, match="file"):
            journal.sync()
    assert (journal.sync(), journal.lines) == ([], 0)
    journal.append("2")
    assert (journal.sync(), journal.lines) == (["2"], 1)
    journal.close()


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_no_file_somewhere_else_is_emptied(path: Path, link: Callable[[Path, Path], None]) -> None:
    other = path.with_name("diary.txt")
    other.write_text("dear diary\n", encoding="utf-8")
    link(other, path)
    with pytest.raises(OSError, match=r".+"):
        Journal(path)
    assert other.read_text(encoding="utf-8") == "dear diary\n"
    assert sorted(path.parent.iterdir()) == sorted((other, path))
