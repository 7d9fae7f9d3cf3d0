"""The running sparse vector follows the rule of its proof; calibration and margins. Privacy: tests/privacy."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exact import geometric_at_least, laplace_support

from pcqr.entropy import SeededEntropy, SystemEntropy
from pcqr.errors import ParameterError
from pcqr.mechanisms import sparse_vector
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, PaperSparseVector, SparseVector

ONE_SIDED = OneSidedSparseVector(threshold=3, threshold_scale=2.0, query_scale=5.0, unstable=2)
PAPER = PaperSparseVector(threshold=3, scale=2.0, unstable=2, queries=5, slack=1e-6)


def scripted(values: dict[float, Sequence[int]]) -> Callable[[float, object], int]:
    """Noise that says the values listed for the scale at which it is asked, in turn, and no other."""
    scripts = {scale: iter(listed) for scale, listed in values.items()}
    return lambda scale, _: next(scripts[scale])


# --------------------------------------------------------------------------------------------------------------
# The rule of the proof, with the noise spelled out


def test_one_sided_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    for rho, *noise in itertools.product(range(-4, 5), range(4), (0, 5)):
        for distances in itertools.product(range(8), (2, 6)):
            monkeypatch.setattr(sparse_vector, "discrete_laplace", scripted({2.0: [rho]}))
            monkeypatch.setattr(sparse_vector, "geometric", scripted({5.0: noise}))
            run = ONE_SIDED.start(SystemEntropy())
            expected = [d - g > 3 + rho for d, g in zip(distances, noise, strict=True)]
            assert [run.is_stable(d) for d in distances] == expected
            assert run.unstable_left == 2 - expected.count(False)


def test_paper_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    distances = (4, 0, 7)
    for thresholds in itertools.product((-4, 0, 5), repeat=3):
        for noise in itertools.product((-3, 0, 4), repeat=3):
            monkeypatch.setattr(sparse_vector, "discrete_laplace", scripted({2.0: [*thresholds, 0], 4.0: noise}))
            run = replace(PAPER, unstable=3).start(SystemEntropy())
            answers: list[bool] = []
            for d, v in zip(distances, noise, strict=True):
                epoch = answers.count(False)
                answers.append(run.is_stable(d))
                assert answers[-1] == (d + v > 3 + thresholds[epoch])


@pytest.mark.parametrize("parameters", [ONE_SIDED, PAPER], ids=["one-sided", "paper"])
def test_it_halts_after_its_unstable_answers_and_not_one_later(parameters: SparseVector) -> None:
    run = parameters.start(SeededEntropy(1))
    assert [run.is_stable(-(10**6)) for _ in range(2)] == [False, False]
    assert run.unstable_left == 0
    assert run.has_halted
    with pytest.raises(RuntimeError, match="halted"):
        run.is_stable(10**6)


def test_stable_answers_are_free_without_limit_when_calibrated_and_counted_in_the_papers_form() -> None:
    run = ONE_SIDED.start(SystemEntropy())
    assert all(run.is_stable(10**6) for _ in range(50))
    assert run.unstable_left == 2
    run = PAPER.start(SystemEntropy())
    assert all(run.is_stable(10**6) for _ in range(5))
    assert (run.unstable_left, run.queries_left, run.has_halted) == (2, 0, True)
    with pytest.raises(RuntimeError, match="halted"):
        run.is_stable(10**6)


@pytest.mark.parametrize("parameters", [ONE_SIDED, PAPER], ids=["one-sided", "paper"])
def test_the_noisy_threshold_is_not_shown(parameters: SparseVector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_vector, "discrete_laplace", lambda *_: 987654)
    run = parameters.start(SystemEntropy())
    assert str(987657) not in repr(run) + str(run)


def test_parameters_are_values() -> None:
    assert pickle.loads(pickle.dumps(PAPER)) == PAPER  # noqa: S301
    assert hash(ONE_SIDED) == hash(OneSidedSparseVector(3, 2.0, 5.0, 2))


# --------------------------------------------------------------------------------------------------------------
# Calibration


@given(
    epsilon=st.floats(1e-3, 50.0),
    delta=st.floats(1e-15, 0.5),
    unstable=st.integers(1, 5000),
    share=st.floats(0.01, 0.99),
)
def test_calibration_stays_within_its_budget_and_uses_it(
    epsilon: float, delta: float, unstable: int, share: float
) -> None:
    stated = OneSidedSparseVector.calibrate(epsilon, delta, unstable, share).guarantee
    assert stated.within(epsilon, delta)
    assert stated.epsilon == pytest.approx(epsilon, rel=1e-10)


@given(
    epsilon=st.floats(1e-3, 5.0), delta=st.floats(1e-15, 0.99), unstable=st.integers(1, 10**5), m=st.integers(1, 10**7)
)
def test_the_papers_constants_stay_within_their_budget(epsilon: float, delta: float, unstable: int, m: int) -> None:
    assert PaperSparseVector.from_paper(epsilon, delta, unstable, m).guarantee.within(epsilon, delta)


@pytest.mark.parametrize("delta", [1e-9, 0.03, 0.9])
@pytest.mark.parametrize("unstable", [1, 20, 10**6])
def test_the_papers_constants_hold_up_to_the_edge_of_their_range(delta: float, unstable: int) -> None:
    epsilon = 8.0 * math.log(2.0 / delta)
    assert PaperSparseVector.from_paper(epsilon, delta, unstable, unstable).guarantee.within(epsilon, delta)


def test_the_papers_constants_are_refused_where_they_do_not_hold() -> None:
    with pytest.raises(ParameterError, match="epsilon must be at most"):
        PaperSparseVector.from_paper(8.0 * math.log(2.0 / 0.03) + 0.01, 0.03, 1, 10)


# --------------------------------------------------------------------------------------------------------------
# Margins


def chance_of_any_failure(parameters: OneSidedSparseVector, margin: int, queries: int) -> float:
    z, mass = laplace_support(parameters.threshold_scale)
    fails = geometric_at_least(margin - parameters.threshold - z, parameters.query_scale)
    return math.fsum(mass * -np.expm1(queries * np.log1p(-np.minimum(fails, 1 - 1e-16))))


@pytest.mark.parametrize(("queries", "failure"), [(1, 0.3), (1, 0.9), (100, 0.05), (10**5, 1e-4)])
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_the_margin_is_the_smallest_that_suffices(queries: int, failure: float, share: float) -> None:
    parameters = OneSidedSparseVector.calibrate(1.0, 1e-4, 3, share)
    margin = parameters.margin_needed(queries, failure)
    assert chance_of_any_failure(parameters, margin, queries) <= failure
    assert chance_of_any_failure(parameters, margin - 1, queries) > failure * (1 - 1e-8)


@pytest.mark.parametrize(
    ("unstable", "epsilon", "known"), [(1, 1.0, 73), (5, 1.0, 207), (20, 1.0, 633), (20, 4.0, 158)]
)
def test_the_margins_known_for_the_best_split(unstable: int, epsilon: float, known: int) -> None:
    shares = np.arange(0.05, 0.56, 0.01)
    found = min(
        OneSidedSparseVector.calibrate(epsilon, 1e-6, unstable, float(share)).margin_needed(1000, 0.01)
        for share in shares
    )
    assert 0.99 * known <= found <= known


# --------------------------------------------------------------------------------------------------------------
# Bad parameters


@pytest.mark.parametrize(
    ("name", "value"),
    [("threshold", -1), ("threshold", 1.5), ("threshold_scale", 0.0), ("query_scale", math.inf), ("unstable", 0)],
)
def test_bad_one_sided_parameters(name: str, value: float) -> None:
    good = {"threshold": 3, "threshold_scale": 2.0, "query_scale": 5.0, "unstable": 2}
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        OneSidedSparseVector(**{**good, name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"), [("threshold", True), ("scale", math.nan), ("unstable", 0), ("queries", 0), ("slack", 0.0)]
)
def test_bad_paper_parameters(name: str, value: float) -> None:
    good = {"threshold": 3, "scale": 2.0, "unstable": 2, "queries": 5, "slack": 1e-6}
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        PaperSparseVector(**{**good, name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", 0.0), ("delta", 1.0), ("unstable", 0), ("threshold_share", 1.0)]
)
def test_bad_calibration(name: str, value: float) -> None:
    good = {"epsilon": 1.0, "delta": 1e-6, "unstable": 2, "threshold_share": 0.5}
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        OneSidedSparseVector.calibrate(**{**good, name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(("queries", "failure", "name"), [(0, 0.1, "queries"), (10, 0.0, "failure")])
def test_bad_margin(queries: int, failure: float, name: str) -> None:
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        ONE_SIDED.margin_needed(queries, failure)
