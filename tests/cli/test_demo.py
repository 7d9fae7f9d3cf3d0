"""`pcqr demo --fast`: one real run, and what happens without the picture's library."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pcqr.cli import demo
from pcqr.cli.main import app


@pytest.fixture(autouse=True)
def few_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "FAST", demo.Sizes(queries=40, voted=20))


def test_the_demo_tells_the_whole_story(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["demo", "--fast", "--out", str(tmp_path / "new" / "out")])
    assert result.exit_code == 0, result.output
    words = " ".join(result.output.split())
    for part in (
        "32,561 private records",
        "Replace any one",
        "charged whole at fit",
        "published",
        "SubSamp",
        "accuracy",
    ):
        assert part in words
    assert "NOT PRIVATE" not in words
    picture = (tmp_path / "new" / "out" / "demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")


def test_json_and_no_picture_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = CliRunner().invoke(app, ["demo", "--fast", "--json", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["picture"] is None
    assert summary["guarantee"]["is_private"] is True
    assert summary["guarantee"]["epsilon"] <= 2.0
    assert summary["guarantee"]["delta"] <= 1e-6
    counts = summary["methods"]["universal release"]["counts"]
    assert sum(counts.values()) == 40
    assert counts["published"] >= 20
    assert list(tmp_path.iterdir()) == []


def test_an_unusable_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, ["demo", "--fast", "--out", str(tmp_path / "file")])
    assert result.exit_code == 2
    assert "--out must be a directory" in result.stderr
