"""What a user asks for: a privacy budget, an accuracy to aim at, and parameters that are not left to the planner."""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.checks import check_delta, check_integer, check_positive, check_probability, check_teachers, keep_plain
from pcqr.documents import Document


@dataclass(frozen=True)
class Budget(Document):
    """(ε, δ): the most that everything which a plan releases may cost together.

    Parameters
    ----------
    epsilon : float
        ε > 0.
    delta : float, default 0.0
        δ, at least 0 and below 1. 0 asks for pure privacy.

    Raises
    ------
    ParameterError
        When ε or δ is outside its range.

    Examples
    --------
    >>> from pcqr.plan import Budget
    >>> print(Budget(1.0, 1e-6))
    ε = 1.0, δ = 1e-06
    """

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
    """The accuracy that is aimed at: an error of at most γ + α but for a chance β, γ the best error of the class.

    Parameters
    ----------
    queries : int or None
        m, the number of queries that it is about. None where any number of them will be answered: by a classifier that
        is published at once.
    alpha : float
        α, the excess error, above 0 and below 1.
    beta : float
        β, the chance of a larger one, above 0 and below 1.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.plan import Aim
    >>> Aim(queries=300, alpha=0.1, beta=0.05)
    Aim(queries=300, alpha=0.1, beta=0.05)
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
    """Parameters that the user fixes. None means: choose for me.

    Parameters
    ----------
    teachers : int or None, default None
        k, odd.
    unstable : int or None, default None
        T, the unstable answers that may be given.
    sampling_rate : float or None, default None
        q, the share of the records in the secret sub-sample.
    inverse_temperature : float or None, default None
        η of the relabelling.
    publish_share : float or None, default None
        The share of ε for the classifier that a universal release publishes.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.plan import Pins
    >>> Pins(teachers=499).unstable is None
    True
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
