"""`pcqr demo --fast`: one real run, and what happens without the picture's library."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pcqr.cli import demo
from pcqr.cli.console import progress
from pcqr.cli.main import app
from pcqr.datasets import load_adult


@pytest.fixture(scope="module")
def made() -> demo.Comparison:
    with progress(hidden=True) as bar:
        return demo.Comparison.make(load_adult(), demo.Sizes(records=6_000, queries=40, voted=20), bar)


@pytest.fixture(autouse=True)
def made_once(made: demo.Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "FAST", demo.Sizes(records=6_000, queries=40, voted=20))
    monkeypatch.setattr(demo.Comparison, "make", lambda *_: made)


def test_the_demo_tells_the_whole_story(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["demo", "--fast", "--out", str(tmp_path / "new" / "out")])
    assert result.exit_code == 0, result.output
    words = " ".join(result.output.split())
    for part in (
        "6,000 private records, 2,000 public rows",
        "published classifier: made once",
        "votes, trees of depth 2: one query at a time",
        "If any one of the 6,000 private records were different, no",
        "charged whole at fit",
        "predict >50K",
        "Who makes both on the same records spends both: ε = 4",
        "boosting without privacy",
        "always <=50K",
        "14,241 others",
    ):
        assert part in words
    assert "NOT PRIVATE" not in words
    picture = (tmp_path / "new" / "out" / "demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert [path.name for path in (tmp_path / "new" / "out").iterdir()] == ["demo.png"]


def test_json_and_no_picture_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = CliRunner().invoke(app, ["demo", "--fast", "--json", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["picture"] is None
    for release in summary["releases"].values():
        assert release["guarantee"]["is_private"] is True
        assert release["guarantee"]["epsilon"] <= 2.0
        assert release["guarantee"]["delta"] <= 1e-6
    methods = summary["methods"]
    private, votes, best, majority = (methods[name]["accuracy_on_others"] for name in methods)
    assert majority < votes < best, "on 14,241 people, chance has little to say"
    assert majority < private < best
    counts = methods["votes, trees of depth 2"]["counts"]
    assert sum(counts.values()) == 40
    assert counts["published"] >= 20
    assert list(tmp_path.iterdir()) == []


def test_an_unusable_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, ["demo", "--fast", "--out", str(tmp_path / "file")])
    assert result.exit_code == 2
    assert "--out must be a directory" in result.stderr
