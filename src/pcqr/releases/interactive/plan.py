"""What a student has to do with answers, and the whole plan of interactive ones."""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.checks import check_finite, check_integer, keep_plain
from pcqr.errors import ParameterError
from pcqr.releases.confident.plan import ConfidentMaxPlan
from pcqr.serialization import Document


@dataclass(frozen=True)
class PupilStage(Document):
    """When teachers correct a student, and when its own label is taken.

    Parameters
    ----------
    lead : int
        T', in votes: teachers speak where some label has so many votes more than the student expects, or more.
    confidence : float
        γ: else the student's label is the answer where it gives it this probability, or more.
    refresh : int
        r: the student is trained anew whenever so many more labels were answered.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.releases.interactive.plan import PupilStage
    >>> PupilStage(lead=175, confidence=0.9, refresh=20)
    PupilStage(lead=175, confidence=0.9, refresh=20)
    """

    lead: int
    confidence: float
    refresh: int

    def __post_init__(self) -> None:
        check_integer("lead", self.lead, least=0)
        check_integer("refresh", self.refresh, least=1)
        check_finite("confidence", self.confidence)
        if not 0.0 < self.confidence <= 1.0:
            raise ParameterError("confidence", "a number in (0, 1]", self.confidence)
        keep_plain(self, floats=("confidence",), integers=("lead", "refresh"))


@dataclass(frozen=True, kw_only=True)
class InteractiveMaxPlan(ConfidentMaxPlan):
    """The plan of interactive answers: a check for every query, a label of the teachers where the student is wrong.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries.
    vote : ConfidentMaxStage
        The teachers, the noise, and how much is asked and answered.
    pupil : PupilStage
        When the student is corrected, and when it is taken at its word.

    Examples
    --------
    >>> from pcqr import InteractiveMaxAggregate
    >>> plan = InteractiveMaxAggregate(queries=20).plan(records=5_000, features=1)
    >>> type(plan).__name__, str(plan.remaining)
    ('InteractiveMaxPlan', '20 queries and 10 labels')
    """

    pupil: PupilStage
