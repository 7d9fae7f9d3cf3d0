"""Keys: made once, kept as hashes, changed whole; a changed file is noticed, a damaged one lets nobody in."""

from __future__ import annotations

import json
import logging
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.errors import ParameterError, SecretError
from pcqr.releases.protocol.answers import Usage
from pcqr.server.keys import KeyFile, Keyring, check_keys, digest, holds_key, read

ANY = Usage(None, None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "keys.json"


def test_a_key_is_found_by_its_hash_and_is_in_no_file(path: Path) -> None:
    key = KeyFile(path).create("ward-7", "asker", Usage(100, 5))
    found = Keyring(path).asker(key)
    assert found is not None
    assert (found.name, found.role, found.allowance) == ("ward-7", "asker", Usage(100, 5))
    assert re.fullmatch(r"pcqr_[A-Za-z0-9_-]{43}", key)
    assert holds_key(f"x={key}&y=1")
    for file in path.parent.iterdir():
        assert key.removeprefix("pcqr_") not in file.read_text()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert digest(key) in path.read_text()


def test_keys_differ(path: Path) -> None:
    file = KeyFile(path)
    assert len({file.create(f"n{number}", "asker", ANY) for number in range(5)}) == 5


@pytest.mark.parametrize("wrong", ["", "pcqr_", "pcqr_" + "A" * 43, "pcqr_" + "A" * 42 + "é", "x" * 10**6])
def test_what_is_no_key_finds_nobody(path: Path, wrong: str) -> None:
    KeyFile(path).create("a", "asker", ANY)
    assert Keyring(path).asker(wrong) is None


def test_a_key_with_something_beside_it_finds_nobody(path: Path) -> None:
    key = KeyFile(path).create("a", "asker", ANY)
    ring = Keyring(path)
    assert [ring.asker(other) for other in (f"{key} ", f" {key}", f"{key}\n", key.upper(), key[:-1])] == [None] * 5


def test_a_running_server_notices_new_and_revoked_keys(path: Path) -> None:
    file, ring = KeyFile(path), Keyring(path)
    first = file.create("first", "asker", ANY)
    assert ring.asker(first) is not None
    second = file.create("second", "holder", ANY)
    assert ring.asker(second) is not None
    file.revoke("first")
    assert ring.asker(first) is None
    assert ring.asker(second) is not None


def test_the_name_of_a_revoked_key_is_not_given_away(path: Path) -> None:
    file = KeyFile(path)
    file.create("ward", "asker", ANY)
    with pytest.raises(ParameterError, match="in use"):
        file.create("ward", "asker", ANY)
    revoked = file.revoke("ward")
    assert file.revoke("ward") == revoked
    with pytest.raises(ParameterError, match=r"revoked.*pcqr keys renew"):
        file.create("ward", "holder", ANY)


def test_a_renewed_key_is_another_one_of_the_same_name(path: Path) -> None:
    file, ring = KeyFile(path), Keyring(path)
    first = file.create("ward", "asker", Usage(7, 2))
    other = file.create("other", "holder", ANY)
    assert ring.asker(first) is not None
    second = file.renew("ward")
    assert second != first
    assert ring.asker(first) is None
    found = ring.asker(second)
    assert found is not None
    assert (found.name, found.role, found.allowance) == ("ward", "asker", Usage(7, 2))
    assert ring.asker(other) is not None
    file.revoke("ward")
    assert ring.asker(second) is None
    third = file.renew("ward")
    assert [ring.asker(key) is None for key in (first, second, third)] == [True, True, False]
    with pytest.raises(ParameterError, match="pcqr keys list"):
        file.renew("nobody")


@pytest.mark.parametrize("name", ["", "-x", ".x", "a b", "a\n", "a\r\nb", "ä", "a/b", "a" * 65, "a\0", "<b>", "a;b"])
def test_names_are_plain(path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="NAME"):
        KeyFile(path).create(name, "asker", ANY)
    for change in (KeyFile(path).revoke, KeyFile(path).renew):
        with pytest.raises(ParameterError, match="NAME"):
            change(name)
    assert not path.exists()


@pytest.mark.parametrize("allowance", [Usage(-1, None), Usage(None, -1), Usage(2**63, None)])
def test_limits_are_numbers_that_a_log_can_count(path: Path, allowance: Usage) -> None:
    with pytest.raises(ParameterError, match="at least 0"):
        KeyFile(path).create("a", "asker", allowance)


def test_many_at_once_lose_none(path: Path) -> None:
    def create(number: int) -> str:
        return KeyFile(path).create(f"n{number}", "asker", ANY)

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(create, range(24)))
    ring = Keyring(path)
    assert [asker.name for asker in map(ring.asker, made) if asker] == [f"n{number}" for number in range(24)]


def test_a_write_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = KeyFile(path)
    key = file.create("a", "asker", ANY)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(SecretError, match="No space left"):
            file.create("b", "asker", ANY)
    assert path.read_bytes() == before
    assert Keyring(path).asker(key) is not None
    assert sorted(each.name for each in path.parent.iterdir()) == ["keys.json", "keys.json.lock"]


def changed(document: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return document | {"keys": [document["keys"][0] | fields]}


def edits(whole: str) -> dict[str, str]:
    document = json.loads(whole)
    entry = document["keys"][0]
    return {
        "cut": whole[:-3],
        "empty": "",
        "list": "[]",
        "null": "null",
        "deep": "[" * 100_000,
        "newer": json.dumps(document | {"version": 2}),
        "true version": json.dumps(document | {"version": True}),
        "more": json.dumps(document | {"more": 1}),
        "other": json.dumps(document | {"format": "x"}),
        "twice": json.dumps(document | {"keys": [entry, entry]}),
        "same hash": json.dumps(document | {"keys": [entry, entry | {"name": "b"}]}),
        "repeated field": whole.replace('"role": "asker"', '"role": "asker", "role": "holder"'),
        "role": json.dumps(changed(document, role="root")),
        "role list": json.dumps(changed(document, role=["asker"])),
        "name": json.dumps(changed(document, name="a\nb")),
        "quota": json.dumps(changed(document, queries=-1)),
        "quota true": json.dumps(changed(document, queries=True)),
        "quota float": json.dumps(changed(document, unstable=1.5)),
        "hash": json.dumps(changed(document, sha256="AB" * 32)),
        "never made": json.dumps(changed(document, created=None)),
        "field": json.dumps(changed(document, more=1)),
        "not ASCII": whole.replace('"a"', '"é"'),
    }


@pytest.mark.parametrize("edit", sorted(edits('{"keys": [{}]}')))
def test_a_damaged_file_lets_nobody_in_and_the_log_says_so_once(
    path: Path, edit: str, caplog: pytest.LogCaptureFixture
) -> None:
    key = KeyFile(path).create("a", "asker", ANY)
    ring = Keyring(path)
    assert ring.asker(key) is not None
    whole = path.read_text()
    damaged = edits(whole)[edit]
    assert damaged != whole
    path.write_text(damaged, encoding="utf-8")
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            with pytest.raises(SecretError, match="cannot be used"):
                ring.asker(key)
    assert len(caplog.messages) == 1
    assert "nobody is let in" in caplog.text
    with pytest.raises(SecretError):
        KeyFile(path).create("b", "asker", ANY)  # what is damaged is not overwritten
    path.write_text(whole)
    assert ring.asker(key) is not None


def test_a_file_that_is_gone_lets_nobody_in(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    key = KeyFile(path).create("a", "asker", ANY)
    ring = Keyring(path)
    assert ring.asker(key) is not None
    path.rename(path.with_name("elsewhere"))
    for _ in range(3):
        with pytest.raises(SecretError, match="cannot be used"):
            ring.asker(key)
    assert len(caplog.messages) == 1
    path.with_name("elsewhere").rename(path)
    assert ring.asker(key) is not None


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_file_that_others_can_write_lets_nobody_in(path: Path) -> None:
    key = KeyFile(path).create("a", "asker", ANY)
    path.chmod(0o620)
    with pytest.raises(SecretError, match="written by others"):
        read(path)
    with pytest.raises(SecretError, match="cannot be used"):
        Keyring(path).asker(key)


def test_a_server_that_nobody_could_enter_does_not_start(path: Path) -> None:
    file = KeyFile(path)
    with pytest.raises(SecretError, match="not there"):
        check_keys(path)
    file.create("a", "asker", ANY)
    check_keys(path)
    file.revoke("a")
    with pytest.raises(SecretError, match="no key that is good"):
        check_keys(path)
    path.write_text("{")
    with pytest.raises(SecretError, match="damaged"):
        check_keys(path)


@given(st.text(max_size=60))
def test_only_whole_keys_look_like_one(text: str) -> None:
    assert holds_key(text) == bool(re.search(r"pcqr_[A-Za-z0-9_-]{43}", text))
