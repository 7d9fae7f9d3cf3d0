"""docs/performance.md shows what the stored results of first fits say; a process tells what it has measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import first_fit

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_table_of_the_results() -> None:
    assert first_fit.table(ROOT) in (ROOT / first_fit.PAGE).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_first_process_compiles_and_the_second_loads(tmp_path: Path) -> None:
    first, second = (first_fit.measure(0.03, tmp_path) for _ in range(2))
    assert (first.is_compiled, second.is_compiled) == (False, True)
    assert first.method == second.method == "tree"
    assert all(min(each.import_seconds, each.seconds, each.second_seconds) > 0 for each in (first, second))
