"""`pcqr publish` where something cannot be written: before the draw it refuses, after it nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.publishing import RECORDS, Files, forbid_draws

from pcqr.errors import DataError
from pcqr.models import PublishedModel


@pytest.fixture
def files(tmp_path: Path) -> Files:
    files = Files(tmp_path)
    files.write()
    return files


@pytest.fixture
def no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_draws(monkeypatch)


@pytest.mark.parametrize("is_file", [True, False])
def test_a_place_that_cannot_be_written_to(files: Files, is_file: bool) -> None:
    target = files.directory / ("train.csv" if is_file else "train.csv/model")
    result = files.publish("--out", str(target))
    assert result.exit_code == 2
    assert "--out must be a directory that can be written to" in result.stderr


@pytest.mark.parametrize("name", ["model.json", "importance.txt"])
@pytest.mark.usefixtures("no_draw")
def test_a_directory_in_the_place_of_a_file(files: Files, name: str) -> None:
    (files.directory / "model" / name).mkdir(parents=True)
    result = files.publish()
    assert result.exit_code == 2
    assert "--out must be a directory whose files can be written over" in result.stderr


@pytest.mark.usefixtures("no_draw")
def test_a_file_that_may_not_be_written_over(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    (files.directory / "model").mkdir()
    (files.directory / "model" / "card.md").write_text("old")
    monkeypatch.setattr("os.access", lambda path, _: Path(path).name != "card.md")
    result = files.publish()
    assert result.exit_code == 2
    assert "card.md" in result.stderr


@pytest.mark.usefixtures("no_draw")
def test_what_cannot_be_written_fails_before_the_draw(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: PublishedModel) -> str:
        raise DataError("card", "writable", "not")

    monkeypatch.setattr(PublishedModel, "card", broken)
    assert files.publish().exit_code == 2


def test_a_picture_that_fails_is_named_by_the_exit_code_too(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("no fonts")

    monkeypatch.setattr(PublishedModel, "draw", broken)
    result = files.publish()
    assert result.exit_code == 1, result.output
    assert "picture.svg: RuntimeError: no fonts" in result.stdout
    assert "could not be written to" in result.stderr
    assert "picture.svg. The model itself is in" in result.stderr
    again = files.publish("--json", "--overwrite")
    assert again.exit_code == 1
    assert json.loads(again.stdout)["failed"] == {"picture.svg": "RuntimeError: no fonts"}
    assert json.loads(again.stdout)["left_out"] == {}
    assert files.model().classes == (0, 1)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_failure_after_the_draw_says_that_the_budget_is_spent_and_shows_the_model(
    files: Files, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(PublishedModel, "save", full)
    result = files.publish(*(["--json"] if as_json else []))
    assert result.exit_code == 1
    printed = json.loads(result.stdout)
    message = printed["error"]["message"] if as_json else result.stderr
    assert "The model was drawn and ε = 2 is spent" in message
    assert "No space left on device" in message
    document = printed["model"] if as_json else printed
    assert PublishedModel.from_json(json.dumps(document)).provenance.records == RECORDS


def test_a_summary_that_cannot_be_printed_says_where_the_model_is(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_letters(*_: Any) -> None:
        raise UnicodeEncodeError("ascii", "ε", 0, 1, "ordinal not in range(128)")

    monkeypatch.setattr("pcqr.cli.publish.promise", no_letters)
    result = files.publish()
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "The model was drawn and ε = 2 is spent without an account; it is in " in result.stderr
    assert result.stderr.endswith("model.json. Then: UnicodeEncodeError.\n")
    assert files.model().provenance.records == RECORDS
