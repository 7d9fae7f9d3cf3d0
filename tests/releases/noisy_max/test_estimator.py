"""`NoisyMaxAggregate` as its users meet it: beside our releases, with their habits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.releases import Forbidden, steps

import pcqr
from pcqr import BudgetExhausted, InfeasiblePlan, NoisyMaxAggregate, ParameterError
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.mechanisms.noisy_max import LaplaceMax
from pcqr.releases.protocol.answers import Usage


def fitted(queries: int = 4, **parameters: Any) -> NoisyMaxAggregate:
    X, y = steps(20_000)
    return NoisyMaxAggregate(Thresholds(), epsilon=8.0, queries=queries, **({"entropy": 0} | parameters)).fit(X, y)


def test_answers_are_accurate_and_the_guarantee_is_kept() -> None:
    X, y = steps(20_000, noise=0.1)
    release = NoisyMaxAggregate(Thresholds(), epsilon=2.0, delta=1e-6, queries=200, entropy=3).fit(X, y)
    queries, truth = steps(200, seed=1)
    wrong = (release.predict(queries) != truth).mean()
    assert release.plan_.prediction is not None
    assert wrong <= release.plan_.prediction.excess_error + 0.03
    assert release.guarantee_.within(2.0, 1e-6)
    assert release.guarantee_.epsilon > 1.999
    assert not release.guarantee_.is_private
    assert release.guarantee_.proof == "noisy_max"
    assert release.queries_answered_ == 200


def test_the_number_of_teachers_may_be_even_as_in_the_papers() -> None:
    release = fitted(teachers=250, noise="laplace")
    assert release.plan_.vote.teachers == 250
    assert (release.answer([0.9]).label, release.answer([0.1]).label) == (1, 0)
    with pytest.raises(ParameterError, match="teachers"):
        fitted(teachers=0)


def test_every_query_is_answered_until_all_are_spent() -> None:
    release = fitted(4)
    first = release.answer([0.3])
    assert (first.label, first.kind) == (0, "stable")
    assert (first.spent, first.remaining) == (Usage(1, 0), Usage(3, None))
    again = release.answer([0.3])
    assert (again.label, again.kind, again.spent) == (0, "repeated", first.spent)
    assert release.unstable_remaining_ is None
    rows = np.array([[0.3], [0.8], [0.9], [0.1], [0.7], [0.2]])
    with pytest.raises(BudgetExhausted) as caught:
        release.predict(rows)
    halted = caught.value
    assert [answer.label for answer in halted.answers] == [0, 1, 1, 0]
    assert (halted.spent, halted.requested, halted.remaining) == (Usage(4, 0), 2, Usage(0, None))
    assert release.predict(rows[:4]).tolist() == [0, 1, 1, 0]


def test_a_vote_that_splits_is_answered_too_and_keeps_its_answer() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((4_000, 1)), rng.integers(0, 2, 4_000)
    release = NoisyMaxAggregate(Thresholds("both"), epsilon=1.0, queries=60, teachers=101, entropy=0).fit(X, y)
    queries = np.linspace(0.2, 0.8, 60)[:, None]
    labels = release.predict(queries)
    assert set(labels.tolist()) == {0, 1}
    assert (release.predict(queries) == labels).all()


def test_a_batch_can_be_priced_before_it_is_sent() -> None:
    release = fitted(4)
    release.answer([0.3])
    enough, too_many = release.preview([[0.3], [0.5], [0.6], [0.7]]), release.preview([[0.5], [0.6], [0.7], [0.8]])
    assert (enough.new, enough.repeated, enough.remaining) == (3, 1, Usage(3, None))
    assert enough.is_certain
    assert not too_many.is_certain
    assert (too_many.certain, too_many.chance_of_halting) == (3, 1.0)
    assert release.queries_answered_ == 1
    assert "unstable" not in str(enough) + str(too_many)


def test_a_decision_that_is_broken_off_is_counted_and_shown_as_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    release = fitted(3)

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(type(release.plan_.vote.noise), "decide", interrupted)
        with pytest.raises(KeyboardInterrupt):
            release.answer([0.3])
    assert release.queries_answered_ == 0
    cost = release.preview([[0.3], [0.8], [0.9]])
    assert (cost.remaining, cost.certain, cost.chance_of_halting) == (Usage(2, None), 2, 1.0)
    assert cost.is_refused
    assert release.preview([[0.3], [0.8]]).chance_of_halting == 0.0
    assert [release.answer([x]).remaining for x in (0.3, 0.8)] == [Usage(1, None), Usage(0, None)]
    with pytest.raises(BudgetExhausted):
        release.answer([0.9])


@pytest.mark.parametrize("noise", ["gaussian", "laplace", "exponential", None, LaplaceMax(3.0)], ids=str)
def test_three_labels_are_answered_by_their_names_and_kept(noise: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((6_000, 1))
    names = ("low", "middle", "high")
    y = np.array(names)[np.digitize(X[:, 0], [0.3, 0.6])]
    public = np.linspace(0.0025, 0.9975, 200)[:, None]
    release = NoisyMaxAggregate(
        DecisionTrees(depth=2, cuts=8), epsilon=8.0, queries=9, teachers=151, entropy=0, classes=names, noise=noise
    ).fit(X, y, public=public)
    assert release.plan_.vote.labels == 3
    assert release.predict([[0.1], [0.45], [0.9]]).tolist() == list(names)
    release.save(tmp_path / "kept")
    release.close()
    found = pcqr.release.open(tmp_path / "kept")
    assert found.plan_ == release.plan_
    assert found.predict([[0.1], [0.5]]).tolist() == ["low", "middle"]
    assert found.queries_answered_ == 4
    found.close()


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"delta": 0.0}, "delta"),
        ({"teachers": 0}, "teachers"),
        ({"noise": "normal"}, "noise"),
    ],
    ids=str,
)
def test_bad_parameters_are_named_before_noise_is_drawn(change: dict[str, Any], name: str) -> None:
    X, y = steps(2_000)
    parameters: dict[str, Any] = {"hypotheses": Thresholds(), "epsilon": 2.0, "entropy": Forbidden()} | change
    with pytest.raises(ParameterError) as caught:
        NoisyMaxAggregate(**parameters).fit(X, y)
    assert caught.value.name == name


def test_more_teachers_than_records_are_refused_before_noise_is_drawn() -> None:
    X, y = steps(40)
    with pytest.raises(InfeasiblePlan, match="n_samples = 40"):
        NoisyMaxAggregate(Thresholds(), teachers=101, entropy=Forbidden()).fit(X, y)


def test_the_plan_can_be_seen_without_data() -> None:
    release = fitted(4)
    assert NoisyMaxAggregate(Thresholds(), epsilon=8.0, queries=4).plan(20_000, 1).vote == release.plan_.vote
