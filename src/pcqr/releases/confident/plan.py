"""A label only where the teachers agree: Confident-GNMax of Papernot et al. 2018, with integer noise on a fine grid.

A noisy check whether the most votes reach a threshold, and only then a noisy argmax. The check is paid for in every
query, the label where one is given. Votes are private: no count may get into an error or a log.
Proof: proofs/confident.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pcqr.checks import check_integer, check_positive, keep_plain
from pcqr.errors import ParameterError
from pcqr.mechanisms.noisy_max import Counts, first_largest, noised
from pcqr.privacy.accounting import Composed, DiscreteGaussianEvent, Repeated
from pcqr.privacy.composition import Context, Stage
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import rounded_up
from pcqr.privacy.noise import LARGEST_SCALE, check_scale, discrete_gaussian, discrete_gaussians
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.plan import QueryPlan
from pcqr.serialization import Document

FINEST = 2**30
"""Parts of a vote: 10⁶ draws of σ = 40 votes then add 10⁻¹⁰ to δ at ε = 15 (proofs/fine_gaussian.md)."""


@dataclass(frozen=True)
class ConfidentMax(Document):
    """⊥ unless max_y c_y + Z ≥ T, else argmax over y of c_y + Z_y, Z and Z_y Gaussian of deviation σ₁ and σ₂.

    Noise is a discrete Gaussian on multiples of 1/`grid` votes. Among equals the label that comes first.

    The largest count moves by at most 1 and the vector of counts by √2 (ℓ₂): a check is 1/(2σ₁²)-zCDP and a label
    1/σ₂²-zCDP, and both are, but for what the grid adds to δ, post-processing of continuous Gaussian noise.

    Parameters
    ----------
    threshold : int
        T, in votes. It may exceed the number of teachers: the noise of the check is large.
    check_scale : float
        σ₁.
    answer_scale : float
        σ₂.
    grid : int, default 2**30
        Into how many parts a vote is divided; `check_scale` and `answer_scale` times this are at most 2**50.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.releases.confident.plan import ConfidentMax
    >>> ConfidentMax(threshold=200, check_scale=150.0, answer_scale=40.0).check.noise_multiplier
    150.0
    """

    threshold: int
    check_scale: float
    answer_scale: float
    grid: int = FINEST

    def __post_init__(self) -> None:
        check_integer("threshold", self.threshold, least=0)
        check_integer("grid", self.grid, least=1)
        keep_plain(self, floats=("check_scale", "answer_scale"), integers=("threshold", "grid"))
        for name in ("check_scale", "answer_scale"):
            check_positive(name, getattr(self, name))
            check_scale(name, self.grid * getattr(self, name))

    @property
    def check(self) -> DiscreteGaussianEvent:
        """What a check costs."""
        return DiscreteGaussianEvent(self.check_scale)

    @property
    def answer(self) -> DiscreteGaussianEvent:
        """What a label costs, once a check is passed."""
        return DiscreteGaussianEvent(self.answer_scale / rounded_up(math.sqrt(2.0)))

    def decide(
        self, counts: Counts, entropy: Entropy, expected: Counts | int = 0, threshold: int | None = None
    ) -> int | None:
        """A label, or None for ⊥. All noise is drawn whatever comes of it.

        Where something is `expected`, public numbers in units of 1/`grid` votes, the check is of the largest c_y less
        expected_y, which moves by at most 1 as well, against another `threshold` (proofs/interactive.md).
        """
        fine, least = self.grid * counts, self.threshold if threshold is None else threshold
        check = discrete_gaussian(self.grid * self.check_scale, entropy)
        noisy = noised(fine, discrete_gaussians(self.grid * self.answer_scale, counts.size, entropy))
        return first_largest(noisy) if int((fine - expected).max()) + check >= self.grid * least else None


def finest_grid(*scales: float) -> int:
    """The finest grid, a power of two of at most 2³⁰ parts, on which noise of these `scales` can be drawn."""
    room = LARGEST_SCALE / max(scales)
    return min(FINEST, 2 ** max(0, math.floor(math.log2(room)))) if room >= 1.0 else 1


# ---------------------------------------------------------------------------------------------------------------------
# The parameters of a run of confident answers, and the whole plan.


@dataclass(frozen=True)
class ConfidentMaxStage(Stage):
    """Vote, and answer where teachers agree: n records in k parts, so many queries asked, so many labels given.

    It halts after `asked` queries or `answered` labels, whichever comes first: both are paid for beforehand.

    Parameters
    ----------
    records : int
        n.
    teachers : int
        k ≤ n.
    asked : int
        The checks that are paid for, one for each query.
    answered : int
        The labels that are paid for, at most `asked`.
    noise : ConfidentMax
        How one query is answered.
    labels : int, default 2
        C ≥ 2, the labels that are voted on.

    Attributes
    ----------
    squared_shift : float
        μ² = asked/σ₁² + 2·answered/σ₂²: what all of it costs as one Gaussian release of shift μ.
    teacher_records : int
        ⌊n/k⌋, the records that every teacher has at least.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.releases.confident.plan import ConfidentMax
    >>> from pcqr.releases.confident.plan import ConfidentMaxStage
    >>> stage = ConfidentMaxStage(60_000, 250, asked=640, answered=286, noise=ConfidentMax(200, 150.0, 40.0), labels=10)
    >>> stage.teacher_records, round(stage.squared_shift, 4)
    (240, 0.3859)
    """

    records: int
    teachers: int
    asked: int
    answered: int
    noise: ConfidentMax
    labels: int = 2

    def __post_init__(self) -> None:
        check_integer("records", self.records, least=1)
        check_integer("teachers", self.teachers, least=1, most=self.records)
        check_integer("asked", self.asked, least=1)
        check_integer("answered", self.answered, least=1, most=self.asked)
        check_integer("labels", self.labels, least=2)
        if not isinstance(self.noise, ConfidentMax):
            raise ParameterError("noise", "a ConfidentMax", self.noise)
        keep_plain(self, integers=("records", "teachers", "asked", "answered", "labels"))

    @property
    def squared_shift(self) -> float:
        """μ² of all checks and labels together."""
        check, answer = self.noise.check.noise_multiplier, self.noise.answer.noise_multiplier
        return self.asked / check / check + self.answered / answer / answer

    @property
    def draws(self) -> int:
        """The most noise that can be looked at: one draw for each check, C for each label."""
        return self.asked + self.labels * self.answered

    @property
    def teacher_records(self) -> int:
        """Records that every teacher has at least."""
        return self.records // self.teachers

    def event(self, context: Context) -> Composed:  # noqa: ARG002
        return Composed((Repeated(self.noise.check, self.asked), Repeated(self.noise.answer, self.answered)))

    def work(self, records: int) -> tuple[tuple[int, int], ...]:  # noqa: ARG002
        return ((-(-self.records // self.teachers), self.teachers),)


@dataclass(frozen=True, kw_only=True)
class ConfidentMaxPlan(QueryPlan):
    """The plan of confident answers: a check for every query, a label where it is passed.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries.
    vote : ConfidentMaxStage
        The teachers, the noise, and how much is asked and answered.

    Examples
    --------
    >>> from pcqr import ConfidentMaxAggregate
    >>> plan = ConfidentMaxAggregate(queries=20).plan(records=5_000, features=1)
    >>> type(plan).__name__, str(plan.remaining)
    ('ConfidentMaxPlan', '20 queries and 10 labels')
    """

    vote: ConfidentMaxStage

    @property
    def remaining(self) -> Usage:
        """What is left before the first query."""
        return Usage(self.vote.asked, None, self.vote.answered)

    @property
    def stages(self) -> Stage:
        return self.vote
