"""The releases as their users meet them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from support.releases import RELEASES, Forbidden, steps

from pcqr import (
    AgnosticRelease,
    BudgetExhausted,
    DataError,
    InfeasiblePlan,
    NoisyMaxAggregate,
    ParameterError,
    SemiPrivateLearner,
    SubsampleAggregate,
    UnansweredWarning,
    UniversalRelease,
)
from pcqr.data.schema import Column, Schema
from pcqr.errors import NothingLearned
from pcqr.hypotheses import DecisionTrees, Stumps, Thresholds
from pcqr.releases.base.answering import first_batch_cost
from pcqr.releases.base.inputs import FitContext, PublicInfo
from pcqr.releases.classifier.rule import least_n_epsilon
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.subsample.run import StableVotes
from pcqr.releases.universal.run import UnvPrivCl


@pytest.mark.parametrize("release", RELEASES)
def test_answers_are_accurate_and_the_guarantee_is_kept(release: Any) -> None:
    X, y = steps(20_000, noise=0.1)
    fitted = release(Thresholds(), epsilon=2.0, delta=1e-6, queries=200, entropy=3).fit(X, y)
    queries, truth = steps(200, seed=1)
    assert (fitted.predict(queries) == truth).mean() > 0.93
    assert fitted.guarantee_.within(2.0, 1e-6)
    assert fitted.guarantee_.epsilon > 1.9
    assert not fitted.guarantee_.is_private
    assert fitted.queries_answered_ == 200


def test_the_operating_systems_entropy_is_the_default_and_is_private() -> None:
    X, y = steps(20_000)
    # With these parameters a unanimous vote is unstable with probability below 10⁻⁴⁰: no false alarm.
    fitted = AgnosticRelease(Thresholds(), epsilon=8.0, unstable=1, teachers=301).fit(X, y)
    assert fitted.guarantee_.is_private
    assert fitted.answer([0.9]).label == 1
    assert fitted.answer([0.1]).label == 0


def test_two_unseeded_fits_differ_and_two_seeded_ones_do_not() -> None:
    X, y = steps(2_000, noise=0.3)
    public = np.linspace(0, 1, 50)[:, None]

    def cut(entropy: int | None) -> Any:
        return SemiPrivateLearner(Thresholds(), 0.01, entropy=entropy).fit(X, y, public=public).hypothesis_

    assert len({cut(7) for _ in range(3)}) == 1
    assert len({cut(None) for _ in range(12)}) > 1


def test_a_repeated_query_costs_nothing_and_zero_has_one_sign() -> None:
    X, y = steps(20_000)
    fitted = AgnosticRelease(Thresholds(), epsilon=2.0, entropy=0).fit(X - 0.4, y)
    first = fitted.answer([0.3])
    again = fitted.answer([0.3])
    assert (first.kind, again.kind) == ("stable", "repeated")
    assert again.label == first.label
    assert again.spent == first.spent
    fitted.answer([0.0])
    assert fitted.answer([-0.0]).kind == "repeated"
    assert fitted.queries_answered_ == 2


def halting(on_unstable: str = "abstain") -> SubsampleAggregate:
    """A release on coin-flip labels: every vote splits, so that it halts after its 2 unstable answers."""
    rng = np.random.default_rng(0)
    X = rng.random((4_000, 1))
    y = rng.integers(0, 2, 4_000)
    release = SubsampleAggregate(
        Thresholds("both"), epsilon=4.0, unstable=2, teachers=101, on_unstable=on_unstable, entropy=0
    )
    with pytest.warns(UnansweredWarning, match="planned queries"):
        return release.fit(X, y)


def test_a_spent_budget_says_so_and_keeps_what_was_answered() -> None:
    release = halting()
    queries = np.linspace(0.2, 0.8, 40)[:, None]
    with pytest.raises(BudgetExhausted) as caught:
        release.predict(queries)
    halted = caught.value
    assert halted.spent.unstable == 2
    assert halted.remaining.unstable == 0
    assert halted.requested == 40 - len(halted.answers)
    assert len(halted.answers) == release.queries_answered_
    for row, answer in enumerate(halted.answers):
        logged = release.answer(queries[row])
        assert (logged.kind, logged.label) == ("repeated", answer.label)
    with pytest.raises(BudgetExhausted, match="Requested: 1 more query"):
        release.answer([0.123])


def test_unstable_answers_abstain_or_flip_one_coin_for_ever() -> None:
    abstaining, flipping = halting(), halting("random")
    query = [0.5]
    said = abstaining.answer(query)
    assert (said.label, said.kind) == (None, "unstable")
    coin = flipping.answer(query)
    assert coin.kind == "unstable"
    assert coin.label in (0, 1)
    assert all(flipping.answer(query).label == coin.label for _ in range(5))
    assert abstaining.predict([query])[0] == coin.label  # predict uses the coin whatever on_unstable says


def test_the_coins_of_unstable_answers_are_fair() -> None:
    """15 coins of a seeded run; with the system's entropy all of them would be alike once in 16,384 times."""
    rng = np.random.default_rng(0)
    X, y = rng.random((2_000, 1)), rng.integers(0, 2, 2_000)
    release = SubsampleAggregate(Thresholds(), epsilon=5.0, queries=20, unstable=20, teachers=101, entropy=0)
    labels = release.fit(X, y).predict(np.linspace(0.3, 0.7, 15)[:, None])
    assert release.unstable_answers_ == 15
    assert 3 <= labels.sum() <= 12


def test_calibrated_releases_go_on_past_the_plan() -> None:
    X, y = steps(20_000)
    release = AgnosticRelease(Thresholds(), epsilon=2.0, queries=5, entropy=0).fit(X, y)
    answers = [release.answer([x]) for x in np.linspace(0.6, 0.9, 8)]
    assert [a.beyond_plan for a in answers] == [False] * 5 + [True] * 3
    assert answers[-1].remaining.queries is None


def test_universal_publishes_after_its_votes_and_then_answers_for_ever() -> None:
    X, y = steps(20_000, noise=0.1)
    release = UniversalRelease(Thresholds(), epsilon=2.0, queries=30, entropy=1).fit(X, y)
    with pytest.raises(AttributeError, match="is_published_"):
        release.hypothesis_  # noqa: B018
    after = release.plan_.publish.after_queries
    queries, _ = steps(after + 50, seed=2)
    kinds = [release.answer(x).kind for x in queries]
    assert set(kinds[:after]) <= {"stable", "unstable"}
    assert set(kinds[after:]) == {"published"}
    assert release.is_published_
    test, truth = steps(1_000, seed=4)
    assert (release.predict(test) == truth).mean() > 0.9
    assert (release.hypothesis_.predict(test) == release.predict(test)).all()
    assert isinstance(release._protocol, UnvPrivCl)
    assert release._protocol._records is None


def test_universal_publishes_as_soon_as_unstable_answers_run_out() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((4_000, 1)), rng.integers(0, 2, 4_000)
    release = UniversalRelease(
        Thresholds("both"), epsilon=4.0, unstable=1, queries=200, inverse_temperature=1e-4, teachers=51, entropy=5
    ).fit(X, y)
    kinds = [release.answer([x]).kind for x in rng.random(200)]
    assert kinds.count("unstable") <= 1
    if "unstable" in kinds:
        assert set(kinds[kinds.index("unstable") + 1 :]) == {"published"}
    assert release.is_published_


@pytest.mark.parametrize("release", RELEASES)
def test_a_preview_spends_nothing_and_is_the_same_before_the_fit(release: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = steps(20_000, noise=0.1)
    tested = {} if release is UniversalRelease else {"vote": "stability"}
    unfitted = release(Thresholds(), epsilon=2.0, queries=40, entropy=0, **tested)
    plan = unfitted.plan(20_000, 1)
    fitted = unfitted.fit(X, y)
    assert replace(plan, guarantee=fitted.guarantee_) == fitted.plan_
    queries = np.array([[0.1], [0.2], [0.1], [-0.0], [0.0]])
    for part in ("counts", "decide"):
        monkeypatch.setattr(StableVotes, part, lambda *_: pytest.fail("the votes were touched"))
    fitted._votes._entropy = Forbidden()
    cost = fitted.preview(queries)
    assert cost == fitted.preview(queries) == first_batch_cost(plan, queries)
    assert (cost.requested, cost.new, cost.repeated, cost.beyond_plan) == (5, 3, 2, 0)
    assert cost.remaining.unstable == fitted.unstable_remaining_ == plan.vote.sparse_vector.unstable
    share = plan.prediction.unstable_share
    assert 0 < share < 1
    if cost.remaining.unstable >= 3:
        assert cost.expected_unstable == pytest.approx(3 * share)
        least, most = plan.prediction.unstable_range
        assert cost.unstable_range == pytest.approx((3 * least, 3 * most))
    assert fitted.queries_answered_ == 0


def test_a_preview_of_a_universal_release_sees_publication_coming() -> None:
    X, y = steps(20_000, noise=0.1)
    release = UniversalRelease(Thresholds(), epsilon=4.0, queries=8, entropy=1).fit(X, y)
    release.predict([[0.01], [0.02]])
    after = release.plan_.publish.after_queries
    queries = np.array([[0.01], *([x] for x in np.linspace(0.9, 1.0, 20)), [0.02], [0.9]])
    cost = release.preview(queries)
    assert (cost.repeated, cost.new, cost.published) == (1, after - 2, 23 - 1 - (after - 2))
    assert cost.is_certain
    kinds = [release.answer(x).kind for x in queries]
    assert kinds == ["repeated"] + ["stable"] * (after - 2) + ["published"] * cost.published
    now = release.preview(queries)
    assert (now.published, now.new, now.repeated, now.expected_unstable) == (23, 0, 0, 0.0)


def test_a_batch_can_be_refused_before_anything_is_spent() -> None:
    release = halting()
    queries = np.linspace(0.2, 0.8, 40)[:, None]
    assert release.preview(queries[:2]).is_certain
    assert not release.preview(queries).is_certain
    with pytest.raises(BudgetExhausted) as caught:
        release.predict(queries)
    answered = len(caught.value.answers)
    cost = release.preview(queries)
    assert cost.is_refused
    assert (cost.repeated, cost.certain, cost.chance_of_halting) == (answered, answered, 1.0)


def test_a_preview_in_paper_mode_knows_the_hard_stop() -> None:
    release = SubsampleAggregate(Thresholds(), epsilon=0.9, queries=50, mode="paper")
    plan = release.plan(10**9, 1)
    cost = first_batch_cost(plan, np.arange(60.0)[:, None])
    assert cost.remaining.queries == 50
    assert cost.certain == min(50, plan.tested.sparse_vector.unstable)
    assert (cost.is_refused, cost.chance_of_halting, cost.expected_unstable) == (True, 1.0, None)
    assert cost.beyond_plan == 10
    universal = UniversalRelease(Thresholds(), epsilon=0.9, queries=50, mode="paper").plan(10**13, 1)
    assert first_batch_cost(universal, np.arange(60.0)[:, None]).is_certain


@pytest.mark.parametrize("release", [*RELEASES, NoisyMaxAggregate])
@pytest.mark.parametrize("hypotheses", [DecisionTrees(), Stumps()], ids=["trees", "stumps"])
def test_the_plan_with_public_points_is_the_one_that_fit_makes(release: Any, hypotheses: Any) -> None:
    rng = np.random.default_rng(0)
    X, public = rng.random((8_000, 2)), rng.random((200, 2))
    unfitted = release(hypotheses, epsilon=4.0, queries=20, teachers=51, entropy=0)
    plan = unfitted.plan(8_000, 2, public=public)
    assert plan == unfitted.plan(8_000, public=public)
    fitted = unfitted.fit(X, X[:, 0] > 0.5, public=public)
    assert replace(plan, guarantee=fitted.guarantee_) == fitted.plan_


def test_the_plan_with_a_schema_is_the_one_that_fit_makes() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    words = rng.choice(["a", "b", "c"], 6_000)
    schema = Schema((Column("x", "numeric", bounds=(0, 1)), Column("w", "categorical", categories=("a", "b", "c"))))
    unfitted = AgnosticRelease(DecisionTrees(), epsilon=4.0, queries=20, entropy=0)
    plan = unfitted.plan(6_000, 2, schema=schema)
    fitted = unfitted.fit(pandas.DataFrame({"x": rng.random(6_000), "w": words}), words == "a", schema=schema)
    assert replace(plan, guarantee=fitted.guarantee_) == fitted.plan_
    with pytest.raises(ParameterError, match="features must be 2"):
        unfitted.plan(6_000, 3, schema=schema)


@pytest.mark.parametrize("epsilon", [0.1, 4.0])
def test_trees_vote_at_a_depth_that_does_not_depend_on_epsilon(epsilon: float) -> None:
    """All releases that vote inherit it."""
    rows = np.random.default_rng(0).random((500, 40))
    public = [PublicInfo(n, 40, rows, None) for n in (29_999, 30_000, 10**6)]

    def depth(trees: DecisionTrees, place: int) -> int | None:
        context = FitContext(trees, public[place])
        SubsampleAggregate(epsilon=epsilon)._prepare_class(context)
        return cast(DecisionTrees, context.hypotheses).depth

    assert [depth(DecisionTrees(), place) for place in range(3)] == [1, 2, 2]
    assert depth(DecisionTrees(deepest=1), 2) == 1
    assert depth(DecisionTrees(depth=3), 0) == 3, "declared"
    assert depth(DecisionTrees(operations=1e9), 2) == 1, "too much work"


def test_trees_vote_at_a_depth_that_runs() -> None:
    public = np.random.default_rng(0).random((500, 40))
    release = AgnosticRelease(DecisionTrees(), epsilon=2.0, vote="stability")
    assert release.plan(36_000, public=public).vote.teachers > 1


def test_what_cannot_be_previewed_is_refused() -> None:
    release = AgnosticRelease(Thresholds(), epsilon=2.0)
    with pytest.raises(NotFittedError):
        release.preview([[0.0]])
    with pytest.raises(ParameterError, match="records"):
        release.plan(0, 1)
    with pytest.raises(DataError, match="1 column"):
        release.plan(1000, 2)
    with pytest.raises(InfeasiblePlan, match="Nearest feasible change"):
        release.plan(10, 1)
    with pytest.raises(ParameterError, match="public rows or a schema"):
        AgnosticRelease(DecisionTrees(depth=1)).plan(1000, 2)
    with pytest.raises(ParameterError, match="features must be an integer"):
        release.plan(1000)
    with pytest.raises(ParameterError, match="features must be 1, as the public rows"):
        release.plan(1000, 2, public=[[0.1], [0.2]])
    X, y = steps(20_000)
    with pytest.raises(ValueError, match="NaN"):
        release.fit(X, y).preview([[np.nan]])


def test_public_points_make_relabelling_cheaper() -> None:
    X, y = steps(5_000)
    public = np.linspace(0, 1, 101)[:, None]
    release = AgnosticRelease(Thresholds(), epsilon=2.0, inverse_temperature=0.5, entropy=0).fit(X, y, public=public)
    by_itself = AgnosticRelease(Thresholds(), epsilon=2.0, inverse_temperature=0.5, entropy=0).fit(X, y)
    assert release.plan_.tested.public == 101
    assert release.plan_.tested.sampling_rate > by_itself.plan_.tested.sampling_rate
    assert release.answer([0.9]).label == 1


def test_labels_keep_their_names() -> None:
    X, y = steps(5_000)
    names = np.array(["benign", "malign"])
    release = AgnosticRelease(Thresholds(), epsilon=4.0, entropy=0, classes=("benign", "malign")).fit(X, names[y])
    assert release.answer([0.9]).label == "malign"
    assert list(release.predict([[0.1], [0.9]])) == ["benign", "malign"]
    assert release.guarantee_.assumptions == ()
    read = AgnosticRelease(Thresholds(), epsilon=4.0, entropy=0).fit(X, names[y])
    assert any("read from y" in assumption for assumption in read.guarantee_.assumptions)


def test_one_class_of_zeros_and_ones_is_fine() -> None:
    X, _ = steps(3_000)
    release = AgnosticRelease(Thresholds(), epsilon=4.0, entropy=0).fit(X, np.ones(3_000))
    assert list(release.classes_) == [0, 1]
    assert release.answer([0.5]).label == 1


def test_what_the_caller_does_to_its_arrays_later_does_not_matter() -> None:
    X, y = steps(20_000, noise=0.1)
    release = UniversalRelease(Thresholds(), epsilon=2.0, queries=30, entropy=1).fit(X, y)
    X[:] = 0.0
    y[:] = 0
    buffer = np.empty(1)
    for value in np.linspace(0.0, 1.0, release.plan_.publish.after_queries):
        buffer[0] = value
        release.answer(buffer)
    buffer[0] = np.nan
    test, truth = steps(1_000, seed=4)
    assert (release.predict(test) == truth).mean() > 0.9
    assert len({entry.point[0, 0] for entry in release._votes.transcript}) == release.queries_answered_


def test_short_floats_do_not_shorten_epsilon() -> None:
    X, y = steps(20_000)
    eta: Any = np.float16(0.3210169491525424)
    release = AgnosticRelease(Thresholds(), epsilon=2.0, inverse_temperature=eta, entropy=0).fit(X, y)
    vote = release.plan_.tested
    inner = 2 * np.log1p(np.exp(np.float64(eta))) + vote.sparse_vector.guarantee.epsilon
    assert release.guarantee_.epsilon >= np.log1p(vote.sampling_rate * np.expm1(inner)) * (1 - 1e-13)
    assert release.guarantee_.epsilon <= 2.0


def test_trees_answer_by_votes_with_the_price_of_a_fixed_class() -> None:
    rng = np.random.default_rng(0)
    X, public = rng.random((20_000, 2)), rng.random((500, 2))
    y = (X[:, 0] > 0.5) & (X[:, 1] > 0.3)
    trees = DecisionTrees(depth=2, cuts=5)
    release = AgnosticRelease(trees, epsilon=4.0, vote="stability", entropy=0).fit(X, y, public=public)
    assert release.answer([0.9, 0.9]).label == 1
    assert release.answer([0.1, 0.9]).label == 0
    assert any("a fixed class: R = 2η" in step for step in release.guarantee_.steps)
    plain = AgnosticRelease(Thresholds(), epsilon=4.0, vote="stability", entropy=0).fit(X[:, :1], y)
    assert any("R = 2·ln(1 + e^η)" in step for step in plain.guarantee_.steps)


def test_several_classes_can_be_declared_with_the_class_or_by_name() -> None:
    rng = np.random.default_rng(0)
    X, public = rng.random((6_000, 1)), rng.random((300, 1))
    y = np.digitize(X[:, 0], [0.3, 0.7])
    numbered = SemiPrivateLearner(DecisionTrees(depth=2, labels=3), 2.0, entropy=0).fit(X, y, public=public)
    assert numbered.classes_.tolist() == [0, 1, 2]
    assert not any("read from y" in assumption for assumption in numbered.guarantee_.assumptions)
    names = np.array(["low", "middle", "high"])
    named = SemiPrivateLearner(DecisionTrees(depth=2), 2.0, entropy=0, classes=names.tolist()).fit(
        X, names[y], public=public
    )
    assert (named.predict(X) == names[y]).mean() > 0.9
    read = SemiPrivateLearner(DecisionTrees(depth=2), 2.0, entropy=0).fit(X, y, public=public)
    assert any("read from y" in assumption for assumption in read.guarantee_.assumptions)
    with pytest.raises(ParameterError, match="two label names"):
        AgnosticRelease(DecisionTrees(depth=2, labels=3), vote="stability", entropy=Forbidden()).fit(
            X, y, public=public
        )


@pytest.mark.parametrize("labels", [2, 3])
def test_where_a_tree_can_learn_nothing_fit_and_plan_say_so_before_anything_is_drawn(labels: int) -> None:
    (X, y), public = steps(2_000), np.arange(0.05, 1.0, 0.1)[:, None]
    asks_nine = DecisionTrees(depth=2, labels=labels)
    enough = math.ceil(least_n_epsilon(9, labels) / 0.1)
    SemiPrivateLearner(asks_nine, 0.1).plan(enough, public=public)  # warnings are errors
    told = f"9 predicates and {labels} classes: expect no more than the most common label. Take n ≥ {enough} at"
    with pytest.warns(NothingLearned, match=told):
        SemiPrivateLearner(asks_nine, 0.1).plan(enough - 1, public=public)
    with pytest.raises(NothingLearned, match=told):
        SemiPrivateLearner(asks_nine, 0.1, entropy=Forbidden()).fit(X[: enough - 1], y[: enough - 1], public=public)
    SemiPrivateLearner(Stumps(), 0.1).plan(2, public=public)  # the bound is about trees


@pytest.mark.filterwarnings("ignore::pcqr.errors.PublicRowsCoincide")  # two columns, cut off at public bounds
def test_frames_of_mixed_columns_are_read_through_a_schema() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)

    def frame(n: int) -> Any:
        age = np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 80, n))
        return pandas.DataFrame({"age": age, "job": rng.choice(["clerk", "nurse", "cook"], n)})

    private, public = frame(4_000), frame(400).assign(age=lambda shown: shown["age"] + 0.5)
    y = (private["job"] == "nurse") | (private["age"] > 60)
    learner = SemiPrivateLearner(DecisionTrees(depth=2), 4.0, entropy=0).fit(private, y, public=public)
    assert (learner.predict(private) == y).mean() > 0.9
    assert learner.predict(private[["job", "age"]]).tolist() == learner.predict(private).tolist()
    release = AgnosticRelease(DecisionTrees(depth=1), epsilon=8.0, entropy=0, teachers=51).fit(
        private, y, public=public
    )
    assert release.answer({"age": 30.0, "job": "nurse"}).label is not None
    with pytest.raises(DataError, match="job"):
        learner.predict(private[["age"]])


def test_seeded_plans_are_marked_too() -> None:
    X, y = steps(20_000)
    assert not AgnosticRelease(Thresholds(), epsilon=2.0, entropy=0).fit(X, y).plan_.guarantee.is_private


@pytest.mark.parametrize("kind", [SubsampleAggregate, AgnosticRelease])
def test_noisy_votes_are_those_of_the_peer(kind: Any) -> None:
    """The same seed, the same answers: one algorithm under two names. It halts after m answers, none of them ⊥."""
    X, y = steps(3_000)
    settings: dict[str, Any] = {"epsilon": 4.0, "queries": 12, "entropy": 5}
    release = kind(Thresholds(), vote="noisy max", **settings).fit(X, y)
    peer = NoisyMaxAggregate(Thresholds(), **settings).fit(X, y)
    assert (release.guarantee_, release.plan_.vote) == (peer.guarantee_, peer.plan_.vote)
    queries = np.linspace(0.3, 0.5, 20)[:, None]
    cost = release.preview(queries)
    assert (cost.certain, cost.is_refused, cost.chance_of_halting) == (12, True, 1.0)
    with pytest.raises(BudgetExhausted) as ours:
        release.predict(queries)
    with pytest.raises(BudgetExhausted) as theirs:
        peer.predict(queries)
    assert [answer.label for answer in ours.value.answers] == [answer.label for answer in theirs.value.answers]
    assert (release.queries_answered_, release.unstable_answers_, release.unstable_remaining_) == (12, 0, None)
    assert release.answer(queries[0]).kind == "repeated"


def test_a_vote_is_auto_unless_it_is_said() -> None:
    X, y = steps(3_000)
    assert AgnosticRelease().vote == SubsampleAggregate().vote == "auto"
    noisy = SubsampleAggregate(Thresholds(), queries=20, entropy=0).fit(X, y)
    assert isinstance(noisy.plan_.vote, NoisyMaxStage)
    tested = SubsampleAggregate(Thresholds(), queries=20, vote="stability", entropy=0).fit(X, y)
    assert tested.plan_.tested is tested.plan_.vote
    for wrong in ({"vote": "noise"}, {"vote": "noisy max", "unstable": 3}, {"vote": "noisy max", "mode": "paper"}):
        with pytest.raises(ParameterError, match="vote must be"):
            SubsampleAggregate(Thresholds(), entropy=Forbidden(), **wrong).fit(X, y)
