"""Outputs: never over an input, never unasked over a file, whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from pcqr.errors import OutputExists, ParameterError
from pcqr.files import check_not_input, check_output, on_one_volume, replacing, write_whole


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "private.csv"
    path.write_text("x,y\n1,0\n")
    return path


def names_of(source: Path) -> dict[str, Path]:
    """The same file by other names."""
    directory = source.parent
    (directory / "elsewhere").mkdir()
    (directory / "hard.csv").hardlink_to(source)
    (directory / "soft.csv").symlink_to(source)
    (directory / "softer.csv").symlink_to(directory / "soft.csv")
    (directory / "folder").symlink_to(directory, target_is_directory=True)
    return {
        "itself": source,
        "dots": directory / "elsewhere" / ".." / source.name,
        "relative": Path(os.path.relpath(source)),
        "a hard link": directory / "hard.csv",
        "a symbolic link": directory / "soft.csv",
        "a link to a link": directory / "softer.csv",
        "through a folder": directory / "folder" / source.name,
    }


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_input_is_never_an_output_by_whatever_name(source: Path, overwrite: bool) -> None:
    for spelling, out in names_of(source).items():
        with pytest.raises(ParameterError, match="which is read"):
            check_output(out, inputs=(source.parent / "other.csv", source), overwrite=overwrite)
        assert source.read_text() == "x,y\n1,0\n", spelling


def test_an_input_that_does_not_exist_yet_is_not_an_output_either(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="which is read"):
        check_output(tmp_path / "a.csv", inputs=(tmp_path / "x" / ".." / "a.csv",), overwrite=True)


def test_an_existing_file_is_replaced_only_if_that_is_said(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    check_output(out, inputs=(), overwrite=False)
    out.write_text("precious")
    with pytest.raises(OutputExists, match=r"out\.csv exists\. Take another --out, or add --overwrite to replace it\."):
        check_output(out, inputs=(), overwrite=False)
    check_output(out, inputs=(), overwrite=True)


def test_a_dangling_link_is_something_that_exists(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    out.symlink_to(tmp_path / "nothing.csv")
    with pytest.raises(OutputExists):
        check_output(out, inputs=(), overwrite=False)


def test_what_is_no_file_or_has_no_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    for out in (tmp_path / "folder", tmp_path / "absent" / "out.csv", Path(os.devnull)):
        with pytest.raises(ParameterError, match="a file in an existing directory that can be written to"):
            check_output(out, inputs=(), overwrite=True)
    monkeypatch.setattr(os, "access", lambda path, _: path != tmp_path)
    with pytest.raises(ParameterError, match="that can be written to"):
        check_output(tmp_path / "out.csv", inputs=(), overwrite=False)


def break_off(out: Path) -> None:
    with replacing(out) as draft:
        assert draft.suffix == out.suffix
        draft.write_text("half of the sec")
        assert out.read_text() == "first"
        raise RuntimeError("full")


def test_a_replaced_file_is_there_whole_or_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    write_whole(out, "first")
    with pytest.raises(RuntimeError, match="full"):
        break_off(out)
    assert out.read_text() == "first"
    write_whole(out, b"second")
    assert out.read_text() == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_link_keeps_pointing_and_ordinary_rights_are_ordinary(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "out.csv", tmp_path / "there" / "out.csv"
    link.symlink_to(target)
    plain = tmp_path / "plain"
    plain.write_text("")
    write_whole(link, "text")
    assert link.is_symlink()
    assert target.read_text() == "text"
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_hard_links_of_a_replaced_file_keep_the_old_text(tmp_path: Path) -> None:
    out, other = tmp_path / "out.csv", tmp_path / "other.csv"
    out.write_text("old")
    other.hardlink_to(out)
    write_whole(out, "new")
    assert (out.read_text(), other.read_text()) == ("new", "old")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that is read, with a file, one in a folder within it, and a link to one elsewhere."""
    for name in ("table/1.csv", "table/within/2.csv", "elsewhere.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("private")
    (tmp_path / "table" / "3.csv").symlink_to(tmp_path / "elsewhere.csv")
    (tmp_path / "table" / "4.csv").symlink_to(tmp_path / "awaited.csv")
    (tmp_path / "linked").symlink_to(tmp_path / "table", target_is_directory=True)
    (tmp_path / "new.csv").symlink_to(tmp_path / "table" / "new.csv")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "table" / "within" / "2.csv")
    return tmp_path / "table"


@pytest.mark.parametrize("place", ["table", "table/1.csv", "table/new.csv", "table/within/2.csv", "table/a/b/new.csv",
                                   "linked", "linked/1.csv", "new.csv", "x/../table/new.csv"])  # fmt: skip
def test_nothing_is_written_into_a_folder_that_is_read(folder: Path, place: str) -> None:
    with pytest.raises(ParameterError, match=r"--there must be a place outside .*table, which is read"):
        check_not_input(folder.parent / place, (folder,), option="--there")


@pytest.mark.parametrize("place", ["hard.csv", "elsewhere.csv", "awaited.csv"])
def test_nor_over_a_file_of_it_that_lies_elsewhere_too(folder: Path, place: str) -> None:
    with pytest.raises(ParameterError, match=r"another file than those of .*table, which are read") as caught:
        check_not_input(folder.parent / place, (folder,))
    assert "2.csv" not in str(caught.value)


def test_beside_a_folder_that_is_read_all_is_free(folder: Path) -> None:
    for place in ("out.csv", "table.csv", "table-2/out.csv"):
        check_not_input(folder.parent / place, (folder,))


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EINVAL, errno.ENOTSUP])
def test_names_that_a_failing_disk_does_not_take_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Systems that cannot sync a directory say so, and are believed; a disk that fails to is not passed over."""
    sync = os.fsync

    def failing(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    fails = number in (errno.EIO, errno.ENOSPC)
    with pytest.raises(OSError, match=os.strerror(number)) if fails else nullcontext():
        write_whole(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_two_places_share_a_volume_or_not(tmp_path: Path) -> None:
    """What would be restored together: a mount of a file system, wherever in it the places are or would be."""
    (tmp_path / "link").symlink_to(tmp_path)
    for other in (tmp_path, tmp_path / "not" / "there", tmp_path / "link" / "file", tmp_path.parent):
        assert on_one_volume(tmp_path, other)
    elsewhere = [place for place in (Path("/proc"), Path("/dev/shm")) if place.is_dir()]  # noqa: S108
    for other in elsewhere:
        assert on_one_volume(tmp_path, other) == (tmp_path.stat().st_dev == other.stat().st_dev)
    bound = tmp_path / "bound"
    bound.mkdir()
    ask = (
        f"import pcqr.files as f; from pathlib import Path; print(f.on_one_volume(Path('{tmp_path}'), Path('{bound}')))"
    )
    script = f"mount --bind '{tmp_path}' '{bound}' && exec '{sys.executable}' -c \"{ask}\""
    unshare = shutil.which("unshare")
    if unshare is not None:  # a bind mount has the device of what is bound, as two volumes of containers may have
        said = subprocess.run([unshare, "-m", "sh", "-c", script], check=False, capture_output=True, text=True)  # noqa: S603
        assert said.stdout.strip() in ("False", ""), said.stderr
