"""Plans and answers: the frozen parameters that an algorithm runs with, and what it says.

A plan is made from public numbers alone (see `pcqr.planning`) and never changes while a release lives. The
algorithms trust it: they compute their own guarantee from it, and the estimators check that guarantee against
what the user asked for before any noise is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from pcqr.guarantee import Guarantee

Mode = Literal["paper", "calibrated"]
Kind = Literal["stable", "unstable", "published", "repeated"]
L = TypeVar("L")


@dataclass(frozen=True)
class Usage:
    """A number of queries and, among them, of unstable answers. `queries` is None where it has no limit."""

    queries: int | None
    unstable: int

    def __str__(self) -> str:
        asked = "any number of queries" if self.queries is None else f"{self.queries} queries"
        return f"{asked} and {self.unstable} unstable answers"


@dataclass(frozen=True)
class Answer(Generic[L]):
    """One answer: `label` (None stands for ⊥), how it came about, and what has been spent and is left.

    `beyond_plan` is True past the planned number of queries: privacy holds, the accuracy bound was for fewer.
    """

    label: L | None
    kind: Kind
    spent: Usage
    remaining: Usage
    beyond_plan: bool = False


@dataclass(frozen=True)
class SparseVectorPlan:
    """Parameters of the sparse vector: integer threshold w, noise scales, number E of unstable answers.

    Calibrated: ρ ~ discrete Laplace(`threshold_scale`) once; query noise −Geometric(`query_scale`).
    Paper: two-sided discrete Laplace query noise, and ρ drawn anew after each ⊥ (`fresh_threshold`).
    """

    threshold: int
    threshold_scale: float
    query_scale: float
    unstable: int
    fresh_threshold: bool = False
    queries: int | None = None


@dataclass(frozen=True)
class VotePlan:
    """prepare + vote: sub-sample n' of n, relabel at η (None: no relabelling), partition, k teachers, sparse vector.

    `with_replacement` is the paper's re-sampling of S'' before the partition.
    """

    records: int
    subsample: int
    teachers: int
    inverse_temperature: float | None
    sparse_vector: SparseVectorPlan
    with_replacement: bool = False

    @property
    def sampling_rate(self) -> float:
        return self.subsample / self.records

    @property
    def teacher_records(self) -> int:
        """Records that every teacher has at least."""
        return self.subsample // self.teachers


@dataclass(frozen=True)
class PublishPlan:
    """publish: the exponential mechanism at η = `inverse_temperature` over a class fixed by public points.

    `after_queries` = m_o votes come first; their queries are the public points. 0: public points are at hand.
    """

    inverse_temperature: float
    after_queries: int = 0


@dataclass(frozen=True)
class Prediction:
    """What the planner expects, from public numbers: a model's estimate, not a bound and not a measurement."""

    unanswered_share: float
    excess_error: float


@dataclass(frozen=True)
class Plan:
    """Everything that was decided before the private data was touched."""

    mode: Mode
    epsilon: float
    delta: float
    queries: int
    alpha: float
    beta: float
    vote: VotePlan | None
    publish: PublishPlan | None
    guarantee: Guarantee
    prediction: Prediction | None
    certified: bool
    """True when the accuracy bound (α, β) is proved at this n. Privacy is proved always."""
