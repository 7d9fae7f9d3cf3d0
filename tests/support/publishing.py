"""Files of a user who publishes: private records, public rows, a schema."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from pcqr.cli.main import app
from pcqr.datasets import read_table, write_table
from pcqr.hypotheses.base import HypothesisClass
from pcqr.models import PublishedModel
from support.command_lines import spending

RECORDS, PUBLIC = 1500, 100
SCHEMA = """
[[columns]]
name = "x"
bounds = [-2, 2]
missing = true

[[columns]]
name = "colour"
kind = "categorical"
categories = ["red", "blue"]
"""


@dataclass(frozen=True)
class Files:
    """A private table on which "red and x > 0" is the label, with gaps in x; public rows in another column order."""

    directory: Path

    def write(self, suffix: str = ".csv", *, labels: tuple[Any, ...] = (0, 1)) -> None:
        generator = np.random.default_rng(0)
        count = RECORDS + PUBLIC
        x = generator.normal(size=count)
        colour = np.where(generator.random(count) < 0.7, "red", "blue")
        y = (x > 0) & (colour == "red")
        gaps = [None if generator.random() < 0.02 else float(value) for value in x]
        private = {"x": gaps[PUBLIC:], "colour": list(colour[PUBLIC:])}
        self._write("train" + suffix, private | {"y": [labels[int(label)] for label in y[PUBLIC:]]})
        self._write("public" + suffix, {"colour": list(colour[:PUBLIC]), "x": gaps[:PUBLIC]})
        (self.directory / "schema.toml").write_text(SCHEMA)

    def _write(self, name: str, columns: dict[str, list[Any]]) -> None:
        write_table(self.directory / name, columns)

    def path(self, name: str) -> str:
        return str(self.directory / name)

    def publish(self, *options: str, suffix: str = ".csv") -> Result:
        """Seeded, with public rows. An option given again in `options` wins."""
        return self.bare("--public", self.path(f"public{suffix}"), "--seed", "1", *options, suffix=suffix)

    def bare(self, *options: str, suffix: str = ".csv") -> Result:
        needed = {
            "--private": self.path(f"train{suffix}"),
            "--label": "y",
            "--epsilon": "2",
            "--depth": "2",
            "--out": self.path("model"),
        }
        return CliRunner().invoke(
            app, spending(["publish", *(part for pair in needed.items() for part in pair), *options])
        )

    def model(self) -> PublishedModel:
        return PublishedModel.load(self.directory / "model")

    def accuracy(self, suffix: str = ".csv") -> float:
        table = read_table(self.path(f"train{suffix}"))
        labels = [str(label) for label in table.pop("y")]
        return float(
            np.mean([str(label) == truth for label, truth in zip(self.model().predict(table), labels, strict=True)])
        )


def forbid_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing is an error: whatever is refused must be refused before."""

    def drawn(*_: Any, **__: Any) -> None:
        raise AssertionError("a draw")

    monkeypatch.setattr(HypothesisClass, "draw", drawn)
