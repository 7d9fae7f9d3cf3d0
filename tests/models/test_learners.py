"""Models from fitted learners: what `PrivateClassifier` published, with public facts alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pcqr import AssumePublic, Guarantee
from pcqr.hypotheses import DecisionTrees
from pcqr.models import PublishedModel
from pcqr.privacy.accounting import BoundedRangeEvent, Composed, Event, OneOf
from pcqr.privacy.composition import Context, account_for
from pcqr.releases.classifier.estimator import PrivateClassifier
from pcqr.releases.classifier.plan import ComparisonStage, LeafCountsStage, LinearStage

GENERATOR = np.random.default_rng(0)
COLOUR = np.where(GENERATOR.random(600) < 0.5, "red", "blue")
FRAME = pd.DataFrame({"x": GENERATOR.normal(size=600).round(1), "colour": COLOUR})
Y = np.where((COLOUR == "red") | (FRAME["x"] > 1.0), "yes", "no")
PUBLIC = FRAME[:60].reset_index(drop=True).copy()


def fitted(method: str, epsilon: float = 2.0) -> PrivateClassifier:
    classifier = PrivateClassifier(epsilon, 1e-6, method=method, entropy=4, classes=("no", "yes"))  # type: ignore[arg-type]
    return classifier.fit(FRAME, Y, public=AssumePublic(PUBLIC))


@pytest.mark.parametrize(
    ("method", "epsilon", "kind", "made_by"),
    [
        ("tree", 2.0, "decision-tree", "a draw from decision trees of depth "),
        ("linear", 2.0, "linear", "a linear classifier over "),
        ("auto", 2.0, "decision-tree", "a draw from decision trees of depth "),
        ("auto", 8.0, "linear", "a draw from decision trees of depth "),
        ("auto", 60.0, "linear", "a draw from decision trees of depth "),
        ("auto", 300.0, "linear", "a draw from decision trees of depth "),
    ],
)
def test_every_method_gives_a_model(method: str, epsilon: float, kind: str, made_by: str) -> None:
    learner = fitted(method, epsilon)
    model = PublishedModel.from_learner(learner)
    assert model.kind.name == kind
    assert model.hypothesis == learner.hypothesis_, "kept as it was drawn"
    assert model.predict(FRAME).tolist() == learner.predict(FRAME).tolist()
    assert model.guarantee == learner.guarantee_
    assert not model.guarantee.is_private, "seeded"
    assert "NOT PRIVATE" in model.card()
    assert f"- Made by: {model.provenance.hypotheses}." in model.card()
    assert model.provenance.hypotheses.startswith(made_by)
    assert (model.provenance.records, model.provenance.public_rows) == (600, 60)
    assert PublishedModel.from_json(model.to_json()) == model
    for question in ("decision_function", "predict_proba", "predict_log_proba"):
        np.testing.assert_array_equal(getattr(model, question)(FRAME), getattr(learner, question)(FRAME))
    if learner.method_ != "tree":
        assert ("It asks the tree first" in model.rules()) == (learner.hypothesis_.feature_map.tree is not None)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("epsilon", "steps"), [(2.0, 2), (8.0, 2), (60.0, 2), (300.0, 5)])
def test_the_guarantee_of_several_steps_can_be_recomputed_from_the_file(epsilon: float, steps: int) -> None:
    """From the numbers of every step, and the slack of the draw, which no other number in the file says."""
    model = PublishedModel.from_json(PublishedModel.from_learner(fitted("auto", epsilon)).to_json())
    found: dict[str, Any] = dict(model.provenance.settings)
    events = tuple(event_of(found, f"step_{place}_", model.provenance.numerical_slack) for place in range(1, steps + 1))
    assert not found, "all numbers belong to a step"
    assert account_for(Composed(events), 1e-6).epsilon == pytest.approx(model.guarantee.epsilon, rel=1e-9)
    assert len(model.provenance.hypotheses.split("; then ")) == steps


def event_of(found: dict[str, Any], start: str, slack: float | None) -> Event:
    """What the step is to an accountant whose numbers' names begin with `start`. They are taken out of `found`."""
    numbers = {name.removeprefix(start): found.pop(name) for name in list(found) if name.startswith(start)}
    context = Context(DecisionTrees(), 600, 3)
    if "option_1_records" in numbers:
        return OneOf(tuple(event_of(numbers, f"option_{place}_", None) for place in (1, 2)))
    if "inverse_temperature" in numbers:
        assert slack is not None
        pure = Guarantee(2.0 * numbers["inverse_temperature"] + slack)
        return BoundedRangeEvent(2.0 * numbers["inverse_temperature"] + 2.0 * slack, pure)
    if "scale" in numbers and len(numbers) == 1:
        return LeafCountsStage(**numbers).event(context)
    kind = ComparisonStage if "lead" in numbers else LinearStage
    return kind(**numbers).event(context)
