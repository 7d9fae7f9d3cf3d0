"""What H is: one file a class, each with its learner, its exact sampler and its combinatorics."""

from pcqr.hypotheses.base import Draw, Hypothesis, HypothesisClass
from pcqr.hypotheses.finite import Finite
from pcqr.hypotheses.halfspaces import Halfspaces
from pcqr.hypotheses.intervals import Intervals
from pcqr.hypotheses.learners.estimators import Estimators
from pcqr.hypotheses.learners.growth import LogisticTeachers, TreeTeachers
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
