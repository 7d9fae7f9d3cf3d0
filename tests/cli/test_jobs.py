"""An option is declared once: the fields of a job are the options of its command."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from pcqr.cli import account as account_jobs
from pcqr.cli import bench as bench_jobs
from pcqr.cli import jobs
from pcqr.cli import keys as key_jobs
from pcqr.cli import serve as service_jobs
from pcqr.cli.main import app
from pcqr.cli.options import Drop, command
from pcqr.errors import ParameterError

JOBS = {
    "answer": jobs.Answer,
    "fit": jobs.Fit,
    "ask": jobs.Ask,
    "serve": service_jobs.Serve,
    "status": jobs.Status,
    "export": jobs.Export,
    "publish": jobs.Publish,
    "predict": jobs.Predict,
    "score": jobs.Score,
    "schema": jobs.MakeSchema,
    "plan": jobs.Plan,
    "demo": jobs.Demo,
    "audit": jobs.Audit,
    "bench": bench_jobs.Bench,
    "datasets": jobs.Datasets,
    "account create": account_jobs.CreateAccount,
    "account show": account_jobs.ShowAccount,
    "account adopt": account_jobs.AdoptAccount,
    "account list": account_jobs.ListAccounts,
    "keys create": key_jobs.CreateKey,
    "keys limit": key_jobs.LimitKey,
    "keys list": key_jobs.ListKeys,
    "keys renew": key_jobs.RenewKey,
    "keys revoke": key_jobs.RevokeKey,
}


@dataclass(frozen=True, kw_only=True)
class Toy:
    needed: Annotated[int, typer.Option(help="A number.")]
    name: Annotated[str, typer.Option("--as", help="A name.")] = "nobody"
    drop: Drop = field(default_factory=list)


def toy() -> tuple[typer.Typer, list[Any]]:
    made, seen = typer.Typer(), []

    @command(made, Toy)
    def work(job: Toy, *, as_json: bool) -> None:
        """What the toy does."""
        if job.needed < 0:
            raise ParameterError("--needed", "0 or more", job.needed)
        seen.append((job, as_json))

    return made, seen


def test_every_job_is_a_command_and_every_field_an_option_with_help() -> None:
    commands: Any = get_command(app)
    found = dict(commands.commands)
    for group in ("account", "keys"):
        found |= {f"{group} {name}": each for name, each in found.pop(group).commands.items()}
    assert set(found) == set(JOBS)
    for name, job in JOBS.items():
        options = [option for option in found[name].params if option.name != "help"]
        assert [option.name for option in options] == [*(field.name for field in fields(job)), "as_json"]
        assert all(option.help for option in options)


def test_what_is_typed_is_what_the_work_gets() -> None:
    made, seen = toy()
    assert CliRunner().invoke(made, ["--needed", "3", "--as", "x", "--drop", "a", "--drop", "b"]).exit_code == 0
    assert CliRunner().invoke(made, ["--needed", "4", "--json"]).exit_code == 0
    assert seen == [(Toy(needed=3, name="x", drop=["a", "b"]), False), (Toy(needed=4), True)]
    assert CliRunner().invoke(made, []).exit_code == 2
    assert "What the toy does." in CliRunner().invoke(made, ["--help"]).output


@pytest.mark.parametrize("as_json", [False, True])
def test_errors_are_told_as_everywhere(as_json: bool) -> None:
    made, seen = toy()
    result = CliRunner().invoke(made, ["--needed", "-1", *(["--json"] if as_json else [])])
    assert (result.exit_code, seen) == (2, [])
    if as_json:
        assert json.loads(result.stdout)["error"]["type"] == "ParameterError"
    else:
        assert "--needed must be 0 or more" in result.stderr
