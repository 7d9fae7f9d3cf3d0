"""A peer of a few lines, added by one registration: planned, listed, previewed and run like all the others.

The toy is randomised response on the majority of all labels: one bit, drawn at `fit`, is the answer to every query. It
is the majority with odds of e^ε : 1. One record can turn the majority and no more, so the odds of either bit change by
a factor of e^ε at most: pure ε-DP, the exponential mechanism over two outcomes (proofs/exponential.md).
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from typer.testing import CliRunner, Result

from pcqr import registry
from pcqr.advice import outlook
from pcqr.checks import check_positive
from pcqr.cli.main import app
from pcqr.data.records import Records
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Points
from pcqr.planner.request import Request
from pcqr.privacy.accounting import PureEvent
from pcqr.privacy.composition import Context, Stage, account
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.noise import weighted_choice
from pcqr.releases.base.answering import Release
from pcqr.releases.base.inputs import FitContext, FitInputs
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.protocol.plan import Prediction, QueryPlan

look = cache(outlook.look)
"""Several tests ask the same question."""

# ---- the peer


@dataclass(frozen=True)
class ToyStage(Stage):
    """One bit with odds of e^ε : 1."""

    epsilon: float

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)

    @property
    def proof(self) -> str:
        return "exponential"

    def event(self, context: Context) -> PureEvent:  # noqa: ARG002
        return PureEvent(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class ToyPlan(QueryPlan):
    """The whole of it: answers without end, none of them unstable."""

    bit: ToyStage

    @property
    def stages(self) -> Stage:
        return self.bit


class OneBit:
    """A labeller that says the same to everybody. It holds no other secret than that bit, which everybody is told."""

    remaining = Usage(None, None)

    def __init__(self, records: Records, stage: ToyStage, entropy: Entropy) -> None:
        behind = np.full(2, -stage.epsilon)
        behind[records.label_counts().argmax()] = 0.0
        self._bit = weighted_choice(behind, entropy)

    def counts(self, X: Points) -> NDArray[np.int64]:
        return np.zeros((X.shape[0], 2), dtype=np.int64)

    def decide(self, counts: NDArray[np.int64]) -> int:  # noqa: ARG002
        return self._bit


def plan_toy(request: Request, start: object) -> ToyPlan:  # noqa: ARG001
    """Expected to err on one in ten queries where the bit is right, and on nine where it is wrong."""
    stage = ToyStage(request.budget.epsilon)
    wrong = 1.0 / (1.0 + math.exp(stage.epsilon))
    prediction = Prediction(unanswered_share=0.0, excess_error=0.1 + 0.8 * wrong, unstable_share=0.0)
    return ToyPlan(**request.promise(account(stage, request.context)), bit=stage, prediction=prediction)


class ToyMajority(Release[ToyPlan]):
    """The majority of all labels by randomised response (toy; Warner 1965). Pure ε-DP."""

    def _make_plan(self, context: FitContext, request: Request) -> ToyPlan:  # noqa: ARG002
        return plan_toy(request, None)

    def _start(self, context: FitContext, inputs: FitInputs, plan: ToyPlan, entropy: Entropy) -> None:  # noqa: ARG002
        self._protocol = PrivClass(OneBit(inputs.records, plan.bit, entropy), plan.queries, entropy)


TOY = registry.Algorithm(
    name="toy",
    estimator=ToyMajority,
    words="answers every query by one noisy bit",
    recommended_because="one bit needs hardly any records",
    proof="exponential",
    planner=plan_toy,
    option="toy",
    aliases=("Warner",),
    pure=True,
)


# ---- what one registration gives


@pytest.fixture(autouse=True)
def toy() -> Iterator[None]:
    registry.register(TOY)
    yield
    registry.unregister(TOY)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Under the names of the command lines that `pcqr plan` shows: 40 records of which 30 say yes, and 5 queries."""
    x = np.linspace(0.0, 1.0, 40)
    train = [f"{value},{'no' if i % 4 == 0 else 'yes'}" for i, value in enumerate(x)]
    (tmp_path / "train.csv").write_text("\n".join(["x,label", *train]) + "\n", encoding="utf-8")
    (tmp_path / "queries.csv").write_text("x\n0.1\n0.2\n0.3\n0.4\n0.1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(line: str) -> Result:
    program, *options = shlex.split(line)
    assert program == "pcqr"
    return CliRunner().invoke(app, options, env={"COLUMNS": "160"})


def planned(*options: str) -> dict[str, Any]:
    line = " ".join(("pcqr plan --class thresholds --n 40 --epsilon 2 --alpha 0.1 --queries 5 --json", *options))
    found: dict[str, Any] = json.loads(invoke(line).output)
    return found


@pytest.fixture(autouse=True)
def each_question_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pcqr.cli.plan.look", look)


def test_it_is_planned_beside_the_others() -> None:
    found = {option["algorithm"]: option for option in planned()["algorithms"]}
    assert list(found) == ["toy", "SubSamp", "noisy max", "AgPrivCl", "UnvPrivCl", "SSPP"]
    assert found["toy"]["estimator"] == "ToyMajority"
    assert found["toy"]["expected"]["excess_error"] == pytest.approx(0.2, abs=0.03)
    assert "toy" in invoke("pcqr plan --class thresholds --n 40 --epsilon 2 --alpha 0.1 --queries 5").output


def test_it_is_recommended_with_a_command_that_runs(files: Path) -> None:
    """With 40 records votes cannot be stable, and noise on them overturns many."""
    best = planned()["recommendation"]
    assert (best["algorithm"], best["estimator"]) == ("toy", "ToyMajority")
    assert best["reason"].startswith("toy: one bit needs hardly any records")
    command = best["command"].replace("--account NAME", "--no-account")  # a seeded run is not charged
    dry = invoke(f"{command} --dry-run --seed 1")
    assert dry.exit_code == 0, dry.output
    assert "Remaining: any number of queries. Every row will be answered." in dry.output
    assert not (files / "answers.csv").exists()
    done = invoke(f"{command} --seed 1 --json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert (told["guarantee"]["epsilon"], told["guarantee"]["delta"]) == (2.0, 0.0)
    assert told["counts"] == {"stable": 4, "published": 0, "repeated": 1, "unstable": 0, "unanswered": 0}
    answers = (files / "answers.csv").read_text(encoding="utf-8").splitlines()
    assert answers[1:5] == [f"{row},yes,stable" for row in range(1, 5)]


@pytest.mark.parametrize("text", ["toy", "Toy", "Warner", "ToyMajority"])
def test_the_command_line_takes_all_its_names(files: Path, text: str) -> None:  # noqa: ARG001
    line = f"pcqr answer --private train.csv --label label --labels no,yes --queries queries.csv --algorithm {text}"
    assert invoke(f"{line} --epsilon 1 --delta 1e-6 --dry-run --json").exit_code == 0


def test_an_option_that_it_lacks_is_refused(files: Path) -> None:  # noqa: ARG001
    line = "pcqr answer --private train.csv --label label --labels no,yes --queries queries.csv --algorithm toy"
    for option in ("--mode paper", "--on-unstable random", "--model-out somewhere"):
        refused = invoke(f"{line} --epsilon 1 --delta 1e-6 --no-account --out answers.csv {option}")
        assert refused.exit_code == 2
        assert f"{option.split()[0]} must be left out" in " ".join(refused.output.split())


def test_the_glossary_has_it() -> None:
    row = registry.algorithm_table().splitlines()[-1]
    assert row == (
        "| `ToyMajority` | toy (Warner) | `pcqr answer --algorithm toy` | answers every query by one noisy bit | "
        "[exponential](../proofs/exponential.md) |"
    )


def test_the_estimator_has_the_face_of_all() -> None:
    X, y = np.linspace(0.0, 1.0, 40)[:, None], np.array(["no"] + ["yes"] * 39)
    release = clone(ToyMajority(epsilon=40.0, queries=3, classes=("no", "yes"))).fit(X, y)
    assert release.predict(X[:9]).tolist() == ["yes"] * 9
    assert release.answer([0.5]).remaining == Usage(None, None)
    assert (release.queries_answered_, release.unstable_remaining_) == (10, None)
    assert release.answer([0.7]).beyond_plan
    assert release.preview(X).chance_of_halting == 0.0
    assert release.guarantee_.is_pure
    assert release.guarantee_.is_private


def test_a_name_can_be_taken_once() -> None:
    with pytest.raises(ParameterError, match="one that nothing else is called; received 'toy'"):
        registry.register(TOY)
