from __future__ import annotations

from dataclasses import dataclass, replace

from pcqr.checks import check_integer, check_inverse_temperature, keep_plain
from pcqr.hypotheses import name_of
from pcqr.mechanisms.exponential import exponential_guarantee
from pcqr.privacy.accounting import BoundedRangeEvent, Event
from pcqr.privacy.composition import Context, Stage
from pcqr.privacy.guarantee import Guarantee, rounded_up


@dataclass(frozen=True)
class DrawStage(Stage):
    """Publish: the exponential mechanism over a class fixed by public points or by declaration.

    Parameters
    ----------
    inverse_temperature : float
        η ≥ 0 in P(h) ∝ e^{−η·mistakes(h)}. At 0 the draw does not look at the records.
    after_queries : int, default 0
        m_o, the votes that come first; their queries are the public points. 0: public points are at hand.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.releases.protocol.stages import DrawStage
    >>> DrawStage(inverse_temperature=0.5)
    DrawStage(inverse_temperature=0.5, after_queries=0)
    """

    inverse_temperature: float
    after_queries: int = 0

    def __post_init__(self) -> None:
        check_inverse_temperature(self.inverse_temperature)
        check_integer("after_queries", self.after_queries, least=0)
        keep_plain(self, floats=("inverse_temperature",), integers=("after_queries",))

    @property
    def proof(self) -> str:
        """The note in `proofs/` that proves the stage's figures."""
        return "sspp"

    def work(self, records: int) -> tuple[tuple[int, int], ...]:
        return ((records, 1),)

    def words(self, context: Context) -> str:
        return f"a draw from {name_of(context.hypotheses, context.records)}"

    def event(self, context: Context) -> Event:
        """Return the draw's event: pure, ε = 2η + 2λ, with a loss in an interval of length 2η + 4λ.

        λ bounds the numerical error of a log-probability (proofs/sspp.md, proofs/accounting.md). The interval does not
        depend on what was shown before as long as the class does not. Votes, whose queries may make the class, compose
        with it by its ε alone.
        """
        eta, drawn = self.inverse_temperature, self.guarantee(context)
        slack = rounded_up(drawn.epsilon - 2.0 * eta)
        return BoundedRangeEvent(rounded_up(2.0 * eta + 2.0 * slack), drawn)

    def guarantee(self, context: Context) -> Guarantee:
        """Return the guarantee of the draw by itself."""
        stated = exponential_guarantee(
            context.hypotheses,
            records=context.records,
            inverse_temperature=self.inverse_temperature,
            features=context.features,
            public=context.public,
        )
        return replace(stated, proof="sspp")
