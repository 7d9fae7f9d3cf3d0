"""The sparse vector: many stability tests, of which only the failed ones are paid for.

Two forms, each a frozen set of parameters that states its guarantee and can be started:

* `OneSidedSparseVector`, calibrated: the threshold is noised once, the queries by one-sided noise. Pure, up to
  the chance that the threshold falls below zero. The number of queries enters no privacy figure.
* `PaperSparseVector`, the form of Nandi and Bassily (after Bassily, Thakkar and Thakurta 2018), corrected: two-sided
  noise, the threshold noised afresh after each unstable answer, advanced composition.

Proof of both: proofs/sparse_vector.md. Dwork, Naor, Reingold, Rothblum, Vadhan 2009; Lyu, Su, Li 2017.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pcqr.checks import check_delta, check_integer, check_positive, check_probability, keep_plain
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee, positive, rounded_up
from pcqr.mechanisms.stability import laplace_tail, scale_for, smallest_threshold
from pcqr.noise import check_scale, discrete_laplace, geometric

PROOF = "sparse_vector"


@dataclass(frozen=True)
class OneSidedSparseVector:
    """Stable iff d + ν > w + ρ: ρ ~ discrete Laplace(`threshold_scale`) once, ν = −Geometric(`query_scale`) each time.

    w = `threshold`. Halts after E = `unstable` unstable answers. With e₁ = 1/`threshold_scale`,
    e₂ = 1/`query_scale` and a distance d to instability (proofs/votes.md) it is (ε, δ)-DP, adaptive queries and
    the labels of the stable ones included:

        ε = e₁ + 2·E·e₂,    δ = P(ρ < −w) = e^{−e₁(w+1)} / (1 + e^{−e₁}).
    """

    threshold: int
    threshold_scale: float
    query_scale: float
    unstable: int

    queries: ClassVar[None] = None
    redraws_threshold: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_integer("threshold", self.threshold, least=0)
        check_scale("threshold_scale", self.threshold_scale)
        check_scale("query_scale", self.query_scale)
        check_integer("unstable", self.unstable, least=1)
        keep_plain(self, floats=("threshold_scale", "query_scale"), integers=("threshold", "unstable"))

    @classmethod
    def calibrate(
        cls, epsilon: float, delta: float, unstable: int, threshold_share: float = 0.5
    ) -> OneSidedSparseVector:
        """The parameters for (`epsilon`, `delta`) and E = `unstable`, with e₁ = `threshold_share` · ε."""
        check_positive("epsilon", epsilon)
        check_delta(delta)
        check_integer("unstable", unstable, least=1)
        check_probability("threshold_share", threshold_share)
        threshold_scale = scale_for(threshold_share * epsilon)
        return cls(
            threshold=smallest_threshold(threshold_scale, delta),
            threshold_scale=threshold_scale,
            query_scale=scale_for((1.0 - threshold_share) * epsilon / (2.0 * unstable)),
            unstable=unstable,
        )

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            epsilon=rounded_up(1.0 / self.threshold_scale + 2.0 * self.unstable / self.query_scale),
            delta=laplace_tail(self.threshold_scale, self.threshold),
            proof=PROOF,
            steps=(f"sparse vector: e₁ + 2E·e₂ with E = {self.unstable} unstable answers",),
        )

    def start(self, entropy: Entropy) -> RunningSparseVector:
        return RunningSparseVector(self, entropy)

    def threshold_noise(self, entropy: Entropy) -> int:
        return discrete_laplace(self.threshold_scale, entropy)

    def query_noise(self, entropy: Entropy) -> int:
        return -geometric(self.query_scale, entropy)

    def margin_needed(self, queries: int, failure: float) -> int:
        """The smallest D for which `queries` = m queries with d ≥ D are all answered, but for a chance `failure`.

        A query with d = D is answered iff Geometric < D − w − ρ, so that the chance of any failure is

            Σ_z P(ρ = z) · g(D − w − z),    g(t) = 1 − (1 − e^{−e₂·max(0, t)})^m,

        the exact joint tail over ρ and the m geometric draws. (Accuracy only: no privacy figure depends on it.)
        """
        check_integer("queries", queries, least=1)
        check_probability("failure", failure)
        # Half of `failure` for ρ, half for the m query draws: surely enough.
        high = math.ceil(self.threshold_scale * math.log(2.0 / failure))
        high += math.ceil(self.query_scale * math.log(2.0 * queries / failure))
        low = -self.threshold
        while low < high:
            middle = (low + high) // 2
            low, high = (
                (low, middle) if self._failure(middle, queries, 1e-9 * failure) <= failure else (middle + 1, high)
            )
        return self.threshold + low

    def _failure(self, excess: int, queries: int, negligible: float) -> float:
        """The chance that any of m queries fails whose distances all exceed w by `excess`, at most 3·`negligible` over.

        z ≥ excess fails surely and has a closed form. Of the rest, what is left out is where P(|ρ| ≥ |z|) or
        g(t) ≤ m·e^{−e₂t} is below `negligible`.
        """
        z_reach = math.ceil(self.threshold_scale * -math.log(negligible))
        t_reach = math.ceil(self.query_scale * math.log(queries / negligible))
        z = np.arange(max(-z_reach, excess - t_reach), min(z_reach, excess - 1) + 1)
        a = math.exp(-1.0 / self.threshold_scale)
        mass = np.exp(-np.abs(z) / self.threshold_scale) * (1.0 - a) / (1.0 + a)
        g = -np.expm1(queries * np.log1p(-np.exp((z - excess) / self.query_scale)))
        surely = a**excess / (1.0 + a) if excess >= 1 else 1.0 - a ** (1 - excess) / (1.0 + a)
        return float(surely + mass @ g + 3.0 * negligible)


@dataclass(frozen=True)
class PaperSparseVector:
    """Stable iff d + ν > w + ρ: ν ~ discrete Laplace(2λ) each time, ρ ~ discrete Laplace(λ) anew after each ⊥.

    λ = `scale`, w = `threshold`. Halts after T = `unstable` unstable answers or m = `queries` queries. `slack` is
    the δ that advanced composition over the T epochs, each ε₀ = 2/λ, may spend. With a distance d to instability
    it is (ε, δ)-DP, adaptive queries and the labels of the stable ones included:

        ε = T·ε₀·tanh(ε₀/2) + ε₀·√(2T·ln(1/slack)),    δ = slack + min(T, m) · P(ν − ρ > w),

    or ε = T·ε₀ without the slack where that is smaller.
    """

    threshold: int
    scale: float
    unstable: int
    queries: int
    slack: float

    redraws_threshold: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_integer("threshold", self.threshold, least=0)
        check_scale("scale", self.scale)
        check_scale("scale", 2.0 * self.scale)  # that of the query noise
        check_integer("unstable", self.unstable, least=1)
        check_integer("queries", self.queries, least=1)
        check_probability("slack", self.slack)
        keep_plain(self, floats=("scale", "slack"), integers=("threshold", "unstable", "queries"))

    @classmethod
    def from_paper(cls, epsilon: float, delta: float, unstable: int, queries: int) -> PaperSparseVector:
        """The paper's λ = √(32·T·ln(2/δ)) / ε and w = ⌈2λ·ln(2m/δ)⌉: (`epsilon`, `delta`)-DP for ε ≤ 8·ln(2/δ)."""
        check_positive("epsilon", epsilon)
        check_delta(delta)
        check_integer("unstable", unstable, least=1)
        check_integer("queries", queries, least=1)
        if epsilon > 8.0 * math.log(2.0 / delta):
            raise ParameterError("epsilon", f"at most 8·ln(2/δ) = {8.0 * math.log(2.0 / delta):.6g}", epsilon)
        scale = scale_for(epsilon / math.sqrt(32.0 * unstable * math.log(2.0 / delta)))
        threshold = math.ceil(2.0 * scale * math.log(2.0 * queries / delta))
        return cls(threshold=threshold, scale=scale, unstable=unstable, queries=queries, slack=delta / 2.0)

    @property
    def guarantee(self) -> Guarantee:
        epoch = 2.0 / self.scale
        pure = self.unstable * epoch
        advanced = pure * math.tanh(epoch / 2.0) + epoch * math.sqrt(-2.0 * self.unstable * math.log(self.slack))
        passing = min(self.unstable, self.queries) * self.passing_at_zero
        return Guarantee(
            epsilon=rounded_up(min(pure, advanced)),
            delta=rounded_up(passing + (self.slack if advanced < pure else 0.0)),
            proof=PROOF,
            steps=(f"sparse vector of the paper: {self.unstable} epochs of 2/λ, λ = {self.scale:.6g}",),
        )

    @cached_property
    def passing_at_zero(self) -> float:
        """P(ν − ρ > w), the chance that a query with d = 0 passes.

        With a = e^{−1/(2λ)}: a^{w+1}·(1+a)/(1+a+a²) − a^{2w+3}/((1+a²)(1+a+a²)), below ⅔·e^{−w/(2λ)}.
        """
        a = math.exp(-0.5 / self.scale)
        power = math.exp(-0.5 * (self.threshold + 1) / self.scale)
        return positive(power * (1.0 + a - a * power / (1.0 + a * a)) / (1.0 + a + a * a))

    def start(self, entropy: Entropy) -> RunningSparseVector:
        return RunningSparseVector(self, entropy)

    def threshold_noise(self, entropy: Entropy) -> int:
        return discrete_laplace(self.scale, entropy)

    def query_noise(self, entropy: Entropy) -> int:
        return discrete_laplace(2.0 * self.scale, entropy)


SparseVector = OneSidedSparseVector | PaperSparseVector


class RunningSparseVector:
    """One run. The noisy threshold w + ρ is secret: whoever knows it can read distances off the answers."""

    def __init__(self, parameters: SparseVector, entropy: Entropy) -> None:
        self.parameters = parameters
        self.unstable_left = parameters.unstable
        self.queries_left = parameters.queries
        self._entropy = entropy
        self._noisy_threshold = self._draw_threshold()

    @property
    def has_halted(self) -> bool:
        """A function of the answers alone, hence public."""
        return self.unstable_left <= 0 or (self.queries_left is not None and self.queries_left <= 0)

    def is_stable(self, distance: int) -> bool:
        """Answer the query whose distance to instability is `distance`. Raises RuntimeError once halted."""
        if self.has_halted:
            raise RuntimeError("The sparse vector has halted: no further query may be tested.")
        if self.queries_left is not None:
            self.queries_left -= 1
        stable = distance + self.parameters.query_noise(self._entropy) > self._noisy_threshold
        if not stable:
            self.unstable_left -= 1
            if self.parameters.redraws_threshold:
                self._noisy_threshold = self._draw_threshold()
        return stable

    def _draw_threshold(self) -> int:
        return self.parameters.threshold + self.parameters.threshold_noise(self._entropy)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.parameters!r}, unstable_left={self.unstable_left})"
