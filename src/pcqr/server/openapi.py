"""The shapes of replies and /openapi.json: the one document of all endpoints, which tests compare with every reply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

from pcqr import __version__
from pcqr.advice.solving import Varied
from pcqr.server.bodies import BYTES, NUMPY
from pcqr.server.errors import STATUS
from pcqr.server.requests import Route

Label = bool | int | float | str
Kind = Literal["stable", "unstable", "published", "repeated"]


class Counts(BaseModel):
    """Queries, and unstable answers among them; null where there is no limit."""

    queries: int | None
    unstable: int | None
    labels: int | None = Field(default=None, description="Labels among them, where their number has a limit.")


class Promise(BaseModel):
    """What is promised to every person or row in the private records."""

    epsilon: float
    delta: float
    unit: str = Field(description="Whom it protects: what neighbouring tables differ in.")
    words: str = Field(description="The guarantee in a sentence.")
    is_private: bool = Field(description="False where the randomness was seeded, as for tests.")
    is_charged: bool | None = Field(
        default=None, description="Was the release charged to an account? null: not known, or seeded."
    )
    rho: float | None = Field(default=None, description="ρ of zCDP, where one is proved that is below ε²/2.")
    assumptions: list[str] = Field(description="What is treated as public, or assumed about adopted copies.")
    proof: str = Field(description="The name of the proof note in the source code of pcqr.")
    steps: list[str]


class ColumnFacts(BaseModel):
    """One column of x, as the schema declares it."""

    name: str
    kind: Literal["numeric", "categorical", "date"]
    categories: list[str] | None = Field(description="For categorical columns.")
    bounds: list[float] | list[str] | None = Field(description="What numbers, or dates, are clipped to.")
    missing: bool = Field(description="May a number or a date be missing? A category always may.")
    other: bool = Field(description="May a category be one that is not declared?")


class Adoption(BaseModel):
    """A decision of a person to go on with a copy of the log: the newest one, or an older one that was written off.

    Only the holder sees how many entries the copy had, how many were known to be lost, and who decided it where.
    """

    time: str
    written_off: bool = Field(description="Does everything that the copy may lack count as used?")
    entries: int | None = None
    lost: int | None = Field(None, description="null: there was no anchor that could say.")
    user: str | None = None
    host: str | None = None


class ReleaseFacts(BaseModel):
    """A release or a published model."""

    name: str
    kind: Literal["release", "model"]
    algorithm: str = Field(description="The estimator that answers; for a model, what kind of classifier it is.")
    guarantee: Promise
    adoptions: list[Adoption] = Field(description="The copies of its log that were adopted, in order.")
    columns: list[ColumnFacts] | None = Field(description="null: rows are lists of so many numbers as `features` says.")
    features: int
    classes: list[Label]
    state: Literal["open", "published", "exhausted", "failed"] = Field(
        description="failed: its log cannot be read or written now, and is tried again."
    )
    spent: Counts | None = Field(description="null for a model, which spends nothing, and while the log is away.")
    remaining: Counts | None
    planned_queries: int | None = Field(description="m, for which accuracy was planned.")
    records: int | None = Field(description="n, which is public.")
    on_unstable: Literal["abstain", "random"] | None = Field(
        description="What its `answer` says where the vote was unstable: nothing, or the coin. null for a model."
    )
    shows_classifier: bool = Field(
        description="Is its classifier public, once it answers? Otherwise the release shows only labels."
    )
    most_rows: int = Field(description="The most rows that a request may have.")
    most_bytes: int = Field(description="The most bytes that the body of a request may have.")


class ReleaseDetail(ReleaseFacts):
    """The same with all numbers of its plan and, once it is published, the classifier."""

    plan: dict[str, Any] | None
    expectation: dict[str, Any] | None = Field(description="What the planner's model expects: no bound.")
    rules: str | None = Field(description="The published classifier as text.")
    picture: str | None = Field(description="The path of its picture.")


class Releases(BaseModel):
    releases: list[ReleaseFacts]
    role: Literal["asker", "holder"] = Field(description="What the key of this request may see.")


class Moment(BaseModel):
    """What had been spent by a time, in seconds since 1970."""

    time: int
    queries: int
    unstable: int


class Mine(BaseModel):
    """What the asker's key has used, and may use in all."""

    name: str | None
    used: Counts
    allowance: Counts


class AskerUse(BaseModel):
    name: str | None = Field(description="null: asked without a key.")
    used: Counts
    allowance: Counts | None = Field(description="What it may have in all; null: the file of keys knows it no more.")


class Budget(BaseModel):
    release: str
    guarantee: Promise
    adoptions: list[Adoption]
    state: Literal["open", "published", "exhausted"]
    spent: Counts
    remaining: Counts
    planned_queries: int | None
    untimed: Counts = Field(
        description="What was asked in the directory itself, where no time is noted; the history begins with it."
    )
    history: list[Moment]
    mine: Mine
    askers: list[AskerUse] | None = Field(description="For the holder alone.")


class AnswerLine(BaseModel):
    """One answer that was given; a repeated query has one line for each who asked it."""

    number: int
    time: int | None = Field(description="Seconds since 1970; null where nobody noted it.")
    asker: str | None
    x: dict[str, float | str | None] | list[float]
    label: Label | None
    coin: Label | None = Field(description="What stands in for an unstable answer where a label is wanted.")
    kind: Kind


class Answers(BaseModel):
    answers: list[AnswerLine]
    next: int | None = Field(description="The `after` of the next page; null: this was the last.")


class Cost(BaseModel):
    """What a batch will cost, as long as nobody asks in between."""

    requested: int
    repeated: int
    new: int
    published: int
    certain: int = Field(description="The first so many rows get an answer whatever the votes say.")
    remaining: Counts
    beyond_plan: int
    expected_unstable: float | None
    unstable_range: list[float] | None
    chance_of_halting: float | None
    chance_of_exhausting: float | None = Field(description="The chance that the release itself is exhausted.")
    quota: Counts | None = Field(description="What the key may still have; null where it has no limit.")
    is_certain: bool
    is_refused: bool
    is_exhausting: bool = Field(description="Is the release expected to be exhausted? Then asking needs `confirm`.")
    epsilon: float
    delta: float
    words: str
    asked_before: list[bool] = Field(
        description="Row by row: has this key asked it before, or, of a shared release, anybody? Then it is free."
    )


class RowAnswer(BaseModel):
    """One answer. The label is null where the vote was unstable; `coin` is what `predict` says then."""

    label: Label | None
    coin: Label | None
    kind: Kind
    probability: float | None = Field(None, description="Of the label, by a published model that has probabilities.")


class Answered(BaseModel):
    answers: list[RowAnswer]
    spent: Counts | None
    remaining: Counts | None


class Charge(BaseModel):
    """One release that was charged, whatever became of it."""

    number: int
    time: str
    what: str
    epsilon: float
    delta: float
    price: dict[str, float]
    facts: dict[str, Any]


class Account(BaseModel):
    """What may ever be spent on the private table, and what was. All but `account` is left out where there is none.

    `limit`, `spent` and `remaining` have `delta` and, by the filter, `epsilon` or `rho`.
    """

    account: str | None
    epsilon: float = 0.0
    delta: float = 0.0
    filter: str = ""
    limit: dict[str, float] = {}
    conversion_delta: float | None = None
    unit: dict[str, str | int | None] = {}
    created: str = ""
    spent: dict[str, float] = {}
    remaining: dict[str, float] = {}
    adoptions: list[Adoption] = []
    charges: list[Charge] = []


class Server(BaseModel):
    name: str
    version: str
    extensions: list[str]


class Live(BaseModel):
    live: bool


class Ready(BaseModel):
    ready: bool


class ModelReady(BaseModel):
    name: str
    ready: bool


class TensorFacts(BaseModel):
    """A tensor that is taken or given; -1 is the number of rows."""

    name: str
    datatype: str
    shape: list[int]


class Model(BaseModel):
    name: str
    versions: list[str]
    platform: str
    inputs: list[TensorFacts]
    outputs: list[TensorFacts]


class OutputTensor(BaseModel):
    name: str
    datatype: str
    shape: list[int]
    data: list[Label] | None = Field(None, description="Left out of a binary tensor.")
    parameters: dict[str, Any] | None = None


class Inferred(BaseModel):
    """The reply to an inference; with binary tensors it is followed by them."""

    model_name: str
    model_version: str
    id: str | None = None
    parameters: dict[str, Any] | None = None
    outputs: list[OutputTensor]


# ---------------------------------------------------------------------------------------------------------------------
# The document.


SUMMARY = "Labels for queries on private records, under differential privacy."
MOST_ANSWERS = 1_000
READING = ("bad_json", "bad_value", "not_utf8", "unknown_model", "too_large", "too_many_rows", "wrong_type")
ASKING = ("quota_spent", "token_reused", "would_exhaust", "budget_exhausted", "ledger_closed")
"""What a request to ask can be refused with once it has been read."""

_EVERYWHERE = (
    *("missing_key", "wrong_key", "not_allowed", "wrong_origin", "too_slow", "wrong_host"),
    *("internal", "closing", "overloaded"),
)
"""What any request can be refused with."""

_NAME = {
    "name": "name",
    "in": "path",
    "required": True,
    "description": "A release or a model.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
}
_ONE_VERSION = {
    "name": "version",
    "in": "path",
    "required": True,
    "description": "There is one version.",
    "schema": {"type": "string", "enum": ["1"]},
}
CONFIRM: dict[str, Any] = {
    "name": "confirm",
    "in": "query",
    "required": False,
    "description": "true: ask even if the rows are expected to exhaust the release for everybody, for ever.",
    "schema": {"type": "boolean", "default": False},
}
TOKEN = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "What the asker calls this request: sent again, it gets the same reply.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,128}$"},
}


def _only(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": False}


_CELL: dict[str, Any] = {"type": ["string", "number", "boolean", "null"]}
ROWS = {
    "application/json": {
        "schema": {
            "oneOf": [
                _only(
                    "rows", {"type": "array", "minItems": 1, "items": {"type": "object", "additionalProperties": _CELL}}
                ),
                _only("columns", {"type": "object", "additionalProperties": {"type": "array", "items": _CELL}}),
                _only("x", {"type": "array", "minItems": 1, "items": {"type": "array", "items": {"type": "number"}}}),
            ]
        }
    },
    "text/csv": {"schema": {"type": "string", "description": "A header line with the columns, then the rows."}},
}
_CONFIRMED = {"description": CONFIRM["description"]}
_PARAMETERS: dict[str, Any] = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}
_TENSOR = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "shape": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
        "datatype": {"type": "string", "enum": [*NUMPY, BYTES]},
        "parameters": _PARAMETERS,
        "data": {"type": "array", "items": {}},
    },
    "required": ["name", "shape", "datatype"],
}
_OUTPUT = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "parameters": _PARAMETERS},
    "required": ["name"],
}
INFERENCE = {
    "application/json": {
        "schema": {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "parameters": _PARAMETERS | {"properties": {"confirm": CONFIRM["schema"] | _CONFIRMED}},
                "inputs": {"type": "array", "minItems": 1, "items": _TENSOR},
                "outputs": {"type": "array", "items": _OUTPUT},
            },
            "required": ["inputs"],
        }
    },
    "application/octet-stream": {
        "schema": {
            "type": "string",
            "format": "binary",
            "description": "The same JSON, as long as Inference-Header-Content-Length says, then the binary tensors.",
        }
    },
}


class Problem(BaseModel):
    """Every refusal has this shape."""

    error: str = Field(description="One plain sentence or two.")
    code: str = Field(description="What happened, for programs: it never changes its meaning.")
    status: int = Field(description="The status of the response.")
    details: dict[str, Any] = Field(description="What a program may want to know beside the code.")


class OfRelease(BaseModel):
    release: str = Field(description="The name of a release.", max_length=64)


class OfAnswers(OfRelease):
    after: int = Field(0, ge=0, lt=1 << 63, description="The number of the last answer that is known.")
    limit: int = Field(100, ge=1, le=MOST_ANSWERS, description="The most answers of a page.")


class OfPlan(BaseModel):
    """The public numbers that a plan is for."""

    records: int = Field(ge=1, le=10**12, description="n, the private records.")
    epsilon: float = Field(gt=0, le=1000, description="ε.", allow_inf_nan=False)
    delta: float = Field(1e-6, gt=0, lt=1, description="δ.")
    queries: int = Field(1000, ge=1, le=10**6, description="m, the queries that are planned for.")
    features: int = Field(1, ge=1, le=10_000, description="Columns of the table once it is encoded.")
    hypotheses: Literal["thresholds", "intervals", "stumps", "rectangles", "halfspaces"] = Field(
        "stumps", alias="class", description="What the teachers learn."
    )
    alpha: float = Field(0.1, gt=0, lt=0.5, description="α, the extra error that a proof is for.")
    beta: float = Field(0.05, gt=0, lt=1, description="β, the chance of more.")
    over: Varied | None = Field(None, description="Let this number vary, from a quarter to four times.")


def document(routes: Iterable[Route], names: Sequence[str], releases: Sequence[str]) -> dict[str, Any]:
    """Return /openapi.json, with the names of what is served wherever a path or a query asks for one."""
    listed = [route for route in routes if route.reply is not None]
    shapes = {route.reply for route in listed if isinstance(route.reply, type)} | {Problem}
    _, found = models_json_schema(
        [(shape, "serialization") for shape in sorted(shapes, key=lambda shape: shape.__name__)],
        ref_template="#/components/schemas/{model}",
    )
    paths: dict[str, Any] = {}
    for route in listed:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, names, releases)
    return {
        "openapi": "3.1.0",
        "info": {"title": "pcqr", "summary": SUMMARY, "version": __version__},
        "paths": paths,
        "components": {"schemas": found["$defs"]},
    }


def _operation(route: Route, names: Sequence[str], releases: Sequence[str]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "summary": route.endpoint.__name__.replace("_", " ").capitalize(),
        "description": " ".join((route.endpoint.__doc__ or "").split()),
        "operationId": f"{route.method.lower()}{route.path}".replace("/", "_").replace("{", "").replace("}", ""),
        "responses": {"200": {"description": "It was answered.", "content": _content(route)}},
    }
    for code in (*route.refusals, *_EVERYWHERE):
        reply = told["responses"].setdefault(str(STATUS[code]), {"description": "", "content": _shaped(Problem)})
        reply["description"] = ", ".join(filter(None, (reply["description"], code)))
    parameters = [_NAME | {"schema": {"type": "string", "enum": list(names)}}] if "{name}" in route.path else []
    parameters += [_ONE_VERSION] if "{version}" in route.path else []
    parameters += [*route.parameters, *(_queries(route.query, releases) if route.query else ())]
    if parameters:
        told["parameters"] = parameters
    if route.body is not None:
        told["requestBody"] = {"required": True, "content": route.body}
    return told


def _content(route: Route) -> dict[str, Any]:
    if not isinstance(route.reply, str):
        return _shaped(route.reply)
    return {route.reply: {"schema": {} if route.reply == "application/json" else {"type": "string"}}}


def _shaped(shape: type[BaseModel] | None) -> dict[str, Any]:
    schema = {} if shape is None else {"$ref": f"#/components/schemas/{shape.__name__}"}
    return {"application/json": {"schema": schema}}


def _queries(model: type[BaseModel], releases: Sequence[str]) -> list[dict[str, Any]]:
    """The parameters of an address."""
    found = model.model_json_schema()
    return [
        {
            "name": name,
            "in": "query",
            "required": name in found.get("required", ()),
            "description": schema.get("description", ""),
            "schema": {"type": "string", "enum": list(releases)} if name == "release" else schema,
        }
        for name, schema in found["properties"].items()
    ]
