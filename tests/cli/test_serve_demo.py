"""`pcqr serve --demo`: made once, found again, and nothing else may stand beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pcqr.cli import demo as serve_demo
from pcqr.cli.demo import ANCHOR, FOLDER, QUERIES, RELEASE, TREE, with_demo
from pcqr.cli.jobs import Serve
from pcqr.cli.main import app
from pcqr.cli.server import places
from pcqr.datasets import read_table
from pcqr.models import PublishedModel
from pcqr.server.service import Service


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
