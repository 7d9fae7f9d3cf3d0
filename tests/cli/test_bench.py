"""`pcqr bench`: a small comparison from its command to its files, again from its own rows, and after a kill."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import support.bench
from typer.testing import CliRunner

import pcqr
from pcqr.cli.main import app

TESTS = Path(support.bench.__file__).parents[1]


@pytest.fixture(autouse=True)
def found_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))


def invoke(*words: str) -> Any:
    return CliRunner().invoke(app, ["bench", *words])


def results(out: Path) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads((out / "results.json").read_text(encoding="utf-8"))["runs"]
    return runs


def test_a_comparison_and_one_of_its_rows_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["--tables", "toy", "--epsilons", "0.5", "--methods", "tree", "--runs", "1", "--out", str(out)]
    described = invoke(*words, "--method", "support.bench:Asked", "--queries", "30")
    assert described.exit_code == 0
    assert "| tree (ours) |" in described.stdout
    assert "2 of 2: toy, ε = 0.5, support.bench:Asked, seed 0: " in described.stderr
    tree, asked = results(out)
    assert tree["rows"] == 2_000
    assert (asked["rows"], asked["answered"]) == (30, 0.5)
    assert "| tree (ours) |" in (out / "table.md").read_text(encoding="utf-8")
    for run in (tree, asked):
        (pcqr_, bench, *line) = shlex.split(run["command"])
        assert (pcqr_, bench) == ("pcqr", "bench")
        assert invoke(*line, "--out", str(tmp_path / "again")).exit_code == 0
        (again,) = results(tmp_path / "again")
        assert again["accuracy"] == run["accuracy"]
        assert again["cell"] == run["cell"]


def test_an_own_table_and_a_broken_method_in_json(tmp_path: Path) -> None:
    lines = [f"{row % 50},{'yes' if row % 50 > 20 else 'no'}" for row in range(400)]
    (tmp_path / "mine.csv").write_text("\n".join(["age,y", *lines]), encoding="utf-8")
    words = ["--table", str(tmp_path / "mine.csv"), "--label", "y", "--methods", "support.bench:Broken"]
    described = invoke(*words, "--epsilons", "1", "--runs", "1", "--out", str(tmp_path / "out"), "--json")
    assert described.exit_code == 0
    assert json.loads(described.stdout)["failed"] == 1
    assert "secret" not in described.output
    assert "- support.bench:Broken: RuntimeError" in (tmp_path / "out" / "table.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--methods", "linears"], "--methods must be of auto, tree, linear"),
        (["--tables", "moon"], "--tables must be of toy, adult"),
        (["--tables", "bank"], "--data must be the folder of bank_marketing.parquet"),
        (["--tables", "toy", "--epsilons", "a"], "--epsilons must be numbers"),
        (["--tables", "toy", "--epsilons", "0"], "--epsilons must be positive numbers"),
        (["--tables", "toy", "--seeds", "-1"], "--seeds must be integers from 0 on"),
        (["--tables", "toy", "--delta", "2"], "delta must be"),
        (["--tables", "toy", "--public-rows", "9999"], "--public-rows must be at most 2,000"),
        (
            ["--table", "mine.csv", "--label", "y", "--schema", "s.toml", "--public-rows", "0"],
            "--schema must be left out with --public-rows 0: nothing is public then",
        ),
        (["--label", "y"], "--label must be given with --table alone"),
        (["--table", "nowhere.csv", "--label", "y"], "--table must be a file that exists"),
        (["--table", "nowhere.csv"], "--label must be the column of --table"),
        (["--install", "numpy"], "--install must be one of opacus, interpret, diffprivlib, dpmm"),
    ],
)
def test_what_is_refused_before_anything_runs(words: list[str], message: str, tmp_path: Path) -> None:
    described = invoke(*words, "--out", str(tmp_path / "out"))
    assert described.exit_code == 2
    assert message in described.stderr
    assert not (tmp_path / "out").exists()


def test_methods_are_listed() -> None:
    assert "| linear | ours | published |" in invoke("--list").stdout
    assert "\n- nothing: auto, tree, linear, universal, majority, boosting\n" in invoke("--list").stdout
    listed = json.loads(invoke("--list", "--json").stdout)["methods"]
    assert (listed[0]["name"], listed[0]["needs"]) == ("auto", None)


def test_a_comparison_with_nothing_public_and_one_of_its_rows_again(tmp_path: Path) -> None:
    words = ["--tables", "toy", "--epsilons", "0.5", "--methods", "tree,gnmax", "--runs", "1", "--public-rows", "0"]
    described = invoke(*words, "--out", str(tmp_path / "out"))
    assert described.exit_code == 0
    assert "Nothing is public but the columns and their kinds." in described.stdout
    assert "- gnmax: needs public rows" in described.stdout
    tree, gnmax = results(tmp_path / "out")
    assert (tree["cell"]["public_rows"], gnmax["failed"]) == (0, "needs public rows")
    assert tree["accuracy"] > 0.8
    (_, _, *line) = shlex.split(tree["command"])
    assert "--public-rows 0" in tree["command"]
    assert invoke(*line, "--out", str(tmp_path / "again")).exit_code == 0
    (again,) = results(tmp_path / "again")
    assert (again["accuracy"], again["cell"]) == (tree["accuracy"], tree["cell"])
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_comparison_that_is_killed_goes_on_where_it_was(number: int, tmp_path: Path) -> None:
    notes, out = tmp_path / "notes.txt", tmp_path / "out"
    wait = notes.with_suffix(".wait")
    wait.touch()
    words = ["--tables", "toy", "--epsilons", "1", "--runs", "1", "--out", str(out)]
    words += ["--methods", "support.bench:Common,support.bench:Waits"]
    paths = [str(Path(pcqr.__file__).parents[1]), str(TESTS)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PCQR_TEST_NOTES": str(notes)}
    line = [sys.executable, "-m", "pcqr", "bench", *words]
    first = subprocess.Popen(line, env=environment, stderr=subprocess.PIPE)  # noqa: S603
    while "Waits" not in (notes.read_text(encoding="utf-8") if notes.exists() else ""):
        assert first.poll() is None
        time.sleep(0.05)
    first.send_signal(number)
    _, said = first.communicate()
    assert first.returncode == (4 if number == signal.SIGTERM else -number)
    assert len(list((out / "runs").glob("*.json"))) == 1
    if number == signal.SIGTERM:
        return  # what is on file is the same
    wait.unlink()
    done = subprocess.run(line, env=environment, capture_output=True, check=False)  # noqa: S603
    assert done.returncode == 0, said
    assert [run["failed"] for run in results(out)] == [None, None]
    assert notes.read_text(encoding="utf-8").split() == ["Common", "0", "Waits", "0", "Waits", "0"]
