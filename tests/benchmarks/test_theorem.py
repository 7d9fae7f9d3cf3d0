"""The pure parts of the accuracy benchmarks, and one small trial of each kind."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.accuracy import ask, clopper_pearson, markdown
from benchmarks.adult import distinct_rows
from benchmarks.theorem import AGPRIVCL, SUBSAMP, TASKS, THRESHOLDS, TWO_INTERVALS, Case, Task, Trial, perform
from pcqr import SubsampleAggregate
from pcqr.hypotheses import Thresholds


def test_the_best_interval_covers_one_side() -> None:
    assert TWO_INTERVALS.best_error == pytest.approx(0.05 + 0.9 * 0.2)


@pytest.mark.parametrize("task", THRESHOLDS, ids=lambda task: task.name)
def test_the_best_threshold_errs_on_the_noise_alone(task: Task) -> None:
    assert task.best_error == pytest.approx(task.noise)


def test_best_error_is_what_the_learner_finds_on_many_records() -> None:
    X, y = TWO_INTERVALS.draw(200_000, np.random.default_rng(0))
    learned = TWO_INTERVALS.hypotheses.learn(X, y)
    assert np.mean(learned.predict(X) != y) == pytest.approx(TWO_INTERVALS.best_error, abs=0.005)


@pytest.mark.parametrize(("hits", "runs"), [(0, 20), (7, 20), (20, 20), (199, 200)])
def test_clopper_pearson_leaves_at_most_a_fortieth_on_each_side(hits: int, runs: int) -> None:
    low, high = clopper_pearson(hits, runs)
    assert low <= hits / runs <= high
    assert low == 0.0 if hits == 0 else binom.sf(hits - 1, runs, low) == pytest.approx(0.025)
    assert high == 1.0 if hits == runs else binom.cdf(hits, runs, high) == pytest.approx(0.025)


@pytest.mark.filterwarnings("ignore::pcqr.errors.UnansweredWarning")  # it is to halt
def test_a_halted_release_is_charged_coins_for_the_rest() -> None:
    generator = np.random.default_rng(0)
    X = generator.random((3_000, 1))
    y = generator.integers(0, 2, 3_000).astype(np.int8)  # nothing to learn: every vote is split
    release = SubsampleAggregate(Thresholds(), epsilon=2.0, unstable=3, on_unstable="random", entropy=0).fit(X, y)
    queries = 0.3 + 0.4 * generator.random((2_000, 1))
    outcome = ask(release, queries, np.ones(2_000, dtype=np.int8), generator)
    assert outcome.halted
    assert outcome.unstable == 3 / 2_000
    assert outcome.error == pytest.approx(outcome.unanswered / 2, abs=0.06)


def test_a_case_counts_runs_and_shows_them() -> None:
    case = Case(TWO_INTERVALS.name, AGPRIVCL, 0.23, {}, [0.2, 0.28, 0.29], [0.0, 0.1, 0.1], [0.0, 0.0, 0.5])
    assert (case.within, case.halted) == (2, 1)
    assert len(markdown(["a"], [["b"], ["c"]]).splitlines()) == 4
    assert case.row()[3].startswith("66.7 %")


@pytest.mark.parametrize("algorithm", [SUBSAMP, AGPRIVCL])
def test_a_trial_can_be_repeated(algorithm: str) -> None:
    trial = Trial(next(iter(TASKS)), algorithm, run=1, records=20_000)
    assert perform(trial) == perform(trial)


def test_queries_are_distinct() -> None:
    generator = np.random.default_rng(0)
    X = generator.integers(0, 30, (500, 1)).astype(float)
    rows = distinct_rows(X, 20, generator)
    assert len(rows) == len(np.unique(X[rows])) == 20
