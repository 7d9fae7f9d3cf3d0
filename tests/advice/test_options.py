"""Which algorithm: all five beside each other, proofs apart from expectations, and the rule that recommends one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from support.requests import request_of

from pcqr.advice.question import Option, compare, recommend
from pcqr.hypotheses import Finite, Thresholds
from pcqr.planner.expectation import published_excess
from pcqr.releases.agnostic.planning import plan_agnostic
from pcqr.releases.protocol.plan import Plan, Prediction
from pcqr.releases.subsample.plan import VotingPlan
from pcqr.releases.universal.plan import UniversalPlan

SMALL = request_of(20_000, 1, Thresholds(), 1.0, 1e-6, 300, 0.1, 0.05)
ENOUGH = SMALL.but(records=6_000_000, queries=1_000)


@dataclass(frozen=True)
class Constant:
    """A model that gives every row the same label."""

    label: int

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.full(len(X), self.label)


@pytest.fixture(scope="module")
def small() -> dict[str, Option]:
    return {option.algorithm: option for option in compare(SMALL)}


@pytest.fixture(scope="module")
def enough() -> dict[str, Option]:
    return {option.algorithm: option for option in compare(ENOUGH)}


def test_all_five_are_there_in_one_order(small: dict[str, Option]) -> None:
    assert list(small) == ["SubSamp", "noisy max", "AgPrivCl", "UnvPrivCl", "SSPP"]


def test_what_is_proved_and_what_is_expected_are_never_mixed(
    small: dict[str, Option], enough: dict[str, Option]
) -> None:
    for options in (small, enough):
        for option in options.values():
            assert (option.plan is None) == (option.expected is None) == (option.objection is not None)
            if option.plan is not None:
                assert option.plan.certified == (option.proved is not None and option.proved <= 0.1)
        for algorithm in ("SubSamp", "noisy max"):
            assert options[algorithm].proved is None
    assert all(option.proved is None for option in small.values())
    for option in enough.values():
        assert option.plan is None or option.plan.guarantee.within(ENOUGH.epsilon, ENOUGH.delta)
    assert (enough["UnvPrivCl"].proved or 1.0) <= 0.1
    agnostic = enough["AgPrivCl"]
    assert agnostic.proved is not None
    assert agnostic.expected is not None
    assert agnostic.expected.excess_error < agnostic.proved / 5.0


def test_a_known_solution_saves_the_search_and_changes_no_promise() -> None:
    cold = plan_agnostic(ENOUGH, "calibrated")
    start = {"rate": 0.2, "temperature": 0.03, "unstable": 80.0, "dissent": 0.2, "failure": 0.5}
    warm = plan_agnostic(ENOUGH, "calibrated", start)
    assert cold.certified
    assert warm.certified


def test_sspp_needs_a_class_that_is_public(small: dict[str, Option]) -> None:
    assert small["SSPP"].objection == (
        "There are no public points to make a class of. Nearest feasible change: public unlabelled points (--public P)."
    )
    with_points = {option.algorithm: option for option in compare(SMALL.but(public=500))}["SSPP"]
    assert with_points.plan is not None
    assert with_points.expected is not None
    assert with_points.expected.unstable_share == with_points.expected.unanswered_share == 0.0
    fixed = Finite([Constant(0), Constant(1)])
    declared = {option.algorithm: option for option in compare(SMALL.but(hypotheses=fixed))}["SSPP"]
    assert declared.plan is not None


def test_objections_say_why_and_what_would_help() -> None:
    options = {option.algorithm: option for option in compare(SMALL.but(records=20))}
    assert "no vote of teachers can ever be stable" in str(options["AgPrivCl"].objection)
    assert "Nearest feasible change: about n ≥ " in str(options["SubSamp"].objection)


def test_the_universal_release_mixes_votes_and_publication() -> None:
    many = SMALL.but(queries=100_000)
    option = {option.algorithm: option for option in compare(many)}["UnvPrivCl"]
    plan, expected = option.plan, option.expected
    assert isinstance(plan, UniversalPlan)
    assert plan.prediction is not None
    assert expected is not None
    share = plan.publish.after_queries / many.queries
    assert 0.0 < share < 0.05
    assert expected.unanswered_share == pytest.approx(share * plan.prediction.unanswered_share)
    published = published_excess(many, plan.publish, plan.publish.after_queries)
    assert expected.excess_error == pytest.approx(share * plan.prediction.excess_error + (1.0 - share) * published)


# The rule, on options made by hand.


def made(algorithm: str, expected: float, proved: float | None = None) -> Option:
    plan = compare_plan()
    return Option(algorithm, plan, proved, Prediction(0.0, expected, 0.0))


def compare_plan() -> Plan:
    agnostic = plan_agnostic(SMALL, "calibrated")
    assert isinstance(agnostic, VotingPlan)
    return agnostic


def test_the_least_expected_excess_wins_where_nothing_is_proved() -> None:
    best = recommend([made("SubSamp", 0.02), made("AgPrivCl", 0.2), made("noisy max", 0.05)], 0.1)
    assert best.option is not None
    assert best.option.algorithm == "SubSamp"
    assert best.python is None
    assert "no command is proved to stay within α = 0.1 here" in best.reason
    assert "(expected excess error 0.02, noisy max 0.05)" in best.reason


def test_only_what_a_command_can_run_is_recommended() -> None:
    """Noisy max has no command, and SSPP none for votes' classes; what they would do better is said."""
    best = recommend([made("SubSamp", 0.2), made("noisy max", 0.05)], 0.1)
    assert best.option is not None
    assert best.option.algorithm == "SubSamp"
    assert best.python is not None
    assert best.python.algorithm == "noisy max"
    assert "In Python, NoisyMaxAggregate does better (expected excess error 0.05)" in best.reason
    proved = recommend([made("AgPrivCl", 0.01), made("SSPP", 0.02, proved=0.05)], 0.1)
    assert proved.option is not None
    assert proved.option.algorithm == "AgPrivCl"
    assert (
        "SemiPrivateLearner does better (expected excess error 0.02, and is proved to stay within α)" in proved.reason
    )
    alone = recommend([made("noisy max", 0.05)], 0.1)
    assert alone.option is None
    assert alone.reason.startswith("No command is expected to do better than a coin at these numbers. In Python, Noisy")


def test_a_proof_within_alpha_beats_a_better_expectation() -> None:
    best = recommend([made("SubSamp", 0.001), made("AgPrivCl", 0.05, proved=0.09)], 0.1)
    assert best.option is not None
    assert best.option.algorithm == "AgPrivCl"
    assert best.reason.endswith("its excess error is proved to stay within α.")
    weak = recommend([made("SubSamp", 0.001), made("AgPrivCl", 0.05, proved=0.11)], 0.1)
    assert weak.option is not None
    assert weak.option.algorithm == "SubSamp"


def test_near_ties_go_to_what_can_be_published() -> None:
    tied = [made("SubSamp", 0.010), made("AgPrivCl", 0.012), made("UnvPrivCl", 0.014)]
    best = recommend(tied, 0.1)
    assert best.option is not None
    assert best.option.algorithm == "UnvPrivCl"
    apart = recommend([made("SubSamp", 0.010), made("UnvPrivCl", 0.020)], 0.1)
    assert apart.option is not None
    assert apart.option.algorithm == "SubSamp"


def test_nothing_is_recommended_where_nothing_helps() -> None:
    none = recommend([Option("SSPP", None, objection="no points")], 0.1)
    assert none.option is None
    assert none.reason == "No algorithm can answer at these numbers."
    coin = recommend([made("noisy max", 0.5), made("SubSamp", 0.7)], 0.1)
    assert coin.option is None
    assert "better than a coin" in coin.reason
