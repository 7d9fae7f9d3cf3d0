"""What relabelling does: the page shows what was measured, and shares are counted as it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import relabel
from benchmarks.accuracy import markdown

ROOT = Path(__file__).parents[2]
RUN = relabel.Run(1.0, 100, "relabelled", 0, teachers=11, allowed=4, decided=40, unstable=4, right=30)


def test_the_page_has_the_table_of_the_results() -> None:
    table = markdown(relabel.HEADER, relabel.rows(relabel.stored(ROOT / relabel.RESULTS)))
    assert f"<!-- relabel -->\n{table}\n<!-- end of relabel -->" in (ROOT / relabel.PAGE).read_text(encoding="utf-8")


def test_every_cell_has_the_same_number_of_runs() -> None:
    found = relabel.cells(relabel.stored(ROOT / relabel.RESULTS))
    assert len(found) == len(relabel.EPSILONS) * len(relabel.QUERIES) * len(relabel.WAYS)
    assert {len(cell.runs) for cell in found.values()} == {relabel.RUNS}


def test_shares_are_of_decided_and_of_all_queries() -> None:
    cell = relabel.Cell([RUN, replace(RUN, seed=1, decided=100, unstable=2, right=90)])
    assert RUN.unlabelled == pytest.approx(0.64)
    assert cell.unstable[0] == pytest.approx(6 / 140)
    assert cell.unlabelled[0] == pytest.approx((0.64 + 0.02) / 2)
    assert cell.right == pytest.approx(120 / 134)
    assert cell.plan == (11, 4)


def test_there_is_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    runs = [replace(RUN, queries=m, way=way, seed=seed) for m in (40, 100) for way in relabel.WAYS for seed in range(2)]
    cells = {key: relabel.Cell([run for run in runs if run.cell == key]) for key in {run.cell for run in runs}}
    relabel.draw(cells, tmp_path / "relabel.png")
    assert (tmp_path / "relabel.png").stat().st_size > 10_000
