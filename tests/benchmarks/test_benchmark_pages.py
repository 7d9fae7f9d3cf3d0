"""Pages of docs/ show what the results on file say: every table of every benchmark, word by word."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import (
    answers,
    auc,
    bench,
    billion,
    calibration,
    classes,
    classifier_costs,
    classifiers,
    expectations,
    few_records,
    first_fit,
    gpu,
    nothing_public,
    pate,
    planner,
    relabel,
    rule,
    scaling,
    teachers,
    timing,
    trees,
    wide,
)
from benchmarks.accuracy import markdown, read_cases
from pcqr.bench.running import read_results

ROOT = Path(__file__).parents[2]
CALIBRATION, MODELS = Path("docs/classifier-results.md"), Path("docs/models.md")


def stored(path: Path) -> list[dict[str, object]]:
    cases: list[dict[str, object]] = json.loads((ROOT / path).read_text(encoding="utf-8"))["cases"]
    return cases


def between(tables: dict[str, str]) -> list[str]:
    """Each table between the two comments that a benchmark writes it between."""
    return [f"<!-- {name} -->\n{table}\n<!-- end of {name} -->" for name, table in tables.items()]


def of_classifiers() -> Iterator[str]:
    cases = rule.stored(ROOT / rule.RESULTS)
    yield classifiers.table(ROOT)
    yield from (markdown(rule.HEADER, rule.by_question(cases, names)) for names in (rule.HELD_OUT, rule.IN_VIEW))
    yield from (each.table(ROOT) for each in (classifier_costs, wide, classes))
    yield from (f"| {' | '.join(case.row())} |" for case in calibration.stored().values())
    yield from of_summary(without_standing=True)


def of_summary(*, without_standing: bool = False) -> Iterator[str]:
    if not without_standing:
        yield classifiers.standing(ROOT)
    yield markdown(rule.BY_BAND, rule.by_band(rule.stored(ROOT / rule.RESULTS), rule.HELD_OUT))
    yield markdown(few_records.HEADER, few_records.rows(few_records.stored(ROOT)))


def of_pate() -> dict[str, str]:
    runs = pate.stored(ROOT / pate.RESULTS)
    return {
        "accounting": markdown(pate.ACCOUNTING, pate.accounting_rows()),
        "mnist": markdown(pate.MNIST, pate.mnist_rows(runs)),
        "adult": markdown(pate.ADULT, pate.adult_rows(runs)),
    }


def of_expectations() -> list[str]:
    found = expectations.read(ROOT / expectations.RESULTS)
    return [expectations.summary(found), markdown(expectations.HEADER, list(map(expectations.row, found)))]


PAGES: dict[str, tuple[Path, Callable[[], object]]] = {
    "answers": (answers.PAGE, lambda: between(answers.page_tables(answers.Results.read(ROOT / answers.RESULTS)))),
    "auc": (classifiers.PAGE, lambda: between({"auc": auc.page(ROOT)})),
    "bench": (bench.PAGE, lambda: [bench.page(read_results(ROOT / bench.RESULTS))]),
    "calibration": (
        MODELS,
        lambda: [f"| {' | '.join(calibration.Calibration.read(case).row())} |" for case in stored(calibration.RESULTS)],
    ),
    "classifiers": (classifiers.PAGE, of_classifiers),
    "classifiers, summary": (classifiers.SUMMARY, of_summary),
    "expectations": (expectations.PAGE, of_expectations),
    "first fit": (first_fit.PAGE, lambda: [first_fit.table(ROOT)]),
    "nothing public": (nothing_public.PAGE, lambda: [nothing_public.table(ROOT)]),
    "pate": (pate.PAGE, lambda: between(of_pate())),
    "planner": (planner.PAGE, lambda: between(planner.tables(planner.read(ROOT / planner.RESULTS)))),
    "relabel": (
        relabel.PAGE,
        lambda: between({"relabel": markdown(relabel.HEADER, relabel.rows(relabel.stored(ROOT / relabel.RESULTS)))}),
    ),
    "teachers": (
        teachers.PAGE,
        lambda: between(
            {
                "teachers": markdown(
                    teachers.HEADER,
                    teachers.table_rows([teachers.Row(**case) for case in stored(teachers.RESULTS)]),  # type: ignore[arg-type]
                )
            }
        ),
    ),
    "timing": (
        timing.PAGE,
        lambda: between(
            {"timing": markdown(timing.HEADER, [timing.Found(**case).row() for case in stored(timing.RESULTS)])}  # type: ignore[arg-type]
        ),
    ),
    "trees": (trees.PAGE, lambda: [trees.page(read_cases(ROOT / trees.RESULTS, trees.Case.of))]),
}
"""The page of a benchmark, and the texts that must be on it."""


@pytest.mark.parametrize("name", PAGES)
def test_the_page_has_the_tables_of_the_results(name: str) -> None:
    path, texts = PAGES[name]
    page = (ROOT / path).read_text(encoding="utf-8")
    found = list(texts())  # type: ignore[call-overload]
    assert found
    assert [text for text in found if text not in page] == []


@pytest.mark.parametrize("benchmark", [billion, gpu, scaling], ids=lambda benchmark: str(benchmark.__name__))
def test_writing_the_page_again_changes_nothing(
    benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    shutil.copy(ROOT / benchmark.PAGE, tmp_path / "page.md")
    monkeypatch.setattr(benchmark, "PAGE", tmp_path / "page.md")
    if benchmark is scaling:
        monkeypatch.setattr(scaling, "PICTURE", tmp_path / "picture.png")
        scaling.page(json.loads((ROOT / "benchmarks" / "results" / "scaling.json").read_text(encoding="utf-8")))
    elif benchmark is gpu:
        gpu.page(None, ())
    else:
        billion.page()
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert page == (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    assert "WRONG" not in page


def test_the_page_on_the_theory_names_pages_and_corrections_that_exist() -> None:
    text = (ROOT / planner.PAGE).read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert [target for target in targets if not (ROOT / "docs" / target).resolve().exists()] == []
    corrections = (ROOT / "docs" / "paper-corrections.md").read_text(encoding="utf-8")
    assert all(f"| {name} " in corrections for name in set(re.findall(r"\bC\d+\b", text)))


def test_the_ranges_hold_what_was_seen_in_nine_of_ten_cells() -> None:
    found = expectations.read(ROOT / expectations.RESULTS)
    assert sum(cell.is_within for cell in found) >= 0.9 * len(found)
