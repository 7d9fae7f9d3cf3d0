"""What a user asks for: a privacy budget, an accuracy to aim at, and parameters that are not left to the planner."""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.checks import check_delta, check_integer, check_positive, check_probability, check_teachers, keep_plain
from pcqr.documents import Document


@dataclass(frozen=True)
class Budget(Document):
    """(ε, δ): the most that everything which a plan releases may cost together. δ = 0 asks for pure privacy."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        if self.delta != 0:
            check_delta(self.delta)
        keep_plain(self, floats=("epsilon", "delta"))

    def __str__(self) -> str:
        return f"ε = {self.epsilon}, δ = {self.delta}"


@dataclass(frozen=True)
class Aim(Document):
    """At most α beyond the best error of the class, but for a chance β, on m = `queries` queries.

    `queries` is None where any number of them will be answered: by a classifier that is published at once.
    """

    queries: int | None
    alpha: float
    beta: float

    def __post_init__(self) -> None:
        if self.queries is not None:
            check_integer("queries", self.queries, least=1)
        check_probability("alpha", self.alpha)
        check_probability("beta", self.beta)
        keep_plain(self, floats=("alpha", "beta"), integers=("queries",))


@dataclass(frozen=True)
class Pins:
    """Parameters that the user fixes; None means "choose for me".

    `teachers` = k (odd), `unstable` = T, `sampling_rate` = q, `inverse_temperature` = η of the relabelling,
    `publish_share` = the share of ε for the published classifier.
    """

    teachers: int | None = None
    unstable: int | None = None
    sampling_rate: float | None = None
    inverse_temperature: float | None = None
    publish_share: float | None = None

    def __post_init__(self) -> None:
        if self.teachers is not None:
            check_teachers(self.teachers)
        if self.unstable is not None:
            check_integer("unstable", self.unstable, least=1)
        if self.sampling_rate is not None:
            check_probability("sampling_rate", self.sampling_rate, one_allowed=True)
        if self.inverse_temperature is not None:
            check_positive("inverse_temperature", self.inverse_temperature)
        if self.publish_share is not None:
            check_probability("publish_share", self.publish_share)
        keep_plain(
            self,
            floats=("sampling_rate", "inverse_temperature", "publish_share"),
            integers=("teachers", "unstable"),
        )
