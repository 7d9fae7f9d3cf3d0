"""ONNX files run as their users do: by onnxruntime, from the cells of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from pcqr.models import PublishedModel

_TYPES = {"tensor(double)": np.float64, "tensor(string)": object}


def exported(model: PublishedModel, directory: Path) -> onnxruntime.InferenceSession:
    """The ONNX file of a model, written to the folder and loaded."""
    model.to_onnx(directory / "model.onnx")
    return opened(directory / "model.onnx")


def opened(file: Path | bytes) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])


def run(session: onnxruntime.InferenceSession, table: Mapping[str, Any], *outputs: str) -> list[Any]:
    """What the `outputs` are, or all of them, for the columns of the table; dates are numbers of days already."""
    cells = {each.name: np.array(table[each.name], dtype=_TYPES[each.type])[:, None] for each in session.get_inputs()}
    found: list[Any] = session.run(outputs or None, cells)
    return found


def rows_of(table: Mapping[str, Sequence[Any]], rows: Sequence[int]) -> dict[str, list[Any]]:
    return {name: [cells[row] for row in rows] for name, cells in table.items()}
