"""The server as a whole: what it serves, and how it refuses."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from support.kept import kept
from support.serving import release_place, serving


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("served")
    kept(folder)
    with serving(release_place(folder)) as address, httpx.Client(base_url=address) as client:
        yield client


def ask(client: httpx.Client, *values: float) -> httpx.Response:
    x = {"name": "x", "datatype": "FP64", "shape": [len(values), 1], "data": list(values)}
    return client.post("/v2/models/ages/infer", json={"inputs": [x]})


def test_a_release_answers(client: httpx.Client) -> None:
    told = ask(client, 0.1, 0.9).json()
    outputs = {each["name"]: each["data"] for each in told["outputs"]}
    assert outputs == {"label": [0, 1], "kind": ["stable", "stable"], "is_answer": [True, True]}
    assert told["parameters"]["queries_answered"] == 2
    assert ask(client, 0.1).json()["outputs"][1]["data"] == ["repeated"]


def test_health_and_metadata(client: httpx.Client) -> None:
    assert client.get("/v2/health/live").status_code == 200
    assert client.get("/v2/health/ready").status_code == 200
    told = client.get("/v2/models/ages").json()
    assert told["inputs"] == [{"name": "x", "datatype": "FP64", "shape": [-1, 1]}]


@pytest.mark.parametrize(("path", "code"), [("/v2/models/none", "unknown_model"), ("/nowhere", "unknown_path")])
def test_refusals_have_one_shape(client: httpx.Client, path: str, code: str) -> None:
    response = client.get(path)
    told = response.json()
    assert set(told) == {"error", "code", "status", "details"}
    assert (told["code"], told["status"]) == (code, response.status_code)
