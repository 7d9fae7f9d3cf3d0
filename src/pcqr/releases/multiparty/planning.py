"""Plans for a published student of soft votes: noise from (ε, δ), the penalty from the noise, parties by a rule.

Let μ be what (ε, δ) allow: noise of σ = S/μ. Vectors have length 1, so the noise of a margin is that of one weight,
whatever their number is, about

    √(k·g)/(λ·P·μ),        and λ is chosen so that it is `MARGIN_NOISE`.

More parties make for less noise, or for a smaller penalty, and for teachers that know less: P = `PARTIES`·n^⅓/√μ. T is
what it takes for the student to come within `CLOSENESS` of its minimiser. Only public numbers enter. The constants
were read off Adult at ε = .1, 1 and 4, with its test rows in view.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pcqr.checks import check_integer, check_positive
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.planner.request import Request
from pcqr.privacy.noise import LARGEST_SCALE
from pcqr.releases.multiparty.plan import PartiesPlan, PartiesStage
from pcqr.releases.multiparty.run import Floats, curvature_of, parties_guarantee
from pcqr.releases.noisy_max.planning import largest_rate

MARGIN_NOISE = 0.1
PARTIES, FEWEST_RECORDS = 7.0, 5
CLOSENESS = 1e-3
LEAST_PENALTY, LARGEST_PENALTY = 1e-4, 1e4
MOST_STEPS = 5_000
FINEST = 2**30
_ROOM = 1.0 + 2.0**-20
"""On the curvature, lest its last digits decide whether a plan is for these points."""


@dataclass(frozen=True)
class PartiesPins:
    """What the user fixes of a `PartiesStage`. None means: choose for me."""

    parties: int | None = None
    penalty: float | None = None

    def __post_init__(self) -> None:
        if self.parties is not None:
            check_integer("parties", self.parties, least=1)
        if self.penalty is not None:
            check_positive("penalty", self.penalty)


NO_PINS = PartiesPins()


def plan_parties(request: Request, vectors: Floats, pins: PartiesPins = NO_PINS) -> PartiesPlan:
    """The plan for public points with these `vectors`."""
    records, (points, coordinates) = request.records, vectors.shape
    if pins.parties is not None and pins.parties > records:
        raise InfeasiblePlan(
            f"{pins.parties:,} parties need as many records; n_samples = {records:,}.",
            f"n ≥ {pins.parties:,} records, or at most {records:,} parties",
        )
    draft = PartiesStage(
        records=records,
        parties=1 if pins.parties is None else pins.parties,
        points=points,
        coordinates=coordinates,
        penalty=1.0 if pins.penalty is None else pins.penalty,
        curvature=curvature_of(vectors) * _ROOM,
        steps=1,
        scale=1.0,
        grid=FINEST,
        labels=request.hypotheses.labels,
    )
    mu = _parameter(draft, request)
    if pins.parties is None:
        wanted = PARTIES * records ** (1.0 / 3.0) / math.sqrt(mu)
        draft = replace(draft, parties=max(1, math.floor(min(wanted, records / FEWEST_RECORDS))))
    if pins.penalty is None:
        needed = draft.sensitivity / draft.grid / (mu * MARGIN_NOISE)
        draft = replace(draft, penalty=min(max(needed, LEAST_PENALTY), LARGEST_PENALTY))
    steps = math.ceil(-math.log(CLOSENESS) * draft.smoothness / draft.penalty)
    draft = replace(draft, steps=min(steps, MOST_STEPS))
    stage = _noised(draft, _parameter(draft, request))
    return PartiesPlan(**request.promise(parties_guarantee(stage, request.delta)), student=stage)


def _parameter(draft: PartiesStage, request: Request) -> float:
    """The largest μ, to within a millionth, at which a student is within (ε, δ)."""

    def is_kept(mu: float) -> bool:
        try:
            stated = parties_guarantee(_noised(draft, mu), request.delta)
        except (ParameterError, ZeroDivisionError):
            return False
        return stated.within(request.epsilon * (1.0 - 1e-9), request.delta)

    # ρ-zCDP is (ρ + 2√(ρ·ln(1/δ)), δ)-DP (Bun and Steinke 2016), and ρ = μ²/2.
    needed = -math.log(request.delta)
    start = math.sqrt(2.0) * request.epsilon / (math.sqrt(needed + request.epsilon) + math.sqrt(needed))
    found = largest_rate(is_kept, start)
    if found is None:
        raise InfeasiblePlan("The noise is larger than can be drawn.", "a larger ε or δ")
    return found


def _noised(draft: PartiesStage, mu: float) -> PartiesStage:
    """With noise of S/μ on the finest grid on which it can be drawn and the weights are whole numbers."""
    coarse = replace(draft, grid=1)
    room = min(LARGEST_SCALE * mu / coarse.sensitivity, 2.0**59 * draft.penalty)
    grid = min(FINEST, 2 ** max(0, math.floor(math.log2(max(room, 1.0)))))
    fitted = replace(draft, grid=grid)
    return replace(fitted, scale=fitted.sensitivity / mu)
