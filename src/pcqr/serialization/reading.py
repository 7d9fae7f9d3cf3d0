"""Strict reading of JSON values: what is missing, unknown or of another type is refused, and the error says where."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from pcqr.errors import ParameterError


def parse(text: object, name: str) -> Any:
    """`text` as JSON as RFC 8259 has it: no NaN, no infinities, no key twice in an object, no half characters.

    `name` is what errors call it.
    """
    if not isinstance(text, str):
        raise ParameterError(name, "the text of a JSON document", type(text).__name__)
    try:
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_repeats)
        check_unicode(json.dumps(document, ensure_ascii=False), name)
    except json.JSONDecodeError as error:
        raise ParameterError(name, "a JSON document", f"text that breaks off at {error}") from None
    except _Unwanted as error:
        raise ParameterError(name, f"a JSON document {error.allowed}", error.received) from None
    except ParameterError:
        raise
    except ValueError:  # Python converts no more than a few thousand digits
        raise ParameterError(name, "a JSON document with numbers of sensible length", "a longer one") from None
    except RecursionError:
        raise ParameterError(name, "a JSON document of sensible depth", "one nested too deeply") from None
    return document


def check_unicode(text: str, name: str) -> None:
    """Refuse halves of surrogate pairs, which no encoding of Unicode can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ParameterError(name, "a JSON document of Unicode text", "half of a surrogate pair") from None


def read_object(value: object, where: str, keys: Iterable[str]) -> dict[str, Any]:
    """`value`, an object with exactly these `keys`."""
    needed = tuple(keys)
    if not isinstance(value, dict):
        raise ParameterError(where, f"an object with the keys {', '.join(needed)}", shown(value))
    if missing := [key for key in needed if key not in value]:
        raise ParameterError(where, f"an object with the keys {', '.join(needed)}", f"one without {missing[0]}")
    if unknown := sorted(set(value) - set(needed)):
        raise ParameterError(where, f"an object with the keys {', '.join(needed)} alone", f"also {unknown[0]}")
    return value


def read_list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ParameterError(where, "a list", shown(value))
    return value


def read_text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ParameterError(where, "a text", shown(value))
    return value


def read_flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(where, "true or false", shown(value))
    return value


def read_number(value: object, where: str) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(where, "a number", shown(value))
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ParameterError(where, "a number that float64 can hold", shown(value))
    return number


def read_setting(value: object, where: str) -> float:
    """A finite number, an integer where it is written as one."""
    return value if type(value) is int and abs(value) < 2**63 else read_number(value, where)


def read_count(value: object, where: str) -> int:
    """An integer from 0 to 2⁶³ − 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ParameterError(where, "an integer ≥ 0 of 64 bits", shown(value))
    return value


def read_integer(value: object, where: str, *, most: int = 2**31) -> int:
    """An integer from −`most` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not -most <= value <= most:
        raise ParameterError(where, f"an integer from −{most} to {most}", shown(value))
    return value


def shown(value: object) -> object:
    """Scalars as they are; of anything larger its type."""
    if isinstance(value, str | int | float | None):
        return value
    return "a list" if isinstance(value, list) else "an object"


class _Unwanted(Exception):
    """JSON that Python reads and RFC 8259 does not have."""

    def __init__(self, allowed: str, received: str) -> None:
        self.allowed = allowed
        self.received = received
        super().__init__(allowed)


def _refuse_constant(name: str) -> None:
    raise _Unwanted("with finite numbers", name)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Unwanted("whose keys are different", f"{max(names, key=names.count)} twice")
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Which classes have documents, and under which tag: the only classes that reading one can ever make.
#
# A tag is never given to another class and never taken away, since documents are kept for years. Classes may move: the
# table says where they are now. They are looked up when a document needs them, so this room stands below all of them.


_HOMES = {
    # what is promised
    "unit": "pcqr.privacy.unit:Unit",
    "guarantee": "pcqr.privacy.guarantee:Guarantee",
    # hypotheses
    "threshold": "pcqr.hypotheses.thresholds:Threshold",
    "interval": "pcqr.hypotheses.intervals:Interval",
    "interval-union": "pcqr.hypotheses.unions:IntervalUnion",
    "stump": "pcqr.hypotheses.stumps:Stump",
    "rectangle": "pcqr.hypotheses.rectangles:Rectangle",
    "halfspace": "pcqr.hypotheses.halfspaces:Halfspace",
    "constant": "pcqr.hypotheses.halfspaces:Constant",
    "member": "pcqr.hypotheses.finite:Member",
    "predicate": "pcqr.data.records.predicates:Predicate",
    "leaf": "pcqr.data.records.predicates:Leaf",
    "split": "pcqr.data.records.predicates:Split",
    "decision-tree": "pcqr.hypotheses.trees.tree:DecisionTree",
    "directions": "pcqr.data.records.vectors:Directions",
    "predicate-vectors": "pcqr.data.records.vectors:PredicateVectors",
    "column-vectors": "pcqr.data.records.vectors:ColumnVectors",
    "ferns": "pcqr.data.records.feature_map:Ferns",
    "feature-map": "pcqr.data.records.feature_map:FeatureMap",
    "linear-classifier": "pcqr.hypotheses.linear:LinearClassifier",
    "fixed-vote": "pcqr.hypotheses.committees:Constant",
    # answers
    "usage": "pcqr.releases.protocol.answers:Usage",
    "answer": "pcqr.releases.protocol.answers:Answer",
    "batch-cost": "pcqr.releases.protocol.answers:BatchCost",
    # mechanisms
    "one-sided-sparse-vector": "pcqr.mechanisms.sparse_vector:OneSidedSparseVector",
    "renyi-sparse-vector": "pcqr.mechanisms.sparse_vector:RenyiSparseVector",
    "paper-sparse-vector": "pcqr.mechanisms.sparse_vector:PaperSparseVector",
    "gaussian-max": "pcqr.mechanisms.noisy_max:GaussianMax",
    "exponential-max": "pcqr.mechanisms.noisy_max:ExponentialMax",
    "laplace-max": "pcqr.mechanisms.noisy_max:LaplaceMax",
    "confident-max": "pcqr.releases.confident.plan:ConfidentMax",
    # what was asked for and what is expected
    "budget": "pcqr.releases.protocol.plan:Budget",
    "aim": "pcqr.releases.protocol.plan:Aim",
    "prediction": "pcqr.releases.protocol.plan:Prediction",
    # stages
    "vote-stage": "pcqr.releases.subsample.plan:VoteStage",
    "noisy-max-stage": "pcqr.releases.noisy_max.plan:NoisyMaxStage",
    "sampled-stage": "pcqr.releases.knn.sampled:SampledStage",
    "gibbs-stage": "pcqr.releases.gibbs.plan:GibbsStage",
    "individual-stage": "pcqr.releases.knn.plan:IndividualStage",
    "confident-max-stage": "pcqr.releases.confident.plan:ConfidentMaxStage",
    "pupil-stage": "pcqr.releases.interactive.plan:PupilStage",
    "parties-stage": "pcqr.releases.multiparty.plan:PartiesStage",
    "draw-stage": "pcqr.releases.protocol.stages:DrawStage",
    "leaf-counts-stage": "pcqr.releases.classifier.plan:LeafCountsStage",
    "class-counts-stage": "pcqr.releases.classifier.plan:ClassCountsStage",
    "predicates-stage": "pcqr.releases.classifier.plan:PredicatesStage",
    "linear-stage": "pcqr.releases.classifier.plan:LinearStage",
    "comparison-stage": "pcqr.releases.classifier.plan:ComparisonStage",
    "sequence": "pcqr.privacy.composition:Sequence",
    "branch": "pcqr.privacy.composition:Branch",
    # whole plans
    "voting-plan": "pcqr.releases.subsample.plan:VotingPlan",
    "universal-plan": "pcqr.releases.universal.plan:UniversalPlan",
    "classifier-plan": "pcqr.releases.universal.plan:ClassifierPlan",
    "noisy-max-plan": "pcqr.releases.noisy_max.plan:NoisyMaxPlan",
    "sampled-plan": "pcqr.releases.knn.sampled:SampledPlan",
    "gibbs-plan": "pcqr.releases.gibbs.plan:GibbsPlan",
    "individual-plan": "pcqr.releases.knn.plan:IndividualPlan",
    "confident-max-plan": "pcqr.releases.confident.plan:ConfidentMaxPlan",
    "interactive-max-plan": "pcqr.releases.interactive.plan:InteractiveMaxPlan",
    "parties-plan": "pcqr.releases.multiparty.plan:PartiesPlan",
    "published-plan": "pcqr.releases.semi_private.plan:PublishedPlan",
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
    >>> from pcqr.serialization import register
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
    >>> from pcqr.serialization import tags
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
