"""What `pcqr plan --json` prints about a class: one object, documented in docs/planning.md."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pcqr.hypotheses import UnionsOfIntervals
from pcqr.planning.proved.capacity import VcClass
from pcqr.planning.proved.certified import CertifiedVotes
from pcqr.planning.questions.explain import explain_calibrated, explain_paper
from pcqr.planning.questions.options import Option, estimator_of
from pcqr.planning.questions.outlook import Outlook
from pcqr.planning.questions.question import ASSUMED
from pcqr.planning.questions.solving import Solved
from pcqr.planning.request import Demand, Request

SCHEMA = "pcqr.plan/1"


def as_object(outlook: Outlook, *, explain: bool = False, command: str | None = None) -> dict[str, Any]:
    """The whole answer. Keys are only ever added within one version of the schema."""
    request, solved = outlook.request, outlook.solved
    best = outlook.recommendation
    value: dict[str, Any] = {
        "schema": SCHEMA,
        "class": class_in_words(outlook),
        "features": request.features,
        "vc_dimension": request.hypotheses.vc_bound(request.features),
        **_numbers(request),
        "solved_for": list(outlook.question.unknown),
        "solution": None
        if solved is None
        else {name: getattr(solved.request, name) for name in outlook.question.unknown},
        "proved": outlook.is_proved,
        "paper": asdict(outlook.figures),
        "calibrated": None if outlook.fewest is None else _calibrated(outlook.fewest),
        "algorithms": [_algorithm(option) for option in outlook.options],
        "recommendation": {
            "algorithm": None if best.option is None else best.option.algorithm,
            "estimator": None if best.option is None else estimator_of(best.option),
            "reason": best.reason,
            "command": command,
            "python": None if best.python is None else estimator_of(best.python),
        },
        "nearest_changes": outlook.changes,
        "frontier_over": outlook.runs,
        "frontier": [_point(at, found) for at, found in outlook.points],
        "notes": list(outlook.notes),
    }
    if explain:
        value["explanation"] = {
            "paper": [asdict(line) for line in explain_paper(outlook.figures)],
            "calibrated": []
            if outlook.fewest is None
            else [asdict(line) for line in explain_calibrated(request, outlook.fewest)],
        }
    return value


def _calibrated(votes: CertifiedVotes) -> dict[str, Any]:
    plan, proved = votes.plan, votes.certificate
    return {
        "n": plan.records,
        "k": plan.teachers,
        "T": plan.sparse_vector.unstable,
        "subsample": plan.subsample,
        "sampling_rate": plan.sampling_rate,
        "inverse_temperature": plan.inverse_temperature,
        "teacher_records": plan.teacher_records,
        "sparse_vector": {"form": type(plan.sparse_vector).__name__} | asdict(plan.sparse_vector),
        "margin": proved.margin,
        "excess": proved.excess,
        "terms": {
            "selection": proved.selection,
            "generalisation": proved.generalisation,
            "unclear": proved.unclear,
            "sampling": proved.sampling,
        },
    }


def _algorithm(option: Option) -> dict[str, Any]:
    return {
        "algorithm": option.algorithm,
        "estimator": estimator_of(option),
        "certified": {"excess_error": option.proved},
        "expected": None if option.expected is None else asdict(option.expected),
        "objection": option.objection,
    }


def _point(at: float, found: Solved | None) -> dict[str, Any]:
    if found is None:
        return {"at": at, "solution": None}
    return {"at": at, "solution": _numbers(found.request)}


def _numbers(request: Demand) -> dict[str, float | None]:
    """The six numbers; n is None where it was asked for and none was found."""
    records = request.records if isinstance(request, Request) else None
    return {"records": records} | {name: getattr(request, name) for name in ASSUMED}


def class_in_words(outlook: Outlook) -> str:
    hypotheses, features = outlook.request.hypotheses, outlook.request.features
    if isinstance(hypotheses, VcClass):
        return f"any class of VC dimension {hypotheses.dimension}"
    name = type(hypotheses).__name__ + (f"({hypotheses.r})" if isinstance(hypotheses, UnionsOfIntervals) else "")
    return name if hypotheses.features is not None else f"{name} on {features} feature{'s' * (features != 1)}"
