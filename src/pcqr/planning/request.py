"""What a plan is made from: public numbers, checked once, with one wording for every mistake."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real

from pcqr.errors import ParameterError
from pcqr.hypotheses.base import HypothesisClass


@dataclass(frozen=True)
class Request:
    """n = `records`, p = `features`, the class, (ε, δ), m = `queries`, (α, β), and what the user pinned.

    None among the pins means "choose for me": `teachers` = k (odd), `unstable` = T, `sampling_rate` = q,
    `inverse_temperature` = η of the relabelling, `publish_share` = the share of ε for the published classifier.
    `public` is the number of public points at hand; None: there are none.
    """

    records: int
    features: int
    hypotheses: HypothesisClass
    epsilon: float
    delta: float
    queries: int
    alpha: float
    beta: float
    teachers: int | None = None
    unstable: int | None = None
    sampling_rate: float | None = None
    inverse_temperature: float | None = None
    publish_share: float | None = None
    public: int | None = None

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_between("delta", self.delta, 0, 1)
        check_count("queries", self.queries)
        check_between("alpha", self.alpha, 0, 1)
        check_between("beta", self.beta, 0, 1)
        if not isinstance(self.hypotheses, HypothesisClass):
            raise ParameterError("hypotheses", "a class from pcqr.hypotheses", self.hypotheses)
        if self.teachers is not None:
            check_count("teachers", self.teachers)
            if self.teachers % 2 == 0:
                raise ParameterError("teachers", "odd, so that votes cannot tie", self.teachers)
        if self.unstable is not None:
            check_count("unstable", self.unstable)
        if self.sampling_rate is not None:
            check_between("sampling_rate", self.sampling_rate, 0, 1, top=True)
        if self.inverse_temperature is not None:
            check_positive("inverse_temperature", self.inverse_temperature)
        if self.publish_share is not None:
            check_between("publish_share", self.publish_share, 0, 1)


def check_positive(name: str, value: float) -> None:
    if not (_is_real(value) and value > 0):
        raise ParameterError(name, "a finite number > 0", value)


def check_between(name: str, value: float, low: float, high: float, *, top: bool = False) -> None:
    if not (_is_real(value) and low < value and (value <= high if top else value < high)):
        raise ParameterError(name, f"a number in ({low}, {high}{']' if top else ')'}", value)


def check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise ParameterError(name, "an integer ≥ 1", value)


def _is_real(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(float(value))
