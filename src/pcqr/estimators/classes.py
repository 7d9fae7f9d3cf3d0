"""The class H that a user names: one of pcqr.hypotheses or, where teachers are all that is wanted, any classifier."""

from __future__ import annotations

from typing import Any

from pcqr import registry
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.learners.estimators import Estimators, is_estimator


def as_class(given: Any, *, takes_learners: bool) -> HypothesisClass:
    """`given` as a hypothesis class; with `takes_learners`, a scikit-learn classifier becomes one that only learns."""
    found = Estimators(given) if takes_learners and is_estimator(given) else given
    if isinstance(found, HypothesisClass) and (takes_learners or not found.only_learns):
        return found
    if takes_learners:
        raise ParameterError("hypotheses", "a class from pcqr.hypotheses or a scikit-learn classifier", given)
    allowed = "a class from pcqr.hypotheses"
    if isinstance(found, HypothesisClass) or is_estimator(given):
        allowed += f" that can be drawn from; teachers that only learn are for {_takers()}"
    raise ParameterError("hypotheses", allowed, given)


def _takers() -> str:
    """The estimators that take a class that only learns."""
    entries = registry.algorithms()
    names = [e.estimator_name for e in entries if getattr(registry.resolve(e.estimator), "takes_learners", False)]
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
