"""`pcqr publish`: a model that was paid for is on disk before all else, and no other file is lost for it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.forks import server
from typer.testing import CliRunner, Result

from pcqr import PrivateClassifier
from pcqr.cli.main import app
from pcqr.datasets import write_table
from pcqr.files import own_directory, write_whole
from pcqr.models import PublishedModel

RECORDS = 400
ALL = {"model.json", "rules.txt", "card.md", "picture.svg", "model.onnx"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    x = np.random.default_rng(0).normal(size=RECORDS)
    write_table(tmp_path / "train.csv", {"x": list(x), "y": [int(value > 0) for value in x]})
    (tmp_path / "schema.toml").write_text('[[columns]]\nname = "x"\nbounds = [-2, 2]\n')
    return tmp_path


def options(home: Path) -> list[str]:
    files = ["--private", str(home / "train.csv"), "--schema", str(home / "schema.toml"), "--out", str(home / "model")]
    return ["publish", "--no-account", *files, "--label", "y", "--epsilon", "2", "--depth", "1"]


def publish(home: Path, *more: str) -> Result:
    return CliRunner().invoke(app, [*options(home), *more])


def model_in(home: Path) -> PublishedModel:
    return PublishedModel.load(home / "model")


def raise_(error: BaseException) -> None:
    raise error


def stop(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_second_model_is_refused_and_told_to_cost_anew(home: Path) -> None:
    assert publish(home).exit_code == 0
    first = (home / "model" / "model.json").read_bytes()
    again = publish(home)
    assert again.exit_code == 2
    assert again.stderr == (
        f"Error: {home / 'model' / 'model.json'} exists: a model that was published before. A new model is a new "
        "release and costs ε = 2 again. Take another --out, or add --overwrite to replace it.\n"
    )
    assert (home / "model" / "model.json").read_bytes() == first
    assert publish(home, "--overwrite").exit_code == 0


def test_another_file_of_such_a_name_is_not_replaced_unasked(home: Path) -> None:
    (home / "model").mkdir()
    (home / "model" / "card.md").write_text("notes of my own")
    assert "--out must be a new or empty directory" in publish(home).stderr
    assert (home / "model" / "card.md").read_text() == "notes of my own"


@pytest.mark.parametrize("link", [None, "symlink_to", "hardlink_to"])
@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)])
def test_no_input_is_ever_replaced(home: Path, link: str | None, overwrite: tuple[str, ...]) -> None:
    (home / "model").mkdir()
    schema = home / "model" / "model.json"
    if link is None:
        schema.write_text('{"columns": [{"name": "x", "bounds": [-2, 2]}]}')
    else:
        (home / "schema.json").write_text('{"columns": [{"name": "x", "bounds": [-2, 2]}]}')
        getattr(schema, link)(home / "schema.json")
    before = schema.read_bytes()
    result = publish(home, "--schema", str(home / "schema.json" if link else schema), *overwrite)
    assert result.exit_code == 2
    assert "which is read" in result.stderr
    assert schema.read_bytes() == before


def test_a_signal_while_fitting_leaves_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PrivateClassifier, "_start", stop)
    before = set(home.iterdir())
    result = publish(home)
    assert result.exit_code == 4
    assert result.stderr == (
        "Error: Stopped by SIGTERM. No model was drawn, and nothing is written. This run has spent ε = 2, and no "
        "account remembers it.\n"
    )
    assert set(home.iterdir()) == before


@pytest.mark.parametrize("where", ["after the draw", "while it is written", "while it is drawn as a picture"])
def test_a_signal_after_the_draw_waits_until_the_model_is_written(
    home: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    owner: Any
    owner, name = {
        "after the draw": (PrivateClassifier, "fit"),
        "while it is written": (PublishedModel, "card"),
        "while it is drawn as a picture": (PublishedModel, "draw"),
    }[where]
    whole = getattr(owner, name)

    def stopped(self: Any, *args: Any, **options: Any) -> Any:
        done = whole(self, *args, **options)
        stop()
        return done

    monkeypatch.setattr("pcqr.cli.publish.try_out", lambda *_: None)
    monkeypatch.setattr(owner, name, stopped)
    result = publish(home)
    assert result.exit_code == 4
    assert "The model was drawn and ε = 2 is spent without an account; it is in" in result.stderr
    assert result.stderr.endswith("model.json. Then: Stopped by SIGTERM.\n")
    assert {path.name for path in (home / "model").iterdir()} == ALL
    assert model_in(home).provenance.records == RECORDS


def test_a_full_disk_after_the_model_costs_the_other_files_only(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(out: Path, content: str) -> None:
        if out.name != "model.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_whole(out, content)

    monkeypatch.setattr("pcqr.models.published.write_whole", full)
    result = publish(home, "--json")
    assert result.exit_code == 1, result.output
    assert set(json.loads(result.stdout)["failed"]) == {"rules.txt", "card.md"}
    assert f"These files could not be written to {home / 'model'}: rules.txt, card.md." in result.stderr
    assert model_in(home).provenance.records == RECORDS


def test_a_full_disk_before_the_model_prints_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr("pcqr.models.published.write_whole", lambda *_: raise_(full))
    result = publish(home)
    assert result.exit_code == 1
    assert "it could not be written to" in result.stderr
    assert "(No space left on device). model.json is printed instead." in result.stderr
    assert PublishedModel.from_json(result.stdout).provenance.records == RECORDS


def test_a_model_never_stands_beside_the_card_of_another(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of the first model go before the second comes: a kill in between leaves a model without a card."""
    assert publish(home).exit_code == 0
    seen: list[set[str]] = []

    def look(out: Path, _: str) -> None:
        seen.append({path.name for path in out.parent.iterdir()})
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pcqr.models.published.write_whole", look)
    first = (home / "model" / "model.json").read_bytes()
    assert publish(home, "--overwrite").exit_code == 1
    assert seen == [{"model.json"}]
    assert (home / "model" / "model.json").read_bytes() == first


def test_two_runs_do_not_publish_to_one_place_at_a_time(home: Path) -> None:
    with own_directory(home / "model"):
        result = publish(home)
    assert result.exit_code == 2
    assert "--out must be a directory that no other run is publishing to" in result.stderr
    assert not (home / "model").exists()
    assert publish(home).exit_code == 0


def test_a_model_that_appears_while_this_run_reads_is_not_replaced(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"format": "pcqr-model", "of": "a run that was quicker"}'

    def appear(*_: object) -> None:
        (home / "model").mkdir()
        (home / "model" / "model.json").write_text(text)

    monkeypatch.setattr("pcqr.cli.publish.try_out", appear)
    result = publish(home)
    assert result.exit_code == 2
    assert "a model that was published before" in result.stderr
    assert (home / "model" / "model.json").read_text() == text


@pytest.mark.slow
def test_kills_at_random_instants_leave_whole_files_or_none(home: Path) -> None:
    random = np.random.default_rng()
    model = home / "model" / "model.json"
    written = 0
    with server() as forks:
        for kill in range(12):
            run = forks.start([*options(home), "--overwrite"], home / "shown")
            while not model.exists():
                time.sleep(0.001)
            time.sleep(random.uniform(0, 1.0) if kill % 3 else 0.0)
            run.kill()
            run.wait()
            written += model_in(home).provenance.records == RECORDS
            for name, end in (("rules.txt", "\n"), ("card.md", "\n"), ("picture.svg", "</svg>\n")):
                path = home / "model" / name
                assert not path.exists() or path.read_text(encoding="utf-8").endswith(end)
            shutil.rmtree(home / "model")
    assert written == 12


def test_a_long_draw_is_announced_from_public_numbers(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "steps" not in publish(home).stderr
    monkeypatch.setattr("pcqr.cli.publish.LONG", 0.0)
    described = " ".join(publish(home, "--overwrite").stderr.split())
    assert described.startswith("To publish: a draw from decision trees of depth 1 over 20 predicates; then noisy ")
    assert "--depth makes it shorter" in described
    assert publish(home, "--overwrite", "--json").stderr == ""
