"""The stage of a contest between a pilot of the head and trees."""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.accounting import BoundedRangeEvent, DiscreteGaussianEvent
from pcqr.checks import check_integer, check_positive, keep_plain
from pcqr.documents import Document
from pcqr.errors import ParameterError
from pcqr.noise import check_scale
from pcqr.plan.head import HeadStage
from pcqr.plan.ways import check_head, check_slack, check_tree, draw_of


@dataclass(frozen=True)
class ContestStage(Document):
    """A short head, its mistakes beside those of the best tree, with noise; then a tree or a head.

    Parameters
    ----------
    pilot : HeadStage
        The short descent, for two classes.
    shallow : int
        The depth of the trees that the pilot is compared with.
    scale : float
        σ of the discrete Gaussian noise on the lead of the trees, in units of 1/M of a record.
    tree_from : int
        The lead of the best of them on the pilot, in records, from which a tree is drawn.
    tree : float
        η of the tree's draw.
    depth : int
        D of the tree.
    head : HeadStage
        The descent that is made otherwise.
    slack : float
        2λ of the tree's draw, what its ε has beside 2η, or more than that.

    Attributes
    ----------
    records : int
        n.
    bound : int
        M, as in both descents.
    comparison : DiscreteGaussianEvent
        What the noisy lead is to an accountant.
    draw : BoundedRangeEvent
        What the tree is to one.

    Raises
    ------
    ParameterError
        When a number is outside its range, or a descent is for other records or for more than two classes.

    Examples
    --------
    >>> from pcqr.plan import ContestStage, HeadStage
    >>> head = HeadStage(10_000, 40, 0, 0, 256, 50, 2**20, 2.0**27, 0.9, 0.001)
    >>> stage = ContestStage(head, shallow=3, scale=2.0**25, tree_from=500, tree=0.4, depth=4, head=head, slack=1e-9)
    >>> stage.records, stage.comparison
    (10000, DiscreteGaussianEvent(noise_multiplier=16.0))
    """

    pilot: HeadStage
    shallow: int
    scale: float
    tree_from: int
    tree: float
    depth: int
    head: HeadStage
    slack: float

    def __post_init__(self) -> None:
        check_head("pilot", self.pilot)
        check_head("head", self.head)
        alike = {(stage.records, stage.bound) for stage in (self.pilot, self.head)}
        if len(alike) > 1:
            raise ParameterError("head", "for the records and with the bound of the pilot", sorted(alike))
        check_integer("shallow", self.shallow, least=1)
        check_positive("scale", self.scale)
        check_scale("scale", self.scale)
        check_integer("tree_from", self.tree_from, least=-self.records, most=self.records)
        check_tree(self.records, self.depth, self.tree)
        check_slack(self.slack)
        keep_plain(self, floats=("scale", "tree", "slack"), integers=("shallow", "tree_from", "depth"))

    @property
    def records(self) -> int:
        """n."""
        return self.head.records

    @property
    def bound(self) -> int:
        """M: the lead is counted in M-ths of a record, so that its noise is on as fine a grid as all others."""
        return self.head.bound

    @property
    def comparison(self) -> DiscreteGaussianEvent:
        """A replaced record moves the lead by at most 2M."""
        return DiscreteGaussianEvent(self.scale / (2 * self.bound))

    @property
    def draw(self) -> BoundedRangeEvent:
        """The loss of the tree's draw lies in an interval of length 2η + 2·`slack`."""
        return draw_of(self.tree, self.slack)
