"""One run of a method in pcqr's own environment, in a process of its own: python -m pcqr.bench.worker FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

from pcqr.bench import methods as own
from pcqr.bench.outside.task import Labels, Task, carry_out
from pcqr.errors import PcqrError


def run(task: Task) -> Labels:
    """The labels of the method that the task names."""
    if ":" in task.method:
        return own.run(task)
    from pcqr.bench import inside  # noqa: PLC0415  # slow to import

    task.begin()
    return inside.run(task)


if __name__ == "__main__":
    sys.exit(carry_out(Path(sys.argv[1]), run, tells=(PcqrError,)))
