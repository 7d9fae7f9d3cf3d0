"""The command line as a whole: help is quick to load, errors never show local values."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import pcqr
from pcqr.cli.main import app


def test_help_does_not_wait_for_the_numerical_libraries() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from pcqr.cli.main import app;"
        "assert CliRunner().invoke(app, ['answer', '--help']).exit_code == 0;"
        "print(sorted({'numpy', 'sklearn', 'numba', 'opendp', 'matplotlib'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    assert result.stdout.strip() == "[]"


def test_its_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.strip() == f"pcqr {pcqr.__version__}"


def test_python_m_pcqr_is_the_same_command() -> None:
    result = subprocess.run([sys.executable, "-m", "pcqr", "--version"], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == f"pcqr {pcqr.__version__}"
    usage = subprocess.run([sys.executable, "-m", "pcqr", "--help"], check=True, capture_output=True, text=True)
    assert "Usage: pcqr" in usage.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands_and_options(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Typer asks which shell it runs in, once; this makes it an argument, whatever runs the tests.
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: shell)
    shown = CliRunner().invoke(app, ["--show-completion"], prog_name="pcqr")
    assert shown.exit_code == 0, shown.output
    assert "_PCQR_COMPLETE" in shown.output
    assert f"complete_{shell}" in shown.output


def test_what_bash_asks_for_is_completed() -> None:
    asked = {"_PCQR_COMPLETE": "complete_bash", "COMP_WORDS": "pcqr pre", "COMP_CWORD": "1"}
    result = CliRunner().invoke(app, [], prog_name="pcqr", env=asked)
    assert result.output.split() == ["predict"]


def test_tracebacks_stay_plain() -> None:
    assert app.pretty_exceptions_enable is False


@pytest.mark.parametrize("name", ["answer", "publish", "predict", "schema", "plan", "audit"])
def test_help_is_filled_to_the_width_of_the_terminal(name: str) -> None:
    """A line that ends early ends a paragraph: no lone words where the source happens to break."""
    said = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "80"}).output
    described = [line.strip() for line in said.partition("╭")[0].splitlines()]
    for line, below in itertools.pairwise(described):
        assert not line or not below or len(f"{line} {below.split()[0]}") > 70, f"{line}\n{below}"


def test_every_command_has_help() -> None:
    listed = CliRunner().invoke(app, ["--help"]).output
    for command in ("answer", "demo", "datasets", "plan", "predict", "publish", "audit", "schema"):
        assert command in listed
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0


def test_datasets_are_listed_with_their_licence() -> None:
    text = CliRunner().invoke(app, ["datasets"]).output
    assert "adult" in text
    assert "CC BY 4.0" in text
    (adult,) = json.loads(CliRunner().invoke(app, ["datasets", "--json"]).output)["datasets"]
    assert adult["licence"] == "CC BY 4.0"
    assert "10.24432/C5XW20" in adult["source"]


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (KeyboardInterrupt(), "Error: Stopped by Ctrl-C. The run did not come to its end.\n"),
        (OSError(28, "No space left on device"), "Error: No space left on device. The run did not come to its end.\n"),
        (BrokenPipeError(), "Error: Nobody reads the output any more. The run did not come to its end.\n"),
    ],
)
def test_what_comes_from_outside_is_a_sentence_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, cause: BaseException, said: str
) -> None:
    def stopped(*_: object) -> None:
        raise cause

    monkeypatch.setattr("pcqr.cli.demo.run_datasets", stopped)
    result = CliRunner().invoke(app, ["datasets"])
    assert result.exit_code == 4
    assert result.stderr == said
