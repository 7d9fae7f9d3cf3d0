"""The table of docs/planning.md is what is on file, with ranges as the model has them. They hold nine of ten cells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.accuracy import markdown
from benchmarks.expectations import HEADER, PAGE, RESULTS, read, row, summary

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_is_on_file() -> None:
    found = read(ROOT / RESULTS)
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert summary(found) in page
    assert markdown(HEADER, list(map(row, found))) in page


def test_the_ranges_hold_what_was_seen_in_nine_of_ten_cells() -> None:
    found = read(ROOT / RESULTS)
    assert len(found) == 55
    assert sum(cell.is_within for cell in found) >= 50


def test_ranges_with_other_ends_are_not_shown(tmp_path: Path) -> None:
    stored = json.loads((ROOT / RESULTS).read_text(encoding="utf-8"))
    stored[0]["range_ends"] = [0.03, 3.0]
    (tmp_path / "old.json").write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(SystemExit, match="Run it again, without --redraw"):
        read(tmp_path / "old.json")
