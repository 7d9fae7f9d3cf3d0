"""The benchmark of GPUs on small inputs, and docs/scaling.md as the stored results have it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import gpu
from pcqr.data.records import InMemory
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.vectors import PredicateVectors
from pcqr.hypotheses.trees import Predicate

ROOT = Path(__file__).parents[2]


def small_inputs() -> gpu.Inputs:
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(300, 3)), generator.integers(0, 2, 300).astype(np.int8)
    questions = np.array([(f, cut) for f in range(3) for cut in (-0.5, 0.0, 0.5)])
    asked = [Predicate(int(f), cut) for f, cut in questions]
    features = FeatureMap(PredicateVectors.of(asked, 3, X[:50]), Ferns.of(X[:50], range(3), 4, 3, seed=1), 128)
    plan = {"coordinates": features.coordinates, "steps": 4, "kept": 1, "bound": 2**24, "scale": 2.0**27}
    plan |= {"momentum": 0.9, "rate": 1e-9}
    kinds = generator.integers(0, 7, 300).astype(np.int8)
    linears = {
        "linear": gpu.LinearTask(InMemory(X, y), features, plan | {"blocks": 1}),
        "classes": gpu.LinearTask(InMemory(X, kinds, 7), features, plan | {"blocks": 7}),
    }
    return gpu.Inputs(InMemory(X, y), questions, linears)


def test_both_sides_make_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install pcqr[gpu]")
    monkeypatch.setattr(gpu, "TEACHERS", 21)
    inputs = small_inputs()
    here, there = gpu.on_the_cpu(inputs), gpu.measure(inputs, "cpu", gpu.TASKS)
    for task in ("trees", "linear", "classes", "votes"):
        assert len(there[task]) == gpu.REPEATS
        assert all(run["hashes"] == here[task]["hashes"] for run in there[task])
    assert all(there["limits"].values())
    linears = {name: replace(task, plan=task.plan | {"rate": 2e-9}) for name, task in inputs.linears.items()}
    other = gpu.on_the_cpu(replace(inputs, linears=linears))
    for name in linears:
        assert other[name]["hashes"] != here[name]["hashes"], "a hash tells"


def test_the_page_shows_the_stored_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(ROOT / gpu.PAGE, tmp_path / "page.md")
    monkeypatch.setattr(gpu, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(gpu, "RESULTS", ROOT / gpu.RESULTS)
    gpu.page(None, ())
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert page == (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    assert "NO" not in page.split("<!-- gpu -->")[1].split("<!-- end of gpu -->")[0]
    assert "WRONG" not in page
    stored = json.loads((ROOT / "benchmarks" / "results" / "gpu.json").read_text(encoding="utf-8"))
    assert stored["gpu"]["device"] in page
