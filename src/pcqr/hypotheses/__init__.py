"""What H is: one file a class, each with its learner, its exact sampler and its combinatorics."""

from __future__ import annotations

from pcqr.hypotheses.base import Combinatorics, Draw, Hypothesis, HypothesisClass
from pcqr.hypotheses.estimators import Estimators
from pcqr.hypotheses.finite import Finite
from pcqr.hypotheses.growth import LogisticTeachers, TreeTeachers
from pcqr.hypotheses.halfspaces import Halfspaces
from pcqr.hypotheses.intervals import Intervals
from pcqr.hypotheses.rectangles import Rectangles
from pcqr.hypotheses.stumps import Stumps
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees
from pcqr.hypotheses.unions import UnionsOfIntervals

__all__ = [
    "DecisionTree",
    "DecisionTrees",
    "Draw",
    "Estimators",
    "Finite",
    "Halfspaces",
    "Hypothesis",
    "HypothesisClass",
    "Intervals",
    "LogisticTeachers",
    "Rectangles",
    "Stumps",
    "Thresholds",
    "TreeTeachers",
    "UnionsOfIntervals",
]

_NAMES: dict[type[Combinatorics], str] = {
    Thresholds: "thresholds",
    Intervals: "intervals",
    Stumps: "decision stumps",
    Rectangles: "axis-aligned rectangles",
    Halfspaces: "half-planes",
}


def name_of(hypotheses: Combinatorics, records: int) -> str:
    """Return what `hypotheses` is called, with the depth that trees have for n = `records`."""
    if isinstance(hypotheses, UnionsOfIntervals):
        return f"unions of at most {hypotheses.r} intervals"
    if not isinstance(hypotheses, DecisionTrees):
        return _NAMES.get(type(hypotheses), type(hypotheses).__name__)
    depth = hypotheses.depth_for(records) if hypotheses.is_fixed else hypotheses.depth
    size = "" if depth is None else f" of depth {depth}"
    asked = "" if hypotheses.predicates is None else f" over {len(hypotheses.predicates)} predicates"
    stop = f", stopping prior {hypotheses.stop:g}" if hypotheses.stop else ""
    return f"decision trees{size}{asked}{stop}"
