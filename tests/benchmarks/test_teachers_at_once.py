"""The benchmark of teachers on a small made-up table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import teachers
from benchmarks.accuracy import markdown
from benchmarks.tables import Task
from pcqr.data.schema import Column, Schema

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_table_of_the_results() -> None:
    cases = json.loads((ROOT / teachers.RESULTS).read_text(encoding="utf-8"))["cases"]
    table = markdown(teachers.HEADER, teachers.table_rows([teachers.Row(**case) for case in cases]))
    assert f"<!-- teachers -->\n{table}\n<!-- end of teachers -->" in (ROOT / teachers.PAGE).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["logistic", "tree"])
def test_both_ways_are_trained_and_scored(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teachers, "WORKERS", 1)  # processes take their time to start
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = ((X[:, 0] > 0).astype(np.int8) + (X[:, 1] > 0)).astype(np.int8)
    task = Task("made up", X[:200], y[:200], X[:0], X[200:], y[200:], Schema((Column("a"), Column("b"))))
    row = teachers.measured(task, name, teachers=6, records=60, rounds=1, scored=150)
    assert (row.teachers, row.labels, row.same_votes) == (6, 3, True)  # 360 records out of 200
    assert row.single == pytest.approx(row.loop_single, abs=0.03)
    assert min(row.committee, row.loop_committee) > 0.75
    assert teachers.table_rows([row])[0][-1] == "yes"
