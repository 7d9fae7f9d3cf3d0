"""The shipped samplers of noise, each at scales with and without blocks: what one added draw hides of a count."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from pcqr.accounting import DiscreteGaussianEvent, compose
from pcqr.audit.exact.samplers import Sampler, SamplerCase
from pcqr.audit.exact.verify import Case
from pcqr.guarantee import Guarantee, rounded_up

DELTA = 1e-6

TITLES = {
    "discrete_laplace": "Discrete Laplace",
    "geometric": "Geometric",
    "discrete_gaussian": "Discrete Gaussian",
    "sech_squared": "Sech²",
}

SCALES = {
    "discrete_laplace": (0.5, 3.0, 20.0),
    "geometric": (0.5, 3.0, 20.0),
    "discrete_gaussian": (0.5, 3.0, 70.0),
    "sech_squared": (0.5, 3.0, 20.0),
}
"""The last of each has blocks of two numbers, the others of one."""

MORE_SCALES = {
    "discrete_laplace": (0.2, 15.9, 40.0),
    "geometric": (15.9, 40.0),
    "discrete_gaussian": (63.9, 150.0),
    "sech_squared": (15.9, 40.0),
}
"""Almost wide enough for blocks of two; and blocks of four."""


def noise_cases(*, full: bool) -> Iterator[Case]:
    for name, scales in SCALES.items():
        for scale in (*scales, *(MORE_SCALES[name] if full else ())):
            yield noise_case(Sampler(name, scale))


def noise_case(sampler: Sampler) -> SamplerCase:
    """A count with one draw added, under what the law of that draw is entitled to claim."""
    event = DiscreteGaussianEvent(sampler.scale) if sampler.name == "discrete_gaussian" else None
    name = f"{TITLES[sampler.name]} noise: s = {sampler.scale:g}, w = {sampler.width}"
    return SamplerCase.of(name, claim(sampler), sampler, event)


def claim(sampler: Sampler) -> Guarantee:
    """For counts that differ by 1; proofs/audit.md, Samplers.

    On one side only, there are outcomes that one count alone allows: δ. The sech² noise has the least of it.
    """
    rate = 1.0 / sampler.scale
    if sampler.name == "discrete_gaussian":
        return compose([DiscreteGaussianEvent(sampler.scale)], DELTA)
    if sampler.name == "discrete_laplace":
        return Guarantee(rate)
    if sampler.name == "geometric":
        return Guarantee(rate, rounded_up(-math.expm1(-rate)))
    below = [math.tanh(0.5 * rate * t) ** 2 for t in range(math.ceil(3.0 * sampler.scale) + 2)]
    lost = max(later - math.exp(rate) * earlier for earlier, later in pairwise(below))
    return Guarantee(rate, rounded_up(lost))
