"""Three and ten labels that are words, through the whole command line: publish, predict, probabilities, card, ONNX."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_lines import call
from support.onnx_sessions import opened, rows_of, run
from typer.testing import CliRunner

from pcqr.cli.main import app
from pcqr.datasets import read_table, write_table
from pcqr.models import published as folder

PUBLIC = 120
Table = dict[str, list[Any]]


def with_gaps_and_dates(count: int) -> tuple[Table, Any]:
    rng = np.random.default_rng(0)
    x, since = rng.normal(size=count), rng.integers(0, 400, count)
    days = [(datetime.date(2024, 1, 1) + datetime.timedelta(int(day))).isoformat() for day in since]
    columns = {"x": x.tolist(), "since": days, "job": rng.choice(["cook", "nurse"], count).tolist()}
    holes = (rng.random(count) < 0.05 for _ in columns)
    table = {
        name: [None if hole else cell for cell, hole in zip(cells, hidden, strict=True)]
        for (name, cells), hidden in zip(columns.items(), holes, strict=True)
    }
    return table, np.digitize(x, (-0.5, 0.5))


def of_many_numbers(count: int) -> tuple[Table, Any]:
    numbers = np.random.default_rng(1).normal(size=(count, 101))
    return {f"f{place}": numbers[:, place].tolist() for place in range(101)}, numbers[:, :10].argmax(axis=1)


@pytest.mark.parametrize(
    ("make", "names", "epsilon"),
    [
        (with_gaps_and_dates, ("low", "middle", "high"), "8"),
        (of_many_numbers, ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"), "30"),
    ],
)
def test_words_for_labels_from_end_to_end(
    make: Any, names: tuple[str, ...], epsilon: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = folder._makers
    texts = (folder.RULES, folder.CARD, folder.ONNX)  # pictures of a hundred columns take their time
    monkeypatch.setattr(folder, "_makers", lambda *given: {name: whole(*given)[name] for name in texts})
    table, places = make(600 + PUBLIC)
    y = [names[place] for place in places]
    write_table(tmp_path / "train.csv", {name: cells[PUBLIC:] for name, cells in table.items()} | {"y": y[PUBLIC:]})
    write_table(tmp_path / "public.csv", {name: cells[:PUBLIC] for name, cells in table.items()})
    private, public, model, out = (str(tmp_path / name) for name in ("train.csv", "public.csv", "model", "found.csv"))

    asked = ["--label", "y", "--labels", ",".join(names), "--epsilon", epsilon, "--delta", "1e-6", "--method", "linear"]
    files = ["--private", private, "--public", public, "--out", model]
    result = call("publish", *files, *asked, "--seed", "1", "--json", "--accept-weak-guarantee")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["classes"] == list(names)

    result = CliRunner().invoke(app, ["predict", model, public, "--out", out, "--probabilities", "--scores"])
    assert result.exit_code == 0, result.output
    found = read_table(out)
    assert list(found) == ["row", "label", *(f"{what} {name}" for what in ("score", "probability") for name in names)]
    probabilities = np.array([found[f"probability {name}"] for name in names], dtype=np.float64).T
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    assert [names[place] for place in probabilities.argmax(axis=1)] == list(found["label"])
    assert np.mean(np.array(found["label"]) == y[:PUBLIC]) > 2 / len(names)

    card = (tmp_path / "model" / "card.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in card for name in names)
    if "since" in table:
        table["since"] = np.array(table["since"], dtype="datetime64[D]").astype(np.float64).tolist()
    labels, described = run(opened(tmp_path / "model" / "model.onnx"), rows_of(table, range(PUBLIC)))
    assert list(labels) == list(found["label"])
    assert np.allclose(described, probabilities)
