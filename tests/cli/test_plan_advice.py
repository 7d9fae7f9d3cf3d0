"""`pcqr plan` answers "what do I get, with which command?": one command that parses and runs, ranges, alternatives."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from support.command_lines import said
from support.requests import request_of
from support.situations import situations
from typer.main import get_command
from typer.testing import CliRunner, Result

from pcqr import registry
from pcqr.advice.advice import METHODS, Situation, advise
from pcqr.advice.outlook import look
from pcqr.advice.question import Option, recommend
from pcqr.cli.main import app
from pcqr.cli.plan import advice_object, line_for_option, lines_for
from pcqr.data.schema import Column, Schema
from pcqr.datasets import write_table
from pcqr.hypotheses import Thresholds
from pcqr.release import Account
from pcqr.releases.agnostic.planning import plan_agnostic
from pcqr.releases.protocol.plan import Plan, Prediction
from pcqr.releases.universal.planning import plan_universal

DOCUMENTED = (Path(__file__).parents[2] / "docs" / "planning.md").read_text(encoding="utf-8")
GROUP: Any = get_command(app)
ASKED = ("--n", "20000", "--columns", "12", "--epsilon", "1", "--queries", "500")


def invoke(*options: str) -> Result:
    return CliRunner().invoke(app, ["plan", *options], env={"COLUMNS": "120"})


def parse(line: str) -> None:
    """With the parser that the command line has; raises what it would complain of."""
    program, command, *arguments = shlex.split(line)
    assert program == "pcqr"
    GROUP.commands[command].make_context(command, arguments)


@pytest.fixture(scope="module", autouse=True)
def each_question_is_planned_once() -> Iterator[None]:
    """A plan is a function of the question; these tests are about what is said of it, and ask the same ones again."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("pcqr.cli.plan.look", cache(look))
        yield


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke(*ASKED, "--json").output)
    return found


def test_the_real_question_gets_one_answer_on_top() -> None:
    text = invoke(*ASKED).output
    assert text.startswith("Recommended: published classifier (PrivateClassifier)\n")
    assert (
        "  pcqr publish --private train.csv --label label --labels no,yes --types age=number,job=text --epsilon 1 "
        in text
    )
    assert "nothing public but the columns and their kinds" in text
    assert "buys      7 cuts a number for 25 % of the Gaussian-DP parameter μ" in text
    assert re.search(r"expected +accuracy −?[\d.]+ to [\d.]+ points below gradient boosting without privacy", text)
    for method in METHODS:
        assert method.words in text
    assert "Python only: NoisyMaxAggregate(Stumps(), epsilon=1, delta=1e-06, queries=500).fit(X, y)" in text


@pytest.mark.parametrize("size", [100, 500, 3_000, 20_000])
def test_each_way_is_shown_with_the_strength_of_its_tables(size: int) -> None:
    """And no table that is ten times as strong is quoted."""
    asked = ("--n", str(size), "--columns", "12", "--epsilon", "1", "--queries", "500")
    lines = invoke(*asked).output.split("All ways")[1].splitlines()
    assert next(line for line in lines if "below boosting" in line).split()[0] == "n·ε"
    for method in METHODS:
        line = next(line for line in lines if line.startswith(method.words + "  "))
        found = re.match(r"([\d,]+)(?: to ([\d,]+))?  ", line.removeprefix(method.words).strip() + "  ")
        assert found is not None or "not measured" in line
        if found is not None:
            assert float((found[2] or found[1]).replace(",", "")) < 10 * size
    assert "not measured" in " ".join(lines) or size > 100


def test_too_little_to_learn_from_is_said() -> None:
    text = said(invoke("--n", "300", "--columns", "12", "--epsilon", "0.1"))
    assert "n·ε = 30 is too small to learn from 648 predicates and 2 classes" in text
    assert "Take n ≥ 574 at this ε, or ε ≥ 0.2 at this n." in text
    assert text.index("But: n·ε = 30") < text.index("pcqr publish")
    assert "with n·ε = 30 " in text
    described = json.loads(invoke("--n", "300", "--columns", "12", "--epsilon", "0.1", "--json").output)["advice"]
    assert described["shortfall"].startswith("n·ε = 30 is too small")


@given(situations)
def test_every_command_that_is_shown_parses(situation: Situation) -> None:
    advice = advise(situation)
    assert lines_for(advice.best, situation)
    for shown in (advice.best, *advice.others):
        lines = lines_for(shown, situation)
        assert bool(lines) == shown.method.commanded
        for line in lines:
            parse(line)


def test_every_command_recommended_for_a_class_parses() -> None:
    request = request_of(60_000, 1, Thresholds(), 2.0, 1e-6, 300, 0.1, 0.05)
    plans: dict[str, Plan] = {
        "AgPrivCl": plan_agnostic(request, "calibrated"),
        "UnvPrivCl": plan_universal(request, "calibrated"),
    }
    names = [family.option for family in registry.classes() if family.option and not family.needs_public]
    algorithms = [algorithm.name for algorithm in registry.algorithms() if algorithm.planner is not None]
    for class_name, algorithm in itertools.product(names, algorithms):
        option = Option(algorithm, plans.get(algorithm, plans["AgPrivCl"]), None, Prediction(0.0, 0.01, 0.0))
        line = line_for_option(option, request, class_name, 3)
        best = recommend([option], 0.1).option
        assert (line is None) == (best is None) == (algorithm in ("noisy max", "SSPP"))
        if line is not None:
            parse(line)


def test_the_command_for_a_class_is_shown() -> None:
    options = ("--class", "thresholds", "--n", "60000", "--epsilon", "2", "--alpha", "0.1", "--queries", "300")
    found = json.loads(invoke(*options, "--json").output)["recommendation"]
    assert found["command"] in invoke(*options).output


@pytest.mark.parametrize("name", ["unions", "stumps", "rectangles", "halfspaces"])
def test_the_command_recommended_for_a_class_can_be_previewed(name: str, made_up: Path) -> None:
    """As it was typed, on files with as many columns as the class wants."""
    width = registry.hypothesis_class(name).made(intervals=2).features or 3
    generator = np.random.default_rng(1)
    for file, rows in (("train.csv", 4_000), ("queries.csv", 40)):
        columns = {f"x{i}": generator.random(rows).tolist() for i in range(width)}
        labels = {} if file == "queries.csv" else {"label": ["no", "yes"] * (rows // 2)}
        write_table(made_up / file, columns | labels)
    asked = ("--class", name, "--n", "4000", "--epsilon", "3", "--alpha", "0.2", "--queries", "40", "--json")
    line = json.loads(invoke(*asked, "--columns", str(width)).output)["recommendation"]["command"]
    found = CliRunner().invoke(app, [*shlex.split(line)[1:], "--dry-run", "--json"])
    assert found.exit_code == 0, f"{line}: {found.output}"
    assert json.loads(found.output)["guarantee"]["epsilon"] <= 3.0


def test_a_weak_guarantee_is_said_with_the_option_that_its_command_needs() -> None:
    notes = advice_object(advise(Situation(records=20_000, epsilon=40.0, columns=12)))["notes"]
    assert any("ε = 40 is so large" in note and "--accept-weak-guarantee" in note for note in notes)
    assert "--accept-weak-guarantee" not in invoke(*ASKED).output


def test_a_dimension_alone_has_no_command() -> None:
    found = json.loads(invoke("--vc", "3", "--n", "10000000", "--epsilon", "1", "--queries", "300", "--json").output)
    assert found["recommendation"]["command"] is None


def test_what_is_bought_is_in_the_object(answer: dict[str, Any]) -> None:
    described = answer["advice"]["bought"]
    assert (described["public_grid"], described["cuts_a_number"]) == (False, 7)
    assert set(described["shares_of_mu"]) == {"cuts", "counts", "categories"}
    assert described["remaining"] ** 2 + sum(share**2 for share in described["shares_of_mu"].values()) == pytest.approx(
        1.0
    )
    grid = json.loads(invoke("--n", "700", "--epsilon", "1", "--json").output)["advice"]["bought"]
    assert grid == {"public_grid": True, "cuts_a_number": 0, "shares_of_mu": {}, "remaining": 1.0}
    assert json.loads(invoke(*ASKED, "--public", "30", "--json").output)["advice"]["bought"] is None


def test_every_key_is_documented(answer: dict[str, Any]) -> None:
    def keys(value: object) -> set[str]:
        if isinstance(value, dict):
            return set(value).union(*(keys(part) for part in value.values()))
        return set().union(*(keys(part) for part in value)) if isinstance(value, list) else set()

    missing = {key for key in keys(answer["advice"]) if f"`{key}`" not in DOCUMENTED}
    assert not missing
    assert set(answer["classes"]) == {"thresholds", "intervals", "stumps"}


@pytest.fixture
def made_up(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An account and files, called as in the command lines: two columns, and a label that follows nine times in ten."""
    generator = np.random.default_rng(0)

    def rows(count: int) -> tuple[Any, Any]:
        age, job = generator.uniform(18, 90, count), generator.choice(["cook", "nurse"], count)
        return age, job

    def write(name: str, count: int, *, labelled: bool) -> None:
        age, job = rows(count)
        truth = ((age > 50) & (job == "nurse")) ^ (generator.random(count) < 0.1)
        lines = [
            f"{a},{b}" + (f",{('no', 'yes')[int(t)]}" if labelled else "")
            for a, b, t in zip(age, job, truth, strict=True)
        ]
        linear = "age,job" + ",label" * labelled
        (home / name).write_text("\n".join([linear, *lines]) + "\n", encoding="utf-8")

    write("train.csv", 4_000, labelled=True)
    write("public.csv", 300, labelled=False)
    write("queries.csv", 40, labelled=False)
    columns = (Column("age", bounds=(18.0, 90.0)), Column("job", "categorical", ("cook", "nurse")))
    Schema(columns).to_toml(home / "schema.toml")
    Account.create("NAME", epsilon=100.0, delta=0.01)
    monkeypatch.chdir(home)
    return home


@pytest.mark.parametrize("source", [(), ("--schema",), ("--public", "300")], ids=["nothing", "schema", "public rows"])
def test_the_recommended_commands_run_as_they_are(made_up: Path, source: tuple[str, ...]) -> None:
    text = invoke("--n", "4000", "--columns", "2", "--epsilon", "1", *source).output
    assert ("buys " in text) == (not source)
    lines = [line for line in text.split("expected")[0].splitlines() if line.startswith("  pcqr ")]
    assert len(lines) == 2
    for line in lines:
        result = CliRunner().invoke(app, shlex.split(line)[1:])
        assert result.exit_code == 0, result.output
    answers = (made_up / "answers.csv").read_text(encoding="utf-8").splitlines()
    assert len(answers) == 41


def test_the_other_commands_run_as_they_are(made_up: Path) -> None:
    """Votes may halt (exit code 3) and keep what was answered."""
    situation = Situation(records=4_000, epsilon=3.0, columns=2, public=300)
    lines = {other.method.key: lines_for(other, situation) for other in advise(situation).others}
    for key in ("universal trees", "votes trees", "universal stumps", "votes stumps"):
        (line,) = lines[key]
        result = CliRunner().invoke(app, shlex.split(f"{line} --overwrite")[1:])
        assert result.exit_code in (0, 3), f"{line}: {result.output}"
        assert len((made_up / "answers.csv").read_text(encoding="utf-8").splitlines()) == 41
