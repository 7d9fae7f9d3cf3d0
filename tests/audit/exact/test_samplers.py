"""The shipped samplers draw from their laws, and the audit would notice if they did not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.noise import geometric_law, laplace_law, sech_squared_law

from pcqr.audit.exact import Unverifiable, verify
from pcqr.audit.exact.cases.mechanisms import MORE_SCALES, SCALES, noise_case, noise_cases
from pcqr.audit.exact.samplers import Sampler
from pcqr.privacy import noise
from pcqr.privacy.entropy import Entropy, SeededEntropy
from pcqr.privacy.noise import kernels, laws
from pcqr.privacy.noise.laws import GAUSSIAN, GEOMETRIC, Blocks, blocks


@pytest.mark.parametrize(
    ("name", "law"),
    [("discrete_laplace", laplace_law), ("geometric", geometric_law), ("sech_squared", sech_squared_law)],
)
def test_the_law_is_the_formula(name: str, law: Any) -> None:
    sampler = Sampler(name, 2.0)
    masses, missing = sampler.law
    assert missing < 1e-20
    assert len(masses) >= sampler.reach
    for z in range(-3 if name == "discrete_laplace" else 0, 60):
        assert masses[z] == pytest.approx(law(2.0, z), rel=1e-10 if z < 10 else 1e-6)
    assert sampler.bias < 1e-12


def test_scales_with_and_without_blocks_are_covered() -> None:
    for scales in (SCALES, MORE_SCALES):
        for name, listed in scales.items():
            widths = {Sampler(name, scale).width for scale in listed}
            assert widths == ({1, 2} if scales is SCALES else {1, 4})
    assert len(list(noise_cases(full=True))) == 12 + 9


def test_the_smallest_scale_can_be_walked() -> None:
    """At a tenth of it nearly every word leads to 0: attempts could not be told apart."""
    smallest = min(scale for scales in (SCALES, MORE_SCALES) for listed in scales.values() for scale in listed)
    assert verify(noise_case(Sampler("discrete_laplace", smallest))).passed
    with pytest.raises(Unverifiable, match="one number only"):
        assert Sampler("discrete_laplace", smallest / 10).law


def test_what_is_claimed_is_attained() -> None:
    laplace, geometric, sech = (
        verify(noise_case(Sampler(name, 2.0))) for name in ("discrete_laplace", "geometric", "sech_squared")
    )
    assert laplace.epsilon == pytest.approx(0.5, abs=1e-11)
    assert geometric.delta == pytest.approx(-math.expm1(-0.5), abs=1e-11)
    assert sech.epsilon == pytest.approx(0.5, abs=1e-9)
    assert sech.delta == pytest.approx(sech.claimed.delta, abs=1e-11)
    gaussian = verify(noise_case(Sampler("discrete_gaussian", 3.0)))
    assert 0.9 * gaussian.claimed.epsilon < gaussian.epsilon <= gaussian.claimed.epsilon
    assert gaussian.divergences[1].exact == pytest.approx(2.0 / 18.0, rel=1e-9), "α/(2s²)"


def refuted(name: str, scale: float, draw: Any = None) -> float:
    """The exact ε of a broken sampler under the claim of the right one."""
    found = verify(noise_case(Sampler(name, scale, draw)))
    assert not found.passed
    return found.epsilon


@pytest.mark.parametrize(
    ("name", "factor"),
    [("discrete_laplace", 0.7), ("discrete_laplace", 1.3), ("geometric", 1.3), ("discrete_gaussian", 1.0 + 1e-9)],
)
def test_a_wrong_scale_is_refuted(name: str, factor: float) -> None:
    """One that is too large as well: it keeps the claim, but all other figures go by the law."""
    original = getattr(noise, name)
    found = refuted(name, 1.0, lambda scale, entropy: original(factor * scale, entropy))
    if name == "discrete_laplace":
        assert found == pytest.approx(1.0 / factor, abs=1e-3)


def patched(table: Blocks, **changed: Any) -> Blocks:
    return Blocks(**{**vars(table), **changed})


def moved(array: Any, place: int, by: int) -> Any:
    array = array.copy()
    array[place] += np.array(by).astype(array.dtype)
    return array


def test_a_border_that_is_off_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """By 2⁻³⁰ of all words: neither a test of goodness of fit nor an eye would see it."""
    table = blocks(GEOMETRIC, 1.0)
    names = {"lows": 5, "highs": 5, "keeps": 4}
    off = patched(table, **{name: moved(getattr(table, name), place, 2**33) for name, place in names.items()})
    monkeypatch.setattr(laws, "blocks", lambda *_: off)
    assert refuted("discrete_laplace", 1.0) > 1.0


def test_minus_zero_counted_as_zero_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    def append(drawn: Any, filled: int, magnitude: int, coin: bool, form: int) -> int:
        del form
        drawn[filled] = -magnitude if coin else magnitude
        return filled + 1

    def draw(*given: Any) -> tuple[int, int, bool]:
        words, read, lows, highs, keeps, guide, *_, form, drawn, filled = given
        place = words[read] >> np.uint64(1)
        block = int(kernels.block_of(place, lows, guide))
        if not highs[block] <= place < keeps[block]:
            return read + 1, filled, True
        return read + 1, append(drawn, filled, block, bool(words[read] & np.uint64(1)), form), False

    monkeypatch.setattr(kernels, "append", append)
    monkeypatch.setattr(kernels, "draw", draw)
    assert refuted("discrete_laplace", 1.0) == pytest.approx(1.0 + math.log(2.0), abs=1e-9), "P(0) is doubled"


@pytest.mark.parametrize("changed", ["gradients", "keeps"])
def test_a_verdict_that_is_off_is_refuted(changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = blocks(GAUSSIAN, 64.0)
    by = {"gradients": -(2**34), "keeps": 2**50}[changed]
    monkeypatch.setattr(laws, "blocks", lambda *_: patched(table, **{changed: moved(getattr(table, changed), 70, by)}))
    assert refuted("discrete_gaussian", 64.0) >= 0.0


def test_attempts_of_two_words_have_the_law_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at scales that are too large to be walked: here with a word of its own for a single bit."""
    monkeypatch.setattr("pcqr.privacy.noise.laws.MOST_BITS_BESIDE_U", 0)
    sampler = Sampler("discrete_gaussian", 64.0)
    assert sampler._table.words_an_attempt == 2
    assert sampler.bias < 1e-11


def test_a_sech_draw_in_progress_that_is_given_up_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    original = kernels.sech_squared

    def forgets(supply: Any, state: Any, drawn: Any, filled: int) -> int:
        if supply.size > 1:  # as the sampler calls it, not as the walk does
            state[:] = 0, 0, -1
        return int(original(supply, state, drawn, filled))

    monkeypatch.setattr(kernels, "sech_squared", forgets)
    assert refuted("sech_squared", 1.0) >= 0.0
    assert Sampler("sech_squared", 1.0).bias == math.inf


def test_a_sech_machine_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    original = kernels.sech_squared

    def smaller(supply: Any, state: Any, drawn: Any, filled: int) -> int:
        after = int(original(supply, state, drawn, filled))
        drawn[filled:after] = 4
        return after

    monkeypatch.setattr(kernels, "sech_squared", smaller)
    with pytest.raises(Unverifiable, match="not the machine"):
        assert Sampler("sech_squared", 0.5).law


def test_a_sampler_as_a_mechanism_shows_a_noisy_count() -> None:
    class Far(Entropy):
        is_private = False

        def bytes(self, count: int) -> bytes:
            return b"\xfe" + b"\xff" * (count - 1)

    sampler = Sampler("geometric", 1.0)
    assert sampler(3, SeededEntropy(5)) == str(3 + noise.geometric(1.0, SeededEntropy(5)))
    assert Sampler("geometric", 1.0, lambda *_: 99)(3, Far()) == "55", "what lies beyond all that is looked at"
