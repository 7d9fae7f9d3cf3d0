"""The running sparse vector follows the rule of its proof; calibration and margins. Privacy: tests/privacy."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.exact import Floats, Integers, gaussian_support, geometric_at_least, laplace_support, tail_and_head
from support.releases import Forbidden

from pcqr.entropy import SeededEntropy, SystemEntropy
from pcqr.errors import ParameterError
from pcqr.mechanisms.sparse_vector import (
    CalibratedSparseVector,
    OneSidedSparseVector,
    PaperSparseVector,
    RenyiSparseVector,
    RunningSparseVector,
    SparseVector,
    best_one_sided,
    calibrated_sparse_vector,
    one_sided,
    paper,
    renyi,
)

ONE_SIDED = OneSidedSparseVector(threshold=3, threshold_scale=2.0, query_scale=5.0, unstable=2)
RENYI = RenyiSparseVector(threshold=3, threshold_scale=2.0, query_scale=5.0, head_start=2, unstable=2, slack=1e-6)
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
            monkeypatch.setattr(one_sided, "discrete_laplace", scripted({2.0: [rho]}))
            monkeypatch.setattr(one_sided, "geometric", scripted({5.0: noise}))
            run = ONE_SIDED.start(SystemEntropy())
            expected = [d - g > 3 + rho for d, g in zip(distances, noise, strict=True)]
            assert [run.is_stable(d) for d in distances] == expected
            assert run.unstable_left == 2 - expected.count(False)


def test_renyi_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    for rho, *noise in itertools.product(range(-4, 5), range(6), (0, 5)):
        for distances in itertools.product(range(8), (2, 6)):
            monkeypatch.setattr(renyi, "discrete_gaussian", scripted({2.0: [rho]}))
            monkeypatch.setattr(renyi, "sech_squared", scripted({5.0: noise}))
            run = RENYI.start(SystemEntropy())
            expected = [d - max(0, g - 2) > 3 + rho for d, g in zip(distances, noise, strict=True)]
            assert [run.is_stable(d) for d in distances] == expected
            assert run.unstable_left == 2 - expected.count(False)


def test_paper_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    distances = (4, 0, 7)
    for thresholds in itertools.product((-4, 0, 5), repeat=3):
        for noise in itertools.product((-3, 0, 4), repeat=3):
            monkeypatch.setattr(paper, "discrete_laplace", scripted({2.0: [*thresholds, 0], 4.0: noise}))
            run = replace(PAPER, unstable=3).start(SystemEntropy())
            answers: list[bool] = []
            for d, v in zip(distances, noise, strict=True):
                epoch = answers.count(False)
                answers.append(run.is_stable(d))
                assert answers[-1] == (d + v > 3 + thresholds[epoch])


def test_a_threshold_whose_redraw_is_broken_off_is_never_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ⊥ is counted, so whoever asks can see it: its epoch is over. Two of them at one ρ are not paid for."""
    rho: list[int | BaseException] = [0, KeyboardInterrupt(), MemoryError(), -50]

    def noise(scale: float, _: object) -> int:
        found = rho.pop(0) if scale == 2.0 else 0
        if isinstance(found, BaseException):
            raise found
        return found

    monkeypatch.setattr(paper, "discrete_laplace", noise)
    run = replace(PAPER, unstable=3).start(SystemEntropy())
    assert not run.is_stable(0)
    assert (run.unstable_left, run.queries_left) == (2, 4)
    for error, left in ((KeyboardInterrupt, 3), (MemoryError, 2)):
        with pytest.raises(error):
            run.is_stable(0)
        assert (run.unstable_left, run.queries_left) == (2, left), "nothing was tested"
    assert run.is_stable(0), "against the new threshold 3 − 50"
    assert not rho


@pytest.mark.parametrize("parameters", [ONE_SIDED, RENYI, PAPER], ids=["one-sided", "renyi", "paper"])
def test_a_test_in_the_middle_of_another_is_refused(parameters: SparseVector) -> None:
    """A signal handler runs in the thread that holds the lock. Both tests could be the last unstable one."""

    class Interrupted(SystemEntropy):
        asks = False

        def fill(self, words: NDArray[np.uint64]) -> None:
            super().fill(words)
            if self.asks:
                self.asks = False
                with pytest.raises(RuntimeError, match="in the middle"):
                    run.is_stable(-(10**6))

    entropy = Interrupted()
    run = replace(parameters, unstable=1).start(entropy)
    entropy.asks = True
    assert not run.is_stable(-(10**6))
    assert not entropy.asks
    assert run.unstable_left == 0


def test_a_test_that_is_broken_off_keeps_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    run = PAPER.start(SystemEntropy())
    monkeypatch.setattr(paper, "discrete_laplace", Mock(side_effect=[KeyboardInterrupt, 0]))
    with pytest.raises(KeyboardInterrupt):
        run.is_stable(0)
    assert run.is_stable(10**6)


@pytest.mark.parametrize("parameters", [ONE_SIDED, RENYI, PAPER], ids=["one-sided", "renyi", "paper"])
def test_a_run_goes_on_with_its_thresholds_and_what_is_left(parameters: SparseVector) -> None:
    """Those of later epochs are drawn ahead, once; a run that goes on draws none."""
    run = parameters.start(SeededEntropy(1))
    assert not run.is_stable(-(10**6))
    drawn = run.thresholds()
    assert run.thresholds() == drawn
    assert len(drawn) == (parameters.unstable if parameters.redraws_threshold else 1)
    again = RunningSparseVector(parameters, Forbidden(), drawn)
    again.unstable_left, again.queries_left = run.unstable_left, run.queries_left
    assert again.thresholds() == drawn
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(parameters), "query_noise", lambda *_: 0)
        now = drawn[1 if parameters.redraws_threshold else 0]
        assert (again.is_stable(now + 1), again.is_stable(now)) == (True, False)


@pytest.mark.parametrize("parameters", [ONE_SIDED, RENYI, PAPER], ids=["one-sided", "renyi", "paper"])
def test_it_halts_after_its_unstable_answers_and_not_one_later(parameters: SparseVector) -> None:
    run = parameters.start(SeededEntropy(1))
    assert [run.is_stable(-(10**6)) for _ in range(2)] == [False, False]
    assert run.unstable_left == 0
    assert run.has_halted
    with pytest.raises(RuntimeError, match="halted"):
        run.is_stable(10**6)


def test_stable_answers_are_free_without_limit_when_calibrated_and_counted_in_the_papers_form() -> None:
    for parameters in (ONE_SIDED, RENYI):
        run = parameters.start(SystemEntropy())
        assert all(run.is_stable(10**6) for _ in range(50))
        assert run.unstable_left == 2
    run = PAPER.start(SystemEntropy())
    assert all(run.is_stable(10**6) for _ in range(5))
    assert (run.unstable_left, run.queries_left, run.has_halted) == (2, 0, True)
    with pytest.raises(RuntimeError, match="halted"):
        run.is_stable(10**6)


@pytest.mark.parametrize("parameters", [ONE_SIDED, RENYI, PAPER], ids=["one-sided", "renyi", "paper"])
def test_the_noisy_threshold_is_not_shown(parameters: SparseVector, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (one_sided, paper):
        monkeypatch.setattr(module, "discrete_laplace", lambda *_: 987654)
    monkeypatch.setattr(renyi, "discrete_gaussian", lambda *_: 987654)
    run = parameters.start(SystemEntropy())
    assert str(987657) not in repr(run) + str(run)


def test_parameters_are_values() -> None:
    assert RENYI.guarantee.epsilon > 0  # computed once and kept
    for parameters in (ONE_SIDED, RENYI, PAPER):
        assert pickle.loads(pickle.dumps(parameters)) == parameters  # noqa: S301
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
    epsilon=st.floats(1e-3, 50.0),
    delta=st.floats(1e-15, 0.5),
    unstable=st.integers(1, 5000),
    queries=st.integers(1, 10**7),
    failure=st.floats(1e-6, 0.9),
)
@settings(max_examples=30)
def test_renyi_calibration_stays_within_its_budget_and_uses_it(
    epsilon: float, delta: float, unstable: int, queries: int, failure: float
) -> None:
    stated = RenyiSparseVector.calibrate(epsilon, delta, unstable, queries, failure).guarantee
    assert stated.within(epsilon, delta)
    is_usual = epsilon <= 3.0 and delta <= min(0.01, 0.1 * epsilon)  # beyond, a few whole numbers are too coarse
    assert stated.epsilon >= 0.95 * epsilon or not is_usual


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


def laws(parameters: CalibratedSparseVector) -> tuple[Integers, Floats, Callable[[Integers], Floats]]:
    """The support of ρ, its masses, and P(ν ≤ −t) as a function of t."""
    if isinstance(parameters, OneSidedSparseVector):
        z, mass = laplace_support(parameters.threshold_scale)
        return z, mass, lambda t: geometric_at_least(t, parameters.query_scale)
    z, mass = gaussian_support(parameters.threshold_scale)
    return z, mass, lambda t: tail_and_head(t, parameters.query_scale, parameters.head_start)[0]


def chance_of_any_failure(parameters: CalibratedSparseVector, margin: int, queries: int) -> float:
    z, mass, fails = laws(parameters)
    fail = np.minimum(fails(margin - parameters.threshold - z), 1 - 1e-16)
    return float((mass * -np.expm1(queries * np.log1p(-fail))).sum())


CALIBRATED = [
    OneSidedSparseVector.calibrate(1.0, 1e-4, 3, 0.1),
    OneSidedSparseVector.calibrate(1.0, 1e-4, 3, 0.6),
    RenyiSparseVector.calibrate(1.0, 1e-4, 30, 100, 0.05),
    RenyiSparseVector(0, 0.25, 0.5, 1, 3, 0.1),
]


@pytest.mark.parametrize(("queries", "failure"), [(1, 0.3), (1, 0.9), (100, 0.05), (10**5, 1e-4)])
@pytest.mark.parametrize("parameters", CALIBRATED, ids=lambda parameters: type(parameters).__name__)
def test_the_margin_is_the_smallest_that_suffices(
    parameters: CalibratedSparseVector, queries: int, failure: float
) -> None:
    margin = parameters.margin_needed(queries, failure)
    assert chance_of_any_failure(parameters, margin, queries) <= failure
    assert chance_of_any_failure(parameters, margin - 1, queries) > failure * (1 - 1e-4)


@pytest.mark.parametrize("scale", [900.0, 3456.7])
def test_at_large_scales_the_margin_suffices_and_is_hardly_larger(scale: float) -> None:
    for parameters in (OneSidedSparseVector(50, scale, scale, 1), RenyiSparseVector(50, scale, scale, 0, 1, 1e-3)):
        margin = parameters.margin_needed(100, 0.05)
        assert chance_of_any_failure(parameters, margin, 100) <= 0.05
        assert chance_of_any_failure(parameters, math.floor(0.99 * margin), 100) > 0.05
        assert parameters.threshold_reach(0.05) == pytest.approx(smallest_reach(parameters, 0.05), rel=0.02)


@pytest.mark.parametrize("scale", [0.3, 90.0, 900.0])
def test_the_cover_of_the_threshold_noise_is_never_below_its_law(scale: float) -> None:
    for parameters in (OneSidedSparseVector(50, scale, 1.0, 1), RenyiSparseVector(50, scale, 1.0, 0, 1, 1e-3)):
        points, cover = parameters.threshold_cover(1e-12)
        z, mass, _ = laws(parameters)
        inside = (z > points[0] - (points[1] - points[0])) & (z <= points[-1])
        blocks = np.bincount(np.searchsorted(points, z[inside]), mass[inside], minlength=points.size)
        assert (cover >= blocks * (1 - 1e-9)).all()
        assert math.fsum(mass[~inside]) <= 2e-12
        assert cover.sum() < 1.02


def smallest_reach(parameters: CalibratedSparseVector, failure: float) -> int:
    z, mass, _ = laws(parameters)
    above = mass[::-1].cumsum()[::-1]
    return int(z[above <= failure][0]) - 1


@pytest.mark.parametrize("failure", [1e-6, 0.03, 0.4999, 0.7, 0.999])
@pytest.mark.parametrize("parameters", CALIBRATED, ids=lambda parameters: type(parameters).__name__)
def test_the_reach_of_the_threshold(parameters: CalibratedSparseVector, failure: float) -> None:
    assert parameters.threshold_reach(failure) == smallest_reach(parameters, failure)


@pytest.mark.parametrize("parameters", CALIBRATED, ids=lambda parameters: type(parameters).__name__)
def test_the_chance_that_a_query_fails(parameters: CalibratedSparseVector) -> None:
    excess = np.arange(-5, 60)
    expected = laws(parameters)[2](excess)
    np.testing.assert_allclose([parameters.query_failure(int(t)) for t in excess], expected, rtol=1e-12)
    assert parameters.query_failure(0) == parameters.query_failure(-3) == 1.0


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


@pytest.mark.parametrize(
    ("unstable", "epsilon", "known", "form"),
    [
        (1, 1.0, 73, OneSidedSparseVector),
        (5, 1.0, 207, OneSidedSparseVector),
        (20, 1.0, 462, RenyiSparseVector),
        (20, 4.0, 125, RenyiSparseVector),
        (100, 1.0, 1126, RenyiSparseVector),
        (1000, 1.0, 3720, RenyiSparseVector),
    ],
)
def test_the_better_form_is_taken(
    unstable: int, epsilon: float, known: int, form: type[CalibratedSparseVector]
) -> None:
    chosen = calibrated_sparse_vector(epsilon, 1e-6, unstable, 1000, 0.01)
    assert isinstance(chosen, form)
    assert chosen.guarantee.within(epsilon, 1e-6)
    assert 0.99 * known <= chosen.margin_needed(1000, 0.01) <= known


@pytest.mark.parametrize(
    ("unstable", "epsilon", "known"), [(1, 1.0, 73), (5, 1.0, 207), (20, 1.0, 633), (20, 4.0, 158)]
)
def test_the_best_split_is_found(unstable: int, epsilon: float, known: int) -> None:
    assert best_one_sided(epsilon, 1e-6, unstable, 1000, 0.01).margin_needed(1000, 0.01) <= known


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
    ("name", "value"),
    [
        ("threshold", -1),
        ("threshold_scale", math.nan),
        ("query_scale", 0.0),
        ("head_start", -1),
        ("unstable", 0),
        ("slack", 1.0),
    ],
)
def test_bad_renyi_parameters(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        replace(RENYI, **{name: value})  # type: ignore[arg-type]


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


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", math.inf), ("delta", 0.0), ("unstable", 0), ("queries", 0), ("failure", 1.0)]
)
def test_bad_calibration_by_margin(name: str, value: float) -> None:
    good = {"epsilon": 1.0, "delta": 1e-6, "unstable": 2, "queries": 10, "failure": 0.1}
    for calibrate in (RenyiSparseVector.calibrate, best_one_sided, calibrated_sparse_vector):
        with pytest.raises(ParameterError, match=f"^{name} must be"):
            calibrate(**{**good, name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(("queries", "failure", "name"), [(0, 0.1, "queries"), (10, 0.0, "failure")])
def test_bad_margin(queries: int, failure: float, name: str) -> None:
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        ONE_SIDED.margin_needed(queries, failure)
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        RENYI.margin_needed(queries, failure)


def test_bad_reach() -> None:
    for parameters in (ONE_SIDED, RENYI):
        with pytest.raises(ParameterError, match=r"^failure must be"):
            parameters.threshold_reach(0.0)


@pytest.mark.parametrize(("epsilon", "delta", "unstable", "queries"), [(0.5, 1e-6, 1, 1), (0.3, 0.01, 7, 900)])
def test_the_papers_form_has_the_papers_constants(epsilon: float, delta: float, unstable: int, queries: int) -> None:
    """λ = √(32·T·ln(2/δ))/ε, w = ⌈2λ·ln(2m/δ)⌉, half of δ for composition."""
    made = PaperSparseVector.from_paper(epsilon, delta, unstable, queries)
    assert made.scale == pytest.approx(math.sqrt(32 * unstable * math.log(2 / delta)) / epsilon, rel=1e-11)
    assert made.threshold == math.ceil(2 * made.scale * math.log(2 * queries / delta))
    assert (made.unstable, made.queries, made.slack) == (unstable, queries, delta / 2)


def test_the_papers_query_noise_has_twice_the_scale_and_must_fit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def watched(scale: float, _: object) -> int:
        asked.append(scale)
        return 0

    monkeypatch.setattr(paper, "discrete_laplace", watched)
    PAPER.query_noise(SystemEntropy())
    PAPER.threshold_noise(SystemEntropy())
    assert asked == [4.0, 2.0]
    assert replace(PAPER, scale=2.0**49).scale == 2.0**49
    with pytest.raises(ParameterError, match="scale"):
        replace(PAPER, scale=2.0**49 * 1.01)
