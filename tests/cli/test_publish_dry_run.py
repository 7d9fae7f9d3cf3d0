"""`pcqr publish --dry-run`: what would be done, step by step, from public things alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_lines import call
from typer.testing import Result

from pcqr.cli.publish import _in_words
from pcqr.datasets import read_table, write_table
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees, Predicate
from pcqr.models import PublishedModel
from pcqr.models.card import predicates_of
from pcqr.privacy.composition import Branch, Context, Sequence, Stage, account, parts_of
from pcqr.releases.base.fitting import PrivateEstimator
from pcqr.releases.classifier.plan import ComparisonStage, LeafCountsStage, LinearStage
from pcqr.releases.protocol.stages import DrawStage

RECORDS, PUBLIC = 1_000, 120


@pytest.fixture
def home(tmp_path: Path) -> Path:
    generator = np.random.default_rng(0)
    table: dict[str, Any] = {name: generator.normal(size=RECORDS + PUBLIC).tolist() for name in "ab"}
    write_table(tmp_path / "public.csv", {name: cells[:PUBLIC] for name, cells in table.items()})
    private = {name: cells[PUBLIC:] for name, cells in table.items()}
    write_table(tmp_path / "train.csv", private | {"y": [int(a > 0) for a in private["a"]]})
    return tmp_path


def publish(home: Path, *options: str, epsilon: float = 1.0, dry: bool = True) -> Result:
    files = ["--private", str(home / "train.csv"), "--public", str(home / "public.csv"), "--out", str(home / "model")]
    asked = [
        "--label",
        "y",
        "--epsilon",
        str(epsilon),
        *options,
        *(["--dry-run", "--accept-weak-guarantee"] if dry else []),
    ]
    return call("publish", *files, *asked)


def described(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    facts: dict[str, Any] = json.loads(result.stdout)
    assert facts["dry_run"] is True
    return facts


def alone(part: str) -> float:
    """The ε that the part has by itself."""
    return float(part.partition("ε = ")[2].split(maxsplit=1)[0])


def test_nothing_is_fitted_spent_or_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fitted(*_: object, **__: object) -> None:
        raise AssertionError("a fit")

    monkeypatch.setattr(PrivateEstimator, "fit", fitted)
    before = set(home.iterdir())
    said = " ".join(publish(home).stdout.split())
    assert "step 1 a draw from decision trees of depth 4 over 30 predicates; ε = 0.95 by itself" in said
    assert "step 2 noisy counts of each label in each leaf of the tree, for its probabilities; ε = 0.05 by" in said
    assert "noise adds up by squares" not in said, "pure steps add up"
    assert "nothing was spent or written" in said
    assert set(home.iterdir()) == before


def test_no_record_is_looked_at_but_for_how_many_there_are(home: Path) -> None:
    first = publish(home, "--delta", "1e-6", "--method", "linear", "--json", epsilon=40.0).stdout
    table = {name: ["none of your business"] * RECORDS for name in read_table(home / "train.csv")}
    write_table(home / "train.csv", table)
    assert publish(home, "--delta", "1e-6", "--method", "linear", "--json", epsilon=40.0).stdout == first


def restored(found: dict[str, Any]) -> Stage:
    """The stage whose numbers these are."""
    if "stages" in found:
        return Sequence(tuple(map(restored, found["stages"])))
    if "options" in found:
        return Branch(tuple(map(restored, found["options"])))
    if list(found) == ["scale"]:
        return LeafCountsStage(**found)
    kind = DrawStage if "inverse_temperature" in found else ComparisonStage if "lead" in found else LinearStage
    return kind(**found)


def check_steps(facts: dict[str, Any], context: Context) -> tuple[Stage, ...]:
    """Every step is told with what it costs by itself; all of them cost less than the sum."""
    stage, parts = restored(facts["plan"]["stage"]), facts["parts"]
    assert isinstance(stage, Sequence)
    assert "publishes" not in parts
    lines = [parts[f"step {place}"] for place in range(1, len(stage.stages) + 1)]
    for step, line in zip(stage.stages, lines, strict=True):
        assert line.startswith(f"{step.words(context)}; ε = ")
        assert alone(line) == pytest.approx(account(step, context, 1e-6).epsilon, rel=0.01)
    assert sum(map(alone, lines)) > facts["guarantee"]["epsilon"]
    assert "less than the sum" in parts["together"]
    assert {"columns", "time", "memory"} <= set(parts)
    assert f"step {len(lines) + 1}" not in parts
    return stage.stages


def context_of(predicates: int, features: int = 2) -> Context:
    asked = tuple(Predicate(0, float(cut)) for cut in range(predicates))
    return Context(DecisionTrees(predicates=asked), RECORDS, features)


def test_pilots_are_told_step_by_step(home: Path) -> None:
    facts = described(publish(home, "--delta", "1e-6", "--method", "linear", "--json", epsilon=200.0))
    first, second, comparison, options = check_steps(facts, context_of(1))
    assert isinstance(comparison, ComparisonStage)
    assert isinstance(options, Branch)
    for place, pilot in enumerate((first, second), start=1):
        assert isinstance(pilot, LinearStage)
        line = facts["parts"][f"step {place}"]
        assert f"{pilot.dense} dense coordinates and {pilot.ferns} ferns of {pilot.depth} predicates" in line
        assert f"{pilot.steps} steps of DP gradient descent" in line
    assert " or a linear classifier over " in facts["parts"]["step 4"]
    assert "decides" in facts["parts"]["step 3"]


def test_a_tree_and_what_is_beside_it_are_told(home: Path) -> None:
    facts = described(publish(home, "--delta", "1e-6", "--json", epsilon=9.0))
    draw, linear = check_steps(facts, context_of(40))
    assert isinstance(draw, DrawStage)
    assert isinstance(linear, LinearStage)
    assert alone(facts["parts"]["step 1"]) == pytest.approx(0.2 * 9.0, rel=0.01)
    assert 9.0 / 2 < alone(facts["parts"]["step 2"]) < 9.0
    assert "by 100 steps of DP gradient descent" in facts["parts"]["step 2"]


def test_empirical_bayes_is_told_where_public_rows_make_it_possible(home: Path) -> None:
    rows = np.random.default_rng(3).normal(size=(200, 2))
    write_table(home / "public.csv", {name: rows[:, place].tolist() for place, name in enumerate("ab")})
    facts = described(publish(home, "--delta", "1e-6", "--json", epsilon=7.0))
    _, linear = check_steps(facts, context_of(30))
    assert isinstance(linear, LinearStage)
    assert linear.is_empirical_bayes
    assert "by 2 noisy sums and empirical Bayes" in facts["parts"]["step 2"]


def test_the_work_of_trees_counts_where_one_is_drawn(home: Path) -> None:
    trees = context_of(40).hypotheses
    assert isinstance(trees, DecisionTrees)
    drawn = trees.cost(RECORDS, trees.depth_for(RECORDS))
    both, single = (
        described(publish(home, "--delta", "1e-6", "--method", name, "--json", epsilon=9.0))
        for name in ("auto", "linear")
    )
    stages: Any = (restored(both["plan"]["stage"]).stages[1], restored(single["plan"]["stage"]))  # type: ignore[attr-defined]
    beside, by_itself = (work_of(stage) for stage in stages)
    assert f"about {drawn + beside:.0e} steps" in both["parts"]["time"]
    assert f"about {by_itself:.0e} steps" in single["parts"]["time"]
    assert drawn > 3 * by_itself, "it is seen in one digit"


def work_of(stage: LinearStage) -> float:
    return stage.steps * stage.blocks * (2.0 * RECORDS * (stage.dense + stage.ferns) + 100 * stage.coordinates)


def test_of_two_options_the_longer_one_counts(home: Path) -> None:
    facts = described(publish(home, "--delta", "1e-6", "--method", "linear", "--json", epsilon=200.0))
    first, second, _, branch = restored(facts["plan"]["stage"]).stages  # type: ignore[attr-defined]

    longest = max(branch.options, key=lambda option: option.effort)
    assert len({option.effort for option in branch.options}) == 2
    assert f"about {work_of(first) + work_of(second) + work_of(longest):.0e} steps" in facts["parts"]["time"]


def test_where_nothing_can_be_learned_it_is_said_and_the_run_warns_once(home: Path) -> None:
    said = "n·ε = 20 is too small to learn from 20 predicates and 2 classes: expect no more than the most common label."
    facts = described(publish(home, "--json", epsilon=0.02))
    assert facts["parts"]["expected"].startswith(said)
    assert "expected" not in described(publish(home, "--json", epsilon=0.03))["parts"]
    result = publish(home, "--seed", "1", epsilon=0.02, dry=False)
    assert result.exit_code == 0, result.output
    assert " ".join(result.output.split()).count(said) == 1


@pytest.mark.parametrize(
    ("steps", "words"),
    [(2e8, "a second or less"), (1.2e9, "1 second"), (2e9, "1 to 2 seconds"), (3.6e12, "1,800 to 3,600 seconds")],
)
def test_time_in_words(steps: float, words: str) -> None:
    assert _in_words(steps) == f"about {steps:.0e} steps, {words} on one core"


@pytest.mark.parametrize(("epsilon", "maps"), [(9.0, 1), (200.0, 2)])
def test_what_may_come_out_is_tried_out(home: Path, monkeypatch: pytest.MonkeyPatch, epsilon: float, maps: int) -> None:
    """Each linear classifier by itself, and with a tree that asks everything, so that it is as large as it may be."""
    tried: list[PublishedModel] = []
    texts = PublishedModel.texts

    def heard(model: PublishedModel) -> dict[str, str]:
        tried.append(model)
        return texts(model)

    monkeypatch.setattr(PublishedModel, "texts", heard)
    stage = restored(described(publish(home, "--delta", "1e-6", "--json", epsilon=epsilon))["plan"]["stage"])
    linears = [model.hypothesis.feature_map for model in tried if isinstance(model.hypothesis, LinearClassifier)]
    beside = [features for features in linears if features.tree is not None]
    assert (len(tried), len(linears), len(beside)) == (2 * maps, 2 * maps, maps)
    planned = parts_of(stage, LinearStage)
    for features, linear in zip(beside, planned, strict=False):
        assert features.tree is not None
        assert len(list(predicates_of(features.tree))) == len(tried[0].provenance.predicates or ())
        assert (features.size, features.count, features.depth) == (linear.dense, linear.ferns, linear.depth)
    tried.clear()
    described(publish(home, "--delta", "1e-6", "--method", "tree", "--json", epsilon=epsilon))
    assert [type(model.hypothesis) for model in tried] == [DecisionTree]


def test_what_is_told_is_what_is_done(home: Path) -> None:
    """The plan of the dry run is that of the run, to the last digit."""
    dense = ("--delta", "1e-6", "--method", "linear", "--features", "dense")
    for epsilon, options in ((1.0, ()), (1.0, ("--delta", "1e-6")), (4.0, ("--delta", "1e-6")), (1.0, dense)):
        facts = described(publish(home, *options, "--seed", "1", "--json", "--overwrite", epsilon=epsilon))
        done = publish(home, *options, "--seed", "1", "--json", "--overwrite", dry=False, epsilon=epsilon)
        assert done.exit_code == 0, done.output
        made = json.loads(done.stdout)
        settled = ("epsilon", "delta", "proof", "steps", "is_private")
        assert [facts["guarantee"][name] for name in settled] == [made["guarantee"][name] for name in settled]
        card = " ".join((home / "model" / "card.md").read_text("utf-8").split())
        for name, words in facts["parts"].items():
            if name == "publishes" or name.startswith("step "):
                assert words.removeprefix("a draw from ").partition("; ε = ")[0] in card


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--label", "z"), "--label must be the name of one of the 3 columns"),
        (("--features", "dense", "--depth", "2"), "--features must be 'auto' or 'predicates' for trees"),
        (("--epsilon", "0"), "--epsilon must be"),
        (("--epsilon", "1e300"), "--epsilon must be at most 2**52 / n = 4.5e+12 for 1,000 records"),
    ],
)
def test_what_the_run_would_refuse_is_refused(home: Path, options: tuple[str, ...], message: str) -> None:
    result = publish(home, *options)
    assert result.exit_code == 2
    assert message in result.stderr
