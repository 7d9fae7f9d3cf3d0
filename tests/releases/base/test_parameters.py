"""Each parameter is declared once, and an estimator has those that it uses and no others."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, fields
from typing import Any

import pytest

from pcqr import (
    AgnosticRelease,
    ConfidentMaxAggregate,
    InteractiveMaxAggregate,
    MultipartyClassifier,
    NoisyMaxAggregate,
    PrivateClassifier,
    SemiPrivateLearner,
    SubsampleAggregate,
    UniversalRelease,
)

EVERY_RELEASE = {
    *("hypotheses", "epsilon", "delta", "queries", "alpha", "beta", "entropy", "classes", "account", "teachers"),
}
STABLE = {*EVERY_RELEASE, "mode", "on_unstable", "unstable", "sampling_rate"}
RELABELLING = {*STABLE, "inverse_temperature"}
PARAMETERS: dict[type[Any], set[str]] = {
    NoisyMaxAggregate: EVERY_RELEASE | {"noise"},
    ConfidentMaxAggregate: EVERY_RELEASE | {"most_labels", "threshold", "check_scale", "answer_scale"},
    InteractiveMaxAggregate: EVERY_RELEASE
    | {"most_labels", "threshold", "check_scale", "answer_scale", "student", "lead", "confidence", "refresh"},
    SubsampleAggregate: STABLE | {"vote"},
    AgnosticRelease: RELABELLING | {"vote"},
    UniversalRelease: {*RELABELLING, "publish_share", "vote", "shows", "types"},
    MultipartyClassifier: {
        *("hypotheses", "epsilon", "delta", "entropy", "classes", "account", "parties", "penalty"),
    },
    SemiPrivateLearner: {"hypotheses", "epsilon", "alpha", "beta", "entropy", "classes", "account"},
    PrivateClassifier: {
        *("epsilon", "delta", "method", "features", "trees", "entropy", "classes", "account", "device"),
        *("class_weight", "weight_bound", "types"),
    },
}


@pytest.mark.parametrize("estimator", PARAMETERS, ids=lambda estimator: estimator.__name__)
def test_an_estimator_has_the_parameters_that_it_uses(estimator: type[Any]) -> None:
    assert set(estimator().get_params()) == PARAMETERS[estimator]


@pytest.mark.parametrize("estimator", PARAMETERS, ids=lambda estimator: estimator.__name__)
def test_a_parameter_is_declared_in_one_class(estimator: type[Any]) -> None:
    """With its default. `PrivateEstimator` names some that it reads; those have none there."""
    owners = [vars(owner) for owner in estimator.__mro__]
    declared = Counter(name for owned in owners for name in owned.get("__annotations__", ()) if name in owned)
    assert all(declared[name] == 1 for name in PARAMETERS[estimator])


@pytest.mark.parametrize("estimator", PARAMETERS, ids=lambda estimator: estimator.__name__)
def test_a_misspelt_parameter_is_reported_under_the_name_that_was_called(estimator: type[Any]) -> None:
    with pytest.raises(TypeError, match=rf"^{estimator.__name__}\.__init__"):
        estimator(epsilonn=1.0)


@pytest.mark.parametrize("estimator", PARAMETERS, ids=lambda estimator: estimator.__name__)
def test_the_fields_are_the_parameters_and_nothing_secret(estimator: type[Any]) -> None:
    """So `dataclasses.asdict`, which loggers and web frameworks call, shows parameters, before and after `fit`."""
    assert {field.name for field in fields(estimator)} == PARAMETERS[estimator]
    assert asdict(estimator()) == estimator().get_params()
