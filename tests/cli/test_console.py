"""What every command says while it works."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest
from rich.console import Console
from rich.progress import Progress

from pcqr.cli.console import field_table, plain_terminal, stages
from pcqr.progress import tracked


def test_stages_of_a_long_fit_are_counted_one_after_the_other() -> None:
    seen = []
    with Progress(disable=True) as bar:
        with stages(bar, "fitting"):
            assert bar.tasks[0].total is None
            for stage, parts in (("teachers", 3), ("steps", 2)):
                for _ in tracked(stage, range(parts)):
                    task = bar.tasks[0]
                    seen.append((task.description, task.completed, task.total))
        assert (bar.tasks[0].description, bar.tasks[0].finished) == ("fitting", True)
    assert seen == [("fitting: teachers", done, 3) for done in range(3)] + [
        ("fitting: steps", done, 2) for done in range(2)
    ]


def test_a_long_path_is_broken_and_not_cut() -> None:
    path = "/".join(["folder"] * 20)
    console = Console(width=40, record=True, file=None)
    with console.capture() as shown:
        console.print(field_table({"answers": path}))
    assert path in "".join(shown.get().split()).removeprefix("answers")


def test_a_terminal_that_cannot_show_a_character_gets_the_closest(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    plain_terminal()
    print("ε ≤ 10⁻⁶, e₁ = −½ … é ⊥ 漢 \udcff")
    sys.stdout.flush()
    shown = sys.stdout.buffer
    assert isinstance(shown, io.BytesIO)
    assert shown.getvalue().decode("latin-1") == "epsilon <= 10-6, e1 = -½ ... é none ? ?\n"
    sys.stderr.write("δ")
    sys.stderr.flush()


def test_streams_of_another_kind_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    plain_terminal()
    print("ε")
    assert isinstance(sys.stdout, io.StringIO)
    assert sys.stdout.getvalue() == "ε\n"


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_no_help_fails_on_a_plain_terminal(encoding: str) -> None:
    environment = os.environ | {"PYTHONIOENCODING": encoding, "COLUMNS": "100"}
    command = [sys.executable, "-m", "pcqr", "answer", "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert b"epsilon for everything" in done.stdout
