"""Boosting, exactly: the law of everything that one and two rounds release, by running the shipped code through every
branch, for all neighbours among small tables (proofs/boosting.md)."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from numpy.typing import NDArray

from pcqr.algorithms import boosting
from pcqr.algorithms.boosting import boost, boosting_guarantee, offered_predicates
from pcqr.audit.exact import Case, law_of, verify
from pcqr.audit.exact.cases.tables import Pairs, Table, all_neighbours, replacing_the_last
from pcqr.audit.exact.tape import Tape
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.trees import Predicate
from pcqr.hypotheses.trees.weighted import log_probability_error
from pcqr.plan import BoostingStage
from pcqr.records import weighing
from pcqr.records.weighing import GRID

MIDDLE = (Predicate(0, 0.5),)
THIRDS = (Predicate(0, 0.5), Predicate(0, 1.5))
TWO_PLACES = tuple((x, y) for x in (0.0, 1.0) for y in (0, 1))
ETA = 0.6

ONE_ROUND = BoostingStage(
    records=3,
    predicates=2,
    offered=2,
    depth=1,
    rounds=1,
    step=0.7,
    inverse_temperature=ETA,
    delta=0.0,
)
TWO_ROUNDS = replace(ONE_ROUND, predicates=1, offered=1, rounds=2)


def released(plan: BoostingStage, predicates: tuple[Predicate, ...], table: Table, entropy: Entropy) -> str:
    """Everything that is shown, trees as they are and not just their labels."""
    return repr(boost(table.source(), predicates[: plan.predicates], plan, entropy))


def case(plan: BoostingStage, predicates: tuple[Predicate, ...], neighbours: Pairs, claimed: Guarantee) -> Case:
    return Case.once(f"boosting, {plan.rounds} rounds", claimed, neighbours, partial(released, plan, predicates))


@cache
def law(plan: BoostingStage, predicates: tuple[Predicate, ...], table: Table) -> dict[str, float]:
    return law_of(partial(released, plan, predicates, table))


def reach(first: dict[str, float], second: dict[str, float]) -> float:
    """The length of the interval that the privacy loss lies in."""
    assert first.keys() == second.keys()
    losses = [math.log(first[shown] / second[shown]) for shown in first]
    return max(losses) - min(losses)


# --------------------------------------------------------------------------------------------------------------
# One round


@pytest.mark.parametrize(("offered", "depth"), [(2, 1), (1, 1), (1, 2)])
def test_no_pair_of_neighbours_has_a_larger_range_than_is_charged(offered: int, depth: int) -> None:
    plan = replace(ONE_ROUND, offered=offered, depth=depth)
    pairs = all_neighbours(3)
    charged = 2 * ETA + 4 * log_probability_error(3, offered, depth, ETA)
    found = max(reach(law(plan, THIRDS, first), law(plan, THIRDS, second)) for first, second in pairs)
    assert found <= charged + 1e-12
    assert found > 2 * ETA - 1e-9, "attained by records that a tree can tell apart"


def test_one_round_of_depth_two_keeps_its_word() -> None:
    plan = replace(ONE_ROUND, depth=2)
    neighbours = [(Table(((0.0, 0), (2.0, 1), (1.0, 0))), Table(((0.0, 0), (2.0, 1), (2.0, 0))))]
    found = verify(case(plan, THIRDS, neighbours, boosting_guarantee(plan)))
    assert found.passed, str(found)
    assert found.epsilon > 0.3 * ETA


# --------------------------------------------------------------------------------------------------------------
# Two rounds


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_two_rounds_keep_their_word_for_all_neighbours(delta: float) -> None:
    plan = replace(TWO_ROUNDS, delta=delta)
    claimed = boosting_guarantee(plan)
    found = verify(case(plan, MIDDLE, all_neighbours(3, TWO_PLACES), claimed))
    assert found.passed, str(found)
    assert found.epsilon > ETA, "two rounds tell more than half of one"


def test_a_second_round_depends_on_the_first_and_on_its_record() -> None:
    """What the weights are for: after a right tree a record counts less in the next round."""
    plan = replace(TWO_ROUNDS, step=3.0)
    (first, second), *_ = replacing_the_last(((0.0, 0), (1.0, 1)), ((0.0, 0), (1.0, 0)))
    once = replace(plan, rounds=1)
    independent = reach(law(once, MIDDLE, first), law(once, MIDDLE, second))
    assert reach(law(plan, MIDDLE, first), law(plan, MIDDLE, second)) < 1.9 * independent


def test_the_offered_predicates_do_not_come_from_the_source_that_draws_trees() -> None:
    """Whatever else that source is asked for could depend on the records, as a stream's state does."""

    class ChoicesOnly(Tape):
        def below(self, bound: int, size: int) -> NDArray[np.int64]:
            raise AssertionError(f"{size} integers below {bound} were asked of the private source")

        def permutation(self, count: int) -> NDArray[np.int64]:
            raise AssertionError(f"a permutation of {count} was asked of the private source")

    plan = replace(TWO_ROUNDS, predicates=2)
    pairs = replacing_the_last(((0.0, 0), (2.0, 1)), ((0.0, 0), (1.0, 1)))
    strict = replace(case(plan, THIRDS, pairs, boosting_guarantee(plan)), tape=ChoicesOnly)
    assert verify(strict).passed
    asked = [set(offered.tolist()) for offered in offered_predicates(plan)]
    for shown in law(plan, THIRDS, pairs[0][0]):
        cuts = {predicate for predicate in (0, 1) if f"cut={THIRDS[predicate].cut}" in shown}
        assert cuts <= set.union(*asked)


# --------------------------------------------------------------------------------------------------------------
# What must not pass

FAR = replacing_the_last(((0.0, 0), (1.0, 1)), ((0.0, 0), (1.0, 0), (0.0, 1), (1.0, 1)))


def test_half_the_range_would_be_refuted() -> None:
    halved = Guarantee(ETA)
    assert not verify(case(ONE_ROUND, THIRDS, replacing_the_last(((0.0, 0),) * 2), halved)).passed


def test_two_rounds_for_the_price_of_one_would_be_refuted() -> None:
    # Far apart and evenly balanced: the worst of two rounds is nearly that of two independent ones.
    crowd = ((0.0, 0),) * 20 + ((1.0, 0),) * 20
    plan = replace(TWO_ROUNDS, records=41, step=1e-3)
    one = boosting_guarantee(replace(plan, rounds=1))
    pairs = replacing_the_last(crowd, ((0.0, 1), (0.0, 0)))
    assert verify(case(plan, MIDDLE, pairs, boosting_guarantee(plan))).passed
    assert not verify(case(plan, MIDDLE, pairs, one)).passed


def test_weights_above_one_would_be_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the clamp a record that trees get wrong counts e^a, e^2a, …"""

    def unclamped(plan: BoostingStage) -> NDArray[np.uint8]:
        lead = np.arange(-plan.rounds, plan.rounds + 1)
        return np.asarray(np.minimum(np.rint(GRID * np.exp(-plan.step * lead)), 255), dtype=np.uint8)

    monkeypatch.setattr(boosting, "weight_of_lead", unclamped)
    monkeypatch.setattr(weighing, "_BITS", 8)
    plan = replace(TWO_ROUNDS, step=2.0)
    assert not verify(case(plan, MIDDLE, FAR, boosting_guarantee(plan))).passed


def test_weights_divided_by_their_sum_would_be_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """AdaBoost's own weights sum to a constant: one record moves all the others."""
    own = weighing._weights

    def normalised(block: weighing._Packed, weight_of_lead: NDArray[np.uint8]) -> NDArray[np.uint8]:
        weights = own(block, weight_of_lead)
        share = weights.astype(float) / max(1, weights.sum())
        return np.asarray(np.rint(share * GRID * np.count_nonzero(block.own)).clip(0, 255), dtype=np.uint8)

    monkeypatch.setattr(weighing, "_weights", normalised)
    monkeypatch.setattr(weighing, "_BITS", 8)
    plan = replace(TWO_ROUNDS, step=3.0, records=6)
    common = ((0.0, 0),) * 4 + ((1.0, 1),)
    pairs = replacing_the_last(common, ((0.0, 0), (1.0, 0), (1.0, 1)))
    assert not verify(case(plan, MIDDLE, pairs, boosting_guarantee(plan))).passed
