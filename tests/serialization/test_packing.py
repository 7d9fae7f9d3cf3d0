"""Arrays as texts: what is packed comes back, and what is anything else is refused."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from pcqr.errors import ParameterError
from pcqr.serialization.codec import packed, unpacked

KINDS = [np.int8, np.int16, np.int64, np.float64]


@given(data=st.data(), kind=st.sampled_from(KINDS), shape=array_shapes(min_side=0, max_dims=3))
def test_what_is_packed_comes_back(data: st.DataObject, kind: Any, shape: tuple[int, ...]) -> None:
    array = data.draw(arrays(kind, shape, elements={"allow_nan": False} if kind is np.float64 else None))
    text = packed(array)
    found = unpacked(text, kind, shape, "weights")
    np.testing.assert_array_equal(found, array)
    assert (found.dtype, found.flags.writeable) == (np.dtype(kind), False)
    assert packed(found) == packed(array.astype(array.dtype.newbyteorder(">"))) == text


def test_bytes_are_little_endian_row_after_row() -> None:
    text = packed(np.array([[1, 2], [3, -2]], dtype=np.int16).T)
    assert zlib.decompress(base64.b64decode(text)) == bytes([1, 0, 3, 0, 2, 0, 254, 255])


def compressed(count: int) -> str:
    return base64.b64encode(zlib.compress(bytes(count))).decode()


@pytest.mark.parametrize(
    "text",
    [
        compressed(7),
        compressed(9),
        compressed(10**7),
        compressed(0),
        "",
        "Hello",
        "é",
        compressed(8)[:-4],
        compressed(8) + " ",
        base64.b64encode(zlib.compress(bytes(8)) + b"more").decode(),
        base64.b64encode(bytes(8)).decode(),
        None,
        b"",
        8,
    ],
)
def test_anything_else_is_refused(text: Any) -> None:
    assert unpacked(compressed(8), np.int16, (2, 2), "cells").sum() == 0
    with pytest.raises(ParameterError, match="cells must be"):
        unpacked(text, np.int16, (2, 2), "cells")
