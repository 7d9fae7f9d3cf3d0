"""Classifiers of scikit-learn that are linear, or small trees, as arrays: they vote by these, and need no pickles.

Whether a classifier is one of them is seen before it is fitted, so it is public.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.committees.base import Committee
from pcqr.hypotheses.committees.members import Constant
from pcqr.hypotheses.learners.descent import NEVER
from pcqr.hypotheses.learners.fitting import Fitted
from pcqr.hypotheses.learners.planes import Planes
from pcqr.hypotheses.trees.committee import TreeCommittee, blank

DEEPEST = 8
_LINEAR = {
    "LogisticRegression": "sklearn.linear_model",
    "RidgeClassifier": "sklearn.linear_model",
    "SGDClassifier": "sklearn.linear_model",
    "Perceptron": "sklearn.linear_model",
    "LinearSVC": "sklearn.svm",
    "LinearDiscriminantAnalysis": "sklearn.discriminant_analysis",
}
_TREES = {"DecisionTreeClassifier": "sklearn.tree", "ExtraTreeClassifier": "sklearn.tree"}
_SCALER = {"StandardScaler": "sklearn.preprocessing"}
_PIPELINE = {"Pipeline": "sklearn.pipeline"}


def is_known(estimator: Any) -> bool:
    """Is it linear, perhaps behind a `StandardScaler`, or a tree of limited depth? A subclass may vote otherwise."""
    *before, last = _steps(estimator)
    if _is_one_of(_TREES, last):
        return not before and last.max_depth is not None and last.max_depth <= DEEPEST
    return _is_one_of(_LINEAR, last) and len(before) < 2 and all(_is_one_of(_SCALER, step) for step in before)


def as_committee(estimator: Any, members: Sequence[Hypothesis], labels: int, features: int) -> Committee:
    """Clones of a known `estimator`, fitted, as arrays. What cannot be written down is the fixed vote."""
    if _is_one_of(_TREES, estimator):
        trees = blank(len(members), int(estimator.max_depth))
        for row, member in enumerate(members):
            _attempt(_write_tree, [array[row] for array in trees.values()], member)
        return TreeCommittee(trees["columns"], trees["cuts"], trees["leaves"], features, labels)
    rows = 1 if labels == 2 else labels
    weights, biases = np.zeros((len(members), rows, features)), np.zeros((len(members), rows))
    for row, member in enumerate(members):
        _attempt(_write_plane, [weights[row], biases[row]], member)
    return Planes(weights, biases)


def _attempt(write: Callable[..., None], arrays: Sequence[NDArray[Any]], member: Hypothesis) -> None:
    """`write` a member to its rows of the arrays. Nothing should fail there; should it ever, that is the fixed vote."""
    try:
        write(*arrays, member)
    except Exception:
        for array in arrays:
            array[...] = 0


def _write_plane(weights: NDArray[Any], biases: NDArray[Any], member: Hypothesis) -> None:
    if isinstance(member, Constant):
        biases[0 if biases.size == 1 else member.label] = 2.0 * member.label - 1.0 if biases.size == 1 else 1.0
    elif isinstance(member, Fitted):
        *before, last = _steps(member.model)
        slopes, shifts = np.array(last.coef_, dtype=np.float64), np.array(last.intercept_, dtype=np.float64)
        for scaler in before:
            slopes = slopes if scaler.scale_ is None else slopes / scaler.scale_
            shifts = shifts if scaler.mean_ is None or not scaler.with_mean else shifts - slopes @ scaler.mean_
        if not (np.isfinite(slopes).all() and np.isfinite(shifts).all()):
            return
        if biases.size > 1:
            biases[:] = NEVER
            biases[last.classes_] = 0.0
        places = [0] if biases.size == 1 else last.classes_[-slopes.shape[0] :]
        weights[places], biases[places] = slopes, shifts


def _write_tree(columns: NDArray[Any], cuts: NDArray[Any], leaves: NDArray[Any], member: Hypothesis) -> None:
    inner = columns.size
    if isinstance(member, Constant):
        leaves[:] = member.label
    elif isinstance(member, Fitted):
        grown, labels = member.model.tree_, member.model.classes_
        places = [(0, 0)]
        while places:
            node, place = places.pop()
            if grown.children_left[node] >= 0:
                columns[place], cuts[place] = grown.feature[node], grown.threshold[node]
                places += [(grown.children_left[node], 2 * place + 1), (grown.children_right[node], 2 * place + 2)]
            else:
                first = last = place
                while first < inner:
                    first, last = 2 * first + 1, 2 * last + 2
                leaves[first - inner : last - inner + 1] = labels[grown.value[node, 0].argmax()]


def written(estimator: Any) -> dict[str, Any]:
    """A known classifier that is not fitted, as JSON has it: its name, and the parameters that are not the defaults."""
    if not is_known(estimator):
        raise cannot_be_kept(estimator)
    if _is_one_of(_PIPELINE, estimator):
        return {"estimator": "Pipeline", "steps": [[name, _described(step)] for name, step in estimator.steps]}
    return _described(estimator)


def restored(described: dict[str, Any]) -> Any:
    """What was `written`; a `ParameterError` for anything else."""
    try:
        name, known = described["estimator"], _LINEAR | _TREES | _SCALER | _PIPELINE
        kind = getattr(import_module(known[name]), name)
        if name in _PIPELINE:
            return kind([(called, restored(step)) for called, step in described["steps"]])
        return kind(**described["parameters"])
    except (KeyError, TypeError, ValueError):
        raise ParameterError("estimator", "a classifier that pcqr keeps", "another") from None


def cannot_be_kept(estimator: Any) -> ParameterError:
    """The refusal to write it down."""
    return ParameterError(
        "hypotheses",
        f"LogisticTeachers(), TreeTeachers(), {', '.join(_LINEAR)} (perhaps behind a "
        f"StandardScaler), or a tree of max_depth ≤ {DEEPEST}, with plain parameters, for a release that is kept: "
        "others would be kept as pickles, which run whatever is in them when they are read",
        type(estimator).__name__,
    )


def _described(estimator: Any) -> dict[str, Any]:
    plain = _changed(estimator)
    if not all(isinstance(value, bool | int | float | str | None) for value in plain.values()):
        raise cannot_be_kept(estimator)
    return {"estimator": type(estimator).__name__, "parameters": plain}


def _changed(estimator: Any) -> dict[str, Any]:
    """Its parameters that are not the defaults, which another version of scikit-learn may have changed or left out."""
    defaults = type(estimator)().get_params(deep=False)
    return {name: value for name, value in estimator.get_params(deep=False).items() if value is not defaults[name]}


def _steps(estimator: Any) -> list[Any]:
    return [step for _, step in estimator.steps] if _is_one_of(_PIPELINE, estimator) else [estimator]


def _is_one_of(known: Mapping[str, str], estimator: Any) -> bool:
    """Is it of exactly such a type? scikit-learn's modules take their time, and are loaded when a name fits."""
    name = type(estimator).__name__
    return name in known and type(estimator) is getattr(import_module(known[name]), name)
