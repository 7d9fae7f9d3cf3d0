"""A model of what a vote plan will do, from public numbers alone: estimates to search with, never bounds.

Teachers dissent near a decision boundary: with chance ½e^{−t/θ} at distance t, t measured in probability, so that a
teacher errs on a share θ in all, and more than a share φ of them dissents on a share 2θ·ln(1/(2φ)) of the queries.

Realisable (after relabelling): a cut between two neighbouring records of a teacher is off by half the difference of
two gaps of mean 1/N each, which makes θ = b/(2N) for b cuts (`boundaries`) exact on the line. Cuts are as often too
low as too high, so the majority does not err. Elsewhere teachers with few records may also choose the wrong cuts, and
may do so together: θ is larger by the factor 1 + (4d/N)². Agnostic (SubSamp): θ ≈ ½·√(d/N), the usual agnostic rate.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.errors import NothingLearned, UnansweredWarning
from pcqr.hypotheses.base import Combinatorics
from pcqr.mechanisms.sparse_vector import CalibratedSparseVector, PaperSparseVector
from pcqr.planner.certificate import binomial_tail
from pcqr.planner.request import Request
from pcqr.privacy.guarantee import rounded_text
from pcqr.releases.classifier.rule import least_n_epsilon
from pcqr.releases.protocol.answers import counted
from pcqr.releases.protocol.plan import Plan, Prediction
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage, VotingPlan
from pcqr.releases.universal.plan import UniversalPlan

FloatArray = NDArray[np.float64]

Doubts = tuple[tuple[float, float], ...]
RELABELLED_DOUBTS: Doubts = ((0.2, 1 / 3), (0.5, 1 / 3), (1.5, 1 / 3))
PLAIN_DOUBTS: Doubts = ((0.3, 1 / 3), (1.0, 1 / 3), (3.0, 1 / 3))
"""(factor on θ, weight), ascending: how far off the model is on real tables (benchmarks/expectations.py). Where the two
labels are equally common and no member of the class does well, teachers on labels as they are dissent far more often
than θ says. What is expected is the average, and the search minimises that: a release that halts early loses far more
than one that reserved a few unstable answers too many."""
RELABELLED_RANGE = (0.01, 1.5)
PLAIN_RANGE = (0.01, 10.0)
"""The factors on θ at the ends of a prediction's range. The range has to hold the measurements of nine in ten releases,
so its ends lie beyond the doubts. The search must not use these ends. Teachers hardly ever dissent where one label is
common, but the search cannot rely on that. On a table on which no class does well (diabetes) the factor without
relabelling is 8 to 11. A search that averaged over it would reserve too many unstable answers on all other tables."""


def doubts(inverse_temperature: float | None) -> Doubts:
    """How far off the model may be for teachers on relabelled records, or on records as they are (None)."""
    return PLAIN_DOUBTS if inverse_temperature is None else RELABELLED_DOUBTS


def range_ends(inverse_temperature: float | None) -> tuple[float, float]:
    """Return the least and the largest factor on θ that a prediction's range covers, for the teachers of `doubts`."""
    return PLAIN_RANGE if inverse_temperature is None else RELABELLED_RANGE


@dataclass(frozen=True)
class Teachers:
    """θ = `error`, the share of points on which a teacher errs; `common` is the part of it that its majority shares."""

    error: FloatArray
    common: FloatArray


def realisable(hypotheses: Combinatorics, features: int, teacher_records: ArrayLike) -> Teachers:
    """Teachers on N = `teacher_records` records that are labelled by a member of `hypotheses`."""
    size = np.maximum(1.0, np.asarray(teacher_records, dtype=np.float64))
    misplaced = 0.5 * hypotheses.boundaries / size
    wrong = np.zeros_like(size)
    if hypotheses.switches is None:
        wrong = misplaced * (4.0 * hypotheses.vc_bound(features) / size) ** 2
    return Teachers(np.minimum(0.5, misplaced + wrong), np.minimum(0.5, wrong))


def agnostic(hypotheses: Combinatorics, teacher_records: ArrayLike) -> Teachers:
    """Teachers on N = `teacher_records` records as they are; half of their error is taken to be common."""
    size = np.maximum(1.0, np.asarray(teacher_records, dtype=np.float64))
    error = np.minimum(0.5, 0.5 * np.sqrt(hypotheses.estimated_dimension / size))
    return Teachers(error, 0.5 * error)


def unstable_share(error: FloatArray, dissent: FloatArray) -> FloatArray:
    """The share of queries on which more than `dissent` = φ of the teachers dissent, θ = `error`."""
    safe = np.clip(2.0 * dissent, 1e-12, 1.0)
    return np.minimum(1.0, 2.0 * error * np.log(1.0 / safe))


def unanswered_share(unstable: FloatArray, queries: int, budget: FloatArray | int) -> FloatArray:
    """The expected share of m = `queries` that get no label, when each is unstable with chance p = `unstable`.

    The release halts at the `budget` = T-th unstable answer. Of the asked ones a share p is unstable on average, and
    there are min(T, B) unstable ones, B ~ Binomial(m, p); so E[asked] = E[min(T, B)]/p (Wald), and
    E[min(T, B)] = mp·P(Bin(m−1, p) ≤ T−2) + T·P(B ≥ T).
    """
    p, most = np.clip(unstable, 1e-12, 1.0), np.asarray(budget)
    before = p * (1.0 - binomial_tail(most - 2, queries - 1, p))
    asked = (before + binomial_tail(most - 1, queries, p) * most / queries) / p
    share: FloatArray = 1.0 - (1.0 - p) * np.minimum(1.0, asked)
    return share


def excess_error(unanswered: FloatArray, common: FloatArray) -> FloatArray:
    """½u + (1 − u)·c: a query without an answer counts as a coin, the others err together on a share c = `common`.

    u = `unanswered`. m times this is m/2 less (½ − c) for each query that is answered: the search counts answers.
    """
    loss: FloatArray = 0.5 * unanswered + (1.0 - unanswered) * np.minimum(0.5, common)
    return loss


def published_excess(request: Request, publish: DrawStage, public: int | None) -> float:
    """The expected excess error of a published hypothesis: what the draw costs, and what the cover misses.

    About (ln|H| + 1)/(ηn) and, for a class that is made of P = `public` points, b/(2P) for b cuts.
    """
    hypotheses = request.hypotheses
    members = hypotheses.log_growth(public or request.records, request.features)
    missed = 0.0 if public is None else 0.5 * hypotheses.boundaries / public
    return min(1.0, relabel_excess(members, publish.inverse_temperature, request.records) + missed)


def relabel_excess(log_growth: float, inverse_temperature: float, records: int) -> float:
    """Expected excess training error of ĥ: about (ln|H| + 1)/(η·n')."""
    return min(1.0, (log_growth + 1.0) / (inverse_temperature * records))


# ---------------------------------------------------------------------------------------------------------------------
# What a vote plan is expected to do: a run of the sparse vector under a model of the teachers. Estimates, not bounds.
#
# The model is that of `pcqr.planner.expectation`: teachers dissent with chance ½e^{−t/θ} at distance t from a
# boundary. Given ρ every query is then unstable with the same chance; what is expected is an integral over ρ and t.


_DEPTHS = np.concatenate((np.linspace(0.0, 4.0, 41), np.linspace(4.25, 25.0, 84)))  # t/θ; beyond, all agree
_THRESHOLDS = 41


def predicted_run(plan: VoteStage, hypotheses: Combinatorics, features: int, queries: int) -> Prediction:
    """Return `expected_run` with its ranges, between the factors `range_ends`."""
    ends = range_ends(plan.inverse_temperature)
    least, most = _modelled_runs(plan, hypotheses, features, queries, ends)
    return replace(
        expected_run(plan, hypotheses, features, queries),
        unanswered_range=(least.unanswered_share, most.unanswered_share),
        unstable_range=(least.unstable_share, most.unstable_share),
    )


def worst_run(plan: VoteStage, hypotheses: Combinatorics, features: int, queries: int) -> Prediction:
    """Return what m = `queries` queries meet with the largest factor on θ of `doubts`."""
    return modelled_run(plan, hypotheses, features, queries, doubt=doubts(plan.inverse_temperature)[-1][0])


def expected_run(plan: VoteStage, hypotheses: Combinatorics, features: int, queries: int) -> Prediction:
    """What m = `queries` queries are expected to meet, averaged over how far off the model may be (`doubts`)."""
    weighted = doubts(plan.inverse_temperature)
    runs = _modelled_runs(plan, hypotheses, features, queries, [doubt for doubt, _ in weighted])

    def average(name: str) -> float:
        return math.fsum(weight * getattr(run, name) for (_, weight), run in zip(weighted, runs, strict=True))

    return Prediction(average("unanswered_share"), average("excess_error"), average("unstable_share"))


def modelled_run(
    plan: VoteStage, hypotheses: Combinatorics, features: int, queries: int, *, doubt: float = 1.0
) -> Prediction:
    """The expected shares of unstable and of unanswered queries among m = `queries`, and the excess error.

    A query without an answer counts as a coin. Stable answers err where teachers err together; ĥ exceeds the best of H
    by about (ln|H| + 1)/(ηn'). The dissent is taken to be `doubt` times what the model says.
    """
    return _modelled_runs(plan, hypotheses, features, queries, (doubt,))[0]


def _modelled_runs(
    plan: VoteStage, hypotheses: Combinatorics, features: int, queries: int, doubts: Sequence[float]
) -> list[Prediction]:
    """`modelled_run` for each of the `doubts`. Searches ask for hundreds: what they have in common is computed once."""
    vector = plan.sparse_vector
    if isinstance(vector, PaperSparseVector):
        raise AssertionError("The model is for calibrated sparse vectors.")
    eta, records = plan.inverse_temperature, plan.teacher_records
    if eta is None:
        teachers, selection = agnostic(hypotheses, records), 0.0
    else:
        teachers = realisable(hypotheses, features, records)
        members = hypotheses.log_growth(plan.public or plan.subsample, features)
        selection = relabel_excess(members, eta, plan.subsample)
    common = np.array(selection + float(teachers.common))
    shares, mass = _unstable_shares(vector, plan.teachers, [doubt * float(teachers.error) for doubt in doubts])
    unanswered = unanswered_share(shares, queries, vector.unstable)
    return [
        Prediction(
            unanswered_share=float(mass @ missing),
            excess_error=float(excess_error(mass @ missing, common)),
            unstable_share=float(mass @ unstable),
        )
        for missing, unstable in zip(unanswered, shares, strict=True)
    ]


def _unstable_shares(
    vector: CalibratedSparseVector, teachers: int, errors: Sequence[float]
) -> tuple[FloatArray, FloatArray]:
    """The share of queries that are unstable, for each of the `errors` and each point of ρ; the points' masses."""
    noise, mass = vector.threshold_cover(1e-6)
    picked = _picked(noise.size)
    mass = np.add.reduceat(mass, picked)
    thresholds = vector.threshold + noise[picked][:, None]

    def seen(reach: FloatArray) -> tuple[FloatArray, FloatArray]:
        """∫ P(unstable) dt up to the last depth of `reach`, and P(unstable) there."""
        votes = (teachers - 1) // 2 - np.round(0.5 * teachers * np.exp(-reach))
        fails = vector.query_failures((votes[None, :] - thresholds).astype(np.int64))
        return np.asarray(np.trapezoid(fails, reach, axis=1)), fails[:, -1]

    whole: tuple[FloatArray, FloatArray] | None = None
    shares = []
    for error in errors:
        farthest = 0.5 / error if error > 0 else math.inf  # no point is farther than that
        if farthest < _DEPTHS[-1]:
            integral, last = seen(np.minimum(_DEPTHS, farthest))
        else:
            integral, last = whole = whole or seen(_DEPTHS)
        far = 1.0 - 2.0 * error * min(_DEPTHS[-1], farthest)
        shares.append(np.minimum(1.0, 2.0 * error * integral + far * last))
    return np.array(shares), mass / mass.sum()


@lru_cache(maxsize=256)
def _picked(size: int) -> NDArray[np.int64]:
    """At most `_THRESHOLDS` positions among `size`, evenly spread."""
    return np.unique(np.linspace(0, size - 1, _THRESHOLDS).round().astype(np.int64))


# ---------------------------------------------------------------------------------------------------------------------
# Where little can be expected of a release: said before anything is spent, from public numbers alone.


MOST_UNANSWERED = 0.5
INSTEAD = (
    "publish a classifier instead, which answers any number of queries: UniversalRelease, PrivateClassifier "
    "(--algorithm universal, pcqr publish)"
)
BEFOREHAND = "plan() and pcqr fit --dry-run say so before anything is spent"


def is_short(plan: VotingPlan) -> bool:
    """Are most of the planned queries expected to get no label?"""
    return plan.expected_answers is not None and plan.expected_answers < (1.0 - MOST_UNANSWERED) * plan.queries


def warn_if_unanswered(plan: Plan) -> None:
    """Give an `UnansweredWarning` if most of the planned queries are expected to get no label.

    A function of public numbers. Not for a release that publishes a classifier: that one answers what votes do not.
    """
    if not isinstance(plan, VotingPlan) or isinstance(plan, UniversalPlan) or not is_short(plan):
        return
    warnings.warn(
        f"Of m = {plan.queries:,} planned queries about {rounded(plan.expected_answers or 0.0):,} are expected to be "
        f"answered before the unstable answers are used up; {INSTEAD}. {BEFOREHAND}.",
        UnansweredWarning,
        stacklevel=4,  # to the caller of `fit`: numpy's error state puts a frame around it
    )


def nothing_learned(records: int, epsilon: float, predicates: int, classes: int) -> str | None:
    """Return in words that no more than the most common label can be expected, with the n and ε that change it.

    None where more can be. A function of n = `records`, ε and the numbers of predicates and classes.
    """
    least = least_n_epsilon(predicates, classes)
    if records * epsilon >= least:
        return None
    return (
        f"n·ε = {records * epsilon:.3g} is too small to learn from {counted(predicates, 'predicate')} and {classes} "
        f"classes: expect no more than the most common label. {enough(records, epsilon, least)}"
    )


def enough(records: int, epsilon: float, least: float) -> str:
    """Return a sentence with the n at this ε, and the ε at this n, from which on n·ε is at least `least`."""
    return f"Take n ≥ {math.ceil(least / epsilon):,} at this ε, or ε ≥ {rounded_text(least / records, 2)} at this n."


def warn_if_nothing_learned(shortfall: str | None) -> None:
    """Give a `NothingLearned` warning with what `nothing_learned` says, if it says anything."""
    if shortfall is not None:
        warnings.warn(shortfall, NothingLearned, stacklevel=4)  # to the caller of `fit` or `plan`, as above


def rounded(number: float) -> int:
    """A whole number with two significant digits."""
    return int(float(f"{number:.2g}"))
