"""Functions run in a forked process that has no special rights and may be short of disk: what does it say?"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path

NOBODY = 65_534


def in_a_process(act: Callable[[], object], *, largest_file: int | None = None, as_nobody: bool = False) -> str:
    """`str(act())`, or the name and the message of what it raised, from a process of its own."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            if largest_file is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
            if as_nobody and os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            told = str(act())
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read().decode()
    os.waitpid(pid, 0)
    return told


def give_to_nobody(*places: Path) -> None:
    """Let the process without rights have these files, as their owner."""
    if os.getuid() == 0:
        for place in places:
            os.chown(place, NOBODY, NOBODY)
