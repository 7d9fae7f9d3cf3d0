"""One query, one draw: the label that a member of the class, drawn from its Gibbs posterior, gives the query.

Dwork and Feldman 2018 ask what it takes to predict a single query privately; Dagan and Feldman 2020 answer it for
classes of any size. Over a fixed class, or one made of public points, every draw sees all records. Else the members are
the dichotomies of the private points *and the query*, and each draw sees a secret sub-sample. Proof: proofs/gibbs.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pcqr.data.records import InMemory, Records
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Combinatorics, HypothesisClass, Points
from pcqr.mechanisms.relabelling import relabel_cost
from pcqr.privacy.accounting import BoundedRangeEvent, PureEvent, Repeated, compose
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee, rounded_up
from pcqr.releases.gibbs.plan import GibbsStage
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.subsample.run import secret_subsample

_WORTH_A_DELTA = 1.01


class AskedRows:
    """Rows that wait for their draws: the queries themselves. Nothing about them is known before a draw."""

    def __init__(self, points: Points, labels: int) -> None:
        self._points = points
        self.shape = (points.shape[0], labels)

    def __iter__(self) -> Iterator[Points]:
        return iter(self._points)


class GibbsLabels:
    """The private records and the m draws that are paid for: decides one query at a time. Holds secrets."""

    def __init__(
        self, hypotheses: HypothesisClass, records: Records, public: Points | None, stage: GibbsStage, entropy: Entropy
    ) -> None:
        self._hypotheses, self._records, self._public = hypotheses, records, public
        self._stage, self._entropy = stage, entropy
        self._draws_remaining = stage.queries

    @property
    def remaining(self) -> Usage:
        """Draws that are paid for and not yet begun. No answer is ever ⊥.

        One that was broken off is spent, unless it was in a ledger's turn, which then leaves no trace.
        """
        return Usage(self._draws_remaining, None)

    @remaining.setter
    def remaining(self, remaining: Usage) -> None:
        self._draws_remaining = remaining.queries or 0

    def counts(self, X: Points) -> AskedRows:
        """The rows of `X`, to be decided one by one."""
        return AskedRows(X, self._hypotheses.labels)

    def decide(self, row: Points) -> int:
        """The label that a fresh draw gives the query `row`. RuntimeError after m draws."""
        if self._draws_remaining <= 0:
            raise RuntimeError("All the answers that were paid for have been given.")
        self._draws_remaining -= 1
        point = row.reshape(1, -1)
        eta = self._stage.inverse_temperature
        seen = self._records if is_public(self._hypotheses, self._public) else self._sample_with(point)
        drawn = self._hypotheses.draw_on(seen, eta, public=self._public, entropy=self._entropy)
        return int(drawn.hypothesis.predict(point)[0])

    def _sample_with(self, point: Points) -> InMemory:
        """A new secret sub-sample, and the query, with a coin for a label: members are dichotomies of it, too."""
        positions = secret_subsample(self._stage.records, self._stage.subsample, self._entropy)
        sample = self._records.rows(positions).gathered()
        coin = self._entropy.below(self._hypotheses.labels, 1)
        points, labels = np.concatenate([sample.X, point]), np.concatenate([sample.y, coin.astype(np.int8)])
        return InMemory(points, labels, self._hypotheses.labels)


def gibbs_labels(
    hypotheses: HypothesisClass, records: Records, public: Points | None, stage: GibbsStage, entropy: Entropy
) -> GibbsLabels:
    """The records, kept for draws to come. Nothing is drawn yet."""
    if records.size != stage.records:
        raise ParameterError("plan", f"a plan for {records.size} records", f"one for {stage.records}")
    _check_stage(stage, hypotheses, None if public is None else public.shape[0])
    return GibbsLabels(hypotheses, records.kept(), None if public is None else public.copy(), stage, entropy)


def gibbs_event(
    stage: GibbsStage, hypotheses: Combinatorics, features: int, public: int | None
) -> BoundedRangeEvent | PureEvent:
    """What one answer costs: a range of 2η + 4λ, or ln(1 + q(e^{R + 2λ} − 1)) where dichotomies are drawn.

    R = 2·ln(1 + e^η); λ bounds the numerical error of the draw. `public` is the number of public points, if any.
    """
    _check_stage(stage, hypotheses, public)
    eta = stage.inverse_temperature
    if is_public(hypotheses, public):
        error = hypotheses.log_probability_error(stage.records, eta, features=features, public=public)
        return BoundedRangeEvent(rounded_up(2.0 * eta + 4.0 * error))
    error = hypotheses.log_probability_error(stage.subsample + 1, eta, features=features)
    whole = Guarantee(rounded_up(relabel_cost(eta, fixed=False) + 2.0 * error), proof="gibbs")
    return PureEvent(whole.amplify(stage.rate).epsilon)


def gibbs_guarantee(
    stage: GibbsStage, hypotheses: Combinatorics, features: int, public: int | None, delta: float
) -> Guarantee:
    """m = `stage.queries` answers together, adaptively chosen queries included, with a δ of at most `delta`.

    The sum of the answers' own ε, pure, unless Rényi composition saves 1 % or more of it at the price of a δ.
    """
    answers = [Repeated(gibbs_event(stage, hypotheses, features, public), stage.queries)]
    stated = compose(answers, 0.0, accountant="basic")
    if stage.queries > 1 and delta > 0:
        concentrated = compose(answers, delta, accountant="Rényi")
        stated = concentrated if _WORTH_A_DELTA * concentrated.epsilon < stated.epsilon else stated
    members = (
        "over a class that the records have no part in"
        if is_public(hypotheses, public)
        else f"over the dichotomies of a secret sub-sample, q = {stage.rate:.4g}, and the query"
    )
    step = f"each a label by a fresh draw {members}, η = {stage.inverse_temperature:.4g}"
    return replace(stated, proof="gibbs").explained(step)


def is_public(hypotheses: Combinatorics, public: object) -> bool:
    """Are the members the same whatever the records are: fixed by declaration, or made of `public` points?"""
    return hypotheses.is_fixed or public is not None


def _check_stage(stage: GibbsStage, hypotheses: Combinatorics, public: int | None) -> None:
    if is_public(hypotheses, public):
        if stage.subsample != stage.records:
            allowed = f"{stage.records} records in each draw over a public class"
            raise ParameterError("plan", allowed, f"{stage.subsample}")
    elif hypotheses.labels != 2:
        allowed = "two labels where the members are dichotomies of the records: give public points for more"
        raise ParameterError("hypotheses", allowed, f"{hypotheses.labels} labels")
