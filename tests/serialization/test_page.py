"""docs/serialization.md stays true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from support.documents import GOLDEN

PAGE = (Path(__file__).parents[2] / "docs" / "serialization.md").read_text(encoding="utf-8")


def test_its_python_runs_and_its_json_is_what_is_written() -> None:
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "serialization.md", "exec"), names)  # noqa: S102
    (shown,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert shown == names["text"] == (GOLDEN / "interval.json").read_text(encoding="utf-8")
