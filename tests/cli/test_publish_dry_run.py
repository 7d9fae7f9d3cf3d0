"""`pcqr publish --dry-run`: what would be done, part by part, from public things alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_lines import spending
from typer.testing import CliRunner, Result

from pcqr.cli.main import app
from pcqr.cli.rehearsal import _more
from pcqr.datasets import read_table, write_table
from pcqr.estimators.base import PrivateEstimator
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree
from pcqr.models import PublishedModel
from pcqr.models.rules import predicates_of

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
    return CliRunner().invoke(app, spending(["publish", *files, *asked]))


def told(result: Result) -> dict[str, Any]:
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
    assert "publishes decision trees of depth 4 over 30 public predicates" in said
    assert "nothing was spent or written" in said
    assert set(home.iterdir()) == before


def test_no_record_is_looked_at_but_for_how_many_there_are(home: Path) -> None:
    first = publish(home, "--delta", "1e-6", "--method", "linear", "--json", epsilon=40.0).stdout
    table = {name: ["none of your business"] * RECORDS for name in read_table(home / "train.csv")}
    write_table(home / "train.csv", table)
    assert publish(home, "--delta", "1e-6", "--method", "linear", "--json", epsilon=40.0).stdout == first


def test_a_piloted_linear_is_told_part_by_part(home: Path) -> None:
    facts = told(publish(home, "--delta", "1e-6", "--method", "linear", "--json", epsilon=40.0))
    parts, plan = facts["parts"], facts["plan"]["piloted"]
    assert {
        "pilot 1",
        "pilot 2",
        "comparison",
        "then one linear classifier",
        "together",
        "columns",
        "time",
        "memory",
    } <= set(parts)
    for pilot, name in zip(plan["pilots"], ("pilot 1", "pilot 2"), strict=True):
        assert f"{pilot['dense']} dense coordinates" in parts[name]
        assert f"{pilot['steps']} noisy sums" in parts[name]
    linears = parts["then one linear classifier"].splitlines()
    assert [line.split(",")[0] for line in linears] == ["hardly anything but ferns", "some ferns", "no ferns"]
    for linear, line in zip(reversed(plan["linears"]), linears, strict=True):
        assert linear["ferns"] == 0 or f"{linear['ferns']} ferns of {1 << linear['depth']} cells" in line
        assert "by itself" in line
    each = [float(line.split("ε = ")[1].split()[0]) for line in (parts["pilot 1"], parts["comparison"], linears[0])]
    assert all(0 < epsilon < 40 for epsilon in each)


def test_a_count_is_told_with_what_it_decides(home: Path) -> None:
    facts = told(publish(home, "--delta", "1e-6", "--json", epsilon=9.0))
    parts, stage = facts["parts"], facts["plan"]["counted"]
    assert parts["count"] == "of the labels, with noise; ε = 0.27 by itself"
    assert f"of depth {stage['depth']}, where it counts fewer than {stage['rare']} records" in parts["then a tree"]
    assert f"where it counts fewer than {stage['uneven']} records" in parts["or a careful linear classifier"]
    assert f"{stage['careful']['dense']} dense coordinates" in parts["or a careful linear classifier"]
    last = stage["otherwise"]
    assert parts["or a tree"].startswith(f"of depth {last['depth']}, where both labels are common; ε = ")
    assert parts["with a linear classifier beside it"].startswith(
        f"at most {last['linear']['dense']} dense coordinates, "
    )
    assert f"{last['linear']['steps']} noisy sums" in parts["with a linear classifier beside it"]
    assert alone(parts["or a tree"]) == pytest.approx(2 * last["tree"], rel=0.01)
    assert 9.0 / 2 < alone(parts["with a linear classifier beside it"]) < 9.0
    assert not {"pilot", "comparison", "or a linear classifier"} & set(parts)


def test_a_question_is_told_with_what_it_decides(home: Path) -> None:
    facts = told(publish(home, "--delta", "1e-6", "--json", "--method", "asked", epsilon=2.5))
    parts, stage = facts["parts"], facts["plan"]["asked"]
    assert f"{stage['linear']['steps']} noisy sums" in parts["or a linear classifier"]
    assert float(parts["question"].split("ε = ")[1].split()[0]) == pytest.approx(stage["question"], rel=0.01)
    limits = f"at most {stage['few']}, or at least {stage['many']}"
    assert f"of depth {stage['depth']}, where these are {limits}" in parts["and a tree"]
    assert "count" not in parts


def test_a_contest_by_itself_is_told(home: Path) -> None:
    facts = told(publish(home, "--delta", "1e-6", "--json", epsilon=4.0))
    parts, stage = facts["parts"], facts["plan"]["asked"]
    assert not {"count", "question", "or a tree"} & set(parts)
    assert f"{stage['pilot']['steps']} noisy sums" in parts["pilot"]
    assert "of its mistakes with trees, with noise" in parts["comparison"]
    ahead = f"where the best tree of depth {stage['shallow']} makes at least {stage['tree_from']:,} mistakes fewer"
    assert parts["and a tree"].startswith(f"of depth {stage['depth']}, {ahead}; ε = ")
    assert alone(parts["and a tree"]) == pytest.approx(2 * stage["tree"], rel=0.01)
    assert f"{stage['linear']['dense']} dense coordinates" in parts["or a linear classifier"]
    each = [alone(parts[name]) for name in ("comparison", "pilot", "or a linear classifier")]
    assert 0 < each[0] < each[1] < each[2] < 4.0
    assert "time" in parts


@pytest.mark.parametrize("epsilon", [2.0, 5.0], ids=["question", "contest"])
def test_what_a_question_takes_is_in_the_time(home: Path, monkeypatch: pytest.MonkeyPatch, epsilon: float) -> None:
    """Its trees, over 20 cuts of each of two columns, are counted beside those of which one is drawn."""
    asked_of = []

    def steps(*numbers: int) -> float:
        asked_of.append(numbers)
        return 1e15

    monkeypatch.setattr("pcqr.cli.rehearsal.steps_of_fewest", steps)
    asked = told(publish(home, "--delta", "1e-6", "--method", "asked", "--json", epsilon=epsilon))
    assert "1e+15 steps" in asked["parts"]["time"]
    assert asked_of == [(RECORDS, 40, 2, asked["plan"]["asked"]["shallow"])]
    assert "1e+15" not in told(publish(home, "--method", "tree", "--json", epsilon=epsilon))["parts"]["time"]


def test_a_head_beside_a_tree_is_tried_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a count: with a tree that asks everything, and as many coordinates as there may be."""
    tried: list[PublishedModel] = []
    texts = PublishedModel.texts

    def heard(model: PublishedModel) -> dict[str, str]:
        tried.append(model)
        return texts(model)

    monkeypatch.setattr(PublishedModel, "texts", heard)
    stage = told(publish(home, "--delta", "1e-6", "--json", epsilon=9.0))["plan"]["counted"]["otherwise"]
    linears = [model.hypothesis.feature_map for model in tried if isinstance(model.hypothesis, LinearClassifier)]
    beside = [features for features in linears if features.tree is not None]
    assert (len(linears), len(beside)) == (3, 1)
    assert beside[0].tree is not None
    assert len(list(predicates_of(beside[0].tree))) == len(tried[0].provenance.predicates or ())
    assert beside[0].size == stage["linear"]["dense"]
    trees = [model for model in tried if isinstance(model.hypothesis, DecisionTree)]
    assert len(trees) == 1, "a count may end in a tree"


def test_pilots_after_a_count_are_told(home: Path) -> None:
    parts = told(publish(home, "--delta", "1e-6", "--json", epsilon=40.0))["parts"]
    assert {
        "count",
        "then a tree",
        "or a careful linear classifier",
        "or",
        "pilot 1",
        "then one linear classifier",
        "time",
    } <= set(parts)


def test_what_is_told_is_what_is_done(home: Path) -> None:
    """The plan of the dry run is that of the run, to the last digit."""
    for options in ((), ("--delta", "1e-6"), ("--delta", "1e-6", "--method", "linear", "--features", "dense")):
        facts = told(publish(home, *options, "--seed", "1", "--json", "--overwrite"))
        done = publish(home, *options, "--seed", "1", "--json", "--overwrite", dry=False)
        assert done.exit_code == 0, done.output
        made = json.loads(done.stdout)
        settled = ("epsilon", "delta", "proof", "steps", "is_private")
        assert [facts["guarantee"][name] for name in settled] == [made["guarantee"][name] for name in settled]
        assert facts["parts"]["publishes"] in " ".join((home / "model" / "card.md").read_text("utf-8").split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--label", "z"), "--label must be the name of one of the 3 columns"),
        (("--labels", "a"), "--labels must be 2 to 127 different names"),
        (("--features", "dense", "--depth", "2"), "--features must be 'auto' or 'predicates' for trees"),
        (("--epsilon", "0"), "--epsilon must be"),
        (("--epsilon", "1e300"), "--epsilon must be at most 2**52 / n = 4.5e+12 for 1,000 records"),
    ],
)
def test_what_the_run_would_refuse_is_refused(home: Path, options: tuple[str, ...], message: str) -> None:
    result = publish(home, *options)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("ahead", "words"),
    [(0, "no more mistakes"), (-160, "at most 160 mistakes more"), (1, "at least 1 mistake fewer")],
)
def test_a_lead_in_words(ahead: int, words: str) -> None:
    assert _more(ahead) == words
