"""The command line as a whole: help is quick to load, errors never show local values."""

from __future__ import annotations

import json
import subprocess
import sys

from typer.testing import CliRunner

from pcqr.cli.main import app


def test_help_does_not_wait_for_the_numerical_libraries() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from pcqr.cli.main import app;"
        "assert CliRunner().invoke(app, ['answer', '--help']).exit_code == 0;"
        "print(sorted({'numpy', 'sklearn', 'numba', 'opendp', 'matplotlib'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    assert result.stdout.strip() == "[]"


def test_tracebacks_stay_plain() -> None:
    assert app.pretty_exceptions_enable is False


def test_every_command_has_help() -> None:
    listed = CliRunner().invoke(app, ["--help"]).output
    for command in ("answer", "demo", "datasets", "publish", "audit"):
        assert command in listed
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0


def test_datasets_are_listed_with_their_licence() -> None:
    text = CliRunner().invoke(app, ["datasets"]).output
    assert "adult" in text
    assert "CC BY 4.0" in text
    (adult,) = json.loads(CliRunner().invoke(app, ["datasets", "--json"]).output)["datasets"]
    assert adult["licence"] == "CC BY 4.0"
    assert "10.24432/C5XW20" in adult["source"]
