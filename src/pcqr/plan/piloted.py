"""The stage of a head that two pilots choose."""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.accounting import DiscreteGaussianEvent
from pcqr.checks import check_integer, check_positive, keep_plain
from pcqr.documents import Document
from pcqr.errors import ParameterError
from pcqr.noise import check_scale
from pcqr.plan.head import HeadStage


@dataclass(frozen=True)
class PilotedStage(Document):
    """Two short heads, a noisy comparison of their mistakes, and then the one of three heads that it speaks for.

    Parameters
    ----------
    pilots : tuple of HeadStage
        The descent without ferns, and the one with nearly nothing else.
    scale : float
        σ of the discrete Gaussian noise on the lead of the second pilot, in units of 1/M of a record.
    mixed_from, ferned_from : int
        The lead, in records, from which the head has some ferns, and from which it has hardly anything else.
    heads : tuple of HeadStage
        The descents without ferns, with some, and with hardly anything else.

    Attributes
    ----------
    bound : int
        M, as in all five descents.
    comparison : DiscreteGaussianEvent
        What the noisy lead is to an accountant.

    Raises
    ------
    ParameterError
        When the descents are not for the same records, or a number is outside its range.

    Examples
    --------
    >>> from pcqr.plan import HeadStage, PilotedStage
    >>> plain, ferned = (
    ...     HeadStage(10_000, 40, ferns, depth, share, 50, 2**20, 2.0**27, 0.9, 0.001)
    ...     for ferns, depth, share in ((0, 0, 256), (10, 5, 13))
    ... )
    >>> mixed = HeadStage(10_000, 40, 10, 5, 128, 50, 2**20, 2.0**27, 0.9, 0.001)
    >>> PilotedStage((plain, ferned), 2.0**25, -80, 0, (plain, mixed, ferned)).comparison
    DiscreteGaussianEvent(noise_multiplier=16.0)
    """

    pilots: tuple[HeadStage, ...]
    scale: float
    mixed_from: int
    ferned_from: int
    heads: tuple[HeadStage, ...]

    def __post_init__(self) -> None:
        for name, number in (("pilots", 2), ("heads", 3)):
            stages = tuple(getattr(self, name))
            if len(stages) != number or not all(isinstance(stage, HeadStage) for stage in stages):
                raise ParameterError(name, f"{number} HeadStages", f"{len(stages)} of them")
            if any(stage.is_posterior for stage in stages):
                raise ParameterError(name, "descents, with steps", "a posterior")
            object.__setattr__(self, name, stages)
        alike = {(stage.records, stage.bound, stage.classes) for stage in (*self.pilots, *self.heads)}
        if len(alike) > 1:
            raise ParameterError("heads", "all for the same records, bound and classes", sorted(alike))
        for pilot, head in zip(self.pilots, (self.heads[0], self.heads[2]), strict=True):
            if _shape(pilot) != _shape(head):
                raise ParameterError("pilots", "the feature maps of the first and the last head", _shape(pilot))
        check_positive("scale", self.scale)
        check_scale("scale", self.scale)
        least = -self.records
        check_integer("mixed_from", self.mixed_from, least=least, most=self.records)
        check_integer("ferned_from", self.ferned_from, least=self.mixed_from, most=self.records)
        keep_plain(self, floats=("scale",), integers=("mixed_from", "ferned_from"))

    @property
    def records(self) -> int:
        """n."""
        return self.heads[0].records

    @property
    def bound(self) -> int:
        """M: the lead is counted in M-ths of a record, so that its noise is on as fine a grid as all others."""
        return self.heads[0].bound

    @property
    def comparison(self) -> DiscreteGaussianEvent:
        """A replaced record moves the lead by at most 2M."""
        return DiscreteGaussianEvent(self.scale / (2 * self.bound))


def _shape(stage: HeadStage) -> tuple[int, int, int, int]:
    return stage.dense, stage.ferns, stage.depth, stage.share
