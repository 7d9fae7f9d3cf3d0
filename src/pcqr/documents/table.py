"""Which classes have documents, and under which tag: the only classes that reading one can ever make.

A tag is never given to another class and never taken away, since documents are kept for years. Classes may move: the
table says where they are now. They are looked up when a document needs them, so this room stands below all of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pcqr.errors import ParameterError

_HOMES = {
    # what is promised
    "unit": "pcqr.unit:Unit",
    "guarantee": "pcqr.guarantee:Guarantee",
    # hypotheses
    "threshold": "pcqr.hypotheses.thresholds:Threshold",
    "interval": "pcqr.hypotheses.intervals:Interval",
    "interval-union": "pcqr.hypotheses.unions:IntervalUnion",
    "stump": "pcqr.hypotheses.stumps:Stump",
    "rectangle": "pcqr.hypotheses.rectangles:Rectangle",
    "halfspace": "pcqr.hypotheses.halfspaces:Halfspace",
    "constant": "pcqr.hypotheses.halfspaces:Constant",
    "member": "pcqr.hypotheses.finite:Member",
    "predicate": "pcqr.records.predicates:Predicate",
    "leaf": "pcqr.records.branching:Leaf",
    "split": "pcqr.records.branching:Split",
    "decision-tree": "pcqr.hypotheses.trees.tree:DecisionTree",
    "directions": "pcqr.records.directions:Directions",
    "predicate-vectors": "pcqr.records.vectors:PredicateVectors",
    "column-vectors": "pcqr.records.vectors:ColumnVectors",
    "ferns": "pcqr.records.ferns:Ferns",
    "feature-map": "pcqr.records.feature_map:FeatureMap",
    "linear-classifier": "pcqr.hypotheses.linear:LinearClassifier",
    "fixed-vote": "pcqr.hypotheses.committees.members:Constant",
    # answers
    "usage": "pcqr.plan.answers:Usage",
    "answer": "pcqr.plan.answers:Answer",
    "batch-cost": "pcqr.plan.answers:BatchCost",
    # mechanisms
    "one-sided-sparse-vector": "pcqr.mechanisms.sparse_vector.one_sided:OneSidedSparseVector",
    "renyi-sparse-vector": "pcqr.mechanisms.sparse_vector.renyi:RenyiSparseVector",
    "paper-sparse-vector": "pcqr.mechanisms.sparse_vector.paper:PaperSparseVector",
    "gaussian-max": "pcqr.mechanisms.noisy_max:GaussianMax",
    "exponential-max": "pcqr.mechanisms.noisy_max:ExponentialMax",
    "laplace-max": "pcqr.mechanisms.noisy_max:LaplaceMax",
    "confident-max": "pcqr.peers.confident.mechanism:ConfidentMax",
    # what was asked for and what is expected
    "budget": "pcqr.plan.asked:Budget",
    "aim": "pcqr.plan.asked:Aim",
    "prediction": "pcqr.plan.prediction:Prediction",
    # stages
    "vote-stage": "pcqr.plan.stages:VoteStage",
    "noisy-max-stage": "pcqr.plan.stages:NoisyMaxStage",
    "sampled-stage": "pcqr.peers.knn.sampled:SampledStage",
    "gibbs-stage": "pcqr.peers.gibbs.plan:GibbsStage",
    "individual-stage": "pcqr.peers.knn.plan:IndividualStage",
    "confident-max-stage": "pcqr.peers.confident.plan:ConfidentMaxStage",
    "pupil-stage": "pcqr.peers.interactive.plan:PupilStage",
    "parties-stage": "pcqr.peers.parties.plan:PartiesStage",
    "draw-stage": "pcqr.plan.stages:DrawStage",
    "leaf-counts-stage": "pcqr.plan.stages:LeafCountsStage",
    "class-counts-stage": "pcqr.plan.stages:ClassCountsStage",
    "predicates-stage": "pcqr.plan.predicates:PredicatesStage",
    "linear-stage": "pcqr.plan.linear:LinearStage",
    "comparison-stage": "pcqr.plan.linear:ComparisonStage",
    "sequence": "pcqr.plan.composition:Sequence",
    "branch": "pcqr.plan.composition:Branch",
    # whole plans
    "voting-plan": "pcqr.plan.plans:VotingPlan",
    "universal-plan": "pcqr.plan.plans:UniversalPlan",
    "classifier-plan": "pcqr.plan.plans:ClassifierPlan",
    "noisy-max-plan": "pcqr.plan.plans:NoisyMaxPlan",
    "sampled-plan": "pcqr.peers.knn.sampled_plan:SampledPlan",
    "gibbs-plan": "pcqr.peers.gibbs.plan:GibbsPlan",
    "individual-plan": "pcqr.peers.knn.plan:IndividualPlan",
    "confident-max-plan": "pcqr.peers.confident.plan:ConfidentMaxPlan",
    "interactive-max-plan": "pcqr.peers.interactive.plan:InteractiveMaxPlan",
    "parties-plan": "pcqr.peers.parties.plan:PartiesPlan",
    "published-plan": "pcqr.plan.plans:PublishedPlan",
}
_REGISTERED: dict[str, type[Any]] = {}


def register(tag: str, kind: type[Any]) -> None:
    """Give a class of your own documents. They can be read by every program that has registered it.

    Parameters
    ----------
    tag : str
        The `type` of its documents, which no other class has.
    kind : type
        A frozen dataclass below `Document`, as every `Hypothesis` is. The type hints of its fields are plain: None,
        bool, int, float, str, `Literal` texts, tuples and unions of these, and classes that have tags.

    Raises
    ------
    ParameterError
        When the tag is another class's, or the class has another tag.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from pcqr.documents import register
    >>> from pcqr.hypotheses import Hypothesis
    >>> @dataclass(frozen=True)
    ... class Always(Hypothesis):
    ...     label: int
    ...     def predict(self, X):
    ...         return [self.label for _ in X]
    >>> register("example/always", Always)
    >>> Hypothesis.from_json(Always(1).to_json())
    Always(label=1)
    """
    if not (isinstance(tag, str) and tag) or tag in _HOMES or _REGISTERED.get(tag, kind) is not kind:
        raise ParameterError("tag", "a text that is the tag of no other class", tag)
    if tag_of(kind) not in (None, tag):
        raise ParameterError("tag", f"{tag_of(kind)!r}, the one that {kind.__name__} has", tag)
    _REGISTERED[tag] = kind


def tags() -> tuple[str, ...]:
    """The tags of all classes of pcqr that have documents.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from pcqr.documents import tags
    >>> tags()[:2]
    ('unit', 'guarantee')
    """
    return tuple(_HOMES)


def tag_of(cls: type[Any]) -> str | None:
    """The tag of exactly this class: a subclass may know more than a document of its parent would say."""
    own = (tag for tag, home in _HOMES.items() if home == f"{cls.__module__}:{cls.__qualname__}")
    registered = (tag for tag, other in _REGISTERED.items() if other is cls)
    return next(own, None) or next(registered, None)


def class_of(tag: object) -> type[Any] | None:
    """The class that `tag` stands for, imported if need be; None if it stands for none."""
    if not isinstance(tag, str):
        return None
    if tag not in _HOMES:
        return _REGISTERED.get(tag)
    module, _, name = _HOMES[tag].partition(":")
    found: type[Any] = getattr(import_module(module), name)
    return found
