"""The page in a real browser: what people do with it, how it refuses, and that everybody can use it."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, Route, expect
from support import wards
from support.browser import PHONE, Visit, upload, visiting
from support.serving import serving
from support.wards import HOSTILE, LABELS

import pcqr
from pcqr.advice.question import Option
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.plan import Prediction
from pcqr.server.keys import KeyFile
from pcqr.server.planning import Planned, reply
from pcqr.server.service import Place

pytest_plugins = ("support.page_fixtures",)

VIEWS = {
    "overview": "#/of/wards/overview",
    "ask": "#/of/wards/ask",
    "file": "#/of/wards/upload",
    "model": "#/of/tree/model",
    "model that is not there": "#/of/wards/model",
    "answers": "#/of/wards/answers",
    "account": "#/of/wards/account",
    "spent": "#/of/spent/overview",
    "planner": "#/plan",
    "key": "#/key",
    "unknown": "#/of/none/overview",
    "odd names": "#/of/constructor/ask",
    "many columns": "#/of/wide/upload",
}


def fill(page: Page, age: float, **others: str) -> None:
    page.get_by_label("age").fill(str(age))
    page.get_by_label("ward", exact=True).select_option(others.get("ward", "north"))


def plan_at_once(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning takes seconds (tests/server/test_v1_plan.py has it): here the reply is made of a simple model."""

    def options(request: Any) -> tuple[Option, ...]:
        errors = {"AgPrivCl": 0.1 / request.epsilon, "UnvPrivCl": 0.05 / request.epsilon}
        return tuple(Option(name, None, expected=Prediction(0.0, error, 0.0)) for name, error in errors.items())

    monkeypatch.setattr("pcqr.server.planning.compare", options)
    monkeypatch.setattr("pcqr.advice.solving.compare", options)
    monkeypatch.setattr("pcqr.advice.solving.fewest", lambda question: question.queries)

    def tell(route: Route) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(route.request.url).query).items()}
        whole: Any = {name: int(asked[name]) for name in ("records", "features", "queries")}
        parts: Any = {name: float(asked[name]) for name in ("epsilon", "delta")} | {"over": asked.get("over")}
        plan = Planned(hypotheses=asked["class"], alpha=0.1, beta=0.05, **whole, **parts)
        route.fulfill(json=reply(plan))

    page.route("**/v1/plan?*", tell)


# What people do ------------------------------------------------------------------------------------------------------


def test_the_promise_and_the_budget_are_said_in_words(visit: Visit) -> None:
    page = visit.go()
    expect(page.get_by_role("heading", level=1)).to_have_text("wards")
    main = page.get_by_role("main")
    for words in ("Who is protected", "ε = 8", "δ = 9.6·10⁻⁷", "This is not private", "of 4 unstable answers"):
        expect(main).to_contain_text(words)
    expect(main).to_contain_text("plus a probability of 9.6·10⁻⁷")
    assert not re.search(r"\de[-+]?\d", main.inner_text()), "one notation for one number"
    page.get_by_role("link", name=re.compile("^tree")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("tree")
    expect(main).to_contain_text("There is no exception")


def test_one_query_is_asked_and_answered_in_words(visit: Visit) -> None:
    page = visit.go("#/of/wards/ask")
    fill(page, 90)
    page.get_by_role("button", name="Ask for the label").click()
    answer = page.get_by_role("region", name="Answer")
    expect(answer).to_contain_text(LABELS[1])
    expect(answer).to_contain_text("stable")
    expect(answer).to_contain_text("ε and δ stay as they were")
    page.get_by_role("button", name="Ask for the label").click()
    expect(answer).to_contain_text("This was asked before")
    page.get_by_role("link", name="Answers", exact=True).click()
    expect(page.get_by_role("listitem").filter(has_text="age 90")).to_contain_text(LABELS[1])


def test_a_model_says_how_likely_its_label_is(visit: Visit) -> None:
    page = visit.go("#/of/tree/ask")
    told = {"label": LABELS[1], "coin": None, "kind": "published", "probability": 0.875}
    page.route("**/ask", lambda route: route.fulfill(json={"answers": [told], "spent": None, "remaining": None}))
    fill(page, 90)
    page.get_by_role("button", name="Ask for the label").click()
    expect(page.get_by_role("region", name="Answer")).to_contain_text("Its probability is 88\u00a0%, by the model.")


def test_fields_say_what_they_take(visit: Visit) -> None:
    page = visit.go("#/of/wards/ask")
    button = page.get_by_role("button", name="Ask for the label")
    age, ward = page.get_by_label("age"), page.get_by_label("ward", exact=True)
    button.click()
    expect(age).to_be_focused()
    expect(age).to_have_attribute("aria-invalid", "true")
    expect(age).to_have_accessible_description(re.compile("from 0 to 100.*Please enter a number"))
    expect(ward).to_have_accessible_description(re.compile("Please choose one"))
    age.fill("120")
    expect(age).to_have_accessible_description(re.compile("Counts as 100"))
    expect(age).not_to_have_attribute("aria-invalid", "true")
    ward.select_option(label="another value …")
    button.click()
    expect(ward).to_be_focused()
    page.get_by_label("ward: another value").fill("west")
    button.click()
    expect(page.get_by_role("region", name="Answer")).to_contain_text(LABELS[1])


def test_a_file_is_priced_first_and_asked_on_a_clear_word(visit: Visit) -> None:
    page = visit.go("#/of/wards/upload")
    upload(page, wards.as_csv(wards.rows([5, 10, 80, 85, 95])))
    preview = page.get_by_role("region", name="What people.csv would cost")
    expect(preview).to_contain_text("Nothing has been asked yet")
    expect(preview).to_contain_text(re.compile("5.*rows"))
    page.get_by_role("button", name="Not now").click()
    expect(preview).to_have_count(0)
    upload(page, wards.as_csv(wards.rows([5, 10, 80, 85, 95])))
    expect(preview).to_contain_text(re.compile("5.*new queries"))
    page.get_by_role("button", name="Ask 5 queries").click()
    expect(page.get_by_role("heading", name="5 answers for people.csv")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download as CSV").click()
    assert waiting.value.suggested_filename == "people-answers.csv"
    with waiting.value.path().open(encoding="utf-8", newline="") as file:
        told = list(csv.DictReader(file))
    assert [row["row"] for row in told] == ["1", "2", "3", "4", "5"]
    assert [row["label"] for row in told if row["kind"] == "stable"].count(LABELS[0]) == 2
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Answers", exact=True).click()
        page.get_by_role("button", name="Download as CSV").click()
    with waiting.value.path().open(encoding="utf-8", newline="") as file:
        logged = list(csv.DictReader(file))
    assert waiting.value.suggested_filename == "wards-answers.csv"
    assert [row["label"] for row in logged if row["age"] in ("5", "10")] == [LABELS[0]] * 2
    assert {"number", "time", "asker", *wards.SCHEMA.names, "label", "coin", "kind"} == logged[0].keys()


def test_the_published_model_is_a_picture_and_rules(visit: Visit) -> None:
    page = visit.go("#/of/tree/model")
    picture = page.get_by_role("img", name="The classifier that tree published")
    assert picture.evaluate("image => image.complete && image.naturalWidth > 0")
    expect(page.get_by_role("region", name="Rules", exact=True)).to_contain_text("if age")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the picture").click()
    assert waiting.value.suggested_filename == "tree-picture.svg"
    assert "</svg>" in waiting.value.path().read_text(encoding="utf-8")
    page.get_by_role("link", name="Ask", exact=True).click()
    fill(page, 90)
    page.get_by_role("button", name="Ask for the label").click()
    expect(page.get_by_role("region", name="Answer")).to_contain_text("It cost nothing")


def test_the_planner_answers_and_draws(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    page = visit.go("#/plan")
    plan_at_once(page, monkeypatch)
    records, button = page.get_by_label("Private records"), page.get_by_role("button", name="Show what to expect")
    records.fill("no number")
    button.click()
    expect(records).to_have_accessible_description(re.compile("whole number"))
    records.fill("20,000")
    page.get_by_label("Classifiers that vote").select_option("thresholds")
    expect(page.get_by_label("Columns")).to_have_value("1")
    button.click()
    best = page.get_by_role("region", name="Best on real tables")
    expect(best).to_contain_text("5 real tables with n·ε = 10,000 to ")
    expect(best).not_to_contain_text("too small to learn from")
    expect(page.get_by_role("table")).to_contain_text("AgnosticRelease")
    expect(page.get_by_role("img")).to_have_count(4)
    expect(page.get_by_role("img").first).to_have_accessible_name(re.compile(r"UniversalRelease from 20\s% to 1.3\s%"))
    page.get_by_text("Figures: ").first.click()
    expect(page.get_by_role("table", name=re.compile("privacy budget"))).to_contain_text("40")
    records.fill("20")
    button.click()
    expect(best).to_contain_text("n·ε = 20 is too small to learn from 54 predicates")
    assert visit.violations() == []


# How it refuses ------------------------------------------------------------------------------------------------------


def test_a_spent_budget_is_clear_and_what_was_asked_before_is_still_answered(visit: Visit) -> None:
    page = visit.go("#/of/spent/upload")
    upload(page, wards.as_csv(wards.rows([90, *np.linspace(39, 41, 81)])))
    page.get_by_role("button", name=re.compile("Ask .* queries")).click()
    over = page.get_by_role("region", name="This release is exhausted").first
    expect(over).to_be_in_viewport()
    expect(over.get_by_role("link", name="tree", exact=True)).to_have_attribute("href", "#/of/tree/ask")
    expect(over.get_by_role("link", name="Look at the answers")).to_have_attribute("href", "#/of/spent/answers")
    expect(over).to_contain_text("pcqr fit")  # nobody has a key: the reader is the holder
    expect(over.get_by_role("link", name="wide")).to_have_count(0)
    expect(page.locator(".head .chip")).to_have_text("Exhausted")
    expect(page.locator("#served [aria-current=true] .facts")).to_have_text("Exhausted")
    expect(page.locator("#standing")).to_contain_text("exhausted")
    page.get_by_role("link", name="Overview").click()
    expect(over).to_be_visible()
    page.get_by_role("link", name="Ask", exact=True).click()
    expect(over).to_be_visible()
    fill(page, 3)
    button, answer = page.get_by_role("button", name="Ask for the label"), page.get_by_role("region", name="Answer")
    button.click()
    expect(answer).to_contain_text("This query is new")
    page.get_by_label("age").fill("90")
    page.get_by_label(wards.SCHEMA.names[2]).fill("2024-01-15")
    button.click()
    expect(answer).to_contain_text("This was asked before")
    assert all("410" in text for text in visit.refused)


def test_a_server_that_is_away_can_be_tried_again(visit: Visit) -> None:
    page = visit.go("#/of/wards/ask")
    fill(page, 91)
    page.route("**/ask", lambda route: route.abort())
    page.get_by_role("button", name="Ask for the label").click()
    expect(page.get_by_role("region", name="The server does not answer")).to_be_visible()
    page.unroute("**/ask")
    page.get_by_role("button", name="Ask for the label").click()
    expect(page.get_by_role("region", name="Answer")).to_contain_text(LABELS[1])
    assert all("ERR_FAILED" in text for text in visit.errors)
    visit.errors.clear()


def test_a_reply_that_the_page_does_not_understand_is_no_endless_wait(visit: Visit) -> None:
    page = visit.page
    page.route("**/v1/releases", lambda route: route.fulfill(json={"releases": 5, "role": "holder"}))
    expect(visit.go().get_by_role("region", name="The page failed")).to_be_visible()
    page.route("**/v1/releases", lambda route: route.fulfill(status=502, json=None))
    page.reload()
    expect(page.get_by_role("region", name="The server refused this")).to_contain_text("status 502")
    assert len(visit.errors) == 1
    visit.errors.clear()


def test_a_key_opens_what_its_role_may_see(browser: Browser, tmp_path: Path) -> None:
    wards.keep_release(tmp_path / "wards", wards.agnostic())
    keys = KeyFile(tmp_path / "keys.json")
    holder, asker = keys.create("holder", "holder", Usage(None, None)), keys.create("dr-lee", "asker", Usage(2, None))
    place = Place("wards", tmp_path / "wards" / "release", anchor=tmp_path / "wards" / "anchor")
    with serving(place, keys=keys.path) as address, visiting(browser, address) as visit:
        page = visit.go("#/of/wards/account")
        main, field = page.get_by_role("main"), page.get_by_label("Your key")
        expect(main).to_contain_text("This server needs a key")
        assert visit.violations() == []

        def enter(key: str) -> None:
            field.fill(key)
            page.get_by_role("button", name="Use this key").click()

        enter("two words")
        expect(field).to_have_accessible_description(re.compile("no spaces"))
        enter(f"pcqr_{'A' * 43}")
        expect(field).to_have_accessible_description(re.compile("not known here"))
        enter(asker)
        expect(main).to_contain_text("Only the data holder sees this")
        tabs = page.get_by_role("navigation", name="Views of wards")
        expect(tabs.get_by_role("link", name="Answers")).to_be_visible()
        expect(tabs.get_by_role("link", name="Account")).to_have_count(0)
        visit.go("#/of/wards/upload")
        upload(page, wards.as_csv(wards.rows([5, 6, 7, 90])))
        page.get_by_role("button", name="Ask 4 queries").click()
        expect(main).to_contain_text("Allowed: 2 queries")
        expect(main).to_contain_text("2 answers for people.csv")
        assert visit.violations() == []
        visit.go("#/of/wards/overview")
        expect(main).to_contain_text("Allowed: 2 queries")
        page.get_by_role("link", name="Key in use").click()
        expect(main).to_contain_text("It is an asker's")
        enter(holder)
        row = page.get_by_role("region", name="Who asked", exact=True).get_by_role("row").filter(has_text="dr-lee")
        expect(tabs.get_by_role("link", name="Account")).to_be_visible()
        expect(row.get_by_role("cell")).to_have_text(["2", "2", re.compile("^[0-9]$"), "any number"])
        assert visit.violations() == []
        page.set_viewport_size({"width": PHONE, "height": 800})
        assert not visit.is_wider_than_its_window
        assert holder not in page.url
        page.get_by_role("link", name="Key in use").click()
        page.get_by_role("button", name="Forget it").click()
        expect(main).to_contain_text("This server needs a key")


def test_what_was_asked_in_the_directory_is_said_beside_the_curves(browser: Browser, tmp_path: Path) -> None:
    wards.keep_release(tmp_path / "wards", wards.agnostic())
    place = Place("wards", tmp_path / "wards" / "release", anchor=tmp_path / "wards" / "anchor")
    release = pcqr.release.open(place.path, anchor=place.anchor)
    release.predict(wards.rows([5, 90]))
    release.close()
    with serving(place) as address, visiting(browser, address) as visit:
        main = visit.go("#/of/wards/overview").get_by_role("main")
        expect(main).to_contain_text("2 queries were asked in its directory, where no time is noted")
        expect(main).not_to_contain_text("Nothing has been asked")
        assert visit.violations() == []


def test_adopted_copies_are_told_with_the_promise(browser: Browser, tmp_path: Path) -> None:
    path = wards.keep_release(tmp_path, wards.agnostic())
    for write_off in (False, True):
        (tmp_path / "anchor").unlink()
        pcqr.release.open(path, anchor=tmp_path / "anchor", adopt=True, write_off=write_off).close()
    with serving(Place("wards", path, anchor=tmp_path / "anchor")) as address, visiting(browser, address) as visit:
        page = visit.go("#/of/wards/overview")
        adopted = page.get_by_role("region", name="A copy of its log was adopted")
        expect(adopted).to_contain_text("The promise holds if that copy was the newest one")
        expect(adopted).to_contain_text("decided so on")
        older = page.get_by_role("region", name="An older copy of its log goes on")
        expect(older).to_contain_text("gives no new ones")
        expect(page.get_by_role("main")).to_contain_text("This assumes that the copy adopted on")
        assert visit.violations() == []


def test_where_nothing_is_served_the_page_says_so(browser: Browser) -> None:
    with serving() as address, visiting(browser, address) as visit:
        expect(visit.go().get_by_role("region", name="Nothing is served yet")).to_be_visible()


# Everybody can use it, and nobody can misuse it ---------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_in_any_view(browser: Browser, address: str, dark: bool) -> None:
    with visiting(browser, address, dark=dark, reduced_motion="reduce") as visit:
        found = {}
        for name, view in VIEWS.items():
            visit.go(view)
            found[name] = visit.violations()
        page = visit.go(VIEWS["ask"])
        page.get_by_role("button", name="Ask for the label").click()
        found["problems"] = visit.violations()
        page = visit.go(VIEWS["file"])
        upload(page, wards.as_csv(wards.rows([90])))
        page.get_by_role("button", name=re.compile("^(Ask|Get) 1 ")).click()
        expect(page.get_by_role("button", name="Download as CSV")).to_be_visible()
        found["results"] = visit.violations()
        assert {name: told for name, told in found.items() if told} == {}


def test_nothing_scrolls_sideways_on_a_phone(browser: Browser, address: str) -> None:
    with visiting(browser, address, width=PHONE, has_touch=True) as visit:
        for name, view in VIEWS.items():
            visit.go(view)
            assert not visit.is_wider_than_its_window, name
        visit.go(VIEWS["model"])
        assert visit.page.get_by_role("img").evaluate("image => image.getBoundingClientRect().right <= innerWidth")
        page = visit.go(VIEWS["file"])
        upload(page, wards.as_csv(wards.rows([90])))
        page.get_by_role("button", name=re.compile("^(Ask|Get) 1 ")).click()
        expect(page.get_by_role("button", name="Download as CSV")).to_be_visible()
        assert not visit.is_wider_than_its_window


def test_the_keyboard_is_enough(visit: Visit) -> None:
    page = visit.go()

    def focused() -> str:
        return str(page.evaluate("document.activeElement.textContent.trim() || document.activeElement.tagName"))

    def tab_to(words: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if focused().startswith(words):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline == "solid"
                return
        raise AssertionError(words)

    page.keyboard.press("Tab")
    assert focused() == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    tab_to("Ask")
    page.keyboard.press("Enter")
    expect(page.locator(":focus")).to_have_text("wards")  # the heading of the view
    page.wait_for_selector("form")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "INPUT":
            break
    page.keyboard.type("88")
    page.keyboard.press("Tab")
    page.keyboard.type("south")
    page.keyboard.press("Enter")
    tab_to("Ask for the label")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text(LABELS[1])


def test_the_policy_is_strict_and_kept(visit: Visit) -> None:
    with visit.page.expect_response(lambda reply: reply.url == f"{visit.address}/") as waiting:
        visit.go()
    policy = waiting.value.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    forbidden: Any = visit.page.evaluate("fetch('http://127.0.0.2/').then(() => 'sent', () => 'refused')")
    assert forbidden == "refused"
    assert len(visit.errors) >= 1
    assert all("Content Security Policy" in text or "violates" in text for text in visit.errors)
    visit.errors.clear()
    visit.foreign.clear()


def test_hostile_names_and_cells_stay_text(visit: Visit) -> None:
    """Names of columns, categories, labels and files, and what an asker sent: shown as they are, never read as HTML."""
    page = visit.go("#/of/wards/ask")
    expect(page.get_by_label(f"since {HOSTILE}")).to_be_visible()
    fill(page, 77, ward=HOSTILE)
    page.get_by_role("button", name="Ask for the label").click()
    expect(page.get_by_role("region", name="Answer")).to_contain_text(HOSTILE)
    page.get_by_role("link", name="Answers", exact=True).click()
    expect(page.get_by_role("listitem").filter(has_text="age 77")).to_contain_text(HOSTILE)
    visit.go("#/of/wards/upload")
    upload(page, f"age,{HOSTILE}\n1,2\n", name=f"{HOSTILE}.csv")
    expect(page.get_by_role("main")).to_contain_text("The columns must be those of the schema")
    visit.go(f"#/of/{HOSTILE}/overview")
    visit.go("#/of/tree/model")
    expect(page.get_by_role("region", name="Rules", exact=True)).to_contain_text(HOSTILE)
    assert page.locator("img:not([src^='data:'])").count() == 0
