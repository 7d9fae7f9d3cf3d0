"""The filter never says "new" of a key that is there, whoever has put it there and whatever has happened since."""

from __future__ import annotations

import hashlib
import itertools
import os
import signal
from enum import Enum

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.ledgers import Shelf, add

from pcqr.durable.ledger import Ledger, Link, anchor, sqlite
from pcqr.durable.ledger import reading as filters
from pcqr.durable.ledger import reading as keys
from pcqr.durable.ledger.reading import BloomFilter
from pcqr.durable.ledger.store import prefixes, watched
from pcqr.errors import ParameterError

START = Link(0, bytes(32))
names = itertools.count()


class Event(Enum):
    REOPENED, FAILED = range(2)


def key(number: int) -> bytes:
    return hashlib.sha256(b"%d" % number).digest()


def known(ledger: Ledger, wanted: list[bytes]) -> set[bytes]:
    """What a turn finds."""
    with ledger.transaction() as transaction:
        return set(transaction.find(wanted))


def has_filter(ledger: Ledger) -> bool:
    return ledger._keys._filter is not None


@given(st.lists(st.lists(st.binary(max_size=12), max_size=20), max_size=5))
def test_a_key_that_was_added_is_never_new(parts: list[list[bytes]]) -> None:
    own = BloomFilter(START)
    for part in parts:
        own.add(prefixes(part))
    for part in parts:
        assert own.may_have(prefixes(part)).all()


def test_most_new_keys_fall_through() -> None:
    """Of 20,000 keys in 2^19 words, about one in 10^6 new ones is held back: that of 1,000 five are is past chance."""
    own = BloomFilter(START)
    own.add(prefixes([key(number) for number in range(20_000)]))
    assert own.may_have(prefixes([key(number) for number in range(20_000, 21_000)])).sum() < 5
    assert not BloomFilter(START).may_have(prefixes([key(number) for number in range(100)])).any()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.one_of(st.sets(st.integers(0, 40), max_size=8), st.sampled_from(Event)), max_size=12),
    most=st.integers(0, 12),
    filling=st.sampled_from([1, 8, 10**9]),
    exponent=st.sampled_from([1, 3, 19]),
)
def test_turns_find_exactly_the_keys_that_are_there(
    files: Shelf,
    monkeypatch: pytest.MonkeyPatch,
    steps: list[set[int] | Event],
    most: int,
    filling: int,
    exponent: int,
) -> None:
    """However many are in the index, in memory or in the filter; however small it is; across failures and reopening."""
    monkeypatch.setattr(keys, "MOST_RECENT", most)
    monkeypatch.setattr(keys, "FILLING", filling)
    monkeypatch.setattr(filters, "EXPONENT", exponent)
    name, there = f"n{next(names)}", set[bytes]()
    files.anchor = files.folder / f"anchor of {name}"
    everything = [key(number) for number in range(41)]
    ledger = files.create(name)
    for step in steps:
        if step is Event.REOPENED:
            ledger.close()
            ledger = files.open(name)
        elif step is Event.FAILED:
            with pytest.raises(ZeroDivisionError), ledger.transaction() as transaction:  # noqa: PT012
                transaction.append("answer", b"", b"never written")
                raise ZeroDivisionError
        elif isinstance(step, set):
            with ledger.transaction() as transaction:
                found = transaction.find([key(number) for number in step])
                new = [key(number) for number in step if key(number) not in found]
                assert found.keys() == there & {key(number) for number in step}
                if new:
                    transaction.append("answers", b"", *new)
            there |= set(new)
        assert known(ledger, everything) == there
        assert known(ledger, [b"never written"]) == set()
    ledger.close()


def test_keys_of_another_writer_are_found(files: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one, as locks keep others out. The Bloom filter does not rest on that: it counts for one chain."""
    monkeypatch.setattr(sqlite, "lock", lambda *_, **__: None)
    monkeypatch.setattr(anchor, "lock", lambda *_, **__: None)
    with files.create() as ledger, files.open() as other:
        add(ledger, key(0))
        assert known(ledger, [key(0), key(1)]) == {key(0)}
        add(other, key(1))
        with ledger.transaction() as transaction:
            transaction.append("note", b"after a turn of the other, with no look at keys")
        with pytest.raises(ParameterError, match="no entry of the ledger has"):
            add(ledger, key(1))
        assert known(ledger, [key(0), key(1), key(2)]) == {key(0), key(1)}
        add(ledger, key(2))
        assert known(other, [key(0), key(1), key(2)]) == {key(0), key(1), key(2)}


@pytest.mark.parametrize("most", [0, 5, 1_000])
@pytest.mark.parametrize("point", ["entries written", "committed", "anchor written", "anchor synced"])
def test_a_killed_writer_leaves_no_key_that_looks_new(
    files: Shelf, monkeypatch: pytest.MonkeyPatch, most: int, point: str
) -> None:
    """Killed around the commit, in a turn that may fill the index: its keys are in all of the places, or in none."""
    monkeypatch.setattr(keys, "MOST_RECENT", most)
    files.create().close()
    if os.fork() == 0:
        with files.open() as ledger:
            add(ledger, *map(key, range(4)))
            with watched(lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == point else None):
                add(ledger, *map(key, range(4, 8)))
        os._exit(1)
    assert os.WIFSIGNALED(os.wait()[1])
    with files.open() as ledger:
        there = {entry.body for entry in ledger.entries()}
        assert len(there) == (4 if point == "entries written" else 8)
        assert known(ledger, [key(number) for number in range(10)]) == there


def test_a_sieve_is_filled_when_so_many_were_asked_for_that_it_pays(
    files: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "MOST_RECENT", 0)
    with files.create() as ledger:
        add(ledger, *map(key, range(160)))
        assert has_filter(ledger), "an empty ledger has one at once"
        first = ledger._keys._filter
        add(ledger, b"another key")
        assert known(ledger, [b"another key", key(7)]) == {b"another key", key(7)}
        assert ledger._keys._filter is first, "it is made once"
    with files.open() as ledger:
        assert known(ledger, [key(number) for number in range(10)]) == set(map(key, range(10)))
        assert not has_filter(ledger)
        assert known(ledger, [key(number) for number in range(10, 21)]) == set(map(key, range(10, 21)))
        assert has_filter(ledger)
        assert known(ledger, [key(number) for number in range(200)]) == set(map(key, range(160)))
    monkeypatch.setattr(keys, "MOST_IN_FILTER", 160)
    with files.open() as ledger:
        assert len(known(ledger, [key(number) for number in range(200)])) == 160
        assert not has_filter(ledger)


def test_several_writers_have_no_filter(tables: Shelf) -> None:
    """Each would have to read what the others wrote first."""
    with tables.create() as ledger, tables.open() as other:
        add(ledger, key(0))
        add(other, key(1))
        assert known(ledger, [key(0), key(1), key(2)]) == {key(0), key(1)}
        assert not has_filter(ledger)
