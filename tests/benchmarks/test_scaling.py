"""The benchmark of tables in files on small ones, and docs/scaling.md as the stored results have it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcqr.data.records.parted import ParquetParts

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pcqr[data]")

from benchmarks import scaling

ROOT = Path(__file__).parents[2]


def test_small_tables_are_made_and_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "GROUP", 400)
    scaling.make(tmp_path, [3000])
    table = ParquetParts.of(tmp_path / "3000")
    assert (table.rows, len(table.columns), len(table.files)) == (3000, 21, 2)
    for what in ("counts", "sums"):
        found = scaling.measured(tmp_path, 3000, what)
        assert set(found) == {"read", what, "memory"}
        assert min(found.values()) > 0


def test_rows_are_those_of_a_public_seed() -> None:
    assert scaling.rows_of([7, 3], 50).equals(scaling.rows_of([7, 3], 50))


def test_a_slope_is_that_of_the_logarithms() -> None:
    found = {str(rows): {"sums": {"sums": 3e-9 * rows**1.25}} for rows in (10**5, 10**6, 10**7)}
    assert scaling.slope(found, "sums") == pytest.approx(1.25)


def test_the_page_shows_the_stored_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    (tmp_path / "page.md").write_text(written, encoding="utf-8")
    monkeypatch.setattr(scaling, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(scaling, "PICTURE", tmp_path / "picture.png")
    stored = json.loads((ROOT / "benchmarks" / "results" / "scaling.json").read_text(encoding="utf-8"))
    scaling.page(stored)
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == written
    assert (tmp_path / "picture.png").exists()
    assert all(abs(scaling.slope(stored["measured"], what) - 1.0) <= 0.1 for what in ("counts", "sums"))
    assert max(each["counts"]["memory"] for each in stored["measured"].values()) < 1e9
