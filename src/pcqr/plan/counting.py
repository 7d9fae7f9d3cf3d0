"""The stages of `auto`: a count of the labels, a question about trees, and what comes out of them."""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.checks import check_integer, check_positive, keep_plain
from pcqr.documents import Document
from pcqr.errors import ParameterError
from pcqr.noise import LARGEST_SCALE
from pcqr.plan.head import HeadStage
from pcqr.plan.piloted import PilotedStage
from pcqr.plan.stacked import StackedStage
from pcqr.plan.ways import check_head, check_tree


@dataclass(frozen=True)
class AskedStage(Document):
    """One question, how many mistakes the best shallow tree makes, with noise; then a tree or a head.

    Parameters
    ----------
    question : float
        ε of the question.
    shallow : int
        The depth of the trees that it is about.
    few, many : int
        The mistakes up to which, and from which on, a tree is drawn: between them there is a head.
    tree : float
        η of the tree's draw.
    depth : int
        D of the tree.
    head : HeadStage
        The descent, for two classes.

    Attributes
    ----------
    records : int
        n.

    Raises
    ------
    ParameterError
        When a number is outside its range, or the head has more than two classes.

    Examples
    --------
    >>> from pcqr.plan import AskedStage, HeadStage
    >>> head = HeadStage(10_000, 40, 0, 0, 256, 50, 2**20, 2.0**27, 0.9, 0.001)
    >>> stage = AskedStage(0.05, shallow=2, few=2_500, many=3_500, tree=0.4, depth=3, head=head)
    >>> stage.records
    10000
    """

    question: float
    shallow: int
    few: int
    many: int
    tree: float
    depth: int
    head: HeadStage

    def __post_init__(self) -> None:
        check_head("head", self.head)
        _check_question("question", self.question)
        check_integer("shallow", self.shallow, least=1)
        check_integer("few", self.few, least=0)
        check_integer("many", self.many, least=0)
        check_tree(self.records, self.depth, self.tree)
        keep_plain(self, floats=("question", "tree"), integers=("shallow", "few", "many", "depth"))

    @property
    def records(self) -> int:
        """n."""
        return self.head.records


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
    otherwise : StackedStage or PilotedStage
        What is done where both labels are common.

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
    >>> from pcqr.plan import CountedStage, HeadStage, StackedStage
    >>> head = HeadStage(10_000, 40, 0, 0, 256, 50, 2**20, 2.0**27, 0.9, 0.001)
    >>> stacked = StackedStage(tree=0.125, depth=3, slack=0.0, whitening=0.5, head=head)
    >>> CountedStage(0.02, rare=560, tree=0.49, depth=3, uneven=1_500, careful=head, otherwise=stacked).records
    10000
    """

    count: float
    rare: int
    tree: float
    depth: int
    uneven: int
    careful: HeadStage
    otherwise: StackedStage | PilotedStage

    def __post_init__(self) -> None:
        check_head("careful", self.careful)
        if self.careful.is_posterior:
            raise ParameterError("careful", "a descent, with steps", self.careful)
        last = self.otherwise
        if isinstance(last, PilotedStage):
            check_head("otherwise", last.heads[0])
        elif not isinstance(last, StackedStage):
            raise ParameterError("otherwise", "a StackedStage or a PilotedStage", last)
        if last.records != self.records:
            raise ParameterError("otherwise", f"a stage for {self.records} records", f"one for {last.records}")
        _check_question("count", self.count)
        check_integer("rare", self.rare, least=0)
        check_integer("uneven", self.uneven, least=0)
        check_tree(self.records, self.depth, self.tree)
        keep_plain(self, floats=("count", "tree"), integers=("rare", "depth", "uneven"))

    @property
    def records(self) -> int:
        """n."""
        return self.careful.records


def _check_question(name: str, epsilon: float) -> None:
    """Noise that cannot be drawn must be found out before anything is: 1/ε is its scale, in float64, too."""
    check_positive(name, epsilon)
    if not float(epsilon) * LARGEST_SCALE > 1.001:
        raise ParameterError(name, f"above {1.001 / LARGEST_SCALE:.3g}", epsilon)
