"""The running sparse vector follows the rule of its proof; its parameters check themselves. Privacy: tests/privacy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.typing import NDArray
from support.releases import Forbidden

from pcqr.errors import ParameterError
from pcqr.mechanisms import sparse_vector
from pcqr.mechanisms.sparse_vector import (
    OneSidedSparseVector,
    PaperSparseVector,
    RenyiSparseVector,
    RunningSparseVector,
    SparseVector,
)
from pcqr.privacy.entropy import SeededEntropy, SystemEntropy

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
            monkeypatch.setattr(sparse_vector, "discrete_laplace", scripted({2.0: [rho]}))
            monkeypatch.setattr(sparse_vector, "geometric", scripted({5.0: noise}))
            run = RunningSparseVector(ONE_SIDED, SystemEntropy())
            expected = [d - g > 3 + rho for d, g in zip(distances, noise, strict=True)]
            assert [run.is_stable(d) for d in distances] == expected
            assert run.unstable_remaining == 2 - expected.count(False)


def test_renyi_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    for rho, *noise in itertools.product(range(-4, 5), range(6), (0, 5)):
        for distances in itertools.product(range(8), (2, 6)):
            monkeypatch.setattr(sparse_vector, "discrete_gaussian", scripted({2.0: [rho]}))
            monkeypatch.setattr(sparse_vector, "sech_squared", scripted({5.0: noise}))
            run = RunningSparseVector(RENYI, SystemEntropy())
            expected = [d - max(0, g - 2) > 3 + rho for d, g in zip(distances, noise, strict=True)]
            assert [run.is_stable(d) for d in distances] == expected
            assert run.unstable_remaining == 2 - expected.count(False)


def test_paper_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    distances = (4, 0, 7)
    for thresholds in itertools.product((-4, 0, 5), repeat=3):
        for noise in itertools.product((-3, 0, 4), repeat=3):
            monkeypatch.setattr(sparse_vector, "discrete_laplace", scripted({2.0: [*thresholds, 0], 4.0: noise}))
            run = RunningSparseVector(replace(PAPER, unstable=3), SystemEntropy())
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

    monkeypatch.setattr(sparse_vector, "discrete_laplace", noise)
    run = RunningSparseVector(replace(PAPER, unstable=3), SystemEntropy())
    assert not run.is_stable(0)
    assert (run.unstable_remaining, run.queries_remaining) == (2, 4)
    for error, left in ((KeyboardInterrupt, 3), (MemoryError, 2)):
        with pytest.raises(error):
            run.is_stable(0)
        assert (run.unstable_remaining, run.queries_remaining) == (2, left), "nothing was tested"
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
    run = RunningSparseVector(replace(parameters, unstable=1), entropy)
    entropy.asks = True
    assert not run.is_stable(-(10**6))
    assert not entropy.asks
    assert run.unstable_remaining == 0


@pytest.mark.parametrize("parameters", [ONE_SIDED, RENYI, PAPER], ids=["one-sided", "renyi", "paper"])
def test_a_run_goes_on_with_its_thresholds_and_what_is_left(parameters: SparseVector) -> None:
    """Those of later epochs are drawn ahead, once; a run that goes on draws none."""
    run = RunningSparseVector(parameters, SeededEntropy(1))
    assert not run.is_stable(-(10**6))
    drawn = run.thresholds()
    assert run.thresholds() == drawn
    assert len(drawn) == (parameters.unstable if parameters.redraws_threshold else 1)
    again = RunningSparseVector(parameters, Forbidden(), drawn)
    again.unstable_remaining, again.queries_remaining = run.unstable_remaining, run.queries_remaining
    assert again.thresholds() == drawn
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(parameters), "query_noise", lambda *_: 0)
        now = drawn[1 if parameters.redraws_threshold else 0]
        assert (again.is_stable(now + 1), again.is_stable(now)) == (True, False)


@pytest.mark.parametrize("parameters", [ONE_SIDED, RENYI, PAPER], ids=["one-sided", "renyi", "paper"])
def test_it_halts_after_its_unstable_answers_and_not_one_later(parameters: SparseVector) -> None:
    run = RunningSparseVector(parameters, SeededEntropy(1))
    assert [run.is_stable(-(10**6)) for _ in range(2)] == [False, False]
    assert run.unstable_remaining == 0
    assert run.is_exhausted
    with pytest.raises(RuntimeError, match="halted"):
        run.is_stable(10**6)


def test_stable_answers_are_free_without_limit_when_calibrated_and_counted_in_the_papers_form() -> None:
    for parameters in (ONE_SIDED, RENYI):
        run = RunningSparseVector(parameters, SystemEntropy())
        assert all(run.is_stable(10**6) for _ in range(50))
        assert run.unstable_remaining == 2
    run = RunningSparseVector(PAPER, SystemEntropy())
    assert all(run.is_stable(10**6) for _ in range(5))
    assert (run.unstable_remaining, run.queries_remaining, run.is_exhausted) == (2, 0, True)
    with pytest.raises(RuntimeError, match="halted"):
        run.is_stable(10**6)


@pytest.mark.parametrize("parameters", [ONE_SIDED, RENYI, PAPER], ids=["one-sided", "renyi", "paper"])
def test_the_noisy_threshold_is_not_shown(parameters: SparseVector, monkeypatch: pytest.MonkeyPatch) -> None:
    for noise in ("discrete_laplace", "discrete_gaussian"):
        monkeypatch.setattr(sparse_vector, noise, lambda *_: 987654)
    run = RunningSparseVector(parameters, SystemEntropy())
    assert str(987657) not in repr(run) + str(run)


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


def test_a_test_that_is_broken_off_keeps_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunningSparseVector(PAPER, SystemEntropy())
    monkeypatch.setattr(sparse_vector, "discrete_laplace", Mock(side_effect=[KeyboardInterrupt, 0]))
    with pytest.raises(KeyboardInterrupt):
        run.is_stable(0)
    assert run.is_stable(10**6)


def test_the_papers_query_noise_has_twice_the_scale_and_must_fit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def watched(scale: float, _: object) -> int:
        asked.append(scale)
        return 0

    monkeypatch.setattr(sparse_vector, "discrete_laplace", watched)
    PAPER.query_noise(SystemEntropy())
    PAPER.threshold_noise(SystemEntropy())
    assert asked == [4.0, 2.0]
    assert replace(PAPER, scale=2.0**49).scale == 2.0**49
    with pytest.raises(ParameterError, match="scale"):
        replace(PAPER, scale=2.0**49 * 1.01)
