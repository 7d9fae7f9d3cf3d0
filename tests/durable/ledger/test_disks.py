"""Full disks, read-only directories, files without permission: refusals with remedies, and what was replied stays."""

from __future__ import annotations

import os
import stat

import pytest
from support.ledgers import Shelf, add, bodies
from support.unprivileged import give_to_nobody, in_a_process

from pcqr.errors import LedgerClosed, LedgerUnwritable


def test_every_file_is_for_its_owner_alone(files: Shelf) -> None:
    mask = os.umask(0)
    try:
        with files.create() as ledger:
            add(ledger, b"one")
            found = [path for path in files.folder.rglob("*") if path.is_file()]
            assert {path.name for path in found} == {"ledger", "ledger-wal", "ledger-shm", "ledger.lock", "anchor"}
            assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}
    finally:
        os.umask(mask)


def test_a_full_disk_closes_the_ledger_and_what_was_replied_stays(files: Shelf) -> None:
    def fill() -> str:
        with files.open() as ledger:
            replied = []
            try:
                for number in range(1_000):
                    add(ledger, b"%d" % number + bytes(10_000))
                    replied.append(number)
            except LedgerUnwritable as error:
                with pytest.raises(LedgerClosed):
                    add(ledger, b"more")
                return f"{len(replied)} {error}"
        return "never full"

    files.create().close()
    replied, outcome = in_a_process(fill, largest_file=2_000_000).split(" ", 1)
    assert "disk is full" in outcome
    assert "not known. Open the ledger again, and read it." in outcome
    with files.open() as again:
        assert int(replied) <= again.last.seq <= int(replied) + 1
        again.verify()
        add(again, b"more")


def test_a_disk_too_full_to_open_on_can_be_read(files: Shelf) -> None:
    """Opening for writing brings what a dead process left in the log into the file. There may be no room for it."""

    def die() -> None:
        with files.open() as ledger:
            add(ledger, bytes(200_000))
            os._exit(0)

    def read() -> int:
        with files.open(read_only=True) as reader:
            return reader.last.seq

    files.create().close()
    in_a_process(die)
    assert in_a_process(files.open, largest_file=100_000).startswith("LedgerUnwritable: ")
    assert in_a_process(read, largest_file=100_000) == "1"
    with files.open() as again:
        again.verify()


def test_a_disk_too_full_to_create_on(files: Shelf) -> None:
    outcome = in_a_process(files.create, largest_file=3_000)
    assert outcome.startswith("LedgerUnwritable: ")
    assert "disk is full" in outcome
    outcome = in_a_process(files.create, largest_file=30_000)
    assert "the disk is full or has failed. Mend that first. No ledger was made." in outcome
    assert {path.name for path in files.folder.rglob("*") if path.is_file()} == set()


def test_a_read_only_directory_can_be_read_and_not_written(files: Shelf) -> None:
    with files.create() as ledger:
        add(ledger, b"one")
    give_to_nobody(*files.folder.rglob("*"), files.folder)
    (files.folder / "ledger.lock").unlink()
    files.folder.chmod(0o555)
    try:

        def read() -> list[bytes]:
            with files.open(read_only=True) as reader:
                return bodies(reader)

        assert in_a_process(read, as_nobody=True) == "[b'one']"
        outcome = in_a_process(files.open, as_nobody=True)
        assert outcome.startswith("LedgerUnwritable: ")
        assert "Its directory must be writable." in outcome
    finally:
        files.folder.chmod(0o755)


@pytest.mark.parametrize(
    ("what", "mode"), [("ledger", 0o400), ("ledger", 0), ("anchors/anchor", 0o400), ("anchors/anchor", 0)]
)
def test_files_without_permission_are_refused(files: Shelf, what: str, mode: int) -> None:
    with files.create() as ledger:
        add(ledger, b"one")
    (files.folder / what).chmod(mode)
    give_to_nobody(*files.folder.rglob("*"), files.folder)
    outcome = in_a_process(files.open, as_nobody=True)
    assert outcome.startswith("LedgerUnwritable: "), outcome
