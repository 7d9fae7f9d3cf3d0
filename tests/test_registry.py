"""One registry: every algorithm and class in it has its code, its proof, its place in the glossary and its command."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer import BadParameter
from typer.main import get_command

import pcqr
from pcqr import registry
from pcqr.cli.main import app
from pcqr.cli.options import algorithms
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import HypothesisClass
from pcqr.registry import Algorithm, HypothesisFamily

ROOT = Path(__file__).parents[1]
ALGORITHMS = registry.algorithms()
CLASSES = registry.classes()
COMMANDS: Any = get_command(app)


def named(entry: registry.Entry) -> str:
    return entry.name


@pytest.mark.parametrize("entry", ALGORITHMS, ids=named)
def test_what_an_algorithm_names_is_there(entry: Algorithm) -> None:
    estimator = registry.resolve(entry.estimator)
    assert estimator is getattr(pcqr, entry.estimator_name)
    for note in (entry.proof, *entry.further):
        assert (ROOT / "proofs" / f"{note}.md").exists()
    for reference in (entry.planner, entry.expected):
        assert reference is None or callable(registry.resolve(reference))


@pytest.mark.parametrize("entry", CLASSES, ids=named)
def test_what_a_class_names_is_there(entry: HypothesisFamily) -> None:
    make = registry.resolve(entry.make)
    assert make.__name__ == entry.name
    assert (ROOT / "proofs" / f"{entry.proof}.md").exists()
    if entry.option is not None:
        made = entry.made(intervals=3, depth=None)
        assert isinstance(made, HypothesisClass)
        assert made.needs_public == entry.needs_public


@pytest.mark.parametrize("entry", [entry for entry in ALGORITHMS if entry.name != entry.estimator_name], ids=named)
def test_the_estimator_names_the_paper(entry: Algorithm) -> None:
    assert any(name in registry.resolve(entry.estimator).__doc__ for name in (entry.name, *entry.aliases))


@pytest.mark.parametrize("text", ["agnostic", "AgPrivCl", "AgnosticRelease", "agprivcl"])
def test_an_algorithm_is_known_by_all_its_names(text: str) -> None:
    assert registry.algorithm(text).option == "agnostic"
    assert registry.algorithm("PATE").name == "noisy max"
    with pytest.raises(ParameterError, match="algorithm must be one of PrivateClassifier, SSPP"):
        registry.algorithm("majority")


def test_a_class_is_known_by_all_its_names() -> None:
    assert registry.hypothesis_class("UnionsOfIntervals") is registry.hypothesis_class("unions")
    with pytest.raises(ParameterError, match="class must be one of Thresholds"):
        registry.hypothesis_class("cubes")


def test_the_glossary_shows_both_tables() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert registry.algorithm_table() in glossary
    assert registry.class_table() in glossary


def test_the_command_line_takes_all_names() -> None:
    given = shlex.split("--private p --label y --queries q --epsilon 1 --delta 1e-6")
    answer = COMMANDS.commands["answer"]
    for entry in ALGORITHMS:
        for text in entry.names:
            if entry.option is None:
                taken, elsewhere = ", ".join(algorithms()), entry.command_line or "in Python only"
                said = f"'{text}' is not one of {taken}. {entry.estimator_name} runs "
                with pytest.raises(BadParameter, match=re.escape(said)) as refused:
                    answer.make_context("answer", [*given, "--algorithm", text])
                assert elsewhere in refused.value.message
            else:
                assert answer.make_context("answer", [*given, "--algorithm", text]).params["algorithm"] == entry.option
    for family in CLASSES:
        for command, options in (("answer", given), ("plan", [])):
            if family.option is None or (command == "plan" and family.needs_public):
                why = "in Python only" if family.option is None else "depends on the public rows"
                with pytest.raises(BadParameter, match=f"is not one of thresholds.*{family.name}.*{why}"):
                    COMMANDS.commands[command].make_context(command, [*options, "--class", family.name])
            else:
                context = COMMANDS.commands[command].make_context(command, [*options, "--class", family.name])
                assert context.params["class_name"] == family.option


def test_listing_what_there_is_waits_for_nothing() -> None:
    code = (
        "import sys, json; from pcqr import registry; import pcqr.cli.main; "
        "names = [entry.name for entry in (*registry.algorithms(), *registry.classes())]; "
        "print(json.dumps([names, [m for m in ('numpy', 'scipy', 'sklearn') if m in sys.modules]]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    names, loaded = json.loads(done.stdout)
    assert names == [*map(named, ALGORITHMS), *map(named, CLASSES)]
    assert loaded == []


@pytest.fixture
def second_stumps() -> Iterator[HypothesisFamily]:
    entry = replace(registry.hypothesis_class("stumps"), name="MyStumps", option="my-stumps", proof="stumps")
    registry.register(entry)
    yield entry
    registry.unregister(entry)


def test_a_class_is_added_by_one_call(second_stumps: HypothesisFamily) -> None:
    assert registry.classes()[-1] is second_stumps
    context = COMMANDS.commands["plan"].make_context("plan", ["--class", "mystumps"])
    assert context.params["class_name"] == "my-stumps"
    with pytest.raises(ParameterError, match="one that nothing else is called; received 'my-stumps'"):
        registry.register(second_stumps)


def test_what_was_added_is_gone_afterwards() -> None:
    assert (registry.algorithms(), registry.classes()) == (ALGORITHMS, CLASSES)
