"""`pcqr datasets`: what is bundled, and under which licence."""

from __future__ import annotations

from dataclasses import asdict

from rich.console import Console

from pcqr.cli.console import field_table, print_json
from pcqr.datasets import BUNDLED


def run(*, as_json: bool) -> None:
    if as_json:
        print_json({"datasets": [asdict(data) for data in BUNDLED]})
        return
    for data in BUNDLED:
        Console().print(field_table(asdict(data)))
