"""The command line itself: an option is declared once, as a field of a job; help is quick; errors are sentences."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

import pcqr
from pcqr import registry
from pcqr.cli.jobs import Fit
from pcqr.cli.main import _COMMANDS, app, command
from pcqr.cli.options import Drop, Job, option_of
from pcqr.errors import ParameterError


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
    for name in ("answer", "demo", "datasets", "plan", "predict", "publish", "audit", "schema"):
        assert name in listed
        assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0


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


@dataclass(frozen=True, kw_only=True)
class Toy(Job):
    """What the toy does."""

    needed: Annotated[int, typer.Option(help="A number.")]
    name: Annotated[str, typer.Option("--as", help="A name.")] = "nobody"
    is_loud: Annotated[bool, "With noise."] = False
    drop: Drop = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Sub(Toy):
    own: Annotated[str, "What comes first."] = ""


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> tuple[typer.Typer, list[Toy]]:
    made, seen = typer.Typer(), []

    def work(job: Toy) -> None:
        if job.needed < 0:
            raise ParameterError("--needed", "0 or more", job.needed)
        seen.append(job)

    monkeypatch.setattr(registry, "resolve", {"pcqr.cli.toy:work": work}.get)
    command(made, "toy", Toy, "toy:work")
    return made, seen


def test_every_field_is_an_option_with_help_and_every_work_is_there() -> None:
    commands: Any = get_command(app)
    found = dict(commands.commands)
    for group in ("account", "keys"):
        found |= {f"{group} {name}": each for name, each in found.pop(group).commands.items()}
    assert len(found) == len(_COMMANDS)
    for program, name, job, work in _COMMANDS:
        prefix = "" if program is app else "keys " if job.__name__.endswith(("Key", "Keys")) else "account "
        named = f"{prefix}{name}"
        options = [option for option in found[named].params if option.name != "help"]
        assert {option.name for option in options} == {each.name for each in fields(job)}
        assert all(option.help for option in options)
        assert callable(registry.resolve(f"pcqr.cli.{work}"))


def test_what_is_needed_comes_first_then_what_is_a_commands_own() -> None:
    made = typer.Typer()
    command(made, "sub", Sub, "toy:work")
    options: list[Any] = get_command(made).params
    assert [option.name for option in options][:6] == ["needed", "own", "name", "is_loud", "drop", "as_json"]
    assert option_of("class_name") == "--class"
    assert "--class" in Fit(private=Path(), label="y", epsilon=1.0, delta=0.0, out=Path(), class_name="x").of_votes


def test_what_is_typed_is_what_the_work_gets(toy: tuple[typer.Typer, list[Toy]]) -> None:
    made, seen = toy
    assert CliRunner().invoke(made, ["--needed", "3", "--as", "x", "--drop", "a", "--drop", "b"]).exit_code == 0
    assert CliRunner().invoke(made, ["--needed", "4", "--is-loud", "--json"]).exit_code == 0
    assert seen == [Toy(needed=3, name="x", drop=["a", "b"]), Toy(needed=4, is_loud=True, as_json=True)]
    assert CliRunner().invoke(made, []).exit_code == 2
    assert "What the toy does." in CliRunner().invoke(made, ["--help"]).output


@pytest.mark.parametrize("as_json", [False, True])
def test_errors_are_told_as_everywhere(as_json: bool, toy: tuple[typer.Typer, list[Toy]]) -> None:
    made, seen = toy
    result = CliRunner().invoke(made, ["--needed", "-1", *(["--json"] if as_json else [])])
    assert (result.exit_code, seen) == (2, [])
    if as_json:
        assert json.loads(result.stdout)["error"]["type"] == "ParameterError"
    else:
        assert "--needed must be 0 or more" in result.stderr
