"""Tensors are read strictly: what is not as the protocol says is refused, all else comes out as it went in."""

from __future__ import annotations

import json
import struct
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.server.bodies import (
    BYTES,
    NUMPY,
    Output,
    from_binary,
    from_json,
    read_inference,
    to_binary,
    written_inference,
)
from pcqr.server.errors import Refusal


def request(*inputs: dict[str, Any], tail: bytes = b"", **more: Any) -> tuple[bytes, str]:
    header = json.dumps({"inputs": list(inputs)} | more).encode()
    return header + tail, str(len(header))


def x(**changed: Any) -> dict[str, Any]:
    return {"name": "x", "datatype": "FP64", "shape": [2, 1], "data": [0.5, 1]} | changed


@pytest.mark.parametrize("datatype", sorted(NUMPY))
@given(data=st.data())
def test_numbers_come_out_of_binary_as_they_went_in(datatype: str, data: st.DataObject) -> None:
    kind = NUMPY[datatype]
    if datatype == "BOOL":
        cells: list[Any] = data.draw(st.lists(st.booleans()))
    elif kind.kind == "f":
        cells = data.draw(st.lists(st.floats(width=8 * kind.itemsize, allow_nan=False)))  # type: ignore[arg-type]
    else:
        limits = np.iinfo(kind)
        cells = data.draw(st.lists(st.integers(int(limits.min), int(limits.max))))
    written = to_binary(datatype, cells)
    assert len(written) == len(cells) * kind.itemsize
    assert list(from_binary("x", datatype, (len(cells),), memoryview(written)).cells) == cells
    if not any(cell in (np.inf, -np.inf) for cell in cells):
        assert list(from_json("x", datatype, (len(cells),), json.loads(json.dumps(cells))).cells) == cells


@given(st.binary(max_size=40), st.integers(0, 5))
def test_any_bytes_are_texts_or_refused(data: bytes, count: int) -> None:
    with suppress(Refusal):
        tensor = from_binary("x", BYTES, (count,), memoryview(data))
        assert to_binary(BYTES, tensor.cells) == data  # type: ignore[arg-type]


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_nested_data_have_the_shape(a: int, b: int, c: int, flat: bool) -> None:
    cells = np.arange(a * b * c)
    data = cells.tolist() if flat else cells.reshape(a, b, c).tolist()
    assert from_json("x", "INT64", (a, b, c), data).cells == cells.tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        {"shape": [3]},
        {"shape": [2, 2]},
        {"shape": []},
        {"shape": [1] * 9},
        {"shape": [10**30, 1]},
        {"datatype": ["FP64"]},
        {"datatype": "BOOL"},
        {"datatype": "UINT8", "data": [256, 0]},
        {"datatype": "INT8", "data": [-129, 0]},
        {"data": None},
        {"data": {"0": 1}},
        {"data": [[0.5], 1]},
        {"data": [[[0.5]], [[1]]]},
        {"data": [None, 1]},
        {"name": 7},
        {"parameters": []},
        {"parameters": {"shared_memory_region": "mine"}},
        {"parameters": {"binary_data_size": 16}},
    ],
)
def test_a_malformed_tensor_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        read_inference(*request(x(**wrong)))
    assert refused.value.code == "bad_tensor"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "bad_json"),
        (b"{", "bad_json"),
        (b'{"inputs": [], "inputs": []}', "bad_json"),
        (b'{"inputs": NaN}', "bad_json"),
        (b'{"inputs": ' + b"[" * 100_000, "bad_json"),
        (b'{"inputs": ' + b"1" * 10_000 + b"}", "bad_json"),
        ("\ufeff{}".encode(), "bad_json"),
        (b'{"inputs": []}', "bad_tensor"),
        (b'{"inputs": [7]}', "bad_tensor"),
    ],
)
def test_a_malformed_body_is_refused(body: bytes, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_inference(body, None)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "more",
    [
        {"id": 7},
        {"outputs": 7},
        {"outputs": [7]},
        {"outputs": [{"name": "a"}] * 2},
        {"parameters": 7},
        {"parameters": {"binary_data_output": 1}},
    ],
)
def test_a_malformed_request_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        read_inference(*request(x(), **more))
    assert refused.value.status == 400


def test_rows_are_counted_before_their_cells_are_looked_at() -> None:
    """Four million texts take seconds to be read, which nobody should spend who refuses them."""
    body, length = request(x(datatype="BYTES", shape=[4], data=[1, 2, 3, 4]))
    with pytest.raises(Refusal) as told:
        read_inference(body, length, most_rows=3)
    assert told.value.code == "too_many_rows"


@pytest.mark.parametrize(
    "length", ["-1", "1e3", "", "9" * 30, "٣", "5", "10000", "0" * 5_000 + "9", "0" * 18 + "99999"]
)
def test_a_wrong_length_of_the_header_is_refused(length: str) -> None:
    body, _ = request(x())
    with pytest.raises(Refusal):
        read_inference(body, length)


def test_binary_tensors_must_be_all_there_and_nothing_else() -> None:
    data = struct.pack("<2d", 0.5, 1.0)
    tensor = {"name": "x", "datatype": "FP64", "shape": [2, 1], "parameters": {"binary_data_size": 16}}
    assert read_inference(*request(tensor, tail=data)).inputs["x"].cells.tolist() == [0.5, 1.0]  # type: ignore[union-attr]
    for tail in (data[:-1], data + b"\0", b""):
        with pytest.raises(Refusal, match=r"bytes"):
            read_inference(*request(tensor, tail=tail))
    for size in (15, 17, -1, 16.0, True):
        with pytest.raises(Refusal):
            read_inference(*request(tensor | {"parameters": {"binary_data_size": size}}, tail=data))


def test_a_reply_has_json_and_binary_tensors_side_by_side() -> None:
    asked = read_inference(
        *request(x(), id="7", outputs=[{"name": "a", "parameters": {"binary_data": True}}, {"name": "b"}])
    )
    body, length = written_inference("m", asked, {"a": Output(BYTES, ["é"]), "b": Output("INT64", [3])}, 1, {})
    told = json.loads(body[:length])
    assert told["id"] == "7"
    assert told["outputs"] == [
        {"name": "a", "datatype": "BYTES", "shape": [1], "parameters": {"binary_data_size": 6}},
        {"name": "b", "datatype": "INT64", "shape": [1], "data": [3]},
    ]
    assert body[length:] == b"\2\0\0\0\xc3\xa9"
