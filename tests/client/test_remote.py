"""The face of a release that is elsewhere: what is sent, what is made of the replies, which errors are raised."""

from __future__ import annotations

import datetime
import json
import sys
from typing import Any

import httpx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.replying import FACTS, ROW, answered, refused, remote, rows_in, said

import pcqr
from pcqr import Answer, BudgetExhausted, DataError
from pcqr.client.errors import BadReply, KeyInClear, NotAdmitted, NotConfirmed, ServiceError
from pcqr.client.remote import row_of
from pcqr.errors import Exhausted, MissingExtra, ParameterError
from pcqr.releases.protocol.answers import Usage

pytestmark = pytest.mark.usefixtures("pauses")
PLAIN = FACTS | {"columns": None, "features": 2, "classes": [0, 1]}
GIVEN = {"label": "ill", "coin": None, "kind": "stable"}


def many(rows: int) -> dict[str, list[Any]]:
    return {"age": list(range(rows)), "sex": ["male"] * rows, "seen": [None] * rows}


def test_a_cell_goes_as_what_it_means() -> None:
    sent = []

    def handler(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return answered(request)

    found = remote(handler)
    frames = [
        {"age": [61.0, "130"], "sex": ["male", None], "seen": ["2014-05-03T23:00", None]},
        pd.DataFrame({"sex": ["male", None], "age": [61, 130], "seen": [pd.Timestamp("2014-05-03 01:00"), pd.NaT]}),
        pl.DataFrame({"age": [61, 130], "sex": ["male", None], "seen": [datetime.date(2014, 5, 3), None]}),
    ]
    for frame in frames:
        assert found.predict(frame).tolist() == ["ill", "ill"]
    wanted = {"columns": {"age": [61.0, 100.0], "sex": ["male", None], "seen": ["2014-05-03", None]}}
    assert sent == [wanted] * 3, "bounds hold before anything is sent"


def test_long_tables_go_in_batches_each_with_a_token_of_its_own() -> None:
    sizes, tokens = [], []

    def handler(request: httpx.Request) -> httpx.Response:
        sizes.append(rows_in(request))
        tokens.append(request.headers["idempotency-key"])
        return answered(request)

    assert remote(handler).predict(many(600), confirm=True).shape == (600,)
    assert sizes == [256, 256, 88]
    assert len(set(tokens)) == 3


@pytest.mark.parametrize("query", [pd.Series(ROW), pd.DataFrame([ROW]).iloc[0], dict(reversed(ROW.items()))])
def test_a_query_has_the_names_of_the_schema(query: Any) -> None:
    sent: list[Any] = []

    def handler(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return answered(request)

    assert remote(handler).answer(query).label == "ill"
    assert sent == [{"columns": {name: [value] for name, value in ROW.items()}}]
    with pytest.raises(DataError, match="x must be a value for each of the columns"):
        remote(handler).answer({})
    with pytest.raises(DataError, match="the columns have no names here"):
        row_of(ROW, None, 2)


def test_answers_come_one_by_one_with_what_was_spent_after_each() -> None:
    kinds = ["repeated", "stable", "unstable", "repeated"]

    def handler(_: httpx.Request) -> httpx.Response:
        given = [{"label": None, "coin": "well", "kind": k} if k == "unstable" else GIVEN | {"kind": k} for k in kinds]
        return said({"answers": given, "spent": {"queries": 301, "unstable": 2}, "remaining": {"unstable": 8}})

    found = remote(handler)
    assert list(found.answers(many(4))) == [
        Answer("ill", "repeated", Usage(299, 1), Usage(None, 9)),
        Answer("ill", "stable", Usage(300, 1), Usage(None, 9)),
        Answer(None, "unstable", Usage(301, 2), Usage(None, 8), beyond_plan=True),
        Answer("ill", "repeated", Usage(301, 2), Usage(None, 8), beyond_plan=True),
    ]
    assert found.predict(many(4)).tolist() == ["ill", "ill", "well", "ill"], "the coin stands in"
    assert found.score(many(4), ["ill", "ill", "ill", "ill"]) == 0.75


def test_rows_are_refused_here_before_anything_is_sent() -> None:
    def handler(_: httpx.Request) -> httpx.Response:
        raise AssertionError

    found = remote(handler)
    bad: list[tuple[Any, str]] = [
        ({"age": ["old"], "sex": ["male"], "seen": [None]}, "column 'age'"),
        ({"age": [None], "sex": ["male"], "seen": [None]}, "column 'age'"),
        ({"age": [1], "sex": ["male"]}, "'seen'"),
        ({"age": [1], "sex": ["male"], "seen": [None], "name": ["x"]}, "'name'"),
        ({"age": [1, 2], "sex": ["male"], "seen": [None]}, "one length"),
        ({"age": [], "sex": [], "seen": []}, "at least one row"),
    ]
    for table, words in bad:
        for ask in (found.predict, found.preview, found.answers):
            with pytest.raises(DataError, match=words):
                ask(table)
    with pytest.raises(DataError, match="one query"):
        found.answer(pd.DataFrame(many(2)))


def test_numbers_without_a_schema() -> None:
    sent = []

    def handler(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content)["x"])
        return answered(request, label=1)

    found = remote(handler, facts=PLAIN)
    third = 1 / 3
    assert found.schema_ is None
    assert found.classes_.tolist() == [0, 1]
    for table in ([[1, third]], np.array([[1, third]]), pd.DataFrame({"a": [1], "b": [third]}), [["1", third]]):
        assert found.predict(table).tolist() == [1]
    assert found.answer([1, third]).label == 1
    assert sent == [[[1.0, third]]] * 5
    for bad in (
        [[1.0]],
        [1.0, 2.0],
        [[1.0, np.nan]],
        [["a", "b"]],
        {"a": [1], "b": [2]},
        [[[1.0, 2.0]]],
        [[1], [1, 2]],
    ):
        with pytest.raises(DataError, match="X must be"):
            found.predict(bad)


def test_a_release_that_halts_midway_gives_what_it_answered() -> None:
    asked = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(rows_in(request))
        if len(asked) == 1:
            return answered(request)
        return refused("budget_exhausted", 410, {"answered": [GIVEN, GIVEN], "requested": asked[-1]})

    found = remote(handler)
    with pytest.raises(BudgetExhausted) as halted:
        found.predict(many(300), confirm=True)
    assert len(halted.value.answers) == 258
    assert halted.value.requested == 42
    assert halted.value.remaining == Usage(None, 9)
    asked.clear()
    answers = found.answers(many(300), confirm=True)
    assert [next(answers).label for _ in range(258)] == ["ill"] * 258, "what was answered is given first"
    with pytest.raises(BudgetExhausted):
        next(answers)
    asked.clear()
    with pytest.warns(Exhausted):
        assert found.score(many(300), ["ill"] * 300, confirm=True) == (258 + 21) / 300


@pytest.mark.parametrize(("code", "status"), [("missing_key", 401), ("wrong_key", 401), ("not_allowed", 403)])
def test_who_is_not_let_in_is_told_how_to_get_a_key(code: str, status: int) -> None:
    with pytest.raises(NotAdmitted, match="pcqr keys create"):
        remote(lambda _: refused(code, status)).answer(ROW)


def test_what_would_use_up_the_release_is_sent_once_it_is_confirmed() -> None:
    counts = {"requested": 2, "repeated": 0, "new": 2, "published": 0, "certain": 1, "beyond_plan": 2}
    cost = counts | {"remaining": {"queries": None, "unstable": 1}, "chance_of_exhausting": 0.75}
    paths = []

    def handler(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.raw_path.decode())
        is_confirmed = request.url.params.get("confirm") == "true"
        return answered(request) if is_confirmed else refused("would_exhaust", 409, {"cost": cost})

    found = remote(handler)
    for ask in (found.predict, lambda X: list(found.answers(X)), lambda X: found.score(X, ["ill"] * 2)):
        with pytest.raises(NotConfirmed, match="confirm=True") as error:
            ask(many(2))
        assert (error.value.cost.new, error.value.cost.remaining) == (2, Usage(None, 1))
    assert found.predict(many(2), confirm=True).tolist() == ["ill"] * 2
    assert found.answer(ROW, confirm=True).label == "ill"
    assert paths[-1].endswith("/ask?confirm=true")
    with pytest.raises(BadReply):
        remote(lambda _: refused("would_exhaust", 409, {})).predict(many(2))


def test_a_model_predicts_and_counts_nothing() -> None:
    model = {name: FACTS[name] for name in ("guarantee", "columns", "features", "classes", "most_rows")}
    model |= {"name": "hospital", "kind": "model", "state": "published"}
    found = remote(lambda request: answered(request, "published"), facts=model)
    assert found.predict(many(2)).tolist() == ["ill", "ill"]
    assert found.is_published_
    assert (found.queries_answered_, found.unstable_remaining_) == (0, None)


def test_the_name_may_be_left_out_where_there_is_one_thing_alone() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/releases":
            return said({"releases": listed})
        return said(FACTS)

    listed: list[Any] = [FACTS]
    assert "hospital" in repr(remote(handler, name=""))
    for more in ([], [FACTS, FACTS | {"name": "other"}], [FACTS | {"name": "../../metrics"}], [3]):
        listed[:] = more
        with pytest.raises(ServiceError):
            remote(handler, name="")


def test_a_key_in_the_clear_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PCQR_KEY", "secret")
    with pytest.warns(KeyInClear, match="https"), pytest.raises(ServiceError):
        pcqr.connect("http://host.invalid:1/x", timeout=0.5)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), True, "5"])
def test_a_timeout_is_a_number_of_seconds(timeout: Any) -> None:
    with pytest.raises(ParameterError, match="timeout"):
        pcqr.connect("http://127.0.0.1:1/x", timeout=timeout)


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"pcqr\[client\]"):
        pcqr.connect("http://127.0.0.1:1/x")
