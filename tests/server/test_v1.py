"""The endpoints of pcqr's own: what is served, spent, answered, and what rows cost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.kept import QUERIES, kept, reopened
from support.serving import BORDER, clinic_place, release_place, serving

from pcqr.release import Account
from pcqr.releases.protocol.answers import Usage
from pcqr.server.keys import KeyFile
from pcqr.server.state import Settings

PATIENT = {"age": 12, "sex": "female", "seen": "2020-01-02"}


def test_everything_that_is_served_is_listed(client: httpx.Client) -> None:
    reply = client.get("/v1/releases").json()
    told = reply["releases"]
    assert reply["role"] == "holder"  # without keys
    limits = Settings()
    assert {(each["most_rows"], each["most_bytes"]) for each in told} == {(limits.most_rows, limits.most_bytes)}
    by_name = {each["name"]: each for each in told}
    assert set(by_name) == {"ages", "clinic", "tree"}
    ages, clinic, tree = by_name["ages"], by_name["clinic"], by_name["tree"]
    assert (ages["kind"], ages["columns"], ages["features"], ages["classes"]) == ("release", None, 1, [0, 1])
    assert clinic["columns"][0] == {
        "name": "age",
        "kind": "numeric",
        "categories": None,
        "bounds": [0, 100],
        "missing": False,
        "other": False,
    }
    assert clinic["columns"][1]["categories"] == ["female", "male"]
    assert clinic["columns"][2]["missing"]
    assert clinic["guarantee"]["epsilon"] <= 4.0
    assert "If any one of the 3,000 private records were different" in clinic["guarantee"]["words"]
    assert clinic["state"] == "open"
    assert clinic["remaining"]["unstable"] >= 1
    assert (tree["kind"], tree["state"], tree["spent"]) == ("model", "published", None)
    assert (clinic["shows_classifier"], tree["shows_classifier"]) == (False, True)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ({"rows": [PATIENT, PATIENT | {"age": 91}]}, None),
        ({"columns": {"sex": ["female"] * 2, "age": [12, 91], "seen": ["2020-01-02"] * 2}}, None),
        ("age,sex,seen\n12,female,2020-01-02\n91,female,2020-01-02\n", "text/csv"),
        ("\ufeffseen;age;sex\n2020-01-02;12.0;female\n2020-01-02;91;female\n", "text/csv; charset=utf-8"),
    ],
)
def test_rows_are_previewed_and_asked_in_every_form(client: httpx.Client, body: Any, content_type: str | None) -> None:
    how: dict[str, Any] = (
        {"json": body}
        if content_type is None
        else {"content": body.encode(), "headers": {"content-type": content_type}}
    )
    cost = client.post("/v1/releases/clinic/preview", **how).json()
    assert cost["requested"] == 2
    assert cost["is_certain"] in (True, False)
    assert "adds nothing to ε" in cost["words"]
    told = client.post("/v1/releases/clinic/ask", **how).json()
    assert [each["label"] for each in told["answers"]] == ["well", "ill"]
    assert told["spent"]["queries"] >= 2
    assert client.post("/v1/releases/clinic/preview", **how).json()["repeated"] == 2
    told = client.post("/v1/releases/tree/ask", **how).json()
    assert told["answers"] == [{"label": each, "coin": None, "kind": "published"} for each in ("well", "ill")]
    assert client.post("/v1/releases/tree/preview", **how).json()["published"] == 2


@pytest.mark.parametrize(
    ("name", "body", "details"),
    [
        ("clinic", {"rows": [PATIENT, PATIENT | {"sex": "other"}]}, {"column": "sex", "row": 2}),
        ("clinic", {"rows": [PATIENT] * 7 + [PATIENT | {"age": None}, PATIENT]}, {"column": "age", "row": 8}),
        ("clinic", {"rows": [PATIENT | {"age": 10**400}]}, {"column": "age", "row": 1}),
        ("clinic", {"rows": [{"age": 3}]}, {"missing": ["sex", "seen"], "unknown": [], "row": 1}),
        ("clinic", {"rows": [PATIENT | {"\ud800": 1}]}, None),
        ("clinic", {"rows": []}, {}),
        ("clinic", {"rows": [7]}, {"row": 1}),
        ("clinic", {"columns": {"age": [], "sex": [], "seen": []}}, {}),
        ("clinic", {"x": [[1, 0, 1, 0, 0, 0]]}, {}),
        ("ages", {"rows": [{"x": 1}]}, {}),
        ("ages", {"columns": {"x": [1]}}, {}),
        ("ages", {"x": [[True]]}, {"row": 1}),
        ("ages", {"x": [[10**400]]}, {}),
    ],
)
def test_rows_that_cannot_be_read_are_refused(client: httpx.Client, name: str, body: Any, details: Any) -> None:
    before = client.get(f"/v1/budget?release={name}").json()["spent"]
    for action in ("ask", "preview"):
        content, headers = json.dumps(body), {"content-type": "application/json"}
        response = client.post(f"/v1/releases/{name}/{action}", content=content, headers=headers)
        assert (response.status_code, response.json()["code"]) == (400, "bad_value"), response.text
        assert details is None or response.json()["details"] == details
    assert client.get(f"/v1/budget?release={name}").json()["spent"] == before


@pytest.mark.parametrize(
    ("content", "headers", "code"),
    [
        (b"{}", {"content-type": "text/plain"}, "wrong_type"),
        (b"{}", {"content-type": "application/json; charset=latin-1"}, "wrong_type"),
        (b"{}", {"content-type": "application/json", "content-encoding": "gzip"}, "wrong_type"),
        (b"\xff", {"content-type": "application/json"}, "not_utf8"),
        (b"", {"content-type": "text/csv"}, "bad_value"),
        (b"age\n" * 10_002, {"content-type": "text/csv"}, "too_many_rows"),
    ],
)
def test_bodies_that_cannot_be_read_are_refused(
    client: httpx.Client, content: bytes, headers: dict[str, str], code: str
) -> None:
    response = client.post("/v1/releases/clinic/ask", content=content, headers=headers)
    assert response.json()["code"] == code


@pytest.mark.parametrize(
    "body",
    [
        {"rows": [7] * 10_001},
        {"columns": {"age": [7] * 10_001, "sex": [7]}},
        {"columns": {"age": [7], "sex": [7] * 10_001}},
        {"x": [["seven"]] * 10_001},
        "age\n" + "7\n" * 10_001 + "7,7\n",
    ],
)
def test_rows_are_counted_before_their_cells_are_looked_at(client: httpx.Client, body: Any) -> None:
    """A body of four million rows is refused for their number, without the seconds that reading them takes."""
    is_csv = isinstance(body, str)
    content, kind = (body, "text/csv") if is_csv else (json.dumps(body), "application/json")
    response = client.post("/v1/releases/clinic/ask", content=content, headers={"content-type": kind})
    assert (response.status_code, response.json()["code"]) == (413, "too_many_rows")


def test_the_budget_and_the_answers_are_told_page_by_page(tmp_path: Path) -> None:
    with serving(clinic_place(tmp_path)) as address, httpx.Client(base_url=address) as client:
        rows = [PATIENT | {"age": age} for age in range(5)]
        client.post("/v1/releases/clinic/ask", json={"rows": rows})
        told = client.get("/v1/budget?release=clinic").json()
        assert told["spent"]["queries"] == 5
        assert told["history"][-1]["queries"] == 5
        assert told["mine"] == {
            "name": None,
            "used": told["spent"],
            "allowance": {"queries": None, "unstable": None, "labels": None},
        }
        assert told["untimed"] == {"queries": 0, "unstable": 0, "labels": None}
        unlimited = {"queries": None, "unstable": None, "labels": None}
        assert told["askers"] == [{"name": None, "used": told["spent"], "allowance": unlimited}]
        found: list[Any] = []
        after: int | None = 0
        while after is not None:
            page = client.get("/v1/answers", params={"release": "clinic", "after": after, "limit": 2}).json()
            found += page["answers"]
            after = page["next"]
        assert [each["x"] for each in found] == rows
        assert {each["label"] for each in found} == {"well"}
        assert len({each["number"] for each in found}) == 5


def test_a_token_gets_the_same_reply_and_belongs_to_one_request(client: httpx.Client) -> None:
    headers = {"idempotency-key": "mine-1"}

    def ask(*values: float) -> httpx.Response:
        return client.post("/v1/releases/ages/ask", json={"x": [[value] for value in values]}, headers=headers)

    first = ask(0.171, 0.172)
    assert [each["kind"] for each in first.json()["answers"]] != ["repeated", "repeated"]
    assert ask(0.171, 0.172).json() == first.json(), "kinds and counts as they were"
    refused = ask(0.173)
    assert (refused.status_code, refused.json()["code"]) == (409, "token_reused")
    assert client.post("/v1/releases/ages/preview", json={"x": [[0.173]]}).json()["new"] == 1, "nothing was asked"


@pytest.mark.parametrize("token", ["", "a b", "a" * 129, "é".encode("latin-1")])
def test_a_token_that_is_none_is_refused(client: httpx.Client, token: Any) -> None:
    response = client.post("/v1/releases/ages/ask", json={"x": [[0.5]]}, headers={b"idempotency-key": token})
    assert (response.status_code, response.json()["code"]) == (400, "bad_value")


def test_the_holder_is_told_what_each_key_may_have_and_what_was_asked_without_a_time(tmp_path: Path) -> None:
    kept(tmp_path)
    release = reopened(tmp_path)
    before = [answer.kind for answer in release.answers(QUERIES[:4])]
    release.close()
    keys = KeyFile(tmp_path / "keys.json")
    holder = keys.create("boss", "holder", Usage(None, None))
    ward, gone = (keys.create(name, "asker", Usage(7, 2)) for name in ("ward", "gone"))
    with serving(release_place(tmp_path), keys=keys.path) as address, httpx.Client(base_url=address) as client:

        def told(key: str) -> Any:
            return client.get("/v1/budget?release=ages", headers={"authorization": f"Bearer {key}"}).json()

        for key, x in ((ward, 0.11), (gone, 0.12)):
            client.post("/v1/releases/ages/ask", json={"x": [[x]]}, headers={"authorization": f"Bearer {key}"})
        keys.path.write_text(keys.path.read_text().replace('"gone"', '"away"'))
        seen = told(holder)
        assert {each["name"]: each["allowance"] for each in seen["askers"]} == {
            "ward": {"queries": 7, "unstable": 2, "labels": None},
            "gone": None,
        }
        assert seen["untimed"] == {"queries": 4, "unstable": before.count("unstable"), "labels": None}
        assert told(ward)["askers"] is None
        for key, role in ((holder, "holder"), (ward, "asker")):
            assert client.get("/v1/releases", headers={"authorization": f"Bearer {key}"}).json()["role"] == role


def infer(client: httpx.Client, values: list[list[float]], parameters: dict[str, Any]) -> httpx.Response:
    tensor = {"name": "x", "datatype": "FP64", "shape": [len(values), 1], "data": values}
    return client.post("/v2/models/ages/infer", json={"inputs": [tensor], "parameters": parameters})


def test_rows_that_would_use_up_the_release_are_asked_once_that_is_confirmed(tmp_path: Path) -> None:
    """A file of 140,000 rows has used up a release for ever, although asking costs nothing more."""
    kept(tmp_path)
    path = "/v1/releases/ages/ask"
    with serving(release_place(tmp_path)) as address, httpx.Client(base_url=address) as client:
        assert client.post("/v1/releases/ages/preview", json={"x": BORDER}).json()["is_exhausting"]
        refused = [
            client.post(path, json={"x": BORDER}),
            client.post(f"{path}?confirm=false", json={"x": BORDER}),
            infer(client, BORDER, {}),
            infer(client, BORDER, {"confirm": False}),
        ]
        for each in refused:
            told = each.json()
            assert (each.status_code, told["code"]) == (409, "would_exhaust")
            assert told["details"]["cost"]["new"] == len(BORDER)
        for wrong in ("1", "yes", "true&confirm=true", ""):
            assert client.post(f"{path}?confirm={wrong}", json={"x": BORDER}).json()["code"] == "bad_value"
        assert infer(client, BORDER, {"confirm": "true"}).json()["code"] == "bad_tensor"
        facts = client.get("/v1/releases/ages").json()
        assert (facts["state"], facts["spent"]["queries"]) == ("open", 0), "nothing was asked"
        assert client.post(path, json={"x": BORDER[:4]}).status_code == 200, "as many as there are unstable answers"
        document = client.get("/openapi.json").json()["paths"]
        names = [each["name"] for each in document["/v1/releases/{name}/ask"]["post"]["parameters"]]
        assert names == ["name", "confirm", "Idempotency-Key"]
        inference = document["/v2/models/{name}/infer"]["post"]
        schema = inference["requestBody"]["content"]["application/json"]["schema"]
        assert "confirm" in schema["properties"]["parameters"]["properties"]
        assert infer(client, BORDER, {"confirm": True}).json()["code"] == "budget_exhausted"
        assert client.post(path, json={"x": BORDER}).status_code == 410, "used up, it needs no confirmation any more"


def test_a_request_that_is_sent_again_needs_no_confirmation(tmp_path: Path) -> None:
    """It gets the reply that it got, though all its rows, asked now, would use up the release."""
    kept(tmp_path)
    keys = KeyFile(tmp_path / "keys.json")
    headers = {"authorization": f"Bearer {keys.create('ann', 'asker', Usage(2, None))}", "idempotency-key": "first"}
    with serving(release_place(tmp_path), keys=keys.path) as address, httpx.Client(base_url=address) as client:

        def sent(rows: list[list[float]], **more: str) -> Any:
            return client.post("/v1/releases/ages/ask", json={"x": rows}, headers=headers | more).json()

        first = sent(BORDER)
        assert (first["code"], len(first["details"]["answered"])) == ("quota_spent", 2)
        keys.limit("ann", {"queries": None})
        again = sent(BORDER)
        assert (again["code"], again["details"]["answered"]) == ("quota_spent", first["details"]["answered"])
        assert sent(BORDER, **{"idempotency-key": "second"})["code"] == "would_exhaust"
        assert sent(BORDER[1:])["code"] == "would_exhaust", "the same token, for other rows"


def test_a_key_is_not_told_what_others_have_asked(tmp_path: Path) -> None:
    kept(tmp_path)
    keys = KeyFile(tmp_path / "keys.json")
    ann = {"authorization": f"Bearer {keys.create('ann', 'asker', Usage(None, None))}"}
    bob = {"authorization": f"Bearer {keys.create('bob', 'asker', Usage(2, None))}"}
    boss = {"authorization": f"Bearer {keys.create('boss', 'holder', Usage(None, None))}"}
    x = [[0.05], [0.1], [0.9], [0.95]]

    def sent(client: httpx.Client, what: str, key: dict[str, str], rows: list[list[float]]) -> Any:
        return client.post(f"/v1/releases/ages/{what}", json={"x": rows}, headers=key).json()

    for is_shared in (False, True):
        place = replace(release_place(tmp_path), is_shared=is_shared)
        with serving(place, keys=keys.path) as address, httpx.Client(base_url=address) as client:
            labels = [each["label"] for each in sent(client, "ask", ann, x)["answers"]]
            cost = sent(client, "preview", bob, x[:3])
            if is_shared:
                assert (cost["asked_before"], cost["new"]) == ([True] * 3, 0)
                told = sent(client, "ask", bob, x)
                assert [each["kind"] for each in told["answers"]] == ["repeated"] * 4
                continue
            assert (cost["asked_before"], cost["new"], cost["certain"]) == ([False] * 3, 3, 2)
            assert (cost["quota"]["queries"], cost["is_refused"]) == (2, True)
            told = sent(client, "ask", bob, x[:3])
            assert told["code"] == "quota_spent"
            answered = told["details"]["answered"]
            assert [each["kind"] for each in answered] == ["stable"] * 2, "as though nobody had asked"
            assert [each["label"] for each in answered] == labels[:2]
            assert sent(client, "ask", bob, x[:2])["answers"][0]["kind"] == "repeated"
            assert sent(client, "preview", boss, x)["asked_before"] == [True] * 4, "a holder sees all answers anyway"
            assert [each["kind"] for each in sent(client, "ask", boss, x)["answers"]] == ["repeated"] * 4
            keys.limit("bob", {"queries": 3})
            assert sent(client, "preview", bob, x[2:])["quota"]["queries"] == 1, "a running server notices"
            budget = client.get("/v1/budget?release=ages", headers=boss).json()
            used = {each["name"]: each["used"]["queries"] for each in budget["askers"]}
            assert (used["ann"], used["bob"], budget["spent"]["queries"]) == (4, 2, 4)
            assert (budget["untimed"]["queries"], budget["history"][-1]["queries"]) == (0, 4)


def test_a_release_that_has_halted_says_so_for_ever_with_what_it_answered(tmp_path: Path) -> None:
    kept(tmp_path, unstable=1)
    with serving(release_place(tmp_path)) as address, httpx.Client(base_url=address) as client:
        x = [[0.05], *BORDER]
        response = client.post("/v1/releases/ages/ask?confirm=true", json={"x": x})
        told = response.json()
        assert (response.status_code, told["code"]) == (410, "budget_exhausted")
        answered = told["details"]["answered"]
        assert answered[-1]["kind"] == "unstable"
        assert answered[-1]["label"] is None
        assert answered[-1]["coin"] in (0, 1)
        assert told["details"]["requested"] == len(x)
        again = client.post("/v1/releases/ages/ask", json={"x": x[: len(answered)]}).json()
        assert [each["label"] for each in again["answers"]] == [each["label"] for each in answered]
        tensor = {"name": "x", "datatype": "FP64", "shape": [1, 1], "data": [0.99]}
        response = client.post("/v2/models/ages/infer", json={"inputs": [tensor]})
        assert (response.status_code, response.json()["details"]["answered"]) == (410, [])
        assert client.get("/v1/releases").json()["releases"][0]["state"] == "exhausted"
        tensor = {"name": "x", "datatype": "FP64", "shape": [1, 1], "data": x[len(answered) - 1]}
        outputs = client.post("/v2/models/ages/infer", json={"inputs": [tensor]}).json()["outputs"]
        assert {each["name"]: each["data"] for each in outputs} == {
            "label": [answered[-1]["coin"]],
            "kind": ["repeated"],
            "is_answer": [False],
        }


def test_a_release_without_an_account_says_so(client: httpx.Client) -> None:
    assert client.get("/v1/account?release=ages").json() == {"account": None}


def test_of_an_account_in_a_file_the_name_is_told_and_not_where_it_is(home: Path) -> None:
    where = home / "deep" / "clinic.account"
    where.parent.mkdir()
    Account.create(where, epsilon=10.0, delta=1e-5)
    kept(home / "served", account=str(where))
    with serving(release_place(home / "served")) as address, httpx.Client(base_url=address) as client:
        reply = client.get("/v1/account?release=ages")
    assert reply.json()["account"] == "clinic.account"
    assert str(home) not in reply.text


def test_adoptions_are_told_to_all_and_who_decided_them_to_the_holder(tmp_path: Path) -> None:
    kept(tmp_path)
    place = release_place(tmp_path)
    for write_off in (False, True):
        (tmp_path / "anchor").unlink()
        reopened(tmp_path, adopt=True, write_off=write_off).close()
    keys = KeyFile(tmp_path / "keys.json")
    roles = {role: keys.create(role, role, Usage(None, None)) for role in ("asker", "holder")}
    told = {}
    with serving(place, keys=keys.path) as address:
        for role, key in roles.items():
            with httpx.Client(base_url=address, headers={"authorization": f"Bearer {key}"}) as client:
                one = client.get(f"/v1/releases/{place.name}").json()
                (listed,) = client.get("/v1/releases").json()["releases"]
                budget = client.get("/v1/budget", params={"release": place.name}).json()
                assert one["adoptions"] == listed["adoptions"] == budget["adoptions"]
                assert one["guarantee"] == listed["guarantee"] == budget["guarantee"]
                assert one["state"] == "exhausted"
                assert one["guarantee"]["words"].count("This assumes that the copy adopted on") == 2
                told[role] = one["adoptions"]
    for role, seen in told.items():
        assert [each["written_off"] for each in seen] == [False, True]
        assert all(each["time"] for each in seen)
        assert [each["host"] is not None for each in seen] == [role == "holder"] * 2
        assert [each["user"] is not None for each in seen] == [role == "holder"] * 2
        assert [each["entries"] is not None for each in seen] == [role == "holder"] * 2
