"""docs/classifiers.md shows what the stored results say."""

from __future__ import annotations

from pathlib import Path

from benchmarks import classifiers

ROOT = Path(__file__).parents[2]


def test_the_table_is_that_of_the_results() -> None:
    page = (ROOT / classifiers.PAGE).read_text(encoding="utf-8")
    assert classifiers.table(ROOT) in page


def test_every_table_has_a_figure_for_every_epsilon() -> None:
    rows = classifiers.table(ROOT).splitlines()[2:]
    assert {row.split("|")[1].strip() for row in rows} >= classifiers.TARGETS.keys()
    assert all(row.count("fit") == len(classifiers.EPSILONS) for row in rows)
