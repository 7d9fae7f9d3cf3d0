"""Which process this is. A process id alone does not say it: the system gives ids of ended processes to new ones."""

from __future__ import annotations

import os

Process = tuple[int, int]

_forks = 0


def this_process() -> Process:
    """Return an identity of this process that no forked process shares: how many forks led to it, and its id."""
    return _forks, os.getpid()


def _count() -> None:
    global _forks  # noqa: PLW0603 - it belongs to the process
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count)
