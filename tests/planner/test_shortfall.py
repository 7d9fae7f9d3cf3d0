"""Where little can be expected, `fit` says so from public numbers, before anything is drawn."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.releases import Forbidden, steps
from support.requests import request_of

from pcqr import AgnosticRelease, SubsampleAggregate, UnansweredWarning, UniversalRelease
from pcqr.errors import InfeasiblePlan, NothingLearned
from pcqr.hypotheses import Stumps, Thresholds
from pcqr.planner.expectation import nothing_learned, warn_if_nothing_learned, warn_if_unanswered
from pcqr.releases.agnostic.planning import plan_agnostic
from pcqr.releases.classifier.rule import least_n_epsilon
from pcqr.releases.protocol.plan import Prediction
from pcqr.releases.universal.planning import plan_universal

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
    release = SubsampleAggregate(Thresholds(), epsilon=1.0, queries=100_000, vote="stability", entropy=Forbidden())
    with pytest.raises(UnansweredWarning, match="planned queries"):  # warnings are errors
        release.fit(X, y)
    assert not hasattr(release, "plan_")


def test_fit_refuses_where_no_vote_can_be_stable() -> None:
    X, y = steps(200, noise=0.1)
    with pytest.raises(InfeasiblePlan, match="no vote of teachers can ever be stable"):
        AgnosticRelease(Thresholds(), epsilon=1.0, queries=1_000, vote="stability", entropy=Forbidden()).fit(X, y)


def test_a_universal_release_of_as_many_queries_is_silent() -> None:
    X, y = steps(2_000, noise=0.1)
    UniversalRelease(Thresholds(), epsilon=2.0, queries=100_000, entropy=1).fit(X, y)


def test_below_the_least_strength_the_most_common_label_is_all_that_is_expected() -> None:
    least = least_n_epsilon(100, 2)
    assert least == pytest.approx(8 * math.log(200))
    assert nothing_learned(1_000, (least + 1e-6) / 1_000, 100, 2) is None
    told = nothing_learned(1_000, (least - 1e-6) / 1_000, 100, 2)
    assert told is not None
    assert told.startswith("n·ε = 42.4 is too small to learn from 100 predicates and 2 classes: expect no more than ")


@given(st.integers(1, 10**4), st.floats(1e-3, 1.0), st.integers(1, 1_000), st.integers(2, 20))
def test_with_the_n_or_the_epsilon_that_it_names_nothing_is_said(
    records: int, epsilon: float, predicates: int, classes: int
) -> None:
    told = nothing_learned(records, epsilon, predicates, classes)
    assert (told is None) == (records * epsilon >= least_n_epsilon(predicates, classes))
    if told is None:
        return
    named = re.search(r"Take n ≥ ([\d,]+) at this ε, or ε ≥ ([\d.e+-]+) at this n\.$", told)
    assert named is not None
    more, larger = int(named[1].replace(",", "")), float(named[2])
    assert nothing_learned(more, epsilon, predicates, classes) is None
    assert nothing_learned(more - 1, epsilon, predicates, classes) is not None
    assert nothing_learned(records, larger, predicates, classes) is None
    assert nothing_learned(records, larger / 1.2, predicates, classes) is not None, "two digits"


def test_more_predicates_and_more_classes_need_more() -> None:
    assert least_n_epsilon(10, 2) < least_n_epsilon(100, 2) < least_n_epsilon(100, 10)


def test_a_warning_that_nothing_can_be_learned_names_whoever_fits() -> None:
    warn_if_nothing_learned(None)  # warnings are errors
    with pytest.raises(NothingLearned, match="too small"):
        warn_if_nothing_learned(nothing_learned(100, 0.2, 100, 2))
