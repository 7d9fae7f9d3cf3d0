"""`pcqr answer --algorithm universal` writes the model that it publishes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support.command_lines import call, said
from typer.testing import CliRunner, Result

from pcqr.cli.main import app
from pcqr.datasets import read_table, write_table
from pcqr.models import PublishedModel

QUERIES = 30


@dataclass(frozen=True)
class Files:
    """A private table on which 1[x > 0] is nearly right, and public queries."""

    directory: Path

    def answer(self, *options: str) -> Result:
        private, queries = self.directory / "train.csv", self.directory / "queries.csv"
        needed = ["--private", str(private), "--label", "y", "--queries", str(queries), "--out", str(self.out())]
        price = ["--epsilon", "4", "--delta", "1e-6", "--seed", "1"]
        return call("answer", *needed, *price, *options)

    def out(self) -> Path:
        return self.directory / "answers.csv"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    generator = np.random.default_rng(0)
    x, z = generator.normal(size=(2, 6000))
    y = (x > 0) ^ (generator.random(6000) < 0.05)
    write_table(tmp_path / "train.csv", {"x": x.tolist(), "z": z.tolist(), "y": y.astype(int).tolist()})
    write_table(tmp_path / "queries.csv", {"z": [0.0] * QUERIES, "x": np.linspace(-2, 2, QUERIES).tolist()})
    return Files(tmp_path)


OPTIONS = ("--algorithm", "universal", "--publish-after", "12")


def test_it_is_beside_the_answers_and_predicts_what_was_answered(files: Files) -> None:
    result = files.answer(*OPTIONS, "--labels", "0,1")
    assert result.exit_code == 0, result.output
    folder = files.directory / "answers.model"
    model = PublishedModel.load(folder)
    words = said(result)
    assert "pcqr predict" in words
    assert "feature" not in words, "columns by their names"
    assert f"if {model.rules().splitlines()[0].removeprefix('if ')}" in words
    answers, queries = read_table(files.out()), read_table(files.directory / "queries.csv")
    published = [kind == "published" for kind in answers["kind"]]
    assert sum(published) >= QUERIES - 12
    labels = model.predict(queries)
    assert [label for label, given in zip(labels, published, strict=True) if given] == [
        label for label, given in zip(answers["label"], published, strict=True) if given
    ]
    predictions = str(files.directory / "predictions.csv")
    applied = CliRunner().invoke(
        app, ["predict", str(folder), str(files.directory / "queries.csv"), "--out", predictions]
    )
    assert applied.exit_code == 0, applied.output


def test_where_it_is_asked_for(files: Files) -> None:
    summary = json.loads(files.answer(*OPTIONS, "--model-out", str(files.directory / "m"), "--json").stdout)
    assert summary["model"] == str(files.directory / "m")
    assert summary["published"] == PublishedModel.load(files.directory / "m").rules()


def test_what_is_refused_before_anything_is_spent(files: Files) -> None:
    refused = files.answer("--model-out", str(files.directory / "m"))
    assert refused.exit_code == 2
    assert "--model-out must be left out, but for --algorithm universal" in refused.stderr
    (files.directory / "answers.model").mkdir()
    (files.directory / "answers.model" / "model.json").write_text("mine")
    refused = files.answer(*OPTIONS)
    assert refused.exit_code == 2
    assert "--model-out must be a new or empty directory" in refused.stderr
    assert not files.out().exists()
    assert (files.directory / "answers.model" / "model.json").read_text() == "mine"
    (files.directory / "answers.model" / "model.json").unlink()
    assert files.answer(*OPTIONS).exit_code == 0
    assert "a model that was published before" in files.answer(*OPTIONS, "--out", str(files.out()) + ".gz").stderr
    assert files.answer(*OPTIONS, "--overwrite").exit_code == 0


def test_a_picture_that_could_not_be_written_is_named(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no fonts")

    monkeypatch.setattr(PublishedModel, "draw", broken)
    result = files.answer(*OPTIONS)
    assert result.exit_code == 1, result.output
    assert "answers.model: picture.svg. The model itself is in" in " ".join(result.stderr.split())
    assert files.out().exists()
    assert PublishedModel.load(files.directory / "answers.model").rules()


def test_a_full_disk_loses_neither_answers_nor_model(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(PublishedModel, "save", full)
    result = files.answer(*OPTIONS)
    assert result.exit_code == 1
    assert len(read_table(files.out())["row"]) == QUERIES
    assert "No space left on device" in result.stderr
    printed = result.stdout[result.stdout.index('{\n  "format"') :]
    assert PublishedModel.from_json(printed).kind.name == "stump"
    files.out().unlink()
    summary = json.loads(files.answer(*OPTIONS, "--json").stdout)
    assert summary["model"] is None
    assert PublishedModel.from_json(json.dumps(summary["unsaved_model"])).kind.name == "stump"


def test_a_run_that_did_not_publish_has_none(files: Files) -> None:
    summary = json.loads(files.answer("--algorithm", "universal", "--publish-after", "500", "--json").stdout)
    assert summary["model"] is None
    assert not (files.directory / "answers.model").exists()
