"""The anchor: written in turn into two slots, never back, never believed when it is torn or another's."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcqr.durable.ledger.anchor import BLOCK, Anchor, slot
from pcqr.durable.ledger.chain import Link
from pcqr.errors import AnchorMissing, LedgerError, LedgerInUse, LedgerRolledBack

OWN, OTHER = 32 * "a", 32 * "b"


def link(seq: int) -> Link:
    return Link(seq, seq.to_bytes(32, "big"))


def yes(_: Link) -> bool:
    return True


def made(path: Path, seq: int = 0) -> Anchor:
    return Anchor.create(path, OWN, "PLACE", link(seq))


def again(path: Path) -> Anchor:
    return Anchor(path, OWN, "PLACE")


def test_it_moves_up_and_never_back(tmp_path: Path) -> None:
    anchor = made(tmp_path / "anchor")
    for seq in (3, 7, 8, 5):
        anchor.advance(link(seq), yes)
    assert anchor.read() == anchor.link == again(tmp_path / "anchor").read() == link(8)


def test_directories_are_made_and_nobody_else_may_look(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "anchor"
    made(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0
    assert path.stat().st_size == 2 * BLOCK


@pytest.mark.parametrize("torn", [0, 10, 60, 150])
def test_a_torn_write_leaves_the_anchor_before_it(tmp_path: Path, torn: int) -> None:
    path = tmp_path / "anchor"
    anchor = made(path)
    anchor.advance(link(1), yes)
    anchor.advance(link(2), yes)
    content = bytearray(path.read_bytes())
    newest = next(at for at in (0, BLOCK) if content[at:].startswith(slot(OWN, link(2))))
    content[newest + torn : newest + torn + 20] = bytes(20)
    path.write_bytes(content)
    assert again(path).read() == link(1)


def test_the_slot_after_a_torn_one_is_written_again_and_the_whole_one_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "anchor"
    made(path).advance(link(1), yes)
    content = path.read_bytes()
    torn = next(at for at in (0, BLOCK) if content[at:].startswith(slot(OWN, link(0))))
    path.write_bytes(content[:torn] + bytes(50) + content[torn + 50 :])
    anchor = again(path)
    anchor.advance(link(2), yes)
    assert sorted(each.strip() for each in (path.read_bytes()[:BLOCK], path.read_bytes()[BLOCK:])) == sorted(
        slot(OWN, link(seq)).strip() for seq in (1, 2)
    )


@pytest.mark.parametrize("content", [b"", b"\n", bytes(2 * BLOCK), b"pcqr-anchor-1 a b c d\n", b"\xff" * 100])
def test_without_a_whole_slot_there_is_no_anchor(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "anchor"
    path.write_bytes(content)
    with pytest.raises(AnchorMissing, match=r"is damaged.*adopt it"):
        again(path)


@pytest.mark.parametrize("content", [b"", b"the only copy of something", slot(OWN, link(0))])
def test_an_anchor_is_made_over_nothing_that_is_there(tmp_path: Path, content: bytes) -> None:
    """A path may be misspelt, or be that of the private table."""
    path, name = tmp_path / "file", tmp_path / "name"
    path.write_bytes(content)
    name.symlink_to(path)
    for each in (path, name):
        with pytest.raises(LedgerError, match="there is something already"):
            made(each)
    assert path.read_bytes() == content


def test_the_anchor_of_another_ledger_is_neither_believed_nor_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "anchor"
    made(path, 5)
    with pytest.raises(LedgerError, match="belongs to another ledger"):
        Anchor(path, OTHER, "PLACE")
    with pytest.raises(LedgerError, match="there is something already"):
        Anchor.create(path, OTHER, "PLACE", link(0))
    assert again(path).read() == link(5)


def test_an_anchor_that_another_copy_has_moved_is_noticed(tmp_path: Path) -> None:
    one, other = made(tmp_path / "anchor"), again(tmp_path / "anchor")
    other.advance(link(1), yes)
    with pytest.raises(LedgerRolledBack, match="has moved on"):
        one.advance(Link(1, bytes(32)), lambda _: False)
    one.advance(link(2), yes)
    assert other.read() == link(2)


def test_who_holds_it_keeps_others_out(tmp_path: Path) -> None:
    one, other = made(tmp_path / "anchor"), again(tmp_path / "anchor")
    one.hold()
    with pytest.raises(LedgerInUse, match="or a copy of it"):
        other.hold()
    one.close()
    other.hold()


def test_an_anchor_that_vanishes_or_is_replaced_under_a_writer_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "anchor"
    anchor = made(path)
    content = path.read_bytes()
    path.unlink()
    with pytest.raises(AnchorMissing, match="while the ledger was open"):
        anchor.advance(link(1), yes)
    path.write_bytes(content)
    with pytest.raises(AnchorMissing, match="while the ledger was open"):
        anchor.advance(link(1), yes)
