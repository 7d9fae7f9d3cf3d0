"""The chain covers every field, and its bytes do not change between versions."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.release.ledger.chain import BrokenChain, Draft, Entry, Link, chained, checked, genesis, hashed

IDENTITY = bytes(range(16))
FIELDS = st.tuples(
    st.binary(min_size=32, max_size=32),
    st.binary(min_size=16, max_size=16),
    st.integers(0, 2**62),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.none() | st.binary(max_size=5),
    st.binary(max_size=5),
    st.none() | st.binary(min_size=32, max_size=32),
)


def turns() -> list[Entry]:
    first = genesis(IDENTITY, "release")
    one = chained(first.link, IDENTITY, [Draft("a", b"x", b"k"), Draft("b", b"", None)], b"state")
    return [first, *one, *chained(one[-1].link, IDENTITY, [Draft("a", b"y", None)], b"later")]


def test_the_format_is_fixed_for_ever() -> None:
    """Ledgers outlive versions: should this fail, old ledgers no longer open."""
    assert [entry.hash.hex()[:16] for entry in turns()] == [
        "7590663143c85cca",
        "23e803950fb0ec47",
        "05893640dc5318ca",
        "fdf533d28ec8a990",
    ]


def test_the_hash_of_an_entry_by_hand() -> None:
    def field(content: bytes) -> bytes:
        return len(content).to_bytes(8, "big") + content

    parts = (b"pcqr ledger 1", IDENTITY, (7).to_bytes(8, "big"), b"kind", b"\1key", b"body", bytes(32))
    expected = sha256(bytes(32) + b"".join(map(field, parts))).digest()
    assert hashed(bytes(32), IDENTITY, 7, "kind", b"key", b"body", bytes(32)) == expected


@given(FIELDS, FIELDS)
def test_different_entries_have_different_hashes(one: tuple[object, ...], other: tuple[object, ...]) -> None:
    assert (hashed(*one) == hashed(*other)) == (one == other)  # type: ignore[arg-type]


def test_bytes_that_move_from_one_field_to_the_next_are_another_entry() -> None:
    def of(kind: str, key: bytes | None, body: bytes) -> bytes:
        return hashed(bytes(32), IDENTITY, 1, kind, key, body, None)

    assert len({of("ab", b"c", b"d"), of("a", b"bc", b"d"), of("a", b"b", b"cd"), of("abc", None, b"d")}) == 4
    assert of("a", None, b"") != of("a", b"", b"")


def test_only_the_last_entry_of_a_turn_closes_it() -> None:
    assert [entry.closing is not None for entry in turns()] == [True, False, True, True]


@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize("field", ["seq", "kind", "key", "body", "hash", "closing"])
def test_a_changed_field_breaks_the_chain_there(position: int, field: str) -> None:
    entries = turns()
    fields = {name: getattr(entries[position], name) for name in ("seq", "kind", "key", "body", "hash", "closing")}
    changed = {"seq": 9, "kind": "z", "key": b"other", "body": b"other", "hash": bytes(32), "closing": bytes(32)}
    entries[position] = Entry(**{**fields, field: changed[field]})
    with pytest.raises(BrokenChain) as broken:
        list(checked(None, IDENTITY, entries))
    assert broken.value.seq == position


def test_a_missing_or_repeated_entry_breaks_the_chain() -> None:
    entries = turns()
    assert list(checked(None, IDENTITY, entries)) == entries
    for wrong in ([entries[0], *entries[2:]], [*entries[:2], entries[1]], entries[1:], entries[::-1]):
        with pytest.raises(BrokenChain):
            list(checked(None, IDENTITY, wrong))


def test_what_an_entry_holds_is_not_shown() -> None:
    entry = Entry(1, "answer", b"secret key", b"secret body", bytes(32), b"secret state")
    assert "secret" not in f"{entry!r} {entry} {Draft('answer', b'secret', b'secret')!r}"
    assert str(Link(1234, bytes(32))) == "entry 1,234 (000000000000…)"
