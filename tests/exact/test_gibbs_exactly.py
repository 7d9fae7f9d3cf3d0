"""Draws for single queries: the exact law of an answer on neighbours, against what is claimed, and that it is tight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from pcqr.audit.exact import largest_log_ratio, law_of
from pcqr.audit.exact.cases.tables import LINE, Record, Table, all_neighbours, as_points
from pcqr.hypotheses import Thresholds
from pcqr.mechanisms.relabelling import relabel_cost
from pcqr.privacy.accounting import BoundedRangeEvent, PureEvent
from pcqr.privacy.entropy import Entropy
from pcqr.releases.gibbs.plan import GibbsStage
from pcqr.releases.gibbs.run import gibbs_event, gibbs_labels

PUBLIC = np.array([[0.0], [1.5]])
PLACES = (0.0, 0.5, 1.0, 3.0)


def witness_words(
    records: Sequence[Record], x: float, stage: GibbsStage, public: np.ndarray | None
) -> dict[int, float]:
    """The law of one answer, walked through every branch of the shipped code."""

    def run(entropy: Entropy) -> int:
        labeller = gibbs_labels(Thresholds(), Table(tuple(records)).source(), public, stage, entropy)
        (row,) = labeller.counts(as_points([x]))
        return labeller.decide(row)

    law = law_of(run)
    return {label: law.get(label, 0.0) for label in (0, 1)}


def posterior(records: Sequence[Record], x: float, eta: float) -> dict[int, float]:
    """Over the dichotomies of the records and x, with a fair coin for x's own label."""
    points = as_points([*(place for place, _ in records), x])
    law = {0: 0.0, 1: 0.0}
    for coin in (0, 1):
        labels = np.array([*(label for _, label in records), coin])
        members = Thresholds().enumerate(points)
        weights = np.exp(-eta * (members != labels).sum(axis=1))
        for label in law:
            law[label] += 0.5 * float(weights[members[:, -1] == label].sum() / weights.sum())
    return law


@pytest.mark.parametrize("x", PLACES)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_law_over_dichotomies_is_the_mean_of_posteriors_of_sub_samples(x: float, size: int) -> None:
    records: list[Record] = [(0.0, 1), (1.0, 0), (2.0, 1)]
    eta = 0.7
    law = witness_words(records, x, GibbsStage(3, size, 1, eta), None)
    samples = [posterior(list(sample), x, eta) for sample in combinations(records, size)]
    for label in (0, 1):
        assert law[label] == pytest.approx(sum(sample[label] for sample in samples) / len(samples), rel=1e-9)


def test_the_law_over_a_public_class_is_a_sum_over_its_members() -> None:
    """Of the thresholds at −∞, between the public points, and at +∞."""
    records: list[tuple[float, int]] = [(0.0, 1), (1.0, 0), (2.0, 1)]
    eta, cuts = 0.7, (-math.inf, 0.75, math.inf)
    weights = {cut: math.exp(-eta * sum((x > cut) != bool(y) for x, y in records)) for cut in cuts}
    law = witness_words(records, 1.0, GibbsStage(3, 3, 1, eta), PUBLIC)
    ones = weights[-math.inf] + weights[0.75]
    assert law[1] == pytest.approx(ones / sum(weights.values()), rel=1e-9)


@pytest.mark.parametrize("public", [None, PUBLIC], ids=["dichotomies", "public"])
@pytest.mark.parametrize("eta", [0.1, 1.0])
def test_an_answer_is_as_private_as_claimed(public: np.ndarray | None, eta: float) -> None:
    shown = None if public is None else len(public)
    stage = GibbsStage(2, 2 if public is not None else 1, 1, eta)
    claimed = gibbs_event(stage, Thresholds(), 1, shown).epsilon
    laws = {
        (table, x): witness_words(table.records, x, stage, public)
        for table in {table for pair in all_neighbours(2, LINE) for table in pair}
        for x in PLACES
    }
    reached = 0.0
    for first, second in all_neighbours(2, LINE):
        for x in PLACES:
            p, q = laws[first, x], laws[second, x]
            reached = max(reached, largest_log_ratio(p, q), largest_log_ratio(q, p))
            if public is not None:
                losses = [math.log(p[label] / q[label]) for label in p]
                assert abs(losses[0] - losses[1]) <= claimed
    assert 0.2 * claimed < reached <= claimed


def test_the_range_over_a_public_class_is_attained_and_so_is_its_epsilon() -> None:
    eta, stage = 0.5, GibbsStage(30, 30, 1, 0.5)
    event = gibbs_event(stage, Thresholds(), 1, len(PUBLIC))
    assert isinstance(event, BoundedRangeEvent)
    common: list[Record] = [(0.0, 0)] * 29
    p, q = (witness_words([*common, (0.0, label)], 0.0, stage, PUBLIC) for label in (1, 0))
    losses = [math.log(p[label] / q[label]) for label in (0, 1)]
    assert losses[1] - losses[0] == pytest.approx(2.0 * eta, rel=1e-9), "a record at the query moves its odds by e^{2η}"
    assert 0.99 * 2.0 * eta < max(losses) <= event.epsilon, "half of it, as though a label were cheaper, is too little"


def test_the_price_of_dichotomies_is_attained_without_a_sub_sample() -> None:
    eta = 0.5
    event = gibbs_event(GibbsStage(41, 41, 1, eta), Thresholds(), 1, None)
    assert isinstance(event, PureEvent)
    common: list[Record] = [(1.0, 0)] * 40
    p, q = (posterior([*common, last], 1.0, eta) for last in ((0.0, 1), (2.0, 0)))
    reached = max(largest_log_ratio(p, q), largest_log_ratio(q, p))
    assert reached == pytest.approx(relabel_cost(eta, fixed=False), rel=1e-6)
    assert reached <= event.epsilon
