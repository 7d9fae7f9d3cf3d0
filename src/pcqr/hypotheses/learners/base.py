"""A class that only learns: no sampler, no VC dimension. Its members teach on labels as they are, and nothing else."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from numpy.typing import ArrayLike

from pcqr.checks import check_integer
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import MOST_LABELS, Hypothesis, HypothesisClass, Labels, Points
from pcqr.noise import Chooser


class OnlyLearns(HypothesisClass):
    """What such classes share: any number of labels, and refusals of all that needs to know the class as a set."""

    several_labels: ClassVar[bool] = True
    only_learns: ClassVar[bool] = True
    dimension: int

    def check_shared(self) -> None:
        """Refuse labels and dimensions outside their ranges."""
        check_integer("dimension", self.dimension, least=1)
        check_integer("labels", self.labels, least=2, most=MOST_LABELS)

    @property
    def estimated_dimension(self) -> int:
        return self.dimension

    @property
    def vc_dimension(self) -> int:
        self._unknown("a VC dimension")

    def log_growth(self, count: int, features: int = 1) -> float:  # noqa: ARG002
        self._unknown("a growth function")

    def log_probability_error(
        self,
        records: int,  # noqa: ARG002
        inverse_temperature: float,  # noqa: ARG002
        *,
        features: int = 1,  # noqa: ARG002
        public: int | None = None,  # noqa: ARG002
    ) -> float:
        self._unknown("a sampler")

    def enumerate(self, X: ArrayLike) -> Labels:  # noqa: ARG002
        self._unknown("a list of its members")

    def _draw(
        self,
        X: Points,  # noqa: ARG002
        y: Labels,  # noqa: ARG002
        inverse_temperature: float,  # noqa: ARG002
        public: Points | None,  # noqa: ARG002
        choose: Chooser,  # noqa: ARG002
    ) -> Hypothesis:
        self._unknown("a sampler")

    def _unknown(self, what: str) -> NoReturn:
        raise ParameterError("hypotheses", f"a class with {what}, such as DecisionTrees()", f"{self}: it only learns")
