"""A class that is fixed before the records are seen answers by one draw, and no other class does."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.releases import Forbidden, steps

import pcqr
from pcqr import AgnosticRelease, ParameterError, SemiPrivateLearner, registry
from pcqr.advice.question import plan_ag_priv_cl
from pcqr.data.records import InMemory, ParquetTable
from pcqr.data.schema import Column, Schema
from pcqr.datasets import write_table
from pcqr.hypotheses import (
    DecisionTrees,
    Finite,
    Halfspaces,
    Intervals,
    Rectangles,
    Stumps,
    Thresholds,
    UnionsOfIntervals,
)
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.thresholds import Threshold
from pcqr.planner.request import Request
from pcqr.privacy.composition import Context, account
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.unit import USER
from pcqr.releases.agnostic.planning import plan_direct
from pcqr.releases.base.answering import first_batch_cost
from pcqr.releases.protocol.plan import Aim, Budget
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VotingPlan
from pcqr.releases.universal.plan import ClassifierPlan
from pcqr.releases.universal.run import answered_by_draw

FIXED = (Stumps(cuts=(0.2, 0.4, 0.6)), Finite([Threshold(0.4), Threshold(0.8), Threshold(0.4, up=False)]))


class Mine(Thresholds):
    """A class of the user's own, which says nothing of its members."""


OPEN: tuple[HypothesisClass, ...] = (
    *(Thresholds(), Intervals(), UnionsOfIntervals(2), Stumps(), Halfspaces(), Rectangles()),
    *(DecisionTrees(depth=1), Mine()),
)
PUBLIC = np.linspace(0.0, 1.0, 101)[:, None]


def request(hypotheses: HypothesisClass, public: int | None = None) -> Request:
    features = hypotheses.features or 1
    return Request(
        records=5_000,
        features=features,
        hypotheses=hypotheses,
        budget=Budget(1.0, 1e-6),
        aim=Aim(20, 0.1, 0.05),
        public=public,
    )


def test_no_class_of_the_library_was_forgotten() -> None:
    """A new class stands here among those that may answer, or among those that must not."""
    classes = {registry.resolve(family.make) for family in registry.classes()}
    assert {made for made in classes if not made.only_learns} == {type(made) for made in (*FIXED, *OPEN)} - {Mine}


@pytest.mark.parametrize("hypotheses", FIXED, ids=lambda made: type(made).__name__)
def test_it_is_the_draw_of_a_semi_private_learner(hypotheses: HypothesisClass) -> None:
    """The same seed, the same member, at the same price, pure; and it answers without end."""
    X, y = steps(5_000, noise=0.1)
    release = AgnosticRelease(hypotheses, queries=3, entropy=4).fit(X, y)
    learner = SemiPrivateLearner(hypotheses, entropy=4).fit(X, y)
    assert isinstance(release.plan_, ClassifierPlan)
    assert release.plan_.draw == learner.plan_.draw
    assert (release.plan_.proved, release.plan_.certified) == (learner.plan_.proved, learner.plan_.certified)
    assert release.guarantee_ == learner.guarantee_
    assert release.guarantee_.is_pure
    queries = np.random.default_rng(1).random((400, 1))
    assert release.predict(queries).tolist() == learner.predict(queries).tolist()
    assert {answer.kind for answer in release.answers(queries)} == {"published"}
    assert (release.queries_answered_, release.unstable_answers_) == (0, 0)


def test_all_queries_are_expected_to_be_answered_and_cost_nothing() -> None:
    X, y = steps(5_000)
    release = AgnosticRelease(FIXED[0], queries=3, entropy=0)
    plan = release.plan(5_000, 1)
    assert plan.expected_answers == 3.0
    assert plan.prediction.unanswered_share == 0.0
    assert 0.0 < plan.prediction.excess_error < 0.1
    cost = release.fit(X, y).preview(PUBLIC)
    assert cost == first_batch_cost(plan, PUBLIC)
    assert (cost.published, cost.is_refused, cost.is_certain) == (101, False, True)


def test_trees_take_several_labels() -> None:
    rng = np.random.default_rng(0)
    X, public = rng.random((6_000, 1)), rng.random((300, 1))
    names = np.array(["low", "middle", "high"])
    y = names[np.digitize(X[:, 0], [0.3, 0.7])]
    for release in (
        AgnosticRelease(DecisionTrees(depth=2), epsilon=2.0, classes=names.tolist(), entropy=0),
        AgnosticRelease(DecisionTrees(depth=2), epsilon=2.0, entropy=0),
    ):
        assert (release.fit(X, y, public=public).predict(X) == y).mean() > 0.9
    numbered = AgnosticRelease(DecisionTrees(depth=2, labels=3), epsilon=2.0, entropy=0)
    assert numbered.fit(X, np.digitize(X[:, 0], [0.3, 0.7]), public=public).classes_.tolist() == [0, 1, 2]
    with pytest.raises(ParameterError, match="public rows or a schema"):
        AgnosticRelease(DecisionTrees(depth=2, labels=3), entropy=Forbidden()).fit(X, y)


@pytest.mark.parametrize("hypotheses", OPEN, ids=lambda made: type(made).__name__)
@pytest.mark.parametrize("public", [None, 50])
def test_a_class_of_private_points_cannot_answer(hypotheses: HypothesisClass, public: int | None) -> None:
    """Neither the planner, nor the accountant, nor the algorithm can say what its draw would cost."""
    asked = request(hypotheses, public)
    with pytest.raises(ParameterError, match="hypotheses must be a class that is fixed"):
        plan_direct(asked)
    with pytest.raises(ParameterError, match="public"):
        account(DrawStage(0.5), Context(hypotheses, asked.records, asked.features))
    X = np.random.default_rng(0).random((40, asked.features))
    records = InMemory(X, (X[:, 0] > 0.5).astype(np.int8))
    with pytest.raises(ParameterError, match="hypotheses must be a class that is fixed"):
        answered_by_draw(hypotheses, records, DrawStage(0.5), 5, Forbidden())
    assert isinstance(plan_ag_priv_cl(asked, None), VotingPlan)


@pytest.mark.parametrize("hypotheses", [Thresholds(), Stumps()], ids=lambda made: type(made).__name__)
def test_public_rows_do_not_fix_a_class_of_points(hypotheses: HypothesisClass) -> None:
    """They make the class that ĥ relabels from. It is not what answers."""
    X, y = steps(5_000)
    release = AgnosticRelease(hypotheses, epsilon=4.0, queries=20, entropy=0).fit(X, y, public=PUBLIC)
    assert isinstance(release.plan_, VotingPlan)


@pytest.mark.parametrize(
    "parameters", [{"vote": "stability"}, {"vote": "noisy max"}, {"teachers": 99}, {"inverse_temperature": 0.1}]
)
def test_who_asks_for_votes_gets_votes(parameters: dict[str, Any]) -> None:
    plan = AgnosticRelease(FIXED[0], epsilon=4.0, queries=20, **parameters).plan(5_000, 1)
    assert isinstance(plan, VotingPlan)


@pytest.mark.parametrize("hypotheses", [*FIXED, DecisionTrees(depth=1)], ids=lambda made: type(made).__name__)
def test_persons_and_tables_in_parts_are_answered_by_one_draw_too(hypotheses: HypothesisClass, tmp_path: Path) -> None:
    X, y = steps(6_000)
    public = PUBLIC if isinstance(hypotheses, DecisionTrees) else None
    release = AgnosticRelease(hypotheses, epsilon=4.0, queries=3, entropy=0)
    release.fit(X, y, public=public, groups=np.arange(6_000) // 2)
    assert isinstance(release.plan_, ClassifierPlan)
    assert release.guarantee_.unit == USER
    assert (release.guarantee_.is_pure, release.n_records_) == (True, 3_000)
    assert release.plan_.draw == AgnosticRelease(hypotheses, epsilon=4.0, queries=3).plan(3_000, 1, public).draw
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pcqr[data]")
    for number, rows in enumerate(np.array_split(np.arange(6_000), 3)):
        write_table(tmp_path / f"{number}.parquet", {"x": X[rows, 0].tolist(), "y": y[rows].astype(int).tolist()})
    schema = Schema((Column("x", bounds=(0.0, 1.0)),))
    parted = AgnosticRelease(hypotheses, epsilon=4.0, queries=3, entropy=0)
    parted.fit(ParquetTable(tmp_path, label="y"), schema=schema)
    in_memory = AgnosticRelease(hypotheses, epsilon=4.0, queries=3, entropy=0).fit({"x": X[:, 0]}, y, schema=schema)
    assert parted.plan_.stage == in_memory.plan_.stage
    assert parted.predict({"x": PUBLIC[:, 0]}).tolist() == in_memory.predict({"x": PUBLIC[:, 0]}).tolist()


def test_a_kept_release_goes_on_and_holds_no_secret(tmp_path: Path) -> None:
    X, y = steps(5_000)
    release = AgnosticRelease(FIXED[0], queries=3).fit(X, y)
    labels = release.predict(PUBLIC).tolist()
    release.save(tmp_path / "release", anchor=tmp_path / "anchor").close()
    assert not (tmp_path / "release" / "secret.pcqr").exists()
    again = pcqr.release.open(tmp_path / "release", anchor=tmp_path / "anchor")
    assert again.predict(PUBLIC).tolist() == labels
    assert again.plan_ == release.plan_
    again.warm_up()
    again.close()


def test_a_copy_answers_as_the_original() -> None:
    X, y = steps(5_000)
    release = AgnosticRelease(FIXED[1], queries=3).fit(X, y)
    copied = pickle.loads(pickle.dumps(release))  # noqa: S301
    assert copied.predict(PUBLIC).tolist() == release.predict(PUBLIC).tolist()


def test_of_the_records_a_draw_reads_once() -> None:
    """All coins are those of one draw: answers, however many, take none."""
    X, y = steps(1_000)
    entropy = SeededEntropy(3)
    release = answered_by_draw(FIXED[1], InMemory(X, y.astype(np.int8)), DrawStage(0.5), 5, entropy)
    after = entropy.words(1)
    other = SeededEntropy(3)
    answered_by_draw(FIXED[1], InMemory(X, y.astype(np.int8)), DrawStage(0.5), 5, other)
    assert [answer.kind for answer in release.answers(PUBLIC)] == ["published"] * 101
    assert other.words(1).tolist() == after.tolist()
