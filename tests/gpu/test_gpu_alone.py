"""The GPU's modules run where there is nothing but numpy and torch; without torch all else runs as before."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from pcqr.gpu import find_gpu

ROOM = Path(__file__).parents[2] / "src" / "pcqr" / "gpu"
MODULES = sorted(path.stem for path in ROOM.glob("*.py") if path.stem != "__init__")
ALONE = """
import importlib, sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"scipy", "sklearn", "numba", "dp_accounting", "typer", "rich", "sqlalchemy"}:
            raise ImportError(name)

sys.meta_path.insert(0, Nothing())
for module in sys.argv[1:]:
    importlib.import_module(f"pcqr.gpu.{module}")
others = sorted(name for name in sys.modules if name.startswith("pcqr") and not name.startswith("pcqr.gpu"))
assert others == ["pcqr"], others
import numpy as np
from pcqr.gpu.counts import count_conjunctions
block = np.array([[True, False], [True, True]]), np.array([0, 1], dtype=np.int8)
print(count_conjunctions([block], 2, 2, 2, "cpu").tolist())
"""


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_numpy_and_torch_alone(module: str) -> None:
    tree = ast.parse((ROOM / f"{module}.py").read_text(encoding="utf-8"))
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    outside = {name for name in found if not name.startswith("pcqr.gpu")}
    assert {name.split(".")[0] for name in outside} <= {"numpy", "torch"} | sys.stdlib_module_names


def test_it_runs_where_nothing_else_is_installed() -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install pcqr[gpu]")
    command = [sys.executable, "-c", ALONE, *MODULES]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "[[1, 1], [1, 1], [0, 1], [0, 1]]"


def test_without_torch_no_gpu_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    found = find_gpu()
    assert found.name is None
    assert "torch is not installed" in found.why_not


def test_torch_is_imported_only_when_a_device_is_asked_for() -> None:
    code = "import sys, pcqr, pcqr.gpu; pcqr.PrivateClassifier(1.0); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
