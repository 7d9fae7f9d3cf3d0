"""Where things stand on the page: in sight, whole, readable in the dark, whatever they are called."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from support import wards
from support.browser import DESK, PHONE, Visit, upload, visiting
from support.serving import serving

import pcqr
from pcqr.data.schema import Column
from pcqr.hypotheses import Stumps
from pcqr.server.service import Place

pytest_plugins = ("support.page_fixtures",)

WORD = "Pneumonoultramicroscopicsilicovolcanoconiosis" * 4


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_with_sixty_columns_the_answer_is_in_sight_of_the_button(browser: Browser, address: str, width: int) -> None:
    with visiting(browser, address, width=width) as visit:
        page = visit.go("#/of/wide/ask")
        page.evaluate("for (const field of document.querySelectorAll('form input')) field.value = 90")
        page.get_by_role("button", name="Ask for the label").click()
        answer = page.get_by_role("region", name="Answer")
        expect(answer.get_by_role("heading")).to_be_in_viewport()
        expect(answer.locator(".answer-label")).to_be_in_viewport()
        expect(answer.get_by_text("It cost nothing")).to_be_in_viewport()
        expect(page.get_by_role("status")).to_contain_text("Pneumono")
        assert not visit.is_wider_than_its_window
        assert visit.violations() == []
        said = page.get_by_role("status")
        said.evaluate(
            """place => {
              new MutationObserver(() => { place.dataset.again = "yes"; }).observe(place, { childList: true });
            }"""
        )
        page.get_by_role("button", name="Ask for the label").click()
        expect(said).to_have_attribute("data-again", "yes")  # the same answer is announced again
        expect(said).to_contain_text("Pneumono")


@pytest.mark.parametrize("view", ["constructor", "__proto__", "toString", "hasOwnProperty", "%"])
def test_names_that_every_object_has_are_no_views(visit: Visit, view: str) -> None:
    page = visit.go(f"#/of/wards/{view}")
    expect(page.get_by_role("heading", level=1)).to_have_text("wards")
    expect(page.get_by_role("link", name="Overview")).to_have_attribute("aria-current", "page")


def test_names_that_every_object_has_can_be_names_of_models_columns_and_labels(visit: Visit) -> None:
    page = visit.go("#/of/constructor/ask")
    for name in wards.ODD_COLUMNS:
        page.get_by_label(name, exact=True).fill("7")
    page.get_by_label("ward", exact=True).select_option("north")
    with page.expect_request("**/ask") as waiting:
        page.get_by_role("button", name="Ask for the label").click()
    sent: Any = waiting.value.post_data_json
    assert sent["rows"] == [dict.fromkeys(wards.ODD_COLUMNS, 7) | {"ward": "north"}]
    expect(page.locator(".answer-label")).to_have_text("constructor")
    for name in ("__proto__", "toString"):
        expect(visit.go(f"#/of/{name}/ask").get_by_role("main")).to_contain_text("There is no release of this name")


def test_words_for_unknown_names_are_those_names(visit: Visit) -> None:
    """A newer server may say what this page does not know."""
    found = visit.go("#/of/tree/overview").evaluate(
        """async () => {
          const words = await import("/static/words.js");
          const names = ["constructor", "__proto__", "toString"];
          return names.flatMap((name) => [words.stateName(name), words.algorithm(name), words.kindOf(name).name]);
        }"""
    )
    assert found == [name for name in ("constructor", "__proto__", "toString") for _ in range(3)]


def test_long_names_stay_within_the_page(browser: Browser, tmp_path: Path) -> None:
    ages = np.random.default_rng(0).uniform(0, 100, 2_000)
    schema = pcqr.Schema((Column("age", bounds=(0, 100)), Column(f"kind of {WORD}", "categorical", (WORD, "other"))))
    table = {"age": ages.tolist(), schema.names[1]: [WORD] * 2_000}
    release = pcqr.AgnosticRelease(
        Stumps(),
        epsilon=8.0,
        queries=50,
        entropy=1,
        teachers=49,
        unstable=4,
        sampling_rate=0.5,
        inverse_temperature=0.5,
    )
    release.fit(table, [f"{WORD}{int(age > 40)}" for age in ages], schema=schema)
    release.save(tmp_path / "release", anchor=tmp_path / "anchor").close()
    place = Place("x" * 64, tmp_path / "release", anchor=tmp_path / "anchor")
    with serving(place) as address, visiting(browser, address, width=PHONE) as visit:
        page = visit.go(f"#/of/{place.name}/ask")
        page.get_by_label("age").fill("90")
        page.get_by_role("combobox").select_option(WORD)
        expect(page.get_by_text(f"Chosen: {WORD}")).to_be_visible()  # the field itself cuts it off
        page.get_by_role("button", name="Ask for the label").click()
        expect(page.locator(".answer-label")).to_have_text(f"{WORD}1")
        assert not visit.is_wider_than_its_window
        for view in ("overview", "answers", "upload"):
            page = visit.go(f"#/of/{place.name}/{view}")
            assert not visit.is_wider_than_its_window, view
        upload(page, wards.as_csv({"age": [1, 99], schema.names[1]: [WORD, WORD]}))
        page.get_by_role("button", name="Ask 2 queries").click()
        expect(page.get_by_role("table")).to_contain_text(WORD)
        assert not visit.is_wider_than_its_window


def test_answers_of_one_moment_are_no_empty_history(browser: Browser, tmp_path: Path) -> None:
    """A file is often asked in one second: there is no curve yet, and the page says why."""
    wards.keep_release(tmp_path / "wards", wards.agnostic())
    place = Place("wards", tmp_path / "wards" / "release", anchor=tmp_path / "wards" / "anchor")
    with serving(place) as address, visiting(browser, address) as visit:
        main = visit.go("#/of/wards/overview").get_by_role("main")
        expect(main).to_contain_text("Nothing has been asked yet")
        upload(visit.go("#/of/wards/upload"), wards.as_csv(wards.rows(np.linspace(1, 20, 155))))
        visit.page.get_by_role("button", name="Ask 155 queries").click()
        expect(visit.page.get_by_role("heading", name="155 answers")).to_be_visible()
        main = visit.go("#/of/wards/overview").get_by_role("main")
        expect(main).to_contain_text("155 queries were put to the vote")
        expect(main).to_contain_text("at one moment")
        expect(main).not_to_contain_text("Nothing has been asked")
        logged = visit.go("#/of/wards/answers").get_by_role("region", name="Answers").get_by_role("listitem")
        expect(logged).to_have_count(50)
        for shown in (100, 150, 155):
            visit.page.get_by_role("button", name="Show more").click()
            expect(logged).to_have_count(shown)
        expect(visit.page.get_by_role("button", name="Show more")).to_be_hidden()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_picture_has_the_brightness_of_the_page(browser: Browser, address: str, dark: bool) -> None:
    with visiting(browser, address, dark=dark) as visit:
        picture = visit.go("#/of/tree/model").get_by_role("img")
        pixels = np.asarray(Image.open(io.BytesIO(picture.screenshot())).convert("L"), dtype=float)
        assert (np.median(pixels) < 60) if dark else (np.median(pixels) > 240)
        assert np.ptp(pixels) > 120, "and it can be read"


def test_the_picture_fits_a_phone_or_has_its_own_size(browser: Browser, address: str) -> None:
    def width(page: Page) -> float:
        return float(page.get_by_role("img").evaluate("image => image.getBoundingClientRect().width"))

    with visiting(browser, address, width=PHONE) as visit:
        page = visit.go("#/of/tree/model")
        assert width(page) <= PHONE
        page.get_by_role("button", name="Full size").click()
        assert width(page) > PHONE
        assert not visit.is_wider_than_its_window
