"""A secret comes back bit by bit, or is refused; nothing of it is in a message."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray
from support.unprivileged import in_a_process

from pcqr.durable import secrets
from pcqr.durable.secrets import read_key, read_secret, write_secret
from pcqr.errors import MissingExtra, ParameterError, SecretError

KEY, OTHER = bytes(range(32)), bytes(32)
DOCUMENT = {"threshold": 12, "ε": 0.1, "big": 2**80, "none": None, "list": [1, "two", {"three": 3.5}]}
ARRAYS: dict[str, NDArray[Any]] = {
    "cuts": np.array([1.5, -0.0, np.inf, np.nan]),
    "bits": np.array([[True], [False]]),
    "file": np.array(["a", "bc"]),
    "small": np.array(7, dtype=np.int8),
    "empty": np.zeros((0, 3)),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
}


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
def test_the_checksum_does_not_tell_a_guessed_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: bytes | None
) -> None:
    """It is in the ledger, which is public: who could guess all of a secret must not be able to make sure of it."""
    moment = time.localtime(10**9)
    monkeypatch.setattr(time, "localtime", lambda *_: moment)
    first, second = (write_secret(tmp_path / name, DOCUMENT, ARRAYS, key) for name in ("first", "second"))
    assert first != second
    blinds = {json.loads((tmp_path / name).read_bytes().split(b"\n")[0])["blind"] for name in ("first", "second")}
    assert len(blinds) == 2
    assert {len(bytes.fromhex(blind)) for blind in blinds} == {64}


def test_a_clock_that_stands_at_its_beginning_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = time.gmtime(0)
    monkeypatch.setattr(time, "localtime", lambda *_: moment)
    write_secret(tmp_path / "secret", DOCUMENT, ARRAYS)
    assert read_secret(tmp_path / "secret")[0] == DOCUMENT


@settings(max_examples=20)
@given(
    st.dictionaries(st.text(max_size=3), st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()),
    npst.arrays(npst.integer_dtypes() | npst.floating_dtypes(), npst.array_shapes(min_side=0)),
    st.none() | st.binary(min_size=32, max_size=32),
)
def test_anything_comes_back(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any], array: NDArray[Any], key: bytes | None
) -> None:
    path = tmp_path_factory.mktemp("any") / "secret"
    write_secret(path, document, {"x": array}, key)
    read, arrays = read_secret(path, key)
    assert read == document
    assert arrays["x"].tobytes() == array.tobytes()


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 31, 32, 33, 48])
def test_contents_that_end_with_a_piece_or_just_beside_it(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "PIECE", 16)
    content = os.urandom(length)
    hidden = secrets._encrypted(content, b"first", KEY)
    assert len(hidden) == length + 16 * max(1, -(-length // 16))
    assert secrets._decrypted("here", hidden, b"first", KEY) == content


def test_pieces_cannot_be_left_out_exchanged_or_appended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "PIECE", 1024)
    path = tmp_path / "secret"
    write_secret(path, {}, {"x": np.zeros(1_000)}, KEY)
    first, content = path.read_bytes().split(b"\n", 1)
    pieces = [content[start : start + 1040] for start in range(0, len(content), 1040)]
    assert len(pieces) > 4
    for wrong in (pieces[:-1], pieces[1:], [*pieces, pieces[0]], [pieces[1], pieces[0], *pieces[2:]], pieces[:1], []):
        path.write_bytes(first + b"\n" + b"".join(wrong))
        with pytest.raises(SecretError, match=r"does not open with this key|is damaged"):
            read_secret(path, KEY)


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
def test_every_edit_is_refused_by_the_checksum(tmp_path: Path, key: bytes | None) -> None:
    path = tmp_path / "secret"
    checksum = write_secret(path, DOCUMENT, ARRAYS, key)
    whole = path.read_bytes()
    for position in range(0, len(whole), 37):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(SecretError, match="is not the one that was written last"):
            read_secret(path, key, checksum)
    for wrong in (whole[:-1], whole + b" ", b""):
        path.write_bytes(wrong)
        with pytest.raises(SecretError, match="is not the one that was written last"):
            read_secret(path, key, checksum)


def test_every_edit_of_an_encrypted_file_is_refused_without_a_checksum_too(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    write_secret(path, DOCUMENT, ARRAYS, KEY)
    whole = path.read_bytes()
    for position in range(0, len(whole), 41):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(SecretError):
            read_secret(path, KEY)


@settings(max_examples=40)
@given(st.data())
def test_a_plain_file_that_is_damaged_is_refused_or_read_never_a_crash(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("rot") / "secret"
    write_secret(path, DOCUMENT, {"x": np.arange(5)})
    content = bytearray(path.read_bytes())
    start = data.draw(st.integers(0, len(content) - 1))
    content[start : start + 20] = data.draw(st.binary(max_size=30))
    path.write_bytes(content)
    with suppress(SecretError):
        read_secret(path)


def test_no_pickle_goes_in_or_out(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    with pytest.raises(ParameterError, match="x must be an array of numbers or text"):
        write_secret(path, {}, {"x": np.array([{}, []], dtype=object)})
    assert not path.exists()
    write_secret(path, {}, {})
    first, content = path.read_bytes().split(b"\n", 1)
    packed = io.BytesIO(content)
    with zipfile.ZipFile(packed, "a") as archive, archive.open("x.npy", "w") as member:
        np.lib.format.write_array(member, np.array([print], dtype=object), allow_pickle=True)
    path.write_bytes(first + b"\n" + packed.getvalue())
    with pytest.raises(SecretError, match="is damaged"):
        read_secret(path)


@pytest.mark.parametrize("document", [{"x": float("nan")}, {"x": float("inf")}, {"x": b"private"}, {"x": {1, 2}}])
def test_a_document_that_json_does_not_hold_is_refused(tmp_path: Path, document: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="document must be what JSON holds") as refusal:
        write_secret(tmp_path / "secret", document, {})
    assert "private" not in str(refusal.value)


def test_keys_are_needed_where_they_were_used_and_only_there(tmp_path: Path) -> None:
    hidden, plain = tmp_path / "hidden", tmp_path / "plain"
    write_secret(hidden, DOCUMENT, ARRAYS, KEY)
    write_secret(plain, DOCUMENT, ARRAYS)
    with pytest.raises(SecretError, match=r"is encrypted\. Name its key"):
        read_secret(hidden)
    with pytest.raises(SecretError, match="does not open with this key"):
        read_secret(hidden, OTHER)
    with pytest.raises(SecretError, match="is not encrypted, and a key was given"):
        read_secret(plain, KEY)
    with pytest.raises(ParameterError, match="key must be 32 bytes"):
        write_secret(plain, {}, {}, b"short")


def test_nothing_of_an_encrypted_secret_is_in_its_file_and_no_two_files_are_alike(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for path in (one, two):
        write_secret(path, {"name": "Müller-Lüdenscheidt"}, {"x": np.full(100, 1.25)}, KEY)
    assert b"denscheidt" not in one.read_bytes()
    assert np.full(4, 1.25).tobytes() not in one.read_bytes()
    assert one.read_bytes().split(b"\n", 1)[1][:64] != two.read_bytes().split(b"\n", 1)[1][:64]


def test_it_is_for_its_owner_alone_from_the_first_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, modes = tmp_path / "secret", []
    mask, plain = os.umask(0), os.fdopen

    def looking(descriptor: int, *rest: Any) -> Any:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return plain(descriptor, *rest)

    monkeypatch.setattr(os, "fdopen", looking)
    try:
        write_secret(path, {}, {})
    finally:
        os.umask(mask)
    assert modes == [0o600] == [stat.S_IMODE(path.stat().st_mode)]
    path.chmod(0o640)
    with pytest.raises(SecretError, match=r"can be read or written by others\. Say: chmod 600 "):
        read_secret(path)


def test_it_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    checksum = write_secret(path, DOCUMENT, ARRAYS)
    outcome = in_a_process(lambda: write_secret(path, {}, {"x": np.zeros(10_000)}), largest_file=20_000)
    assert outcome.startswith("OSError: ")
    assert read_secret(path, checksum=checksum)[0] == DOCUMENT
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_missing_newer_or_no_secret_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    with pytest.raises(SecretError, match=r"is missing\. Bring it back"):
        read_secret(path)
    with pytest.raises(SecretError, match="cannot be read"):
        read_secret(tmp_path)
    path.touch(mode=0o600)
    headers: list[Any] = [{"format": "other"}, {"format": "pcqr secret", "version": "1"}, [], None, {}, "x"]
    for header in headers:
        path.write_text(json.dumps(header) + "\n")
        with pytest.raises(SecretError, match="is damaged"):
            read_secret(path)
    path.write_text(json.dumps({"format": "pcqr secret", "version": 2}) + "\n")
    with pytest.raises(SecretError, match="another version of pcqr"):
        read_secret(path)


def test_keys_from_a_file_and_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "key"
    path.touch(mode=0o600)
    path.write_text(f"{KEY.hex()}\n")
    assert read_key(f"file:{path}") == KEY
    monkeypatch.setenv("PCQR_TEST_KEY", KEY.hex().upper())
    assert read_key("env:PCQR_TEST_KEY") == KEY
    for wrong in ("swordfish", KEY.hex()[:-1], KEY.hex() + "00", "é" * 64, ""):
        monkeypatch.setenv("PCQR_TEST_KEY", wrong)
        with pytest.raises(SecretError, match=r"is not 64 hexadecimal digits\. Make one") as refusal:
            read_key("env:PCQR_TEST_KEY")
        assert not wrong or wrong not in str(refusal.value)
    with pytest.raises(SecretError, match="The key env:PCQR_NO_KEY is not set"):
        read_key("env:PCQR_NO_KEY")
    with pytest.raises(ParameterError, match="file:PATH or env:NAME") as refused:
        read_key(KEY.hex())
    assert KEY.hex() not in str(refused.value)
    path.chmod(0o644)
    with pytest.raises(SecretError, match=r"The key .* can be read or written by others"):
        read_key(f"file:{path}")


def test_the_library_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.hashes", None)
    with pytest.raises(MissingExtra, match=r"pcqr\[crypt\]"):
        write_secret(tmp_path / "secret", {}, {}, KEY)
    assert not (tmp_path / "secret").exists()
    write_secret(tmp_path / "secret", {}, {})
