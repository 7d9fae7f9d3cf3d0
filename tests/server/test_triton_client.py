"""NVIDIA's own client of the protocol, unchanged: metadata, readiness, inferences in JSON and in binary, errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tritonclient.http as triton
from support.serving import clinic
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

PATIENTS: dict[str, list[Any]] = {"age": [12.0, 91.0], "sex": ["female", "male"], "seen": ["2020-01-02", ""]}


@pytest.fixture(scope="module")
def server(served_address: str) -> Iterator[Any]:
    client = triton.InferenceServerClient(served_address.removeprefix("http://"))
    yield client
    client.close()


def tensor(name: str, values: Any, *, binary: bool, datatype: str | None = None) -> Any:
    array = np.asarray(values)
    array = array.astype(object) if array.dtype.kind == "U" else array
    found = triton.InferInput(name, list(array.shape), datatype or np_to_triton_dtype(array.dtype))
    found.set_data_from_numpy(array, binary_data=binary)
    return found


def patients(table: dict[str, list[Any]], *, binary: bool) -> list[Any]:
    return [tensor(name, values, binary=binary) for name, values in table.items()]


def test_the_server_and_its_models_are_ready(server: Any) -> None:
    assert server.is_server_live()
    assert server.is_server_ready()
    assert "binary_tensor_data" in server.get_server_metadata()["extensions"]
    assert server.is_model_ready("clinic")
    assert server.is_model_ready("clinic", "1")
    assert not server.is_model_ready("nobody")
    assert not server.is_model_ready("clinic", "2")


def test_metadata_say_what_is_taken_and_given(server: Any) -> None:
    told = server.get_model_metadata("clinic", "1")
    assert told["versions"] == ["1"]
    assert told["inputs"] == [
        {"name": "age", "datatype": "FP64", "shape": [-1]},
        {"name": "sex", "datatype": "BYTES", "shape": [-1]},
        {"name": "seen", "datatype": "BYTES", "shape": [-1]},
    ]
    assert [(each["name"], each["datatype"]) for each in told["outputs"]] == [
        ("label", "BYTES"),
        ("kind", "BYTES"),
        ("is_answer", "BOOL"),
    ]
    assert [each["name"] for each in server.get_model_metadata("tree")["outputs"]] == ["label"]
    assert server.get_model_metadata("ages")["outputs"][0]["datatype"] == "INT64"


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("binary_output", [True, False])
def test_patients_get_their_labels(server: Any, binary: bool, binary_output: bool) -> None:
    outputs = [triton.InferRequestedOutput(name, binary_data=binary_output) for name in ("label", "kind", "is_answer")]
    result = server.infer("clinic", patients(PATIENTS, binary=binary), outputs=outputs, request_id="seven")
    text = [each.decode() if isinstance(each, bytes) else each for each in result.as_numpy("label")]
    assert text == ["well", "ill"]
    assert result.as_numpy("is_answer").tolist() == [True, True]
    told = result.get_response()
    assert told["id"] == "seven"
    assert told["model_name"] == "clinic"
    assert told["parameters"]["queries_answered"] >= 2
    assert result.as_numpy("kind").shape == (2,)


@pytest.mark.parametrize("binary", [True, False])
def test_every_numeric_datatype_is_taken(server: Any, binary: bool) -> None:
    integers = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    for datatype in (*integers, "float32", "float64", *(["float16"] if binary else [])):  # FP16 comes in binary alone
        result = server.infer("ages", [tensor("x", np.array([[1], [0]], dtype=datatype), binary=binary)])
        assert result.as_numpy("label").tolist() == [1, 0]
        assert result.as_numpy("label").dtype == np.int64


def test_a_published_model_is_asked_alike(server: Any) -> None:
    table = clinic(500, seed=3)
    table["seen"] = [each or "" for each in table["seen"]]
    result = server.infer("tree", patients(table, binary=True))
    assert result.as_numpy("label").tolist() == [b"ill" if age > 60 else b"well" for age in table["age"]]


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([("x", [[0.5]])], "Missing: 'age', 'sex', 'seen'. Unknown: 'x'"),
        ([("age", [1.0]), ("sex", ["female", "male"]), ("seen", ["", ""])], "as many rows"),
        ([("age", [np.nan]), ("sex", ["female"]), ("seen", [""])], "finite numbers"),
        ([("age", [1.0]), ("sex", ["male"]), ("seen", ["yesterday"])], "date"),
    ],
)
def test_what_is_wrong_is_told(server: Any, inputs: list[tuple[str, Any]], words: str) -> None:
    with pytest.raises(InferenceServerException) as refused:
        server.infer("clinic", [tensor(name, values, binary=True) for name, values in inputs])
    assert words in refused.value.message()
    assert refused.value.status() == "400"


def test_unknown_models_and_outputs_are_refused(server: Any) -> None:
    x = [tensor("x", [[0.5]], binary=True)]
    with pytest.raises(InferenceServerException, match="Nothing of this name"):
        server.infer("nobody", x)
    with pytest.raises(InferenceServerException, match="There is no output 'probability'"):
        server.infer("ages", x, outputs=[triton.InferRequestedOutput("probability")])
    with pytest.raises(InferenceServerException, match="classification"):
        server.infer("ages", x, outputs=[triton.InferRequestedOutput("label", class_count=2)])
