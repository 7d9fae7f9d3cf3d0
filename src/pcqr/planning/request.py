"""What a plan is made from: public numbers, checked once, with one wording for every mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from pcqr.checks import check_delta, check_integer, check_positive, check_probability, keep_plain
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Combinatorics
from pcqr.plan import Mode


class Promise(TypedDict):
    """The fields that all plans have."""

    mode: Mode
    epsilon: float
    delta: float
    queries: int
    alpha: float
    beta: float
    guarantee: Guarantee


@dataclass(frozen=True)
class Request:
    """n = `records`, p = `features`, the class, (ε, δ), m = `queries`, (α, β), and what the user pinned.

    None among the pins means "choose for me": `teachers` = k (odd), `unstable` = T, `sampling_rate` = q,
    `inverse_temperature` = η of the relabelling, `publish_share` = the share of ε for the published classifier.
    `public` is the number of public points at hand; None: there are none.
    """

    records: int
    features: int
    hypotheses: Combinatorics
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

    @property
    def is_pinned(self) -> bool:
        """Did the user fix anything that the planner would choose, or bring public points for the relabelling?"""
        pins = (self.teachers, self.unstable, self.sampling_rate, self.inverse_temperature, self.publish_share)
        return any(pin is not None for pin in (*pins, self.public))

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_delta(self.delta)
        check_integer("queries", self.queries, least=1)
        check_probability("alpha", self.alpha)
        check_probability("beta", self.beta)
        if not isinstance(self.hypotheses, Combinatorics):
            raise ParameterError("hypotheses", "a class from pcqr.hypotheses", self.hypotheses)
        if self.teachers is not None:
            check_integer("teachers", self.teachers, least=1)
            if self.teachers % 2 == 0:
                raise ParameterError("teachers", "odd, so that votes cannot tie", self.teachers)
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
            floats=("epsilon", "delta", "alpha", "beta", "sampling_rate", "inverse_temperature", "publish_share"),
            integers=("records", "features", "queries", "teachers", "unstable", "public"),
        )

    def promise(self, guarantee: Guarantee, mode: Mode = "calibrated") -> Promise:
        """What a plan with this `guarantee` starts from. The last check before anything private: ε and δ are kept."""
        if not guarantee.within(self.epsilon, self.delta):
            raise AssertionError(f"The plan gives {guarantee}, more than ε = {self.epsilon}, δ = {self.delta}.")
        return {
            "mode": mode,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "queries": self.queries,
            "alpha": self.alpha,
            "beta": self.beta,
            "guarantee": guarantee,
        }
