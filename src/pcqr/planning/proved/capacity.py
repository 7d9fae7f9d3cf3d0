"""A class of which only the VC dimension is known: enough to plan with, nothing to run."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pcqr.checks import check_integer, keep_plain
from pcqr.hypotheses.base import Combinatorics


@dataclass(frozen=True)
class VcClass(Combinatorics):
    """Any class of VC dimension d = `dimension`, its sampler taken to be exact."""

    dimension: int

    def __post_init__(self) -> None:
        check_integer("vc", self.dimension, least=1)
        keep_plain(self, integers=("dimension",))

    @property
    def vc_dimension(self) -> int:
        return self.dimension

    def log_growth(self, count: int, features: int = 1) -> float:  # noqa: ARG002
        """Sauer's bound d·ln(e·t/d) for t = `count` ≥ d points, t·ln 2 below."""
        d = self.dimension
        return d * (1.0 + math.log(count / d)) if count >= d else count * math.log(2.0)

    def log_probability_error(
        self,
        records: int,  # noqa: ARG002
        inverse_temperature: float,  # noqa: ARG002
        *,
        features: int = 1,  # noqa: ARG002
        public: int | None = None,  # noqa: ARG002
    ) -> float:
        return 0.0
