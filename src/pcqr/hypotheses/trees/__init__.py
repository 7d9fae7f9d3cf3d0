"""Decision trees over public predicates, drawn exactly from e^{−η·mistakes} over all trees of a given depth."""

from pcqr.hypotheses.trees.decision_trees import DecisionTrees, TreeCounts
from pcqr.hypotheses.trees.tree import DecisionTree
from pcqr.records.branching import Leaf, Split
from pcqr.records.predicates import Predicate

__all__ = ["DecisionTree", "DecisionTrees", "Leaf", "Predicate", "Split", "TreeCounts"]
