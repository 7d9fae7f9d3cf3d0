"""Files in the page: cut as the server reads them, sent in parts, resumed without counting twice, written safely."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect
from support import wards
from support.browser import Visit, upload, visiting
from support.kept import kept
from support.serving import release_place, serving

from pcqr.data.schema.table import csv_line
from pcqr.datasets.tables import parse_table
from pcqr.errors import DataError
from pcqr.server.service import Place
from pcqr.server.state import Settings

pytest_plugins = ("support.page_fixtures",)

MOST_ROWS = 4
FAR = [1.0 + place / 10 for place in range(10)]
"""Ages far from the border, so that every answer is stable: three parts."""


@pytest.fixture(scope="module")
def limited(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:  # noqa: ARG001 (skips first)
    """A server that takes few rows and few bytes at a time: a release with a schema, and one without."""
    folder = tmp_path_factory.mktemp("limited")
    wards.keep_release(folder / "wards", wards.agnostic())
    kept(folder / "ages")
    wards_place = Place("wards", folder / "wards" / "release", anchor=folder / "wards" / "anchor")
    with serving(wards_place, release_place(folder / "ages"), most_rows=MOST_ROWS, most_bytes=600) as found:
        yield found


def asks(page: Page) -> list[Request]:
    """Requests that ask for answers, as they are sent."""
    found: list[Request] = []
    page.on("request", lambda request: found.append(request) if "/ask" in request.url else None)
    return found


def odd_csv(numbers: Iterable[float]) -> str:
    rows = (f"{number},{number},{number},north" for number in numbers)
    return "\n".join((",".join((*wards.ODD_COLUMNS, "ward")), *rows)) + "\n"


def downloaded(page: Page) -> list[dict[str, str]]:
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download as CSV").click()
    with waiting.value.path().open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_file_of_more_rows_than_a_request_may_have_is_answered(visit: Visit) -> None:
    numbers = np.linspace(0, 100, Settings().most_rows + 500)
    page, sent = visit.go("#/of/constructor/upload"), asks(visit.page)
    upload(page, odd_csv(numbers))
    page.get_by_role("button", name="Get 10,500 answers").click()
    expect(page.get_by_role("heading", name="10,500 answers for people.csv")).to_be_visible()
    found = downloaded(page)
    assert [row["row"] for row in found] == [str(place + 1) for place in range(len(numbers))]
    assert [row["label"] == "constructor" for row in found] == (numbers <= 40).tolist()
    assert len(sent) == 11


def test_parts_keep_the_servers_limits_and_have_a_key_each(browser: Browser, limited: str) -> None:
    with visiting(browser, limited) as visit:
        page, sent = visit.go("#/of/wards/upload"), asks(visit.page)
        upload(page, wards.as_csv(wards.rows([*FAR, FAR[0]])))
        preview = page.get_by_role("region", name="What people.csv would cost")
        expect(preview).to_contain_text("3 parts")
        page.get_by_role("button", name="Ask 11 queries").click()
        expect(page.get_by_role("heading", name="11 answers for people.csv")).to_be_visible()
        bodies = [request.post_data or "" for request in sent]
        rows = [len(parse_table(body, "a part")["age"]) for body in bodies]
        assert sum(rows) == 11
        assert max(rows) <= MOST_ROWS
        assert max(len(body.encode()) for body in bodies) <= 600
        assert len({request.headers["idempotency-key"] for request in sent}) == len(sent)
        found = downloaded(page)
        assert [row["label"] for row in found] == [wards.LABELS[0]] * 11


def test_a_lost_part_is_sent_again_under_its_key_and_counted_once(browser: Browser, limited: str) -> None:
    with visiting(browser, limited) as visit:
        page, sent = visit.go("#/of/wards/upload"), asks(visit.page)
        answered = page.evaluate("fetch('/v1/budget?release=wards').then(reply => reply.json())")["spent"]["queries"]
        tries = 0

        def lose_second(route: Route) -> None:
            nonlocal tries
            tries += 1
            if tries == 2:  # the server answers, and the reply is lost
                route.fetch()
                route.abort()
            else:
                route.continue_()

        page.route("**/ask", lose_second)
        upload(page, wards.as_csv(wards.rows([50 + 40 * age / 2 for age in FAR])))
        page.get_by_role("button", name="Ask 10 queries").click()
        expect(page.get_by_role("region", name="The server does not answer")).to_be_visible()
        expect(page.get_by_role("heading", name="4 answers for people.csv")).to_be_visible()
        page.get_by_role("link", name="Overview").click()  # and come back: what was answered is still there
        page.get_by_role("link", name="Ask with a file").click()
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("heading", name="10 answers for people.csv")).to_be_visible()
        keys = [request.headers["idempotency-key"] for request in sent]
        assert keys[1] == keys[2]
        assert len(set(keys)) == 3
        now = page.evaluate("fetch('/v1/budget?release=wards').then(reply => reply.json())")["spent"]["queries"]
        assert now == answered + 10
        assert {row["kind"] for row in downloaded(page)} <= {"stable", "unstable"}
        visit.errors[:] = [text for text in visit.errors if "ERR_FAILED" not in text]


def test_asking_can_be_stopped_after_a_part(browser: Browser, limited: str) -> None:
    with visiting(browser, limited) as visit:
        page = visit.go("#/of/wards/upload")
        held: list[Route] = []
        page.route("**/ask", lambda route: route.continue_() if held else held.append(route))
        upload(page, wards.as_csv(wards.rows([age / 7 for age in FAR])))
        page.get_by_role("button", name="Ask 10 queries").click()
        page.get_by_role("button", name="Stop after this part").click()
        assert visit.violations() == []
        held[0].continue_()
        expect(page.get_by_role("heading", name="4 answers for people.csv")).to_be_visible()
        expect(page.get_by_role("main")).to_contain_text("6 rows have no answer here yet")
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("heading", name="10 answers for people.csv")).to_be_visible()


def test_a_bad_cell_is_named_by_its_row_and_line_in_the_file(browser: Browser, limited: str) -> None:
    lines = wards.as_csv(wards.rows(FAR)).splitlines()
    lines[7] = lines[7].replace("1.6,", "sixteen,")
    lines.insert(3, "")  # a blank line is no row
    with visiting(browser, limited) as visit:
        page, sent = visit.go("#/of/wards/upload"), asks(visit.page)
        upload(page, "\n".join(lines))
        problem = page.get_by_role("region", name="people.csv cannot be used")
        expect(problem).to_contain_text("Row 7 (line 9 of the file), column “age”: “sixteen”.")
        expect(problem).to_contain_text("A number from 0 to 100")
        expect(problem).to_be_in_viewport()
        upload(page, "\n".join(lines).replace("sixteen,", "1,2,"))
        expect(problem).to_contain_text("Line 9 has 5 cells, the first line has 4")
        upload(page, wards.as_csv(wards.rows(FAR)).replace("north", "nörd").encode("latin-1"))
        expect(problem).to_contain_text("not text in UTF-8")
        upload(page, wards.as_csv(wards.rows(FAR)).replace("north", "n" * 600))
        expect(problem).to_contain_text("Row 1 has more bytes than a request to this server may have (600)")
        assert sent == []


def test_a_release_without_a_schema_takes_files_too(browser: Browser, limited: str) -> None:
    with visiting(browser, limited) as visit:
        page = visit.go("#/of/ages/upload")
        upload(page, "x\n0.01\nmany\n")
        expect(page.get_by_role("main")).to_contain_text(
            "Row 2 (line 3 of the file), column “x”: “many” is not a number"
        )
        upload(page, "x\n0.01\n0.02\n0.98\n0.99\n0.97\n")
        page.get_by_role("button", name="Ask 5 queries").click()
        expect(page.get_by_role("heading", name="5 answers for people.csv")).to_be_visible()
        assert [row["label"] for row in downloaded(page)] == ["0", "0", "1", "1", "1"]


TEXTS = (
    "a,b\n1,2\n",
    "\ufeffa;b\r\n1;2\r\n3;4",
    "a\tb\n1\t\n\n\t2\n",
    'a,b\n"1,5","say ""hi"""\n x,  y\n',
    'a,b\n"two\nlines",1\r\n"three\r\n\r\nlines",2\rlast,3\n',
    '"a\nb",c\n1,2\n',
    'a,b\n1"2,3\n',
    "a\n1\n \n2\n",
    "a|b|c,d\n1|2|3\n",
    "ä,ß\n😀,1\n",
    "'=a,'b\n'-x,''@y\n'5,'-5\n",
)
BROKEN = ("", "\n", "a|b,c\n1|2\n", "a,b\n", "a,b\n1\n", 'a,b\n"1,2\n', 'a,b\n"1"x,2\n')


def test_the_page_reads_files_as_the_server_does(visit: Visit) -> None:
    script = """async (texts) => {
      const { parts, read } = await import("/static/csv.js");
      return texts.map((text) => {
        const table = read(new TextDecoder().decode(new TextEncoder().encode(text)));
        const cut = parts(table, { columns: [], features: 0, most_rows: 1, most_bytes: 1000 });
        return { names: table.names, rows: table.rows.map(table.cells), bodies: cut.map(({ body }) => body()) };
      });
    }"""
    read: Any = visit.go("#/of/wide/upload").evaluate(script, TEXTS)
    for text, found in zip(TEXTS, read, strict=True):
        table = parse_table(text, "the file")
        rows = list(zip(*table.values(), strict=True))
        assert (found["names"], found["rows"]) == (list(table), [[cell or "" for cell in row] for row in rows]), text
        parts = [parse_table(body, "a part") for body in found["bodies"]]
        assert parts == [{name: [cell] for name, cell in zip(table, row, strict=True)} for row in rows], text


def test_the_page_refuses_what_the_server_cannot_read(visit: Visit) -> None:
    script = """async (texts) => {
      const { Unreadable, read } = await import("/static/csv.js");
      return texts.map((text) => {
        try { read(text); } catch (error) { return error instanceof Unreadable; }
      });
    }"""
    assert visit.go("#/of/wide/upload").evaluate(script, BROKEN) == [True] * len(BROKEN)
    for text in BROKEN:
        with pytest.raises(DataError):
            parse_table(text, "the file")


def test_no_cell_of_a_download_is_run_and_numbers_stay_numbers(visit: Visit) -> None:
    cells = [
        "=1+1",
        "+SUM(A1)",
        "-cmd",
        "@x",
        "\tx",
        "\rx",
        "'=y",
        "＝z",
        "-1.5",
        "+3",
        "-2e-5",
        -4,
        5,
        None,
        "a-b",
        'a "b", c',
        "a;b",
        "a\rb",
        " =1",
        " -1",
        "  x",
    ]
    found: Any = visit.go("#/of/wide/upload").evaluate(
        "async (cells) => (await import('/static/csv.js')).written(['=name', 'x'], cells.map((cell) => [cell, 1]))",
        cells,
    )
    expected = [("=name", "x"), *((cell, 1) for cell in cells)]
    assert found == "".join(f"{csv_line(row)}\n" for row in expected)
    assert "\n'=1+1,1\n" in found
    assert "\n-1.5,1\n" in found


def test_a_label_that_a_spreadsheet_would_run_is_written_as_text(visit: Visit) -> None:
    page = visit.go("#/of/constructor/upload")
    upload(page, odd_csv([90, 1]))
    page.get_by_role("button", name="Get 2 answers").click()
    expect(page.get_by_role("table")).to_contain_text("=1+1")
    assert [row["label"] for row in downloaded(page)] == ["'=1+1", "constructor"]


def test_costs_of_parts_are_bounds_of_the_whole(visit: Visit) -> None:
    """Equal rows in two parts count once where their text is equal; what is certain stops at the first limit."""
    script = """async ({ lines, asked_before, remaining, fresh }) => {
      const [{ parts, read }, { together }] = await Promise.all([import("/static/csv.js"), import("/static/cost.js")]);
      const table = read(["a", ...lines].join("\\n"));
      const one = { columns: [], features: 1, most_rows: 2, most_bytes: 100, algorithm: "AgnosticRelease",
                    planned_queries: 3, spent: { queries: 1 } };
      const cut = parts(table, one);
      const costs = cut.map(({ first, rows }, place) => ({
        asked_before: asked_before.slice(first, first + rows.length), new: fresh[place], published: 0, remaining,
        is_certain: true, expected_unstable: 0.5, unstable_range: null }));
      return together(one, { table, parts: cut }, costs);
    }"""
    page = visit.go("#/of/wide/upload")
    found: Any = page.evaluate(
        script,
        {
            "lines": ["1", "2", "1", "3", "4", "4.0"],
            "asked_before": [False, True, False, False, False, False],
            "remaining": {"queries": None, "unstable": 1, "labels": None},
            "fresh": [1, 2, 1],  # 4 and 4.0 are one row to the server
        },
    )
    expected = {"requested": 6, "new": 3, "repeated": 3, "certain": 3, "beyond_plan": 1, "expected_unstable": 1}
    assert {name: found[name] for name in expected} == expected, json.dumps(found)
    assert found["isBound"] is True


def test_rows_that_would_exhaust_the_release_are_asked_on_a_word_more(browser: Browser, tmp_path: Path) -> None:
    """Answered when the file is priced or, where others have asked since then, when it is sent. It is sent as
    confirmed."""
    wards.keep_release(tmp_path / "few", wards.agnostic(unstable=2))
    place = Place("few", tmp_path / "few" / "release", anchor=tmp_path / "few" / "anchor")
    with serving(place) as address, visiting(browser, address) as visit:
        page, sent = visit.go("#/of/few/upload"), asks(visit.page)
        warning = page.get_by_role("region", name="This is expected to exhaust the release")
        upload(page, wards.as_csv(wards.rows(np.linspace(1, 20, 800))))
        expect(warning).to_be_visible()
        expect(page.get_by_role("button", name="Ask 800 queries all the same")).to_be_visible()
        assert visit.violations() == []
        upload(page, wards.as_csv(wards.rows(np.linspace(1, 20, 250))))
        button = page.get_by_role("button", name="Ask 250 queries", exact=True)
        expect(button).to_be_visible()
        expect(warning).to_have_count(0)
        with httpx.Client(base_url=address) as other:  # somebody else uses one of the two unstable answers
            for row in range(400):
                table = {name: cells[:1] for name, cells in wards.rows([39.9 + row / 2_000]).items()}
                if other.post("/v1/releases/few/ask", json={"columns": table}).json()["remaining"]["unstable"] == 1:
                    break
        button.click()
        expect(warning).to_be_in_viewport()
        expect(page.get_by_role("heading", name="0 answers for people.csv")).to_be_visible()
        assert visit.violations() == []
        page.get_by_role("button", name="Ask them all the same").click()
        expect(page.get_by_role("heading", name="250 answers for people.csv")).to_be_visible()
        assert [request.url.partition("?")[2] for request in sent] == ["", "confirm=true"]
        assert all("409" in text for text in visit.refused)
