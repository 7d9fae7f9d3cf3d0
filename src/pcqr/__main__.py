"""`python -m pcqr` is `pcqr`."""

from __future__ import annotations

from pcqr.cli.main import app

app(prog_name="pcqr")
