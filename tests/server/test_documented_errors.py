"""docs/service.md has every code with its status, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from pcqr.server.errors import STATUS


def test_every_code_is_documented_with_its_status() -> None:
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    found = {code: int(status) for status, code in re.findall(r"^\| (\d{3}) \| `(\w+)` \|", page, flags=re.MULTILINE)}
    assert found == dict(STATUS)
