"""schemathesis against /openapi.json: whatever is sent, the server replies as the document says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from support.kept import kept
from support.serving import clinic_place, model_place, release_place

from pcqr.server import openapi
from pcqr.server.app import ROUTES, make_app
from pcqr.server.service import Service
from pcqr.server.state import ServerState, Settings

HOST = "testserver"
"""What schemathesis calls an application in its own process."""
SEED = 1 if os.environ.get("CI") else None

NUMBER = {"anyOf": [{"type": "number"}, {"type": "boolean"}, {"type": "string", "pattern": "^[0-9]{1,3}$"}]}
DATE = {"anyOf": [{"type": "string", "format": "date"}, {"const": ""}]}
CATEGORY = {"enum": ["female", "male", ""]}
CELLS: dict[str, Any] = {
    "age": NUMBER,
    "sex": {"anyOf": [CATEGORY, {"type": "null"}]},
    "seen": {"anyOf": [DATE, {"type": "null"}]},
}
"""What is a cell of each column in `/v1`."""
TENSORS: dict[str, tuple[str, dict[str, Any]]] = {
    "age": ("FP64", {"type": "number"}),
    "sex": ("BYTES", CATEGORY),
    "seen": ("BYTES", DATE),
}


def exactly(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def one(cell: dict[str, Any]) -> dict[str, Any]:
    """A list of one: JSON Schema cannot say that lists have equal lengths, or that of a shape."""
    return {"type": "array", "items": cell, "minItems": 1, "maxItems": 1}


def tensor(name: str) -> dict[str, Any]:
    datatype, cell = TENSORS[name]
    shape = one({"const": 1}) | {"maxItems": 2}
    properties = {"name": {"const": name}, "shape": shape, "datatype": {"const": datatype}, "data": one(cell)}
    return {"type": "object", "properties": properties, "required": [*properties]}


ROWS = {
    "oneOf": [
        exactly({"rows": {"type": "array", "minItems": 1, "items": exactly(CELLS)}}),
        exactly({"columns": exactly({name: one(cell) for name, cell in CELLS.items()})}),
    ]
}
INFERENCE = {
    "type": "object",
    "properties": {
        "id": {"type": ["string", "null"]},
        "inputs": {"type": "array", "prefixItems": [tensor(name) for name in CELLS], "items": False, "minItems": 3},
        "outputs": {"type": ["array", "null"], "maxItems": 1, "items": {"const": {"name": "label"}}},
    },
    "required": ["inputs"],
}


@pytest.fixture
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The real application. The planner, which takes seconds, says nothing here."""
    ages = tmp_path_factory.mktemp("ages")
    kept(ages)
    places = (
        release_place(ages),
        clinic_place(tmp_path_factory.mktemp("clinic")),
        model_place(tmp_path_factory.mktemp("models")),
    )

    async def planned(_: object) -> bytes:
        return b"{}"

    service = Service.open(places)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pcqr.server.planning.planned", planned)
        yield make_app(ServerState(Settings(host_names=(HOST,)), service))
    service.close()


def everything(app: Any, examples: int) -> Any:
    """The document as it is. What the columns are it cannot say: it is one for all that is served."""
    told = _config(examples, expected=["2xx", "400", "404", "409", "410", "413"])
    return schemathesis.openapi.from_asgi("/openapi.json", app, config=told)


def patients(app: Any, examples: int) -> Any:
    """The document with the columns of a release and a model in it: what fits is answered, until the release halts."""
    document = openapi.document(ROUTES, ["clinic", "tree"], [])
    document["paths"] = {path: found for path, found in document["paths"].items() if "post" in found}
    for path, operations in document["paths"].items():
        rows = INFERENCE if path.endswith("infer") else ROWS
        operations["post"]["requestBody"]["content"] = {"application/json": {"schema": rows}}
        operations["post"]["parameters"] = [each for each in operations["post"]["parameters"] if each["in"] == "path"]
    found = schemathesis.openapi.from_dict(document, config=_config(examples, expected=["200", "410"]))
    found.app = app
    return found


def _config(examples: int, expected: list[str]) -> SchemathesisConfig:
    told: dict[str, Any] = {
        "checks": {
            "positive_data_acceptance": {"expected-statuses": expected},
            "negative_data_rejection": {"expected-statuses": ["400", "404", "405", "409", "413", "415"]},
        },
        "generation": {"max-examples": examples, "database": "none"},
        "phases": {"stateful": {"enabled": False}},
    }
    return SchemathesisConfig.from_dict(told if SEED is None else told | {"seed": SEED})


def findings(schema: Any) -> tuple[list[str], int]:
    """What schemathesis objects to, and how many requests it made."""
    found, requests = [], 0
    for event in from_schema(schema).execute():
        if isinstance(event, events.NonFatalError | events.FatalError):
            found.append(str(getattr(event, "info", None) or getattr(event, "exception", event)))
        if isinstance(event, events.ScenarioFinished):
            requests += len(event.recorder.interactions)
            for checks in event.recorder.checks.values():
                found += [
                    f"{event.label}: {check.failure_info.failure}\n{check.failure_info.code_sample}"
                    for check in checks
                    if check.failure_info is not None
                ]
    return found, requests


DOCUMENTS = pytest.mark.parametrize("document", [everything, patients])


@DOCUMENTS
def test_every_reply_is_as_the_document_says(document: Callable[[Any, int], Any], app: Any) -> None:
    found, requests = findings(document(app, 5))
    assert found == []
    assert requests > 200


@pytest.mark.slow
@DOCUMENTS
def test_every_reply_is_as_the_document_says_at_length(document: Callable[[Any, int], Any], app: Any) -> None:
    found, requests = findings(document(app, 200))
    assert found == []
    assert requests > 1_000
