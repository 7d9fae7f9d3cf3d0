"""README stays true: its Python runs as printed, its links lead somewhere, its figures are those of the results."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

from benchmarks.accuracy import markdown

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_in_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    for code in blocks:  # later ones go on where the first ended
        exec(compile(code, "README.md", "exec"), names)  # noqa: S102
    printed = capsys.readouterr().out
    assert "differential privacy with ε = 2, δ = " in printed
    assert "pure differential privacy with ε = 0.5" in printed
    assert re.search(r"^0\.8[3-6]", printed, re.MULTILINE), "the tree's accuracy"
    assert "predict >50K" in printed


def test_its_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert len(targets) > 10
    missing = [target for target in targets if not (ROOT / target).exists()]
    assert not missing


def test_both_commands_are_named() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in ("demo", "test"):
        assert f"make {command}" in README
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("name", ["theorem", "adult"])
def test_its_tables_are_those_of_the_results(name: str) -> None:
    """`python -m benchmarks.NAME --redraw` prints the table again."""
    benchmark = importlib.import_module(f"benchmarks.{name}")
    results = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    cases = [benchmark.Case(**case) for case in results["cases"]]
    assert markdown(benchmark.HEADER, [case.row() for case in cases]).strip() in README


def test_the_records_of_the_planner_are_those_of_the_theory_page() -> None:
    theory = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    table = README.split("| class | α | m | paper's n | proved n |")[1].split("\n\n")[0]
    rows = [line.strip(" |") for line in table.splitlines() if "·10" in line]
    assert len(rows) >= 5
    assert all(f"| {row} |" in theory for row in rows)


def test_the_table_of_trees_is_that_of_its_page() -> None:
    page = (ROOT / "docs" / "trees.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert len(rows) > 3
    assert "\n".join(rows) in README
