"""Runs of the command line in processes of their own, to be killed: one process imports everything, and forks.

A start of Python with all libraries takes seconds; a fork takes milliseconds. What a run shows goes to a file, so that
"was shown" is what is in that file when the run is dead.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_SERVER = """
import json, os, sys
import pcqr.cli.answer, pcqr.cli.publish
from pcqr.cli.main import app

while line := sys.stdin.readline():
    job = json.loads(line)
    pid = os.fork()
    if pid == 0:
        shown = os.open(job["shown"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(shown, 1)
        os.dup2(os.open(job["shown"] + ".err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        try:
            app(job["args"])
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(end.code or 0)
        os._exit(99)
    print(pid, flush=True)
    sys.stdin.readline()  # until then the number of a dead run is not given to another process
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Run:
    """One run. `shown` is its standard output, `told` its standard error."""

    pid: int
    output: Path
    _requests: IO[str]
    _answers: IO[str]

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid, number)

    def wait(self) -> int:
        """The exit code; minus the number of the signal that killed it."""
        self._requests.write("\n")
        self._requests.flush()
        return int(self._answers.readline())

    @property
    def shown(self) -> list[str]:
        return self.output.read_text(encoding="utf-8").splitlines() if self.output.exists() else []

    @property
    def told(self) -> str:
        return Path(f"{self.output}.err").read_text(encoding="utf-8")


class Server:
    """Starts runs, one at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, args: Sequence[str], output: Path) -> Run:
        requests, answers = self._process.stdin, self._process.stdout
        if requests is None or answers is None:
            raise AssertionError("The server has pipes.")
        output.unlink(missing_ok=True)
        requests.write(json.dumps({"args": list(args), "shown": str(output)}) + "\n")
        requests.flush()
        return Run(int(answers.readline()), output, requests, answers)


@contextmanager
def server() -> Iterator[Server]:
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        yield Server(process)
        if process.stdin is not None:
            process.stdin.close()
