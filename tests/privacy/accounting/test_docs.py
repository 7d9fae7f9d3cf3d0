"""docs/accounting.md stays true: its Python runs as printed, and its tables are computed again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pcqr.errors import ParameterError
from pcqr.privacy.accounting import (
    BoundedRangeEvent,
    DiscreteGaussianEvent,
    Event,
    GaussianEvent,
    PureEvent,
    Repeated,
    compose,
)
from pcqr.privacy.accounting.compose import Choice

PAGE = (Path(__file__).parents[3] / "docs" / "accounting.md").read_text(encoding="utf-8")
ACCOUNTANTS: tuple[Choice, ...] = ("basic", "Rényi", "PLD")


def check_row(row: str, events: list[Event]) -> None:
    """The page's figures for `row`, accountant by accountant, are those of `events`; what no one can say is empty."""
    (line,) = re.findall(rf"^\| {re.escape(row)} \|(.*)\|$", PAGE, re.MULTILINE)
    cells = [re.sub(r"\(.*\)", "", cell).strip() for cell in line.split("|")]  # remarks stand in brackets
    for cell, name in zip(cells, ACCOUNTANTS, strict=True):
        try:
            epsilon = compose(events, 1e-6, accountant=name).epsilon
        except ParameterError:
            assert not cell, (row, name)
        else:
            assert float(cell) == pytest.approx(epsilon, rel=5e-3), (row, name)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the Python of the page defines; later blocks go on where the first ended."""
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "accounting.md", "exec"), names)  # noqa: S102
    return names


def test_the_page_says_what_its_python_finds(names: dict[str, Any]) -> None:
    assert names["whole"].steps == ("202 mechanisms on the same records, composed by the Rényi accountant",)
    assert str(compose(names["published"], 0.0)).startswith("pure differential privacy with ε = 1.5 ")
    together = compose([*names["published"], names["release"].guarantee_], 1e-6)
    assert str(together).startswith("differential privacy with ε = 2.5, δ = 1e-06 ")
    assert names["year"].epsilon == pytest.approx(1.8, rel=5e-3)
    assert names["year"].steps == ("53 mechanisms on the same records, composed by the Rényi accountant",)
    assert (names["cost"].requested, names["cost"].is_certain) == (80, True)
    assert names["release"].is_published_
    assert all(tree.guarantee_.is_private for tree in names["trees"])
    assert str(names["account"](names["stage"], names["context"])).startswith("pure differential privacy with ε = 0.8")


def test_the_table_of_one_data_holder(names: dict[str, Any]) -> None:
    release, weekly = names["release"].guarantee_, names["weekly"]
    ranges: list[Event] = [Repeated(names["by_range"](weekly), 52), release]
    rows: dict[str, list[Event]] = {
        "3 trees of ε = .5, the release of ε = 1": [*names["published"], release],
        "52 trees of ε = .05 as pure events, the release": [Repeated(weekly.guarantee_, 52), release],
        "52 trees of ε = .05 by their range, the release": ranges,
        "the same, and counts with discrete Gaussian noise, multiplier 10": [*ranges, DiscreteGaussianEvent(10.0)],
    }
    for row, events in rows.items():
        check_row(row, events)


def test_the_table_of_events() -> None:
    rows: dict[str, list[Event]] = {
        "100 pure, ε = .1": [Repeated(PureEvent(0.1), 100)],
        "100 Gaussians, multiplier 20": [Repeated(GaussianEvent(20.0), 100)],
        "1000 exponential mechanisms, ε = .05": [Repeated(BoundedRangeEvent(0.05), 1000)],
    }
    for row, events in rows.items():
        check_row(row, events)


def test_the_range_of_a_tree_is_longer_than_its_epsilon(names: dict[str, Any]) -> None:
    """2η + 4λ against 2η + 2λ."""
    weekly = names["weekly"]
    eta, length = weekly.plan_.draw.inverse_temperature, names["by_range"](weekly).epsilon
    assert length - 2 * eta == pytest.approx(2 * (weekly.guarantee_.epsilon - 2 * eta), rel=1e-3)
    assert length > weekly.guarantee_.epsilon
