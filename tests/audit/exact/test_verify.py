"""The verifier can fail: wrong claims and wrong code are refuted, the right ones beside them are not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pcqr.audit.exact import Case, Finding, verify
from pcqr.audit.exact.cases.mechanisms import (
    ALL_TEACHERS,
    DISSENTING,
    FAR_APART,
    MANY_RECORDS,
    TWICE,
    UNANIMOUS,
    Distances,
    ag_priv_cl_case,
    many_stable_ones,
    sparse_vector_case,
    sub_samp_case,
)
from pcqr.audit.exact.cases.peers import noisy_max_case
from pcqr.audit.exact.cases.publication import PUBLIC, sspp_case, unv_priv_cl_case
from pcqr.audit.exact.cases.tables import Pairs, Table, replacing_the_last
from pcqr.audit.exact.tape import OneOrder
from pcqr.audit.exact.verify import ORDERS
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Labels, Points
from pcqr.hypotheses.cuts import group_counts, log_weights
from pcqr.hypotheses.thresholds import Threshold, Thresholds
from pcqr.mechanisms.noisy_max import ExponentialMax
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, PaperSparseVector, SparseVector
from pcqr.mechanisms.stability import StabilityTest
from pcqr.privacy.accounting import BoundedRangeEvent, PureEvent, Repeated
from pcqr.privacy.composition import Context, account
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.noise import Chooser, geometric
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage

RIGHT = OneSidedSparseVector(40, 2.0, 4.0, 1)


def claims(case: Case, epsilon: float, delta: float | None = None) -> Finding:
    return verify(replace(case, claimed=Guarantee(epsilon, case.claimed.delta if delta is None else delta)))


def search(parameters: SparseVector, menu: Sequence[Distances] | None = None, rounds: int = 2) -> Finding:
    return verify(sparse_vector_case(parameters, menu or many_stable_ones(parameters.threshold), rounds))


# --------------------------------------------------------------------------------------------------------------
# What a finding says


def coin(side: int, entropy: Entropy) -> str:
    """Randomised response: the truth with probability ¾."""
    return "truth" if (entropy.below(4, 1)[0] > 0) == bool(side) else "lie"


def test_a_case_worked_out_by_hand() -> None:
    case = Case.once("randomised response", Guarantee(math.log(3)), [(0, 1)], coin)
    found = verify(case)
    assert found.passed
    assert found.epsilon == pytest.approx(math.log(3))
    assert found.delta == pytest.approx(0.0, abs=1e-15)
    assert found.curve[0] == pytest.approx((0.0, 0.5))
    assert found.curve[-1][1] == 0.0
    assert found.truncated == 0.0
    assert str(found.witness) in ("0 against 1: truth", "0 against 1: lie")
    assert "holds" in str(found)
    refuted = claims(case, 1.0)
    assert not refuted.passed
    assert refuted.delta == pytest.approx(0.75 - 0.25 * math.e)
    assert "REFUTED" in str(refuted)
    assert claims(case, 0.5, 0.75 - 0.25 * math.exp(0.5)).passed
    assert not claims(case, 0.5, 0.74 - 0.25 * math.exp(0.5)).passed


def test_the_worst_pair_is_reported() -> None:
    def shown(side: int, entropy: Entropy) -> int:
        return int(entropy.below(10, 1)[0] < side)

    found = verify(Case.once("", Guarantee(9.0), [(4, 5), (1, 3), (5, 6)], shown))
    assert (found.witness.first, found.witness.second, found.witness.answers) == (1, 3, (1,))
    assert found.epsilon == pytest.approx(math.log(3))
    impossible = verify(Case.once("", Guarantee(9.0), [(4, 5), (0, 1)], shown))
    assert impossible.epsilon == math.inf
    assert not impossible.passed
    assert len(impossible.curve) > 1


def test_an_event_is_a_claim_too() -> None:
    """Randomised response attains what ε-DP allows at every order. Less is refuted, whatever (ε, δ) is claimed."""
    epsilon = math.log(3)
    attained = verify(Case.once("", Guarantee(epsilon), [(0, 1)], coin, PureEvent(epsilon)))
    assert attained.passed
    for order, exact, claimed in attained.divergences:
        by_hand = math.log(0.75**order * 0.25 ** (1 - order) + 0.25**order * 0.75 ** (1 - order)) / (order - 1)
        assert exact == pytest.approx(by_hand)
        assert exact == pytest.approx(claimed)
    assert not verify(Case.once("", Guarantee(9.0), [(0, 1)], coin, PureEvent(1.0))).passed
    assert verify(Case.once("", Guarantee(9.0), [(0, 1)], coin, Repeated(PureEvent(1.0), 2))).passed
    with pytest.raises(ParameterError, match="event"):
        replace(sparse_vector_case(RIGHT, many_stable_ones(40), 2), event=PureEvent(1.0))


def test_an_impossible_outcome_has_an_infinite_divergence() -> None:
    def shown(side: int, entropy: Entropy) -> bool:
        return bool(entropy.below(10, 1)[0] < side)

    found = verify(Case.once("", Guarantee(1.0, 0.9), [(0, 1)], shown, PureEvent(1.0)))
    assert [each.exact for each in found.divergences] == [math.inf] * len(ORDERS)
    assert not found.passed


# --------------------------------------------------------------------------------------------------------------
# Mechanisms


def test_half_of_epsilon_is_refuted() -> None:
    assert search(RIGHT).passed
    assert not claims(sparse_vector_case(RIGHT, many_stable_ones(40), 2), 0.5).passed
    paper = PaperSparseVector(60, 2.0, 1, 100, 1e-6)
    assert search(paper).passed
    assert not claims(sparse_vector_case(paper, many_stable_ones(60), 2), 0.5).passed


def test_half_of_epsilon_or_of_delta_of_a_stability_test_is_refuted() -> None:
    test = StabilityTest(1.0, 0.01)
    pairs = [(("a", d), ("a", d + 1)) for d in range(8)] + [(("a", 0), ("b", 0))]

    def released(given: tuple[str, int], entropy: Entropy) -> str | None:
        return test.release(*given, entropy)

    case = Case.once("", test.guarantee, pairs, released)
    assert verify(case).passed
    assert not claims(case, 0.5 * test.guarantee.epsilon).passed
    assert not claims(case, test.guarantee.epsilon, 0.5 * test.guarantee.delta).passed


class OneMore(OneSidedSparseVector):
    """The printed loop `c ≤ T`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "unstable", self.unstable + 1)

    @property
    def guarantee(self) -> Guarantee:
        return RIGHT.guarantee


class LessNoise(OneSidedSparseVector):
    """Stated from one scale, drawn at another."""

    def query_noise(self, entropy: Entropy) -> int:
        return -geometric(self.query_scale / 2.0, entropy)


class NoQueryNoise(OneSidedSparseVector):
    def query_noise(self, entropy: Entropy) -> int:  # noqa: ARG002
        return 0


@pytest.mark.parametrize("broken", [OneMore, LessNoise, NoQueryNoise])
def test_code_that_does_not_keep_its_parameters_is_refuted(broken: type[OneSidedSparseVector]) -> None:
    parameters = broken(40, 2.0, 4.0, 1)
    assert parameters.guarantee == RIGHT.guarantee
    assert not search(parameters, rounds=3).passed
    assert search(RIGHT, rounds=3).passed


def test_a_gap_that_moves_by_two_is_refuted() -> None:
    """The printed "top count − second count" in place of the distance to instability."""
    w = 40
    menu = [Distances(w + 2, w, times=10), Distances(w, w + 2)]
    found = search(RIGHT, menu)
    assert not found.passed
    assert found.epsilon == pytest.approx(2.0, abs=1e-4), "each step counts twice"


# --------------------------------------------------------------------------------------------------------------
# Draws


def test_the_missing_half_in_the_exponential_mechanism() -> None:
    neighbours = replacing_the_last((UNANIMOUS,) * 20, FAR_APART)
    right, wrong = (sspp_case(Thresholds(), DrawStage(eta), PUBLIC, neighbours) for eta in (0.5, 1.0))
    assert claims(right, 1.0 + 1e-9).passed
    assert not claims(wrong, 1.0 + 1e-9).passed
    assert claims(wrong, 1.0 + 1e-9).epsilon == pytest.approx(2.0, abs=1e-4)


def test_the_missing_half_in_the_exponential_vote() -> None:
    neighbours = replacing_the_last((UNANIMOUS,) * 2)
    right, wrong = (noisy_max_case(ExponentialMax(eta), 1, neighbours) for eta in (1.0, 2.0))
    assert claims(right, 2.0 + 1e-9).passed
    assert not claims(wrong, 2.0 + 1e-9).passed


@dataclass(frozen=True)
class WithoutEmpty(Thresholds):
    """Leaves out the all-0 labelling."""

    def _draw(
        self, X: Points, y: Labels, inverse_temperature: float, public: Points | None, choose: Chooser
    ) -> Threshold:
        groups = group_counts(X[:, 0], y, None if public is None else public[:, 0])
        return self._member(groups, choose(log_weights(self._error_counts(groups)[:-1], inverse_temperature)))


@pytest.mark.parametrize("hypotheses", [Thresholds(), WithoutEmpty()])
def test_a_dichotomy_that_is_left_out(hypotheses: Thresholds) -> None:
    def common_labels(table: Table, entropy: Entropy) -> tuple[int, ...]:
        labels = hypotheses.sample(table.points, table.labels, 0.5, entropy=entropy).predict(table.points)
        return tuple(labels[:-1].tolist())

    neighbours = replacing_the_last((UNANIMOUS,) * 5, [(0.0, 1), (2.0, 0)])
    claimed = Guarantee(2.0 * math.log1p(math.exp(0.5)) + 1e-9)
    found = verify(Case.once("", claimed, neighbours, common_labels))
    assert found.passed == (type(hypotheses) is Thresholds)
    assert math.isinf(found.epsilon) == (type(hypotheses) is WithoutEmpty)


def test_a_range_below_that_of_a_draw_is_refuted_by_its_divergences() -> None:
    case = sspp_case(Thresholds(), DrawStage(0.5), PUBLIC, replacing_the_last((UNANIMOUS,) * 20))
    assert verify(replace(case, event=BoundedRangeEvent(1.0))).passed
    assert not verify(replace(case, event=BoundedRangeEvent(0.5))).passed


# --------------------------------------------------------------------------------------------------------------
# Whole releases


def test_half_of_what_votes_cost_is_refuted() -> None:
    neighbours = replacing_the_last((UNANIMOUS,) * 2)
    case = sub_samp_case(Thresholds(), VoteStage(3, 3, 3, None, TWICE), neighbours, 2)
    assert verify(case).passed
    assert not claims(case, 0.5 * case.claimed.epsilon).passed


def test_amplification_by_a_sub_sample_that_was_not_taken() -> None:
    plan = VoteStage(3, 3, 3, None, TWICE)
    case = sub_samp_case(Thresholds(), plan, replacing_the_last((UNANIMOUS,) * 2), 2)
    assert not verify(replace(case, claimed=plan.votes_guarantee.amplify(0.05))).passed


def all_teachers(case: Case) -> Case:
    return replace(case, tape=OneOrder)


def test_relabelling_must_be_paid_for() -> None:
    case = all_teachers(ag_priv_cl_case(Thresholds(), ALL_TEACHERS, replacing_the_last(*MANY_RECORDS), 2))
    assert verify(case).passed
    unpaid = verify(replace(case, claimed=ALL_TEACHERS.votes_guarantee))
    assert not unpaid.passed
    assert unpaid.delta > 3 * unpaid.claimed.delta


def close_call() -> Pairs:
    return replacing_the_last((UNANIMOUS,) * 21 + (DISSENTING,) * 19, ((0.0, 1), (2.0, 0)))


def test_a_universal_release_that_spends_epsilon_twice() -> None:
    """As printed: AgPrivCl(ε, δ), then SSPP(ε) on the same records, claimed to be (ε, δ)."""
    once = account(ALL_TEACHERS, Context(Thresholds(), ALL_TEACHERS.records, 1))
    publish = DrawStage(once.epsilon / 2.0, 1)
    case = all_teachers(unv_priv_cl_case(Thresholds(), ALL_TEACHERS, publish, close_call(), 1))
    assert verify(case).passed
    printed = verify(replace(case, claimed=once))
    assert not printed.passed
    assert printed.epsilon > 1.1 * once.epsilon
    witness_words: Any = printed.witness.answers[0]
    assert witness_words.published is not None
