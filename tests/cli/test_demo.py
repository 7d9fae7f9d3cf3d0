"""`pcqr demo` and `pcqr serve --demo`: one real run, what is found again, and what happens without matplotlib."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.command_lines import said
from typer.testing import CliRunner

from pcqr.cli import demo
from pcqr.cli import demo as serve_demo
from pcqr.cli.console import progress
from pcqr.cli.demo import ANCHOR, FOLDER, QUERIES, RELEASE, TREE, with_demo
from pcqr.cli.jobs import Serve
from pcqr.cli.main import app
from pcqr.cli.server import places
from pcqr.datasets import load_adult, read_table
from pcqr.models import PublishedModel
from pcqr.server.service import Service


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
    words = said(result)
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


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(serve_demo, "RECORDS", 2_000)
    monkeypatch.setattr(serve_demo, "DEMO_PUBLIC", 40)
    monkeypatch.setattr(PublishedModel, "draw", lambda *_: None)  # takes longer than all the rest
    monkeypatch.setattr(PublishedModel, "to_onnx", lambda *_: None)


@pytest.mark.usefixtures("small")
@pytest.mark.filterwarnings("ignore::pcqr.errors.UnansweredWarning")
def test_it_is_made_once_and_found_again(capsys: pytest.CaptureFixture[str]) -> None:
    job = with_demo(Serve(demo=True, as_json=True))
    release, tree = FOLDER / RELEASE / "release.json", FOLDER / TREE / "model.json"
    before = [path.read_bytes() for path in (release, tree)]
    service = Service.open(places(job))
    try:
        assert [(each.name, each.kind) for each in service.all] == [(RELEASE, "release"), (TREE, "model")]
        assert all(each.schema is not None for each in service.all)
        asked = read_table(FOLDER / QUERIES)
        assert service.named(TREE).schema is not None
        assert service.release(RELEASE).release.preview(asked).requested == serve_demo.ASKED
    finally:
        service.close()
    assert with_demo(Serve(demo=True)) == replace(job, as_json=False)
    assert [path.read_bytes() for path in (release, tree)] == before
    assert "found in" in capsys.readouterr().out
    release.unlink()  # as if it had been stopped midway
    assert with_demo(Serve(demo=True, as_json=True)) == job
    assert release.read_bytes() != before[0]
    assert tree.read_bytes() == before[1]
    assert (FOLDER / ANCHOR).exists()
    Service.open(places(job)).close()


def test_it_stands_alone() -> None:
    result = CliRunner().invoke(app, ["serve", "somewhere", "--demo"])
    assert result.exit_code == 2
    assert "--demo" in result.output


def test_nothing_to_serve_is_said() -> None:
    result = CliRunner().invoke(app, ["serve"])
    assert result.exit_code == 2
    assert "--demo" in result.output
