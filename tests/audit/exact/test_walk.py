"""Walking through every branch of code that draws: choices, symbolic noise, and what is left as it was."""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from pcqr.audit.exact import Unverifiable, law_of
from pcqr.audit.exact.events import LAWS
from pcqr.audit.exact.tape import OneOrder, Tape, intercepted
from pcqr.errors import ParameterError
from pcqr.hypotheses.thresholds import Threshold, Thresholds
from pcqr.privacy import noise
from pcqr.privacy.entropy import Entropy, SeededEntropy

# --------------------------------------------------------------------------------------------------------------
# Choices


def test_every_permutation_is_equally_likely() -> None:
    law = law_of(lambda entropy: tuple(entropy.permutation(4).tolist()))
    assert law.keys() == set(itertools.permutations(range(4)))
    assert set(law.values()) == {1 / 24}


def test_independent_uniform_integers() -> None:
    law = law_of(lambda entropy: tuple(entropy.below(3, 2).tolist()))
    assert law.keys() == set(itertools.product(range(3), repeat=2))
    assert list(law.values()) == pytest.approx([1 / 9] * 9)


def test_later_choices_may_depend_on_earlier_ones() -> None:
    def dice(entropy: Entropy) -> int:
        first = int(entropy.below(2, 1)[0])
        return first if first == 0 else 1 + int(entropy.below(5, 1)[0])

    assert law_of(dice) == pytest.approx({0: 0.5, 1: 0.1, 2: 0.1, 3: 0.1, 4: 0.1, 5: 0.1})


def test_weighted_choices_of_a_sampler() -> None:
    x, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    law = law_of(lambda entropy: repr(Thresholds().sample(x, y, 1.0, entropy=entropy)))
    weights = {-math.inf: math.exp(-1), 0.5: 1.0, math.inf: math.exp(-1)}
    assert law == pytest.approx(
        {repr(Threshold(cut)): weight / sum(weights.values()) for cut, weight in weights.items()}
    )


def test_raw_bits_and_runs_without_end_are_refused() -> None:
    def until_heads(entropy: Entropy) -> int:
        while not entropy.below(2, 1)[0]:
            pass
        return 1

    with pytest.raises(Unverifiable, match="raw random bytes"):
        law_of(lambda entropy: entropy.words(1)[0])
    with pytest.raises(Unverifiable, match="without end"):
        law_of(until_heads)
    with pytest.raises(Unverifiable, match="orders"):
        law_of(lambda entropy: tuple(entropy.permutation(8).tolist()))
    assert OneOrder().permutation(8).tolist() == list(range(8))


# --------------------------------------------------------------------------------------------------------------
# Noise


def laplace(entropy: Entropy) -> Any:
    return noise.discrete_laplace(2.0, entropy)


A = math.exp(-0.5)


@pytest.mark.parametrize(
    ("program", "chance"),
    [
        (lambda e: laplace(e) > 0, A / (1 + A)),
        (lambda e: laplace(e) >= 1, A / (1 + A)),
        (lambda e: laplace(e) + 3 < 3, A / (1 + A)),
        (lambda e: 3 - laplace(e) <= 2, A / (1 + A)),
        (lambda e: -laplace(e) > 2, A**3 / (1 + A)),
        (lambda e: 2 * laplace(e) > 5, A**3 / (1 + A)),
        (lambda e: np.int64(3) < laplace(e) + np.int64(1), A**3 / (1 + A)),
        (lambda e: laplace(e) == 2, (1 - A) / (1 + A) * A**2),
        (lambda e: laplace(e) != 0, 1 - (1 - A) / (1 + A)),
        (lambda e: bool(laplace(e)), 1 - (1 - A) / (1 + A)),
        (lambda e: abs(laplace(e)) > 1, 2 * A**2 / (1 + A)),
        (lambda e: laplace(e) - laplace(e) >= 0, 0.5 + 0.5 * ((1 - A) / (1 + A)) ** 2 * (1 + A**2) / (1 - A**2)),
        (lambda e: max(0, laplace(e) - 1) > 0, A**2 / (1 + A)),
        (lambda e: np.array([0, laplace(e)]).argmax() == 1, A / (1 + A)),
    ],
)
def test_noise_behaves_as_the_integer_that_it_is(program: Callable[[Entropy], Any], chance: float) -> None:
    law = law_of(lambda entropy: bool(program(entropy)))
    assert law[True] == pytest.approx(chance, rel=1e-12)
    assert law[True] + law[False] == pytest.approx(1.0, abs=1e-12)


def test_the_same_noise_compared_twice_is_one_noise() -> None:
    def twice(entropy: Entropy) -> tuple[bool, bool]:
        z = laplace(entropy)
        return z > 0, z > 1

    law = law_of(twice)
    assert law[False, True] == 0.0
    assert law[True, False] == pytest.approx((1 - A) / (1 + A) * A)
    cancelled = law_of(lambda entropy: (z := laplace(entropy)) - z > 0)
    assert cancelled == {False: 1.0}


def test_noise_that_is_needed_as_a_number_takes_all_its_values() -> None:
    law = law_of(lambda entropy: min(3, int(noise.geometric(0.5, entropy))))
    b = math.exp(-2)
    assert law == pytest.approx({0: 1 - b, 1: b * (1 - b), 2: b**2 * (1 - b), 3: b**3})
    letters = law_of(lambda entropy: "abcdefghijk"[abs(noise.discrete_laplace(0.04, entropy))])
    assert letters["b"] == pytest.approx(2 * math.exp(-25) * math.tanh(12.5))
    assert "k" not in letters, "no value beyond the support, none that earlier comparisons rule out"


@pytest.mark.parametrize("show", [str, repr, "{}".format, "{:d}".format])
def test_what_is_printed_is_shown(show: Callable[[int], str]) -> None:
    b = math.exp(-2)
    law = law_of(lambda entropy: show(noise.geometric(0.5, entropy)))
    assert law["1"] == pytest.approx(b * (1 - b))


def test_a_refusal_is_not_swallowed() -> None:
    def careless(entropy: Entropy) -> int:
        try:
            return int(entropy.words(1)[0])
        except Exception:
            return 0

    with pytest.raises(Unverifiable):
        law_of(careless)


def test_a_vector_of_noise_is_many_noises() -> None:
    def first_is_largest(entropy: Entropy) -> bool:
        sums = np.array([1, 0]) + noise.discrete_gaussians(0.8, 2, entropy)
        return bool(np.array([1, -1]) @ sums > 0)

    law = law_of(first_is_largest)
    bell = {z: math.exp(-0.5 * (z / 0.8) ** 2) for z in range(-40, 41)}
    above = math.fsum(bell[a] * bell[b] for a in bell for b in bell if a + 1 > b) / math.fsum(bell.values()) ** 2
    assert law[True] == pytest.approx(above, rel=1e-12)
    assert law[True] + law[False] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", sorted(LAWS))
def test_draws_in_bulk_have_the_law_of_single_ones(name: str) -> None:
    def many(scale: float, entropy: Entropy) -> Any:
        return getattr(noise, f"{name}s")(scale, 2, entropy)

    single = law_of(lambda entropy: getattr(noise, name)(0.7, entropy) > 1)
    law = law_of(lambda entropy: tuple(z > 1 for z in many(0.7, entropy)))
    for first, second in itertools.product([True, False], repeat=2):
        assert law[first, second] == pytest.approx(single[first] * single[second], rel=1e-12)
    with pytest.raises(ParameterError, match="scale"):
        law_of(lambda entropy: many(-1.0, entropy)[0] > 1)


def _is_large(scale: float, entropy: Entropy) -> bool:
    return noise.geometric(scale, entropy) > 3


def test_the_scale_that_the_code_asked_for_counts() -> None:
    for scale in (2.0, 1.0):
        law = law_of(partial(_is_large, scale))
        assert law[True] == pytest.approx(math.exp(-4 / scale))
    with pytest.raises(ParameterError, match="scale"):
        law_of(lambda entropy: noise.geometric(-1.0, entropy))


# --------------------------------------------------------------------------------------------------------------
# Interception


def test_other_entropy_is_served_as_ever() -> None:
    def draws() -> list[int]:
        entropy = SeededEntropy(5)
        return [
            noise.discrete_laplace(9.0, entropy),
            noise.geometric(9.0, entropy),
            noise.discrete_gaussian(9.0, entropy),
            noise.sech_squared(9.0, entropy),
            *noise.discrete_laplaces(9.0, 3, entropy).tolist(),
            *noise.geometrics(9.0, 3, entropy).tolist(),
            *noise.discrete_gaussians(9.0, 3, entropy).tolist(),
            *noise.sech_squareds(9.0, 3, entropy).tolist(),
            noise.weighted_choice(np.zeros(9), entropy),
        ]

    before = draws()
    with intercepted():
        assert draws() == before


def test_everything_is_put_back() -> None:
    importer: Any = sys.modules["pcqr.mechanisms.stability"]
    original = noise.discrete_laplace
    with contextlib.suppress(ZeroDivisionError), intercepted():
        assert importer.discrete_laplace is noise.discrete_laplace is not original
        with intercepted():
            assert not isinstance(noise.discrete_laplace(1.0, Tape()), int)
        assert not isinstance(importer.discrete_laplace(1.0, Tape()), int)
        raise ZeroDivisionError
    assert importer.discrete_laplace is noise.discrete_laplace is original
