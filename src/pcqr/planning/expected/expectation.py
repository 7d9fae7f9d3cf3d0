"""What a vote plan is expected to do: a run of the sparse vector under a model of the teachers. Estimates, not bounds.

The model is that of `pcqr.planning.expected.model`: teachers dissent with chance ½e^{−t/θ} at distance t from a
boundary. Given ρ every query is then unstable with the same chance; what is expected is an integral over ρ and t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pcqr.hypotheses.base import Combinatorics
from pcqr.mechanisms.sparse_vector import CalibratedSparseVector, PaperSparseVector
from pcqr.plan import Prediction, VoteStage
from pcqr.planning.expected import model

FloatArray = NDArray[np.float64]

_DEPTHS = np.concatenate((np.linspace(0.0, 4.0, 41), np.linspace(4.25, 25.0, 84)))  # t/θ; beyond, all agree
_THRESHOLDS = 41


def predicted_run(plan: VoteStage, hypotheses: Combinatorics, features: int, queries: int) -> Prediction:
    """Return `expected_run` with its ranges, between the factors `model.range_ends`."""
    ends = model.range_ends(plan.inverse_temperature)
    least, most = _modelled_runs(plan, hypotheses, features, queries, ends)
    return replace(
        expected_run(plan, hypotheses, features, queries),
        unanswered_range=(least.unanswered_share, most.unanswered_share),
        unstable_range=(least.unstable_share, most.unstable_share),
    )


def worst_run(plan: VoteStage, hypotheses: Combinatorics, features: int, queries: int) -> Prediction:
    """Return what m = `queries` queries meet with the largest factor on θ of `model.doubts`."""
    return modelled_run(plan, hypotheses, features, queries, doubt=model.doubts(plan.inverse_temperature)[-1][0])


def expected_run(plan: VoteStage, hypotheses: Combinatorics, features: int, queries: int) -> Prediction:
    """What m = `queries` queries are expected to meet, averaged over how far off the model may be (`model.doubts`)."""
    doubts = model.doubts(plan.inverse_temperature)
    runs = _modelled_runs(plan, hypotheses, features, queries, [doubt for doubt, _ in doubts])

    def average(name: str) -> float:
        return math.fsum(weight * getattr(run, name) for (_, weight), run in zip(doubts, runs, strict=True))

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
        teachers, selection = model.agnostic(hypotheses, records), 0.0
    else:
        teachers = model.realisable(hypotheses, features, records)
        members = hypotheses.log_growth(plan.public or plan.subsample, features)
        selection = model.relabel_excess(members, eta, plan.subsample)
    common = np.array(selection + float(teachers.common))
    shares, mass = _unstable_shares(vector, plan.teachers, [doubt * float(teachers.error) for doubt in doubts])
    unanswered = model.unanswered_share(shares, queries, vector.unstable)
    return [
        Prediction(
            unanswered_share=float(mass @ missing),
            excess_error=float(model.excess_error(mass @ missing, common)),
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
