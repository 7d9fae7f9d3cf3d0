"""Keys are found wherever they are: in the index, in memory, in entries with many of them, and for whoever looks."""

from __future__ import annotations

import itertools
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.ledgers import Shelf, add, bodies

from pcqr.durable.ledger import Ledger
from pcqr.durable.ledger import reading as keys
from pcqr.durable.ledger.store import prefixes
from pcqr.errors import ParameterError

names = itertools.count()


def found(ledger: Ledger, wanted: list[bytes]) -> dict[bytes, tuple[bytes, int]]:
    """The body of the entry that has each key, and the number of the key."""
    entries = ledger.find(wanted)
    return {key: (entry.body, entry.before + 1 + (entry.position(key) or 0)) for key, entry in entries.items()}


def test_an_entry_with_many_keys_has_a_number_for_each(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        with ledger.transaction() as transaction:
            assert transaction.append("answers", b"first", b"k1", b"k2", b"k3") == transaction.seq == 3
            assert transaction.append("note", b"") == 4
            assert transaction.append("answers", b"second", b"k4", b"k5") == 6
        add(ledger, b"alone")
        assert [(entry.seq, entry.size) for entry in ledger.entries()] == [(3, 3), (4, 1), (6, 2), (7, 1)]
        assert [entry.seq for entry in ledger.entries(after=4)] == [6, 7]
        assert [entry.seq for entry in ledger.entries(after=5, limit=1)] == [6], "it has a number past 5"
        wanted = [b"k2", b"k5", b"k9", b"2k", b"alone"]
        expected = {b"k2": (b"first", 2), b"k5": (b"second", 6), b"alone": (b"alone", 7)}
        assert found(ledger, wanted) == expected
        assert {seq: entry.body for seq, entry in ledger.at([3, 7]).items()} == {3: b"first", 7: b"alone"}
    for read_only in (False, True):
        with shelf.open(read_only=read_only) as again:
            assert found(again, wanted) == expected
            again.verify()


@pytest.mark.parametrize("most", [0, 4, 100])
def test_a_key_of_any_entry_is_given_once(shelf: Shelf, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MOST_RECENT", most)
    with shelf.create() as ledger:
        add(ledger, b"k1", b"k2")
        for new in ((b"k1",), (b"k3", b"k2"), (b"k3", b"k3"), (b"k3", b"long")):
            with (
                pytest.raises(ParameterError, match=r"no entry of the ledger has|of one length"),
                ledger.transaction() as transaction,
            ):
                transaction.append("answers", b"", *new)
        with pytest.raises(ParameterError, match="no entry of the ledger has"), ledger.transaction() as transaction:  # noqa: PT012
            transaction.find([b"k2", b"k3"])
            transaction.append("answers", b"", b"k3")
            transaction.append("answers", b"", b"k2")
        assert bodies(ledger) == [b"k1", b"k2"]


PARTS = st.lists(st.binary(max_size=2).map(lambda end: b"the same beginning" + end), max_size=6, unique=True)


def test_keys_are_found_by_whoever_looks_however_many_are_in_the_index(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys that begin alike; a writer, copies that read as of their moment, and a writer in another place."""

    @settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(turns=st.lists(PARTS, max_size=8), most=st.integers(0, 8))
    def check(turns: list[list[bytes]], most: int) -> None:
        monkeypatch.setattr(keys, "MOST_RECENT", most)
        name, expected = f"n{next(names)}", dict[bytes, tuple[bytes, int]]()
        shelf.anchor = shelf.folder / f"anchor of {name}"
        with shelf.create(name) as ledger:
            others = [shelf.open(name)] if "postgres" in shelf.place() else []
            moments = []
            for number, part in enumerate(turns):
                new = [key for key in part if key not in expected]
                writer = [ledger, *others][number % (1 + len(others))]
                with writer.transaction() as transaction:
                    for size in {len(key) for key in new}:
                        group = [key for key in new if len(key) == size]
                        last = transaction.append("answers", b"%d" % number, *group)
                        first = last - len(group) + 1
                        expected |= {key: (b"%d" % number, first + i) for i, key in enumerate(group)}
                wanted = [*expected, b"the same beginning, but new"]
                moments.append((shelf.open(name, read_only=True), wanted, dict(expected)))
                for each in (ledger, *others):
                    assert found(each, wanted) == expected
                    with each.transaction() as transaction:
                        assert transaction.find(wanted).keys() == expected.keys()
            for reader, wanted, then in moments:
                assert found(reader, wanted) == then
                reader.close()
            ledger.verify()
            for each in others:
                each.close()
        with shelf.open(name) as again:
            assert found(again, [*expected]) == expected

    check()


def test_threads_that_look_while_keys_go_into_the_index_find_them(
    files: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "MOST_RECENT", 5)
    wrong: list[bytes] = []
    written = [b"0"]

    def look() -> None:
        while len(written) < 60:
            wanted = list(written)
            wrong.extend(set(wanted) - ledger.find(wanted).keys())

    with files.create() as ledger:
        add(ledger, b"0")
        threads = [threading.Thread(target=look) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for number in range(1, 60):
                add(ledger, b"%d" % number)
                written.append(b"%d" % number)
        finally:
            written += [b""] * 60
            for thread in threads:
                thread.join()
    assert wrong == []


def test_only_a_few_keys_are_kept_in_memory(files: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MOST_RECENT", 10)
    with files.create() as ledger:
        for number in range(40):
            add(ledger, b"a%d" % number, b"b%d" % number)
            assert len(ledger._keys._recent.seqs()) <= 10
        add(ledger, *(b"c%d" % number for number in range(100)))
        assert len(ledger._keys._recent.seqs()) == 0
    with files.open(read_only=True) as reader:
        assert len(reader.find([b"a0", b"b39", b"c7"])) == 3
        assert len(reader._keys._recent.seqs()) == 0


@given(st.binary(max_size=12), st.binary(max_size=12))
def test_prefixes_fit_into_a_database_and_tell_the_beginnings_of_keys_apart(one: bytes, other: bytes) -> None:
    beginnings = [key[:8].ljust(8, b"\0") for key in (one, other)]
    assert prefixes([one, other]).tolist() == [int.from_bytes(each, "big", signed=True) for each in beginnings]
