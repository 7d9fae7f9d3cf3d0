"""Bodies that would take seconds or gigabytes to be read are refused before, or read while others are answered."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.server import bodies
from pcqr.server.bodies import IN_JSON, check_values, parse_json, read_inference
from pcqr.server.errors import Refusal

MANY = 400_000
JSON = {"content-type": "application/json"}
CSV = {"content-type": "text/csv"}


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (b'{"x": [[' + b"[]," * MANY + b"[]]]}", JSON),
        (b'{"x": [[' + b"0," * MANY + b"0]]}", JSON),
        (b'{"x": [[0.5]], "y": {' + b",".join(b'"%d":{}' % number for number in range(MANY)) + b"}}", JSON),
        (b"age\n7" + b"\n" * MANY, CSV),
        (b"age\r7" + b"\r" * MANY, CSV),
        (b"age" + b";" * MANY + b"\n7\n", CSV),
    ],
)
@pytest.mark.parametrize("name", ["ages", "clinic"])
def test_more_values_than_rows_can_have_are_refused_before_they_are_made(
    client: httpx.Client, content: bytes, headers: dict[str, str], name: str
) -> None:
    """Sixteen MiB of empty lists take four seconds, in which nobody else is served, and half a GiB."""
    told = client.post(f"/v1/releases/{name}/ask", content=content, headers=headers)
    assert (told.status_code, told.json()["code"], told.json()["details"]) == (413, "too_many_rows", {"most": 10_000})


def test_a_tensor_has_no_more_columns_than_there_are_and_is_not_read_to_find_that_out() -> None:
    tensor = {"name": "x", "datatype": "BYTES", "shape": [1, 4_000_000], "parameters": {"binary_data_size": 16}}
    head = json.dumps({"inputs": [tensor]}).encode()
    with pytest.raises(Refusal, match="more columns than there are"):
        read_inference(head + bytes(16), str(len(head)), most_rows=10, columns=3)


@pytest.mark.parametrize("shape", ["rows", "columns", "nested"])
@pytest.mark.parametrize("columns", [1, 3, 40])
def test_as_many_rows_as_a_request_may_have_are_never_too_many_values(shape: str, columns: int) -> None:
    """However they are written, with a comma in every text."""
    rows, names = 2_000, [f"column {number}" for number in range(columns)]
    cells = ["Smith, J."] * rows
    told: Any = {"columns": dict.fromkeys(names, cells)}
    if shape == "rows":
        told = {"rows": [dict.fromkeys(names, "Smith, J.")] * rows}
    if shape == "nested":
        told = {"inputs": [{"name": name, "data": [[cell] for cell in cells]} for name in names]}
    check_values(json.dumps(told).encode(), IN_JSON, rows, columns)


numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
numbers_of_others = ("1\u0663", "1.\u0663")
unclosed = ("", "[" * 2_000, '"\t"', "'a'", "nul")
broken = st.sampled_from(
    [*("NaN", "-Infinity", "[1,]", '{"a":1,"a":2}', "[01]", "1" * 5_000, "1 2", "{1:2}"), *numbers_of_others, *unclosed]
)


@given(values.map(json.dumps) | values.map(lambda value: json.dumps(value, ensure_ascii=False, indent=1)) | broken)
def test_long_bodies_are_read_as_short_ones_are(text: str) -> None:
    def read(long: int) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bodies, "PATIENT", long)
            try:
                return parse_json(text.encode("utf-8", "surrogatepass"))
            except Refusal as refusal:
                return refusal.code

    assert repr(read(0)) == repr(read(1 << 30))


@pytest.mark.parametrize("value", [b"0.1234567,", b'"",', b"[],", b'{"a":1},', b"1" * 4_000 + b","])
def test_others_run_while_a_long_body_is_read(value: bytes) -> None:
    """The quick parser lets nobody run before its end: it would give the other thread two turns at most."""
    body = b"[" + value * (4 * bodies.PATIENT // len(value) + 1) + b"0]"
    turns, is_over = 0, threading.Event()

    def others() -> None:
        nonlocal turns
        while not is_over.is_set():
            turns += 1
            time.sleep(0)

    other = threading.Thread(target=others)
    other.start()
    before = turns
    parse_json(body)
    after = turns
    is_over.set()
    other.join()
    assert after - before > 3
