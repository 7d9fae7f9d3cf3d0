"""Values on disk come back as they were, and nothing of them stays: whatever the end."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pcqr.data.records.parted.engine import Arrays, Spool
from pcqr.errors import ParameterError


def arrays(item: int) -> Arrays:
    return {
        "numbers": np.arange(item, dtype=np.float64) / 3.0,
        "codes": np.arange(2 * item, dtype=np.uint8).reshape(2, item)[::-1],
        "none": np.empty((0, 3), dtype=np.int16),
    }


def unchanged(value: Arrays, own: int) -> bool:
    expected = arrays(own)
    return all(
        value[name].dtype == expected[name].dtype and value[name].tobytes() == expected[name].tobytes()
        for name in expected
    )


def total(value: Arrays, times: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return (np.array([times * int(value["codes"].sum(dtype=np.int64)), 1]),)


def test_nothing_of_them_has_a_name(tmp_path: Path) -> None:
    engine = Spool(tmp_path)
    held = engine.hold(arrays, [1000])
    assert not list(tmp_path.iterdir())
    assert list(engine.each(unchanged, held, own=[1000])) == [True]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks Linux which files are open")
def test_files_are_closed_when_nobody_refers_to_them_after_a_failure_and_at_the_end(tmp_path: Path) -> None:
    def opened() -> int:
        return sum(
            str(tmp_path) in str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()
        )

    def failing(item: int) -> Arrays:
        return {"numbers": arrays(item)["numbers" if item else "no such thing"]}

    engine = Spool(tmp_path)
    held = engine.hold(arrays, [5])
    assert opened() == 1
    del held
    assert opened() == 0
    with pytest.raises(KeyError):
        engine.hold(failing, [1, 0])
    assert opened() == 0
    held = engine.hold(arrays, [5])
    engine.close()
    assert opened() == 0
    del held


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_process_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    program = (
        "import sys, time, numpy as np; from pcqr.data.records.parted.engine import Spool\n"
        "held = Spool(sys.argv[1]).hold(lambda item: {'a': np.ones(item)}, [10**6])\n"
        "print('held', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        process.send_signal(number)
        assert process.wait() == -number
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_refused_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**10, 9 * 10**9, 10**9))
    Spool(tmp_path).check_room(10**9)
    with pytest.raises(ParameterError, match=r"^scratch must be a directory with 2\.0 GB of free disk.*with 1\.0 GB"):
        Spool(tmp_path).check_room(2 * 10**9)


def test_scratch_must_be_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"^scratch must be a directory that can be written to"):
        Spool(tmp_path / "none")


def test_threads_may_read_at_the_same_time(tmp_path: Path) -> None:
    engine = Spool(tmp_path)
    sizes = list(range(1000, 1200))
    held = engine.hold(arrays, sizes)

    def all_unchanged(_: int) -> bool:
        return all(engine.each(unchanged, held, own=sizes))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(all_unchanged, range(8)))


def test_without_scratch_it_is_where_tmpdir_says_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert Spool().scratch == tmp_path
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    with pytest.raises(ParameterError, match=r"^scratch must be a directory that can be written to.*none, as TMPDIR"):
        Spool()
    assert Spool(tmp_path).scratch == tmp_path
    monkeypatch.delenv("TMPDIR")
    assert Spool().scratch.is_dir()
