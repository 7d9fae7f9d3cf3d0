"""The stage of a classifier that is a tree or a head, by a noisy count of the labels."""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.checks import check_integer, check_inverse_temperature, check_positive, keep_plain
from pcqr.documents import Document
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import LARGEST_EXPONENT
from pcqr.plan.head import HeadStage


@dataclass(frozen=True)
class CountedStage(Document):
    """A noisy count of the labels; then a head if the rarer one has enough records, else a tree. For two classes.

    Parameters
    ----------
    count : float
        ε of the count.
    fewest : int
        The records of the rarer label, by the noisy count, from which on there is a head.
    tree : float
        η of the tree's draw.
    depth : int
        D of the tree.
    head : HeadStage
        The descent.

    Raises
    ------
    ParameterError
        When a number is outside its range, or the head has more than two classes.

    Examples
    --------
    >>> from pcqr.plan import CountedStage, HeadStage
    >>> head = HeadStage(10_000, 40, 0, 0, 256, 50, 2**20, 2.0**27, 0.9, 0.001)
    >>> CountedStage(count=0.02, fewest=560, tree=0.49, depth=3, head=head).head.dense
    40
    """

    count: float
    fewest: int
    tree: float
    depth: int
    head: HeadStage

    def __post_init__(self) -> None:
        if not isinstance(self.head, HeadStage) or self.head.classes != 2:
            raise ParameterError("head", "a HeadStage for 2 classes", self.head)
        check_positive("count", self.count)
        check_integer("fewest", self.fewest, least=1)
        check_integer("depth", self.depth, least=1)
        check_inverse_temperature(self.tree)
        if float(self.tree) * float(self.head.records) > LARGEST_EXPONENT:  # NumPy's integers would overflow
            raise ParameterError("inverse_temperature", "at most 2**52 / n", self.tree)
        keep_plain(self, floats=("count", "tree"), integers=("fewest", "depth"))
