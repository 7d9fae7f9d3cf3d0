"""Commands as pages and files have them: would the command line take them as they stand?"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner, Result

from pcqr.cli.main import app

COMMANDS: Any = get_command(app)
SPENDING = ("answer", "fit", "publish")
"""Those that learn from private records. `score` spends as well."""


def taken(words: list[str]) -> dict[str, Any]:
    """The options of `pcqr WORDS…`, parsed and not run. A flag or a value that does not exist raises an error."""
    command, name, rest = COMMANDS, "pcqr", words
    while hasattr(command, "commands"):
        (name, *rest) = rest
        command = command.commands[name]
    found: dict[str, Any] = command.make_context(name, rest).params
    return found


def spending(words: Iterable[object]) -> list[str]:
    """The words of a command. Where it spends and names no account, it says so: --no-account."""
    said = [str(word) for word in words]
    decides = said[0] not in (*SPENDING, "score") or "--account" in said or "--no-account" in said
    return said if decides else [*said, "--no-account"]


def call(*words: object) -> Result:
    """What a command did. Where it spends and names no account, it is told --no-account."""
    return CliRunner().invoke(app, spending(words))


def said(result: Result) -> str:
    """All that was printed, however wide the terminal is."""
    return " ".join(result.output.split())


def commands_in(page: str) -> list[list[str]]:
    """The words after `pcqr` of every command in the console blocks of a page. An ellipsis stands for more options."""
    blocks = re.findall(r"```(?:console|sh|bash)\n(.*?)```", page, re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    found = []
    for words in (shlex.split(line, comments=True) for line in lines):
        starts = [i for i, pair in enumerate(pairwise(words)) if _is_command(*pair)]
        found += [words[start + 1 :] for start in starts[:1] if "…" not in words]
    return found


def _is_command(program: str, name: str) -> bool:
    return program == "pcqr" and name in COMMANDS.commands
