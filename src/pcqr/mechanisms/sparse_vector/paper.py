"""The form of Nandi and Bassily, corrected: the threshold is noised afresh after each ⊥ (proofs/sparse_vector.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pcqr.checks import check_delta, check_integer, check_positive, check_probability, keep_plain
from pcqr.errors import ParameterError
from pcqr.mechanisms.sparse_vector.one_sided import PROOF, RunningSparseVector
from pcqr.mechanisms.stability import scale_for
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee, positive, rounded_up
from pcqr.privacy.noise import check_scale, discrete_laplace
from pcqr.serialization import Document


@dataclass(frozen=True)
class PaperSparseVector(Document):
    """The sparse vector of the paper [1]_, corrected: the threshold is noised afresh after each unstable answer.

    Stable iff d + ν > w + ρ: ν ~ discrete Laplace(2λ) each time, ρ ~ discrete Laplace(λ) anew after each ⊥. Halts after
    T unstable answers or m queries. With a distance d to instability it is (ε, δ)-DP, adaptive queries and the labels
    of the stable ones included; an epoch costs ε₀ = 2/λ:

        ε = T·ε₀·tanh(ε₀/2) + ε₀·√(2T·ln(1/slack)),    δ = slack + min(T, m) · P(ν − ρ > w),

    or ε = T·ε₀ without the slack where that is smaller.

    Parameters
    ----------
    threshold : int
        w ≥ 0.
    scale : float
        λ, the scale of the threshold's noise; that of a query is 2λ.
    unstable : int
        T ≥ 1, the unstable answers after which it halts.
    queries : int
        m ≥ 1, the queries after which it halts.
    slack : float
        The δ that advanced composition over the T epochs may spend.

    Attributes
    ----------
    guarantee : Guarantee
        What a whole run costs.

    Raises
    ------
    ParameterError
        When a parameter is outside its range.

    References
    ----------
    .. [1] A. Nandi, R. Bassily. Privately answering classification queries in the agnostic PAC model. ALT 2020.
    .. [2] R. Bassily, O. Thakkar, A. Thakurta. Model-agnostic private learning. NeurIPS 2018.

    Examples
    --------
    >>> from pcqr.mechanisms import PaperSparseVector
    >>> vector = PaperSparseVector.from_paper(epsilon=1.0, delta=1e-6, unstable=5, queries=100)
    >>> vector.threshold, round(vector.scale, 2)
    (1842, 48.18)
    >>> vector.guarantee.within(1.0, 1e-6)
    True
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
        """What a whole run costs."""
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
        """Draw the threshold's noise and begin.

        Parameters
        ----------
        entropy : Entropy
            Where all noise of the run comes from.

        Returns
        -------
        RunningSparseVector
        """
        return RunningSparseVector(self, entropy)

    def threshold_noise(self, entropy: Entropy) -> int:
        """A draw of ρ."""
        return discrete_laplace(self.scale, entropy)

    def query_noise(self, entropy: Entropy) -> int:
        """A draw of ν."""
        return discrete_laplace(2.0 * self.scale, entropy)
