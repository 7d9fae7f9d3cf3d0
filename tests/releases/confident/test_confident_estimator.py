"""`ConfidentMaxAggregate` as its users meet it: labels where teachers agree, ⊥ elsewhere, and an end to both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from support.releases import Forbidden, steps

import pcqr
from pcqr import BudgetExhausted, ConfidentMaxAggregate, InfeasiblePlan, ParameterError
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import Asked

SURE: dict[str, Any] = {"teachers": 101, "threshold": 78, "check_scale": 4.0, "answer_scale": 4.0}
"""Unanimous votes pass, split ones do not (a chance of 10⁻⁸): they are 23 votes away, nearly 6 standard deviations."""


def fitted(queries: int = 6, answered: int = 3, **parameters: Any) -> ConfidentMaxAggregate:
    X, y = steps(20_000)
    given = {"epsilon": 20.0, "queries": queries, "most_labels": answered, "entropy": 0} | SURE | parameters
    return ConfidentMaxAggregate(Thresholds(), **given).fit(X, y)


def split_and_agreed() -> tuple[float, float]:
    """A query on which the teachers of `fitted` do not agree, and one on which they do."""
    return 0.4, 0.9


def test_where_teachers_agree_there_is_a_label_and_elsewhere_none() -> None:
    release = fitted()
    split, agreed = split_and_agreed()
    first, second = release.answer([agreed]), release.answer([split])
    assert (first.label, first.kind, first.remaining) == (1, "stable", Usage(5, None, 2))
    assert (second.label, second.kind, second.remaining) == (None, "unstable", Usage(4, None, 2))
    assert (release.labels_remaining_, release.unstable_remaining_, release.unstable_answers_) == (2, None, 1)
    assert release.answer([split]).kind == "repeated"


def test_a_batch_can_be_priced_before_it_is_sent() -> None:
    release = fitted(queries=6, answered=3)
    cost = release.preview([[0.1], [0.2], [0.3], [0.4], [0.45]])
    assert (cost.new, cost.certain, cost.remaining) == (5, 3, Usage(6, None, 3))
    assert not cost.is_certain
    assert not cost.is_refused
    assert "Remaining: 6 queries and 3 labels. A label takes one of the labels" in str(cost)
    assert release.preview([[0.1], [0.2], [0.3]]).is_certain
    assert release.preview([[x / 10] for x in range(7)]).is_refused
    assert release.queries_answered_ == 0


@pytest.mark.parametrize("cautious", [False, True])
def test_it_is_kept_with_what_is_left_of_labels(cautious: bool, tmp_path: Path) -> None:
    release = fitted()
    release.answer([0.1])
    release.save(tmp_path / "kept", cautious=cautious)
    split, agreed = split_and_agreed()
    assert release.answer([split]).remaining == Usage(4, None, 2)
    release.close()
    found = pcqr.release.open(tmp_path / "kept")
    assert (found.plan_, found.guarantee_) == (release.plan_, release.guarantee_)
    assert found.answer([agreed]).remaining == Usage(3, None, 1)
    assert found.answer([0.2]).remaining == Usage(2, None, 0)
    with pytest.raises(BudgetExhausted):
        found.answer([0.3])
    assert found.answer([0.1]).kind == "repeated"
    found.close()
    again = pcqr.release.open(tmp_path / "kept")
    assert again.labels_remaining_ == 0
    again.close()


def test_a_request_with_a_token_is_told_the_same_again_labels_left_included(tmp_path: Path) -> None:
    release = fitted()
    release.save(tmp_path / "kept")
    split, agreed = split_and_agreed()
    asked = Asked(release.points([[agreed], [split]]), asker="ann", token=b"request 7")
    (first,) = release.ask_together([asked], release.quota_table())
    assert [reply.labels_remaining for reply in first.replies] == [2, 2]
    release.answer([0.1])
    (again,) = release.ask_together([asked], release.quota_table())
    assert again.is_replay
    assert again.replies == first.replies
    release.close()


def test_three_labels_and_any_classifier() -> None:
    X = np.random.default_rng(0).random((6_000, 1))
    names = ("low", "middle", "high")
    y = np.array(names)[np.digitize(X[:, 0], [0.3, 0.6])]
    common: dict[str, Any] = SURE | {"epsilon": 20.0, "queries": 6, "most_labels": 5, "entropy": 0, "classes": names}
    trees = ConfidentMaxAggregate(DecisionTrees(depth=2, cuts=8), **common)
    trees.fit(X, y, public=np.linspace(0.0025, 0.9975, 200)[:, None])
    bayes = ConfidentMaxAggregate(GaussianNB(), **common).fit(X, y)
    for release in (trees, bayes):
        assert release.plan_.vote.labels == 3
        assert [release.answer([x]).label for x in (0.1, 0.45, 0.9)] == list(names)


def test_the_papers_run_on_mnist_can_be_planned() -> None:
    release = ConfidentMaxAggregate(
        DecisionTrees(depth=2, labels=10),
        epsilon=2.55,
        delta=1e-5,
        queries=640,
        most_labels=286,
        threshold=200,
        check_scale=150.0,
        answer_scale=40.0,
        teachers=250,
    )
    plan = release.plan(60_000, public=np.random.default_rng(0).random((50, 3)))
    assert plan.guarantee.epsilon == pytest.approx(2.54, abs=0.01)
    assert plan.guarantee.delta == 1e-5
    assert str(plan.remaining) == "640 queries and 286 labels"
    with pytest.raises(InfeasiblePlan, match=r"cost ε = 2\.543"):
        clone(release).set_params(epsilon=2.5).plan(60_000, public=np.random.default_rng(0).random((50, 3)))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"delta": 0.0}, "delta"),
        ({"teachers": 0}, "teachers"),
        ({"most_labels": 7}, "most_labels"),
        ({"threshold": 1.5}, "threshold"),
        ({"check_scale": -1.0}, "check_scale"),
        ({"answer_scale": float("inf")}, "answer_scale"),
    ],
    ids=str,
)
def test_bad_parameters_are_named_before_noise_is_drawn(change: dict[str, Any], name: str) -> None:
    X, y = steps(2_000)
    parameters: dict[str, Any] = {"hypotheses": Thresholds(), "epsilon": 20.0, "queries": 6, "entropy": Forbidden()}
    with pytest.raises(ParameterError) as caught:
        ConfidentMaxAggregate(**(parameters | change)).fit(X, y)
    assert caught.value.name == name
