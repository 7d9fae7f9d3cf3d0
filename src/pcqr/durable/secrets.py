"""What a release must keep and never show: one file, for its owner alone, encrypted where there is a key.

A line of JSON says what follows: an uncompressed zip of `document.json` and a `.npy` for each array (no pickle), as it
is or encrypted. The ledger of a release keeps the checksum of the file, so that an edited or exchanged one is refused.
Ledgers are public and secrets may be easy to guess (a threshold, a few counts), so the first line also holds 64
random bytes, the blind: whoever does not have them learns nothing from the checksum (proofs/release.md).

Encryption is AES-256-GCM of the library `cryptography`, in pieces, in the way of STREAM (Hoang, Reyhanitabar, Rogaway,
Vizár, CRYPTO 2015; age and Tink do the same): the nonce of a piece is its number and whether it is the last one, so
that pieces cannot be left out, exchanged or appended; the first line is authenticated with each. Every file has a key
of its own, by HKDF from the given key and a random salt, so that no nonce is used twice.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from binascii import Error as NotHex
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import Any

from numpy.lib import format as npy
from numpy.typing import NDArray

from pcqr.errors import MissingExtra, ParameterError, SecretError
from pcqr.files import replacing
from pcqr.privacy.entropy import SystemEntropy

FORMAT, VERSION = "pcqr secret", 1
CIPHER = "AES-256-GCM"
DOCUMENT = "document.json"
PIECE = 1 << 20
"""Bytes that are encrypted together."""
KEY_BYTES, TAG_BYTES = 32, 16
BLIND_BYTES = 64
"""Twice as many as the checksum has: over them it is as good as uniform, whatever the content is."""

Arrays = dict[str, NDArray[Any]]


def write_secret(
    path: str | Path, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], key: bytes | None = None
) -> str:
    """Write a secret, whole or not at all, mode 0600 from its first byte.

    Parameters
    ----------
    path : str or Path
        Where. What is there is replaced.
    document : mapping
        Anything that JSON holds.
    arrays : mapping of str to ndarray
        Arrays by name, of any type but objects.
    key : bytes, optional
        32 bytes, of `read_key`: encrypt with it.

    Returns
    -------
    str
        The checksum of the file, to be kept elsewhere: `read_secret` compares it. It tells nothing of the content.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from pcqr.durable.secrets import read_secret, write_secret
    >>> path = Path(tempfile.mkdtemp()) / "secret"
    >>> checksum = write_secret(path, {"threshold": 12}, {"cuts": np.arange(3)})
    >>> read_secret(path, checksum=checksum)
    ({'threshold': 12}, {'cuts': array([0, 1, 2])})
    """
    content = _packed(document, arrays)
    blind = SystemEntropy().bytes(BLIND_BYTES).hex()
    header: dict[str, Any] = {"format": FORMAT, "version": VERSION, "blind": blind, "cipher": None}
    if key is not None:
        header |= {"cipher": CIPHER, "salt": SystemEntropy().bytes(16).hex()}
    first = json.dumps(header).encode() + b"\n"
    if key is not None:
        content = _encrypted(content, first, _own_key(key, header["salt"]))
    with replacing(path) as draft:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(first)
            file.write(content)
    return _checksum(first, content)


def read_secret(
    path: str | Path, key: bytes | None = None, checksum: str | None = None
) -> tuple[dict[str, Any], Arrays]:
    """Read what `write_secret` wrote.

    Parameters
    ----------
    path : str or Path
        Where it is.
    key : bytes, optional
        The key, if it is encrypted.
    checksum : str, optional
        What `write_secret` returned: any other file is refused.

    Returns
    -------
    (dict, dict of ndarray)
        The document and the arrays.

    Raises
    ------
    SecretError
        Missing, open to others, edited, of another version, or of another key. No message says what is in it.
    """
    first, content = _read(Path(path))
    if checksum is not None and not compare_digest(checksum, _checksum(first, content)):
        raise SecretError(
            path,
            "is not the one that was written last: it was edited, exchanged or cut off",
            "Bring back the newest copy of it.",
        )
    header = _header(path, first)
    if (header["cipher"] is None) != (key is None):
        if key is None:
            raise SecretError(path, "is encrypted", "Name its key: a file or a variable of the environment.")
        raise SecretError(path, "is not encrypted, and a key was given", "Leave the key out, if that is right.")
    if key is not None:
        content = _decrypted(path, content, first, _own_key(key, header["salt"]))
    try:
        return _unpacked(content)
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, OSError, NotImplementedError):
        raise _damaged(path) from None


def read_key(source: str) -> bytes:
    """The key from a file (`file:PATH`) or from a variable of the environment (`env:NAME`): 64 hexadecimal digits.

    Parameters
    ----------
    source : str
        Where the key is, never the key itself: command lines are seen by others.

    Returns
    -------
    bytes
        32 bytes.
    """
    kind, _, where = source.partition(":")
    if kind not in ("file", "env") or not where:
        raise ParameterError("key", "file:PATH or env:NAME", "something else")
    if kind == "env":
        text = os.environ.get(where)
        if text is None:
            raise SecretError(source, "is not set", "Set that variable, or name another one.", what="The key")
    else:
        text = _owned(Path(where), "The key").decode("ascii", "replace")
    try:
        key = bytes.fromhex(text.strip())
    except (ValueError, NotHex):
        key = b""
    if len(key) != KEY_BYTES:
        raise SecretError(
            source, "is not 64 hexadecimal digits", "Make one, for example by: openssl rand -hex 32", what="The key"
        )
    return key


def _packed(document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    packed = io.BytesIO()
    try:
        text = json.dumps(dict(document), allow_nan=False)
    except (TypeError, ValueError):
        raise ParameterError("document", "what JSON holds: finite numbers, text, lists, objects", "more") from None
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(DOCUMENT), text)  # without a time: a zip knows none before 1980
        for name, array in arrays.items():
            if array.dtype.hasobject:
                raise ParameterError(name, "an array of numbers or text", "one of objects")
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                npy.write_array(member, array, allow_pickle=False)
    return packed.getvalue()


def _unpacked(content: bytes) -> tuple[dict[str, Any], Arrays]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        document = json.loads(archive.read(DOCUMENT))
        arrays: Arrays = {}
        for name in archive.namelist():
            if name != DOCUMENT:
                with archive.open(name) as member:
                    arrays[name.removesuffix(".npy")] = npy.read_array(member, allow_pickle=False)
    if not isinstance(document, dict):
        raise ValueError
    return document, arrays


def _read(path: Path) -> tuple[bytes, bytes]:
    """The first line with its line break, and the rest."""
    first, end, content = _owned(path, "The secret file").partition(b"\n")
    return first + end, content


def _owned(path: Path, what: str) -> bytes:
    """The content of a file that nobody but its owner may read."""
    try:
        with path.open("rb") as file:
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                raise SecretError(path, "can be read or written by others", f"Say: chmod 600 {path}", what=what)
            return file.read()
    except FileNotFoundError:
        raise SecretError(path, "is missing", "Bring it back, or look for a misspelt path.", what=what) from None
    except OSError as error:
        raise SecretError(path, f"cannot be read ({error.strerror})", "Mend that first.", what=what) from None


def _header(path: str | Path, first: bytes) -> dict[str, Any]:
    try:
        header = json.loads(first)
        if header["format"] != FORMAT or not isinstance(header["version"], int):
            raise KeyError
        if header["version"] != VERSION:
            raise SecretError(path, "was written by another version of pcqr", "Install the version that wrote it.")
        if header["cipher"] not in (None, CIPHER) or (header["cipher"] and len(bytes.fromhex(header["salt"])) != 16):
            raise KeyError
    except (ValueError, KeyError, TypeError):
        raise _damaged(path) from None
    return dict(header)


def _own_key(key: bytes, salt: str) -> bytes:
    """The key of one file."""
    if len(key) != KEY_BYTES:
        raise ParameterError("key", f"{KEY_BYTES} bytes", f"{len(key)} bytes")
    try:
        from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("An encrypted secret", "crypt") from None
    derived: bytes = HKDF(SHA256(), KEY_BYTES, bytes.fromhex(salt), f"{FORMAT} {VERSION}".encode()).derive(key)
    return derived


def _encrypted(content: bytes, first: bytes, key: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    return _by_pieces(content, PIECE, lambda piece, nonce: AESGCM(key).encrypt(nonce, piece, first))


def _decrypted(path: str | Path, content: bytes, first: bytes, key: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    try:
        return _by_pieces(content, PIECE + TAG_BYTES, lambda piece, nonce: AESGCM(key).decrypt(nonce, piece, first))
    except InvalidTag:
        raise SecretError(
            path, "does not open with this key: it was edited, or the key is another one", "Name its own key."
        ) from None


def _by_pieces(content: bytes, size: int, treat: Callable[[bytes, bytes], bytes]) -> bytes:
    """All pieces treated, each with its nonce: 11 bytes for its number, one that says whether it is the last."""

    def treated() -> Iterator[bytes]:
        starts = range(0, len(content), size) or range(1)
        for number, start in enumerate(starts):
            is_last = start == starts[-1]
            yield treat(content[start : start + size], number.to_bytes(11, "big") + bytes([is_last]))

    return b"".join(treated())


def _checksum(first: bytes, content: bytes) -> str:
    whole = sha256(first)
    whole.update(content)
    return whole.hexdigest()


def _damaged(path: str | Path) -> SecretError:
    return SecretError(path, "is damaged: it was edited or cut off", "Bring back the newest copy of it.")
