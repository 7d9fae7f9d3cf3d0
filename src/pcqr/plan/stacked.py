"""The stage of a head beside a tree that is published before it."""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.accounting import BoundedRangeEvent
from pcqr.checks import check_probability, keep_plain
from pcqr.documents import Document
from pcqr.errors import ParameterError
from pcqr.plan.head import HeadStage
from pcqr.plan.ways import check_slack, check_tree, draw_of


@dataclass(frozen=True)
class StackedStage(Document):
    """A tree, and then a head to which the label that the tree gives a record is one more column.

    Parameters
    ----------
    tree : float
        η of the tree's draw.
    depth : int
        D of the tree.
    slack : float
        2λ of the tree's draw, what its ε has beside 2η, or more than that.
    whitening : float
        The power by which the directions of the head's vectors are whitened, above 0 and at most 1.
    head : HeadStage
        The head. Its p is the most that a tree may lead to.

    Attributes
    ----------
    records : int
        n.
    draw : BoundedRangeEvent
        What the tree is to an accountant.

    Raises
    ------
    ParameterError
        When a number is outside its range, or the head is no HeadStage.

    Examples
    --------
    >>> from pcqr.plan import HeadStage, StackedStage
    >>> head = HeadStage(10_000, 40, 0, 0, 256, 50, 2**20, 2.0**27, 0.9, 0.001)
    >>> stage = StackedStage(tree=0.125, depth=3, slack=0.0, whitening=0.5, head=head)
    >>> stage.records, round(stage.draw.epsilon, 6)
    (10000, 0.25)
    """

    tree: float
    depth: int
    slack: float
    whitening: float
    head: HeadStage

    def __post_init__(self) -> None:
        if not isinstance(self.head, HeadStage):
            raise ParameterError("head", "a HeadStage", self.head)
        check_tree(self.records, self.depth, self.tree)
        check_probability("whitening", self.whitening, one_allowed=True)
        check_slack(self.slack)
        keep_plain(self, floats=("tree", "slack", "whitening"), integers=("depth",))

    @property
    def records(self) -> int:
        """n."""
        return self.head.records

    @property
    def draw(self) -> BoundedRangeEvent:
        """The loss of the draw lies in an interval of length 2η + 2·`slack`."""
        return draw_of(self.tree, self.slack)
