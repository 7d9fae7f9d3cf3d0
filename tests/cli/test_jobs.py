"""An option is declared once: the fields of a job are the options of its command."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from pcqr import registry
from pcqr.cli.jobs import Fit
from pcqr.cli.main import _COMMANDS, app, command
from pcqr.cli.options import Drop, Job, option_of
from pcqr.errors import ParameterError


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
