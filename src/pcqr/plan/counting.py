"""The stages of `auto`: a count of the labels, a descent that is doubted midway, and what comes out of them."""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.accounting import DiscreteGaussianEvent
from pcqr.checks import check_integer, check_inverse_temperature, check_positive, keep_plain
from pcqr.documents import Document
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import LARGEST_EXPONENT
from pcqr.noise import check_scale
from pcqr.plan.head import HeadStage, last_quarter
from pcqr.plan.piloted import PilotedStage


@dataclass(frozen=True)
class DoubtedStage(Document):
    """A descent that is compared midway, with noise, with the best tree: it goes on, or a tree is drawn instead.

    Parameters
    ----------
    head : HeadStage
        The descent, for two classes.
    midway : int
        The steps after which it is doubted, before the last quarter of them.
    scale : float
        σ of the discrete Gaussian noise on the lead of the best tree, in units of 1/M of a record.
    tree_from : int
        The lead, in records, from which a tree is drawn.
    tree : float
        η of the tree's draw.
    depth : int
        D of the tree.

    Attributes
    ----------
    records, bound : int
        n and M, as in the descent.
    comparison : DiscreteGaussianEvent
        What the noisy lead is to an accountant.

    Raises
    ------
    ParameterError
        When a number is outside its range, or the head has more than two classes.

    Examples
    --------
    >>> from pcqr.plan import DoubtedStage, HeadStage
    >>> head = HeadStage(10_000, 40, 0, 0, 256, 50, 2**20, 2.0**27, 0.9, 0.001)
    >>> DoubtedStage(head, midway=20, scale=2.0**25, tree_from=200, tree=0.01, depth=3).comparison
    DiscreteGaussianEvent(noise_multiplier=16.0)
    """

    head: HeadStage
    midway: int
    scale: float
    tree_from: int
    tree: float
    depth: int

    def __post_init__(self) -> None:
        _check_head("head", self.head)
        check_integer("midway", self.midway, least=1)
        if self.midway > self.head.steps - last_quarter(self.head.steps):  # the head is the mean of what comes after
            raise ParameterError("midway", "before the last quarter of the steps", self.midway)
        check_positive("scale", self.scale)
        check_scale("scale", self.scale)
        check_integer("tree_from", self.tree_from, least=-self.records, most=self.records)
        _check_tree(self.records, self.depth, self.tree)
        keep_plain(self, floats=("scale", "tree"), integers=("midway", "tree_from", "depth"))

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
        """A replaced record moves the lead by at most 2M: M for each of the two numbers of mistakes."""
        return DiscreteGaussianEvent(self.scale / (2 * self.bound))


@dataclass(frozen=True)
class CountedStage(Document):
    """A noisy count of the labels; then a tree, a careful head, or what suits labels that are both common.

    Parameters
    ----------
    count : float
        ε of the count.
    rare : int
        The records of the rarer label, by the noisy count, below which a tree is drawn.
    tree : float
        η of that draw.
    depth : int
        D of the tree.
    uneven : int
        The records of the rarer label below which the head is the careful one.
    careful : HeadStage
        The descent that stops early.
    otherwise : HeadStage, DoubtedStage or PilotedStage
        What is done where both labels are common. A tree is then no deeper, and its η no larger, than that above.

    Attributes
    ----------
    records : int
        n.

    Raises
    ------
    ParameterError
        When a number is outside its range, a head has more than two classes, or heads are for other records.

    Examples
    --------
    >>> from pcqr.plan import CountedStage, HeadStage
    >>> head = HeadStage(10_000, 40, 0, 0, 256, 50, 2**20, 2.0**27, 0.9, 0.001)
    >>> CountedStage(0.02, rare=560, tree=0.49, depth=3, uneven=1_500, careful=head, otherwise=head).records
    10000
    """

    count: float
    rare: int
    tree: float
    depth: int
    uneven: int
    careful: HeadStage
    otherwise: HeadStage | DoubtedStage | PilotedStage

    def __post_init__(self) -> None:
        _check_head("careful", self.careful)
        last = self.otherwise
        if isinstance(last, HeadStage):
            _check_head("otherwise", last)
        elif isinstance(last, PilotedStage):
            _check_head("otherwise", last.heads[0])
        elif not isinstance(last, DoubtedStage):
            raise ParameterError("otherwise", "a HeadStage, a DoubtedStage or a PilotedStage", last)
        if last.records != self.records:
            raise ParameterError("otherwise", f"a stage for {self.records} records", f"one for {last.records}")
        check_positive("count", self.count)
        check_integer("rare", self.rare, least=0)
        check_integer("uneven", self.uneven, least=0)
        _check_tree(self.records, self.depth, self.tree)
        if isinstance(last, DoubtedStage) and (last.tree > self.tree or last.depth > self.depth):
            raise ParameterError("otherwise", "a tree that is no deeper or colder than where a label is rare", last)
        keep_plain(self, floats=("count", "tree"), integers=("rare", "depth", "uneven"))

    @property
    def records(self) -> int:
        """n."""
        return self.careful.records


def _check_head(name: str, stage: object) -> None:
    if not isinstance(stage, HeadStage) or stage.classes != 2:
        raise ParameterError(name, "a HeadStage for 2 classes", stage)


def _check_tree(records: int, depth: int, inverse_temperature: float) -> None:
    """A part of a run that cannot be drawn must be found out before another part is."""
    check_integer("depth", depth, least=1)
    check_inverse_temperature(inverse_temperature)
    if float(inverse_temperature) * float(records) > LARGEST_EXPONENT:  # NumPy's integers would overflow
        raise ParameterError("inverse_temperature", "at most 2**52 / n", inverse_temperature)
