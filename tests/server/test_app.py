"""The server as a whole: what it serves, how it refuses, and what it does when it ends."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import httpx
import pytest

INFERENCE = json.dumps({"inputs": [{"name": "x", "datatype": "FP64", "shape": [1, 1], "data": [0.11]}]}).encode()


def ask(client: httpx.Client, *values: float) -> httpx.Response:
    x = {"name": "x", "datatype": "FP64", "shape": [len(values), 1], "data": list(values)}
    return client.post("/v2/models/ages/infer", json={"inputs": [x]})


def test_a_release_answers_and_remembers(client: httpx.Client) -> None:
    told = ask(client, 0.11, 0.91).json()
    outputs = {each["name"]: each["data"] for each in told["outputs"]}
    assert outputs == {"label": [0, 1], "kind": ["stable", "stable"], "is_answer": [True, True]}
    assert told["parameters"]["queries_answered"] >= 2
    assert ask(client, 0.11).json()["outputs"][1]["data"] == ["repeated"]


@pytest.mark.parametrize("kind", ["text/plain", "text/plain; charset=utf-8", "multipart/form-data", "text/json", ""])
@pytest.mark.parametrize("path", ["/v2/models/ages/infer", "/v2/models/ages/versions/1/infer"])
def test_a_type_that_any_page_may_send_is_no_inference(client: httpx.Client, kind: str, path: str) -> None:
    """A browser sends these across origins without asking the server first."""
    told = client.post(path, content=INFERENCE, headers={"Content-Type": kind})
    assert (told.status_code, told.json()["code"]) == (415, "wrong_type")
    told = client.post(path, content=INFERENCE, headers={"Origin": str(client.base_url)})
    assert (told.status_code, told.json()["code"]) == (415, "wrong_type"), "a page that leaves the type out"
    assert client.post(path, content=INFERENCE).status_code == 200, "a client of the protocol may"


@pytest.mark.parametrize(
    ("method", "path", "code", "status"),
    [
        ("GET", "/v2/models/none", "unknown_model", 404),
        ("GET", "/v1/releases/none", "unknown_model", 404),
        ("GET", "/v1/budget?release=tree", "unknown_model", 404),
        ("GET", "/nowhere", "unknown_path", 404),
        ("GET", "/v2/", "unknown_path", 404),
        ("DELETE", "/v2/health/live", "wrong_method", 405),
        ("GET", "/v1/budget", "bad_value", 400),
        ("GET", "/v1/answers?release=ages&limit=0", "bad_value", 400),
        ("GET", "/v1/releases/ages/picture.svg", "unknown_path", 404),
    ],
)
def test_refusals_have_one_shape(client: httpx.Client, method: str, path: str, code: str, status: int) -> None:
    response = client.request(method, path)
    told = response.json()
    assert set(told) == {"error", "code", "status", "details"}
    assert (told["code"], told["status"], response.status_code) == (code, status, status)


def test_pcqr_itself_imports_nothing_of_the_server() -> None:
    code = (
        "import sys, pcqr, pcqr.cli.main; print({'pydantic', 'uvicorn', 'httpx', 'prometheus_client'} & {*sys.modules})"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "set()\n"  # noqa: S603


def test_the_document_names_what_is_served_and_every_refusal_of_a_route(client: httpx.Client) -> None:
    told = client.get("/openapi.json").json()
    infer = told["paths"]["/v2/models/{name}/infer"]["post"]
    assert infer["parameters"][0]["schema"]["enum"] == ["ages", "clinic", "tree"]
    assert set(infer["requestBody"]["content"]) == {"application/json", "application/octet-stream"}
    assert {"200", "400", "404", "409", "410", "413", "415", "503"} <= set(infer["responses"])
    assert infer["responses"]["410"]["description"] == "budget_exhausted"
    budget = told["paths"]["/v1/budget"]["get"]
    assert budget["parameters"][0]["schema"]["enum"] == ["ages", "clinic"]
    assert not re.search("docs/|proofs/", str(told)), "pages that whoever asks does not have"
