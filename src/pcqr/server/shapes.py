"""The shapes of what `/v1` says, for /openapi.json and for those who check what they get."""

from __future__ import annotations

import json
import json.scanner
from collections.abc import Callable
from typing import Any, Literal, NoReturn

import numpy as np
from pydantic import BaseModel, Field
from starlette.requests import Request

from pcqr.server.errors import Refusal

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
    state: Literal["open", "published", "halted", "failed"] = Field(
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
    state: Literal["open", "published", "halted"]
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
    known: list[bool] = Field(
        description="Row by row: has this key asked it before, or, of a shared release, anybody? Then it is free."
    )


class Said(BaseModel):
    """One answer. The label is null where the vote was unstable; `coin` is what `predict` says then."""

    label: Label | None
    coin: Label | None
    kind: Kind
    probability: float | None = Field(None, description="Of the label, by a published model that has probabilities.")


class Asked(BaseModel):
    answers: list[Said]
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
# What a request brings: its body as strict JSON, and the limits on rows.


LONG = 1 << 16
"""Bytes of a body that is read in a thread: reading it would hold up everybody else."""
MANY = 256
"""Rows whose reply is written, or that a model predicts, in a thread."""
PATIENT = 1 << 20
"""Bytes of JSON from which on Python itself parses it: the quick parser lets no other thread run before its end."""
IN_JSON, IN_CSV = b"[{,", b",;\t|\n\r"
"""What comes before, or after, each value."""
_SPARE = 4
"""Times as many of them as the rows need: nested tensors have two a value, and texts may hold some."""


def parse_json(body: bytes | memoryview) -> Any:
    """The value of a JSON text in UTF-8. NaN, infinities and names that occur twice are no JSON here."""
    try:
        text = str(body, "utf-8")
    except UnicodeDecodeError:
        raise Refusal("not_utf8", "The body must be text in UTF-8.") from None
    try:
        return (_patient() if len(body) >= PATIENT else _QUICK).decode(text)
    except (ValueError, RecursionError):  # integers too long to be read are ValueErrors, too
        raise Refusal("bad_json", "The body must be one JSON value (RFC 8259), each name in an object once.") from None


def parse_object(body: bytes | memoryview) -> dict[str, Any]:
    found = parse_json(body)
    if not isinstance(found, dict):
        raise Refusal("bad_json", "The body must be a JSON object.")
    return found


def check_rows(rows: int, most: int) -> None:
    if rows > most:
        raise Refusal("too_many_rows", f"A request may have {most:,} rows.", {"most": most})


def check_values(body: bytes | memoryview, marks: bytes, rows: int, columns: int) -> None:
    """Refuse a body with more values than so many rows can have, before any of them is made: each takes memory."""
    if len(body) < LONG:
        return
    signs = np.frombuffer(body, dtype=np.uint8)
    found = sum(int(np.count_nonzero(signs == mark)) for mark in marks)
    if found > _SPARE * rows * (columns + 1) + LONG:
        words = f"The body has more values than {rows:,} rows can have, the most of a request."
        raise Refusal("too_many_rows", words, {"most": rows})


def check_encoding(request: Request) -> None:
    """A compressed body is refused: what it would become is not known before it is there."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal("wrong_type", "Send the body as it is: Content-Encoding is not supported.")


def _no_constant(_: str) -> NoReturn:
    raise ValueError


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


_QUICK = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_object)


def _patient() -> json.JSONDecoder:
    """Reads the same, in Python: several times slower, while others are answered."""
    found = json.JSONDecoder(
        parse_constant=_no_constant,
        object_pairs_hook=_object,
        parse_int=_of_ascii(int),
        parse_float=_of_ascii(float),
    )
    found.scan_once = json.scanner.py_make_scanner(found)  # type: ignore[attr-defined]
    return found


def _of_ascii(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Python's scanner takes the digits of any script."""

    def checked(text: str) -> Any:
        if not text.isascii():
            raise ValueError
        return read(text)

    return checked
