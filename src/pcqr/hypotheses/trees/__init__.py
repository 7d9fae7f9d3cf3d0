"""Decision trees over public predicates, drawn exactly from e^{−η·mistakes} over all trees of a given depth."""

from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.hypotheses.trees.decision_trees import DecisionTrees, TreeCounts
from pcqr.hypotheses.trees.tree import DecisionTree

__all__ = ["DecisionTree", "DecisionTrees", "Leaf", "Predicate", "Split", "TreeCounts"]
