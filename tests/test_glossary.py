"""The glossary names only what exists."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pcqr
from pcqr import SemiPrivateLearner, UniversalRelease
from pcqr.hypotheses import Thresholds

ROOT = Path(__file__).parents[1]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROOMS = (
    "pcqr",
    "pcqr.privacy.accounting",
    "pcqr.hypotheses",
    "pcqr.mechanisms",
    "pcqr.releases.protocol.plan",
    "pcqr.releases.protocol.stages",
    "pcqr.releases.subsample.plan",
    "pcqr.releases.universal.plan",
    "pcqr.releases.semi_private.plan",
    "pcqr.releases.noisy_max.plan",
    "pcqr.releases.classifier.plan",
    "pcqr.planner.request",
    "pcqr.data.schema",
)
PARAMETERS = {
    name
    for called in (*(getattr(pcqr, each) for each in pcqr.__all__), UniversalRelease.fit)
    if inspect.isfunction(called) or dataclasses.is_dataclass(called) or hasattr(called, "fit")
    for name in inspect.signature(called).parameters
}


def names_in(title: str) -> list[str]:
    """What stands in code quotes in the tables under a heading, the commands of a shell left out."""
    section = GLOSSARY.split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return sorted({name for row in rows for name in re.findall(r"`([^`]+)`", row) if " " not in name})


@pytest.fixture(scope="module")
def fitted() -> list[Any]:
    X = np.random.default_rng(0).uniform(size=(10_000, 1))
    y = X[:, 0] > 0.5
    release = UniversalRelease(Thresholds(), queries=10, entropy=0).fit(X, y)
    return [release, SemiPrivateLearner(Thresholds(), entropy=0).fit(X, y, public=np.linspace(0.05, 0.95, 10)[:, None])]


def test_what_the_glossary_names_exists_and_what_does_not_is_noticed(fitted: list[Any]) -> None:
    named = [*names_in("Symbols"), *names_in("The paper's words, and ours")]
    assert [name for name in named if not _exists(name, fitted)] == []
    wrong = ["teecher", "plan_.vote.pupils", "VoteStage.pupils", "pcqr.mechanisms.pupils", "no/such.py"]
    assert [name for name in wrong if _exists(name, fitted)] == []


def test_every_symbol_is_there() -> None:
    cells = [line.split("|")[1].strip() for line in GLOSSARY.splitlines() if line.startswith("| ")]
    symbols = {symbol for cell in cells for symbol in cell.split(", ")}
    assert symbols >= set("n p m k T q η λ γ α β ε δ w b B D C σ L M".split()) | {"m_o", "n′"}  # noqa: SIM905


def _exists(name: str, fitted: list[Any]) -> bool:
    """A file of the package, a function of a room, an attribute of a public class or of a fitted estimator, or a
    parameter of one.
    """
    first, *rest = name.split(".")
    if name in PARAMETERS or any(hasattr(estimator, name) for estimator in fitted):
        return True
    if "/" in name:
        return (ROOT / "src" / "pcqr" / name).exists()
    if first == "pcqr":
        room, _, last = name.rpartition(".")
        return hasattr(importlib.import_module(room), last)
    if first[0].isupper():
        owner = next(
            (getattr(room, first) for room in map(importlib.import_module, ROOMS) if hasattr(room, first)), None
        )
        fields = {field.name for field in dataclasses.fields(owner)} if dataclasses.is_dataclass(owner) else set()
        return owner is not None and all(hasattr(owner, part) or part in fields for part in rest)
    return any(_has(estimator, [first, *rest]) for estimator in fitted)


def _has(value: Any, path: list[str]) -> bool:
    try:
        reduce(getattr, path, value)
    except AttributeError:
        return False
    return True
