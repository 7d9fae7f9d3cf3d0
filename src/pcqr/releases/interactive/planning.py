"""Plans for interactive answers: those of confident ones, and when the teachers correct the student."""

from __future__ import annotations

import math
from dataclasses import fields

from pcqr.planner.request import Request
from pcqr.releases.confident.plan import ConfidentMaxPlan
from pcqr.releases.confident.planning import ConfidentPins, plan_confident_max
from pcqr.releases.interactive.plan import InteractiveMaxPlan, PupilStage
from pcqr.releases.interactive.run import interactive_max_guarantee

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
