"""The plan for 10⁹ rows is what the stored results say, multiplied."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from benchmarks import billion

ROOT = Path(__file__).parents[2]


def test_the_page_shows_the_stored_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shutil.copy(ROOT / billion.PAGE, tmp_path / "page.md")
    monkeypatch.setattr(billion, "PAGE", tmp_path / "page.md")
    billion.page()
    assert (tmp_path / "page.md").read_bytes() == (ROOT / "docs" / "scaling.md").read_bytes()


def test_a_hundred_times_the_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = {
        "scaling": {
            "measured": {"10000000": {"counts": {"read": 36.0}}},
            "published": {"tree": {"processor": 72.0}, "auto": {"processor": 360.0}},
        },
        "cluster": {"seconds": {"1": [8.0, 9.0, 7.0], "2": [5.0, 5.0, 5.0]}},
    }
    monkeypatch.setattr(billion, "stored", lambda name: json.loads(json.dumps(measured[name])))
    _, _, *rows = billion.fits().splitlines()
    cells = [[cell.strip() for cell in row.split("|")[2:-1]] for row in rows]
    assert cells[0] == ["1.0", "1.2 min", "0.06 $"]  # one core hour, at four fifths of the speed
    assert cells[2] == ["10.0", "11.7 min", "0.62 $"]
