"""Where most queries will stay unanswered, `fit` says so from public numbers, before anything is drawn."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest
from support.releases import Forbidden, steps
from support.requests import request_of

from pcqr import AgnosticRelease, SubsampleAggregate, UnansweredWarning, UniversalRelease
from pcqr.errors import InfeasiblePlan
from pcqr.hypotheses import Stumps, Thresholds
from pcqr.plan import Prediction
from pcqr.planning import plan_agnostic, plan_universal
from pcqr.planning.expected.shortfall import warn_if_unanswered

MANY = request_of(36_000, 14, Stumps(), 2.0, 1e-6, 100_000, 0.1, 0.05)


def test_a_release_that_will_halt_early_says_so_and_points_to_publishing() -> None:
    plan = plan_agnostic(MANY, "calibrated")
    with pytest.warns(UnansweredWarning, match=r"Of m = 100,000 planned queries about [\d,]+ are expected") as caught:
        warn_if_unanswered(plan)
    assert "UniversalRelease, PrivateClassifier" in str(caught[0].message)


@pytest.mark.parametrize(("unanswered", "warns"), [(0.0, False), (0.49, False), (0.51, True), (0.999, True)])
def test_most_is_more_than_half(unanswered: float, warns: bool) -> None:
    plan = replace(plan_agnostic(MANY, "calibrated"), prediction=Prediction(unanswered, 0.1, 0.1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_unanswered(plan)
    assert bool(caught) is warns


def test_a_release_that_publishes_answers_everything() -> None:
    plan = plan_universal(MANY, "calibrated")
    warn_if_unanswered(replace(plan, prediction=Prediction(0.99, 0.4, 0.9)))  # warnings are errors


def test_paper_mode_has_no_model_and_no_warning() -> None:
    warn_if_unanswered(replace(plan_agnostic(MANY, "calibrated"), prediction=None))


def test_fit_warns_before_it_draws_anything() -> None:
    X, y = steps(2_000, noise=0.1)
    release = SubsampleAggregate(Thresholds(), epsilon=1.0, queries=100_000, entropy=Forbidden())
    with pytest.raises(UnansweredWarning, match="planned queries"):  # warnings are errors
        release.fit(X, y)
    assert not hasattr(release, "plan_")


def test_fit_refuses_where_no_vote_can_be_stable() -> None:
    X, y = steps(200, noise=0.1)
    with pytest.raises(InfeasiblePlan, match="no vote of teachers can ever be stable"):
        AgnosticRelease(Thresholds(), epsilon=1.0, queries=1_000, entropy=Forbidden()).fit(X, y)


def test_a_universal_release_of_as_many_queries_is_silent() -> None:
    X, y = steps(2_000, noise=0.1)
    UniversalRelease(Thresholds(), epsilon=2.0, queries=100_000, entropy=1).fit(X, y)
