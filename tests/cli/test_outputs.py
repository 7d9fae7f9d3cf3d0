"""No command writes over, or beside, what it did not write: only a new place, or with --overwrite its own output."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.command_lines import call, said
from support.kept import kept
from support.published import MODEL as TREE
from support.published import PEOPLE
from typer.testing import Result

from pcqr.data.schema import Column, Schema
from pcqr.datasets import write_table
from pcqr.models import PublishedModel
from pcqr.releases.base.fitting import PrivateEstimator

OTHERS = "notes of my own\n"


@pytest.fixture
def files(home: Path) -> Path:
    x = np.random.default_rng(0).random(2_000)
    write_table(home / "train.csv", {"x": x.tolist(), "y": (x > 0.4).astype(int).tolist()})
    write_table(home / "queries.csv", {"x": [0.1, 0.9, 0.2]})
    write_table(home / "people.csv", PEOPLE)
    Schema((Column("x", bounds=(0, 1)),)).to_toml(home / "schema.toml")
    TREE.save(home / "tree")
    return home


@pytest.fixture
def release(files: Path) -> Path:
    return kept(files / "kept")


def run(files: Path, command: str, out: Path, *more: object) -> Result:
    """A command of which all but its output is right."""
    private = ("--private", files / "train.csv", "--label", "y", "--epsilon", 2, "--schema", files / "schema.toml")
    queries = ("--queries", files / "queries.csv")
    anchor = ("--anchor", files / "kept" / "anchor")
    given: dict[str, tuple[object, ...]] = {
        "publish": (*private, "--depth", 1),
        "answer": (*private, *queries, "--delta", "1e-6", "--class", "thresholds"),
        "fit": (*private, "--delta", "1e-6", "--class", "thresholds"),
        "ask": (files / "kept" / "release", *queries, *anchor),
        "export": (files / "kept" / "release", *anchor),
        "predict": (files / "tree", files / "people.csv"),
        "schema": (files / "people.csv",),
        "demo": ("--fast",),
        "audit": (),
    }
    return call(command, *given[command], "--out", out, *more)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def forbid_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PrivateEstimator, "_charge", lambda *_: pytest.fail("it was charged"))


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("publish", ""),
        ("publish", "model"),
        ("answer", "answers.csv"),
        ("fit", "inner"),
        ("ask", "answers.csv"),
        ("export", "public"),
        ("predict", "found.csv"),
        ("schema", "schema.toml"),
        ("demo", ""),
        ("audit", "pictures"),
    ],
)
def test_nothing_is_written_beside_the_secrets_of_a_release(
    files: Path, release: Path, monkeypatch: pytest.MonkeyPatch, command: str, place: str
) -> None:
    forbid_draws(monkeypatch)
    before = contents(release)
    for more in ((), ("--overwrite",)) if command not in ("fit", "demo", "audit") else ((),):
        result = run(files, command, release / place, *more)
        assert result.exit_code == 2, result.output
        assert f"--out must be a place outside {release}" in result.output.replace("\n", "")
        assert contents(release) == before


@pytest.mark.usefixtures("release")
@pytest.mark.parametrize("command", ["publish", "export"])
def test_a_folder_of_somebody_else_is_refused_with_overwrite_too(
    files: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    forbid_draws(monkeypatch)
    for name in ("card.md", "model.json", "reading.json", "thesis.tex"):
        folder = files / f"of {name}"
        folder.mkdir()
        (folder / name).write_text(OTHERS)
        for more in ((), ("--overwrite",)):
            result = run(files, command, folder, *more)
            assert result.exit_code == 2, result.output
            assert "--out must be a new or empty directory" in said(result)
            assert contents(folder) == {str(folder / name): OTHERS.encode()}


def test_an_earlier_model_is_replaced_and_what_lies_beside_it_stays(files: Path) -> None:
    folder = files / "model"
    folder.mkdir()
    assert run(files, "publish", folder, "--seed", 1).exit_code == 0, "an empty folder is as good as a new one"
    first = (folder / "model.json").read_bytes()
    (folder / "thesis.tex").write_text(OTHERS)
    refused = run(files, "publish", folder, "--seed", 2)
    assert refused.exit_code == 2
    assert "a model that was published before" in said(refused)
    assert (folder / "model.json").read_bytes() == first
    assert run(files, "publish", folder, "--seed", 2, "--overwrite").exit_code == 0
    assert (folder / "thesis.tex").read_text() == OTHERS


def test_an_earlier_export_is_replaced(files: Path, release: Path) -> None:
    folder = files / "public"
    assert run(files, "export", folder).exit_code == 0, release
    assert "a transcript that was exported before" in said(run(files, "export", folder))
    assert run(files, "export", folder, "--overwrite").exit_code == 0


@pytest.mark.usefixtures("release")
@pytest.mark.parametrize(
    ("command", "name", "message"),
    [
        ("answer", "train2.csv", "one with answers of an earlier run"),
        ("ask", "train2.csv", "one with answers of an earlier run"),
        ("predict", "train2.csv", "one with predictions of an earlier run"),
        ("schema", "pyproject.toml", "an earlier schema"),
        ("schema", "package.json", "an earlier schema"),
    ],
)
def test_a_file_of_somebody_else_is_refused_with_overwrite_too(
    files: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str, message: str
) -> None:
    forbid_draws(monkeypatch)
    out = files / name
    out.write_text({".csv": "x,y\n1,0\n", ".toml": "[project]\nname = 1\n", ".json": '{"name": 1}\n'}[out.suffix])
    before = out.read_bytes()
    result = run(files, command, out, "--overwrite")
    assert result.exit_code == 2, result.output
    assert message in said(result)
    assert out.read_bytes() == before


@pytest.mark.usefixtures("release")
@pytest.mark.parametrize("command", ["answer", "ask", "predict", "schema"])
def test_its_own_output_is_replaced(files: Path, command: str) -> None:
    out = files / ("new.toml" if command == "schema" else "new.csv")
    out.touch()
    for _ in range(2):  # an empty file first
        result = run(files, command, out, "--overwrite")
        assert result.exit_code == 0, result.output
    assert out.stat().st_size > 0


@pytest.mark.usefixtures("release")
@pytest.mark.parametrize("command", ["answer", "ask"])
def test_a_file_that_has_the_name_of_a_part_is_not_replaced(
    files: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    forbid_draws(monkeypatch)
    (files / "out.csv.part.csv").write_text(OTHERS)
    result = run(files, command, files / "out.csv", "--overwrite")
    assert result.exit_code == 2
    assert "out.csv.part.csv beside it would be replaced" in said(result)
    assert (files / "out.csv.part.csv").read_text() == OTHERS


def test_save_in_python_removes_no_file_of_others(tmp_path: Path) -> None:
    (tmp_path / "importance.svg").write_text(OTHERS)
    TREE.save(tmp_path)
    assert (tmp_path / "importance.svg").read_text() == OTHERS
    TREE.save(tmp_path)
    assert not (tmp_path / "importance.svg").exists(), "beside an earlier model it is the picture of that one"
    assert PublishedModel.load(tmp_path).classes == TREE.classes
    assert json.loads((tmp_path / "model.json").read_text())["format"] == "pcqr-model"
