"""The planner over HTTP: in a process of its own, one question at a time, from public numbers alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from support.serving import serving

from pcqr.advice.question import Option
from pcqr.advice.solving import curves
from pcqr.planner.request import Request
from pcqr.releases.protocol.plan import Prediction
from pcqr.server import planning as planner
from pcqr.server.errors import Refusal
from pcqr.server.planning import Planned, planned

ASKED = Planned(
    hypotheses="thresholds",
    features=9,
    records=20_000,
    epsilon=1.0,
    delta=1e-6,
    queries=300,
    alpha=0.1,
    beta=0.05,
    over=None,
)


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with serving() as address, httpx.Client(base_url=address, timeout=60.0) as client:
        yield client


def test_a_plan_says_what_to_expect_and_what_a_proof_needs(client: httpx.Client) -> None:
    told = client.get(
        "/v1/plan", params={"class": "thresholds", "records": 20_000, "epsilon": 1, "queries": 300}
    ).json()
    expected = {each["estimator"]: each["expected"] for each in told["algorithms"] if each["expected"]}
    assert {"AgnosticRelease", "UniversalRelease"} <= expected.keys()
    assert all(0 <= each["excess_error"] <= 0.5 for each in expected.values())
    assert told["needed"] > 20_000
    assert told["recommendation"]["estimator"] in expected
    assert told["published"]["estimator"] == "PrivateClassifier"
    assert told["published"]["shortfall"] is None
    assert all(10_000 <= end <= 40_000 for end in told["published"]["n_times_epsilon"])
    few = client.get("/v1/plan", params={"class": "thresholds", "records": 200, "epsilon": 0.1, "queries": 3}).json()
    assert few["published"]["shortfall"].startswith("n·ε = 20 is too small to learn from")


@pytest.mark.parametrize(
    "wrong", [{"epsilon": "nan"}, {"epsilon": 0}, {"records": 0}, {"class": "trees"}, {"over": "delta"}, {"delta": 1}]
)
def test_what_makes_no_sense_is_refused(client: httpx.Client, wrong: dict[str, str | int]) -> None:
    response = client.get("/v1/plan", params={"records": 1000, "epsilon": 1, **wrong})
    assert (response.status_code, response.json()["code"]) == (400, "bad_value")


def test_one_question_at_a_time_and_not_for_ever() -> None:
    async def both() -> tuple[bytes | BaseException, bytes | BaseException]:
        return await asyncio.gather(
            planned(ASKED, seconds=0.2), planned(ASKED, wait_seconds=0.0), return_exceptions=True
        )

    slow, second = asyncio.run(both())
    assert isinstance(slow, Refusal)
    assert isinstance(second, Refusal)
    assert (slow.code, second.code) == ("overloaded", "overloaded")
    assert "too long" in slow.message
    assert "busy" in second.message
    assert ASKED not in planner._responses
    planner._responses[ASKED] = b"{}"  # what is known is told at once
    assert asyncio.run(planned(ASKED, seconds=0.0)) == b"{}"
    del planner._responses[ASKED]


def test_few_wait_for_the_planner_and_others_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits holds a place among the requests in flight, of which there must be some for those who ask."""
    monkeypatch.setattr(planner, "_responses", {})

    async def crowd() -> list[bytes | BaseException]:
        async def never(*_: object) -> bytes:
            await asyncio.sleep(0.5)
            return b"{}"

        monkeypatch.setattr(planner, "_computed", never)
        questions = [replace(ASKED, records=records) for records in range(1, 51)]
        waiting = [asyncio.ensure_future(planned(each, wait_seconds=0.2)) for each in questions]
        done, _ = await asyncio.wait(waiting, timeout=0.1)
        assert len(done) == 50 - 1 - planner.MOST_WAITING, "refused while the first is still computed"
        return await asyncio.gather(*waiting, return_exceptions=True)

    told = asyncio.run(crowd())
    assert told[0] == b"{}"
    assert all(isinstance(each, Refusal) and each.code == "overloaded" for each in told[1:])


def test_curves_go_through_the_point_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def half_as_much(request: Request) -> tuple[Option, ...]:
        error = 0.1 / request.epsilon
        return (Option("AgPrivCl", None, expected=Prediction(0.0, error, 0.0)),) if request.epsilon > 0.25 else ()

    monkeypatch.setattr("pcqr.advice.solving.compare", half_as_much)
    found = curves(ASKED.question, "epsilon")
    assert found.at == (0.25, 0.5, 1.0, 2.0, 4.0)
    assert found.expected == {"AgnosticRelease": (None, 0.2, 0.1, 0.05, 0.025)}
    assert found.needed is not None
    needed = [each for each in found.needed if each is not None]
    assert len(needed) == 5
    assert needed == sorted(needed, reverse=True)
    assert curves(ASKED.question, "records").needed is None
    assert curves(replace(ASKED, queries=2).question, "queries").at == (1, 2, 4, 8)
