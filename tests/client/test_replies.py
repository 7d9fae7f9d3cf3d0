"""What a server says is read strictly: whatever else it says becomes one error, never a crash and never an answer."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.replying import FACTS, ROW, answered, remote, said

from pcqr import BudgetExhausted, Guarantee, PcqrError
from pcqr.client.errors import BadReply, QuotaSpent
from pcqr.client.wire import batch_of, cost_of, facts_of
from pcqr.data.schema import Column
from pcqr.errors import ParameterError
from pcqr.releases.protocol.answers import Usage

pytestmark = pytest.mark.usefixtures("pauses")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
ANSWER = {"label": "ill", "coin": None, "kind": "stable"}
BATCH = {"answers": [ANSWER, {"label": None, "coin": "well", "kind": "unstable"}], "spent": FACTS["spent"]}
BATCH |= {"remaining": FACTS["remaining"]}
COST: dict[str, Any] = {
    **{"requested": 2, "repeated": 0, "new": 2, "published": 0, "certain": 2, "remaining": FACTS["remaining"]},
    **{"beyond_plan": 0, "expected_unstable": 0.5, "chance_of_halting": 0.0, "unstable_range": [0.1, 1.0]},
}


def test_the_facts_are_those_of_a_release() -> None:
    facts = facts_of(FACTS)
    assert facts.guarantee == Guarantee(1.0, 1e-6, proof="proofs/stab.md", assumptions=("n",))
    assert facts.schema is not None
    assert facts.schema.columns[1] == Column("sex", "categorical", ["female", "male"], other=True)
    assert (facts.features, facts.classes, facts.planned) == (7, ("well", "ill"), 300)
    assert (facts.spent, facts.remaining) == (Usage(3, 1), Usage(None, 9))


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in _places(each, (*path, key)))]


@settings(max_examples=150)
@given(st.data())
def test_any_other_value_in_any_place_is_read_or_refused(data: st.DataObject) -> None:
    reads = (
        (FACTS, facts_of),
        (BATCH, lambda value: batch_of(value, 2, ("well", "ill"), is_release=True)),
        (COST, lambda value: cost_of(value, 2)),
    )
    original, read = data.draw(st.sampled_from(reads))
    changed: Any = {"": copy.deepcopy(original)}
    place = data.draw(st.sampled_from(_places(original)))
    owner = changed
    for key in ("", *place)[:-1]:
        owner = owner[key]
    owner[("", *place)[-1]] = data.draw(JSON)
    with suppress(ParameterError):
        read(changed[""])


@pytest.mark.parametrize(
    "changed",
    [
        {"answers": [ANSWER]},
        {"answers": [ANSWER, {"label": "dead", "coin": None, "kind": "stable"}]},
        {"answers": [ANSWER, {"label": None, "coin": None, "kind": "stable"}]},
        {"answers": [ANSWER, {"label": "ill", "coin": None, "kind": "sure"}]},
        {"answers": {"0": ANSWER, "1": ANSWER}},
        {"spent": {"queries": -1, "unstable": 0}},
        {"remaining": {"queries": True, "unstable": 0}},
    ],
)
def test_a_batch_that_is_none_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(BadReply, match="reply that is none"):
        remote(lambda _: said(BATCH | changed)).predict({name: [value] * 2 for name, value in ROW.items()})


@pytest.mark.parametrize(
    "changed",
    [
        {"most_rows": None},
        {"on_unstable": "never"},
        {"expectation": {"unstable_share": 0.5, "unstable_range": [0.1, -0.5]}},
        {"expectation": {"unstable_share": 0.5, "unstable_range": [0.1]}},
        {"classes": []},
        {"columns": []},
        {"guarantee": {"epsilon": -1, "delta": 0, "is_private": True}},
        {"guarantee": FACTS["guarantee"] | {"unit": "replace nothing"}},
        {"state": "asleep"},
    ],
)
def test_facts_that_are_none_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(BadReply):
        remote(answered, facts=FACTS | changed)


def test_a_server_with_very_many_categories_holds_nobody_up() -> None:
    """Minutes, where each name is compared with each."""
    column = {"name": "town", "kind": "categorical", "categories": [f"town {i}" for i in range(100_000)]}
    assert facts_of(FACTS | {"columns": [column]}).features == 100_001


def test_the_words_of_a_server_are_fit_for_a_terminal() -> None:
    def handler(_: httpx.Request) -> httpx.Response:
        evil = {"error": "\x1b[2J\x07" + "A" * 5_000 + "\n", "code": "bad_json", "status": 400, "details": {}}
        return said(evil, 400)

    with pytest.raises(PcqrError) as error:
        remote(handler).answer(ROW)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 600


@pytest.mark.parametrize(
    "details", [None, 3, {"answered": 5}, {"answered": [ANSWER] * 9}, {"answered": [{}]}, {"used": [], "allowance": 1}]
)
@pytest.mark.parametrize(("code", "status"), [("budget_exhausted", 410), ("quota_spent", 403)])
def test_refusals_with_odd_details_are_errors_of_ours(code: str, status: int, details: Any) -> None:
    told = {"error": "No.", "code": code, "status": status, "details": details}
    found = remote(lambda _: said(told, status))
    with pytest.raises((BudgetExhausted, QuotaSpent, BadReply)):
        found.predict({name: [value] * 4 for name, value in ROW.items()})
