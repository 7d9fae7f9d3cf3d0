"""Plans for interactive answers: those of confident ones, and when the teachers correct the student."""

from __future__ import annotations

import math
from dataclasses import fields

from pcqr.peers.confident.plan import ConfidentMaxPlan
from pcqr.peers.confident.planning import ConfidentPins, plan_confident_max
from pcqr.peers.interactive.algorithm import interactive_max_guarantee
from pcqr.peers.interactive.plan import InteractiveMaxPlan, PupilStage
from pcqr.planning.request import Request

LEAD_SHARE = 0.7
"""T' over the number of teachers: 3,500 of 5,000 in the paper's experiment."""


def plan_interactive_max(
    request: Request, pins: ConfidentPins, lead: int | None, confidence: float, refresh: int
) -> InteractiveMaxPlan:
    """At most m = `request.queries` queries. Nothing is expected: the model of confident answers knows no student."""
    confident = plan_confident_max(request, pins=pins)
    least = math.ceil(LEAD_SHARE * confident.vote.teachers) if lead is None else lead
    kept = {field.name: getattr(confident, field.name) for field in fields(ConfidentMaxPlan) if field.init}
    kept |= {"guarantee": interactive_max_guarantee(confident.vote, request.delta), "prediction": None}
    return InteractiveMaxPlan(**kept, pupil=PupilStage(least, confidence, refresh))
