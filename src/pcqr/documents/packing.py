"""Arrays of numbers inside documents, as one text: base64 (RFC 4648) of zlib (RFC 1950) of little-endian bytes.

A list of a million numbers would be a document that nobody reads, ten times as long. Reading trusts nothing: a text
that unpacks to more or fewer bytes than its array needs is refused, and no more than these are ever unpacked.
"""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import ParameterError

N = TypeVar("N", bound=np.generic)


def packed(array: NDArray[np.generic]) -> str:
    """The entries of `array`, row after row, as one text."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return base64.b64encode(zlib.compress(little.tobytes(), level=6)).decode("ascii")


def unpacked(text: object, kind: type[N], shape: tuple[int, ...], name: str) -> NDArray[N]:
    """The array of this kind and shape that `packed` made a text of. Nobody can write to it.

    Raises ParameterError, which calls the text `name`, when it is anything else.
    """
    stored = np.dtype(kind).newbyteorder("<")
    size = math.prod(shape) * stored.itemsize
    if not isinstance(text, str):
        raise ParameterError(name, "a text", f"one of type {type(text).__name__}")
    unpacking = zlib.decompressobj()
    try:
        found = unpacking.decompress(base64.b64decode(text.encode("ascii"), validate=True), size + 1)
    except (UnicodeEncodeError, binascii.Error, zlib.error):
        raise ParameterError(name, "base64 of zlib", "a text that is neither or is damaged") from None
    if len(found) != size or not unpacking.eof or unpacking.unused_data:
        raise ParameterError(name, f"base64 of zlib of {size} bytes", "one of more, of fewer, or of none")
    array: NDArray[N] = np.frombuffer(found, dtype=stored).astype(kind).reshape(shape)
    array.flags.writeable = False
    return array
