"""What stages that end in a tree or in a head check of both, before either is drawn."""

from __future__ import annotations

from pcqr.accounting import BoundedRangeEvent
from pcqr.checks import check_finite, check_integer, check_inverse_temperature
from pcqr.errors import ParameterError
from pcqr.guarantee import rounded_up
from pcqr.hypotheses.base import LARGEST_EXPONENT
from pcqr.plan.head import HeadStage


def check_head(name: str, stage: object) -> None:
    """A descent for two classes."""
    if not isinstance(stage, HeadStage) or stage.classes != 2:
        raise ParameterError(name, "a HeadStage for 2 classes", stage)


def check_tree(records: int, depth: int, inverse_temperature: float) -> None:
    """A part of a run that cannot be drawn must be found out before another part is."""
    check_integer("depth", depth, least=1)
    check_inverse_temperature(inverse_temperature)
    if float(inverse_temperature) * float(records) > LARGEST_EXPONENT:  # NumPy's integers would overflow
        raise ParameterError("inverse_temperature", "at most 2**52 / n", inverse_temperature)


def check_slack(slack: float) -> None:
    """2λ of a tree's draw, or more than that."""
    check_finite("slack", slack)
    if slack < 0:
        raise ParameterError("slack", "a number ≥ 0", slack)


def draw_of(tree: float, slack: float) -> BoundedRangeEvent:
    """What a drawn tree is to an accountant: its loss lies in an interval of length 2η + 4λ (proofs/accounting.md)."""
    return BoundedRangeEvent(rounded_up(2.0 * tree + 2.0 * slack))
