"""The chain covers every field, and its bytes do not change between versions."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.durable.ledger.chain import BrokenChain, Draft, Entry, Link, chained, checked, genesis, hashed

IDENTITY = bytes(range(16))
FIELDS = st.tuples(
    st.binary(min_size=32, max_size=32),
    st.binary(min_size=16, max_size=16),
    st.integers(0, 2**62),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.none() | st.binary(max_size=5),
    st.binary(max_size=5),
    st.none() | st.binary(min_size=32, max_size=32),
    st.integers(1, 3),
).filter(lambda fields: fields[4] is not None or fields[7] == 1)


def turns() -> list[Entry]:
    first = genesis(IDENTITY, "release")
    one = chained(first.link, IDENTITY, [Draft("a", b"x", b"k"), Draft("b", b"", None)], b"state")
    two = chained(one[-1].link, IDENTITY, [Draft("a", b"y", None)], b"later")
    return [first, *one, *two, *chained(two[-1].link, IDENTITY, [Draft("c", b"z", b"k1k2k3", 3)], b"last")]


def test_the_format_is_fixed_for_ever() -> None:
    """Ledgers outlive versions: should this fail, old ledgers no longer open."""
    assert [entry.hash.hex()[:16] for entry in turns()] == [
        "7590663143c85cca",
        "23e803950fb0ec47",
        "05893640dc5318ca",
        "fdf533d28ec8a990",
        "e88a3616ccbecb0e",
    ]
    assert [entry.seq for entry in turns()] == [0, 1, 2, 3, 6]


def test_the_hash_of_an_entry_by_hand() -> None:
    def field(content: bytes) -> bytes:
        return len(content).to_bytes(8, "big") + content

    parts = (b"pcqr ledger 1", IDENTITY, (7).to_bytes(8, "big"), b"kind", b"\1key", b"body", bytes(32))
    expected = sha256(bytes(32) + b"".join(map(field, parts))).digest()
    assert hashed(bytes(32), IDENTITY, 7, "kind", b"key", b"body", bytes(32)) == expected
    parts = (*parts[:4], b"\2" + (3).to_bytes(8, "big") + b"key", *parts[5:])
    expected = sha256(bytes(32) + b"".join(map(field, parts))).digest()
    assert hashed(bytes(32), IDENTITY, 7, "kind", b"key", b"body", bytes(32), 3) == expected


@given(FIELDS, FIELDS)
def test_different_entries_have_different_hashes(one: tuple[object, ...], other: tuple[object, ...]) -> None:
    assert (hashed(*one) == hashed(*other)) == (one == other)  # type: ignore[arg-type]


@pytest.mark.parametrize("position", range(5))
@pytest.mark.parametrize(
    ("field", "changed"),
    [
        *(("seq", 9), ("seq", "text"), ("kind", "z"), ("keys", b"other!"), ("body", b"other"), ("body", 7)),
        *(("hash", bytes(32)), ("closing", bytes(32)), ("size", 2), ("size", 0), ("size", -1), ("size", "3")),
    ],
)
def test_a_changed_field_breaks_the_chain_there(position: int, field: str, changed: object) -> None:
    entries = turns()
    first = entries[position].before + 1
    entries[position] = entries[position]._replace(**{field: changed})  # type: ignore[arg-type]
    with pytest.raises(BrokenChain) as broken:
        list(checked(None, IDENTITY, entries))
    assert broken.value.seq == first


@given(st.lists(st.binary(min_size=3, max_size=3), min_size=1, max_size=6, unique=True), st.binary(max_size=4))
def test_a_key_is_found_where_it_begins_and_nowhere_else(keys: list[bytes], other: bytes) -> None:
    entry = Entry(9, "answers", b"".join(keys), b"", bytes(32), None, len(keys))
    assert entry.each_key() == keys
    assert [entry.position(key) for key in keys] == list(range(len(keys)))
    assert entry.position(other) == (keys.index(other) if other in keys else None)


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
