"""Regions of the line and of the plane as pictures: inside and outside in the colours of their labels."""

from __future__ import annotations

import itertools
import math
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.schema import Feature
from pcqr.errors import ParameterError
from pcqr.hypotheses.halfspaces import Constant, Halfspace
from pcqr.hypotheses.intervals import Interval
from pcqr.hypotheses.rectangles import Rectangle
from pcqr.hypotheses.trees.tree import DecisionTree
from pcqr.hypotheses.unions import IntervalUnion
from pcqr.models.card import predicates_of
from pcqr.models.graph import Graph, tree_labels
from pcqr.models.kind import ONE_DRAW, H, Kind
from pcqr.models.pictures import Block, Caption, write, write_page
from pcqr.models.trees import read_cut, written_cut
from pcqr.models.vocabulary import Vocabulary, printable
from pcqr.plotting.axes import BODY, INK, LABELS, MUTED, TINY, fitted, text_width
from pcqr.serialization.reading import read_list, read_number, read_object

Corner = tuple[float, float]
Range = tuple[float, float]
"""(low, high) of low < x ≤ high."""
Region = Callable[[Range, Range], list[Corner]]
"""From the ranges of a window to the corners of what is inside, in order; none where nothing is."""

# Lengths in points.
WIDTH, SIDE, BAR, TICK, LEGEND = 420.0, 260.0, 26.0, 4.0, 22.0
_MARGIN = 0.25
"""Of the span of the numbers that a region is made of: how much is shown beyond them where no bounds are declared."""


def line_block(switches: Sequence[float], words: Vocabulary) -> Block:
    """One bar along the feature: the first label up to the first of `switches`, then the other one, in turn."""
    finite = [switch for switch in switches if math.isfinite(switch)]
    feature = words.features[0]
    low, high = window = _window(finite, feature)
    start = sum(switch == -math.inf for switch in switches)
    shown = [switch for switch in finite if low < switch < high]
    start += sum(switch <= low for switch in finite)

    def draw(axes: Any, x: float, y: float) -> None:
        _legend(axes, x, y, words)
        top = y + LEGEND
        for place, (left, right) in enumerate(zip((low, *shown), (*shown, high), strict=True)):
            ends = [x + WIDTH * _share(end, window) for end in (left, right)]
            axes.fill(
                [ends[0], ends[1], ends[1], ends[0]],
                [top, top, top + BAR, top + BAR],
                color=LABELS[(start + place) % 2],
                linewidth=0,
            )
        written_to = -math.inf
        for value in (low, *shown, high):
            text = fitted(words.cut(Predicate(0, value)), TINY, 90.0)
            wide = text_width([text], TINY)
            middle = min(max(x + WIDTH * _share(value, window), x + wide / 2), x + WIDTH - wide / 2)
            if middle - wide / 2 > written_to:
                write(axes, middle, top + BAR + TICK, text, size=TINY, color=MUTED, ha="center", va="top")
                written_to = middle + wide / 2 + 6.0
        _name(axes, x, top + BAR + TICK + 1.5 * TINY, feature)

    return Block(WIDTH, LEGEND + BAR + TICK + 3.0 * TINY + BODY, draw)


def plane_block(region: Region, ends: Sequence[Range], words: Vocabulary) -> Block:
    """A window of the plane around the numbers `ends` of each feature, with `region` in the colour of its label."""
    across, up = (
        _window([end for end in pair if math.isfinite(end)], feature)
        for pair, feature in zip(ends, words.features, strict=True)
    )
    labels = [f"{value:.5g}" for value in up]
    left = text_width(labels, TINY) + TICK

    def draw(axes: Any, x: float, y: float) -> None:
        _legend(axes, x, y, words)
        _name(axes, x, y + LEGEND, words.features[1], arrow="↑")
        top, x = y + LEGEND + 1.8 * BODY, x + left
        axes.fill([x, x + SIDE, x + SIDE, x], [top, top, top + SIDE, top + SIDE], color=LABELS[0], linewidth=0)
        inside = region(across, up)
        if inside:
            axes.fill(
                [x + SIDE * _share(corner[0], across) for corner in inside],
                [top + SIDE * (1.0 - _share(corner[1], up)) for corner in inside],
                color=LABELS[1],
                linewidth=0,
            )
        for label, place, va in ((labels[0], top + SIDE, "bottom"), (labels[1], top, "top")):
            write(axes, x - TICK, place, label, size=TINY, color=MUTED, ha="right", va=va)
        for value, place, ha in ((across[0], x, "left"), (across[1], x + SIDE, "right")):
            write(axes, place, top + SIDE + TICK, f"{value:.5g}", size=TINY, color=MUTED, ha=ha, va="top")
        _name(axes, x, top + SIDE + TICK + 1.5 * TINY, words.features[0], arrow="→")

    wide = max(left + SIDE, *(text_width([_title(feature, "→")], BODY) for feature in words.features))
    return Block(wide, LEGEND + 1.8 * BODY + SIDE + TICK + 3.0 * TINY + BODY, draw)


def box_region(across: Range, up: Range) -> Region:
    """The part of a window inside two ranges."""

    def inside(window_across: Range, window_up: Range) -> list[Corner]:
        (left, right), (bottom, top) = (
            (max(low, least), min(high, most))
            for (low, high), (least, most) in zip((across, up), (window_across, window_up), strict=True)
        )
        return [(left, bottom), (right, bottom), (right, top), (left, top)] if left < right and bottom < top else []

    return inside


def half_plane(tail: Corner, head: Corner) -> Region:
    """The part of a window to the left of the line `tail` → `head`."""

    def inside(across: Range, up: Range) -> list[Corner]:
        wide, high = across[1] - across[0], up[1] - up[0]

        def side(corner: Corner) -> float:  # in shares of the window, whose sides may be of very different size
            dx, dy = (head[0] - tail[0]) / wide, (head[1] - tail[1]) / high
            return dx * (corner[1] - tail[1]) / high - dy * (corner[0] - tail[0]) / wide

        corners = [(across[0], up[0]), (across[1], up[0]), (across[1], up[1]), (across[0], up[1])]
        found: list[Corner] = []
        for here, after in zip(corners, (*corners[1:], corners[0]), strict=True):
            near, far = side(here), side(after)
            if near >= 0:
                found.append(here)
            if near * far < 0:
                share = near / (near - far)
                found.append(((1 - share) * here[0] + share * after[0], (1 - share) * here[1] + share * after[1]))
        return found

    return inside


def _window(values: Sequence[float], feature: Feature) -> Range:
    """What is shown of `feature`: its bounds, else the `values` and a margin around them."""
    if feature.bounds is not None:
        return feature.bounds
    if feature.is_indicator or not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    beyond = _MARGIN * (high / 2.0 - low / 2.0) * 2.0 or max(1.0, abs(low)) * _MARGIN
    most = sys.float_info.max / 4.0
    return max(low - beyond, -most), min(high + beyond, most)


def _share(value: float, window: Range) -> float:
    low, high = window
    return min(max((value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0), 0.0), 1.0)


def _legend(axes: Any, x: float, y: float, words: Vocabulary) -> None:
    for label in (0, 1):
        text = fitted(words.label(label), BODY, 150.0)
        axes.fill([x, x + BODY, x + BODY, x], [y, y, y + BODY, y + BODY], color=LABELS[label], linewidth=0)
        write(axes, x + 1.5 * BODY, y + BODY / 2, text, size=BODY, va="center")
        x += 3.5 * BODY + text_width([text], BODY)


def _title(feature: Feature, arrow: str = "") -> str:
    return f"{fitted(printable(feature.name), BODY, 240.0)} {arrow}".strip()


def _name(axes: Any, x: float, y: float, feature: Feature, *, arrow: str = "→") -> None:
    write(axes, x, y, _title(feature, arrow), size=BODY, color=INK, va="top")


# ---------------------------------------------------------------------------------------------------------------------
# Regions of the line and of the plane as published models: inside one label, outside the other.
#
# With trees, stumps and thresholds these are all that a universal release can publish.


SIDES = ("inside", "outside")


class RegionKind(Kind[H]):
    """A region of `width` features: the second label inside, the first outside."""

    version = 3
    limits = ONE_DRAW
    width: ClassVar[int]

    @abstractmethod
    def where(self, hypothesis: H, words: Vocabulary) -> str | bool:
        """Where the label is the second one, in words; True for everywhere, False for nowhere."""

    def check(self, hypothesis: H, words: Vocabulary) -> None:  # noqa: ARG002
        if len(words.features) != self.width:
            raise ParameterError(
                "hypothesis", f"one on the {len(words.features)} features of the schema", f"one on {self.width}"
            )
        if len(words.classes) != 2:
            raise ParameterError("classes", f"two label names for a {self.title}", f"{len(words.classes)} names")

    def rules(self, hypothesis: H, words: Vocabulary, *, flat: bool) -> str:
        inside = self.where(hypothesis, words)
        if isinstance(inside, bool):
            return f"ALWAYS {words.label(inside)}" if flat else f"always {words.verdict(inside)}"
        if flat:
            return f"IF {inside} THEN {words.label(1)}\nOTHERWISE {words.label(0)}"
        return f"if {inside}:\n    {words.verdict(1)}\nelse:\n    {words.verdict(0)}"


class TreeLikeKind(RegionKind[H]):
    """A region whose sides are comparisons of single features: exported as the tree that asks them."""

    @abstractmethod
    def as_tree(self, hypothesis: H) -> DecisionTree: ...

    def cuts(self, hypothesis: H) -> Iterator[Predicate]:
        return predicates_of(self.as_tree(hypothesis).root)

    def add_labels(self, hypothesis: H, graph: Graph) -> str:
        return tree_labels(self.as_tree(hypothesis).simplified().root, graph)


class LineKind(TreeLikeKind[H]):
    """Intervals of one feature, between places where the label changes."""

    width = 1

    @abstractmethod
    def switches(self, hypothesis: H) -> tuple[float, ...]:
        """After which values the label changes, in order."""

    def where(self, hypothesis: H, words: Vocabulary) -> str | bool:
        return _any_of(_ranges(self.switches(hypothesis)), words)

    def as_tree(self, hypothesis: H) -> DecisionTree:
        return _line_tree(self.switches(hypothesis))

    def draw(self, hypothesis: H, words: Vocabulary, path: Path, caption: Caption) -> None:
        write_page(path, caption, lambda: line_block(self.switches(hypothesis), words))


class IntervalKind(LineKind[Interval]):
    name = "interval"
    title = "single interval"
    hypothesis = Interval

    def switches(self, hypothesis: Interval) -> tuple[float, ...]:
        return () if hypothesis.is_empty else (hypothesis.low, hypothesis.high)

    def describe(self, hypothesis: Interval, words: Vocabulary) -> dict[str, Any]:
        return _described_range(0, (hypothesis.low, hypothesis.high), words) | _described_labels(words)

    def restore(self, value: object, where: str, words: Vocabulary) -> Interval:
        fields = read_object(value, where, ("feature", "above", "up_to", *SIDES))
        _check_labels(fields, where, words)
        low, high = _read_range(fields, where, words, feature=0)
        if not low <= high:
            raise ParameterError(f"{where}.above", "at most up_to", low)
        return Interval(low, high)


class IntervalUnionKind(LineKind[IntervalUnion]):
    name = "interval-union"
    title = "union of intervals"
    hypothesis = IntervalUnion

    def switches(self, hypothesis: IntervalUnion) -> tuple[float, ...]:
        return tuple(hypothesis.switches)

    def describe(self, hypothesis: IntervalUnion, words: Vocabulary) -> dict[str, Any]:
        switches = [written_cut(switch) for switch in hypothesis.switches]
        return {"feature": words.features[0].name, "switches": switches} | _described_labels(words)

    def restore(self, value: object, where: str, words: Vocabulary) -> IntervalUnion:
        fields = read_object(value, where, ("feature", "switches", *SIDES))
        _check_labels(fields, where, words)
        _check_features([fields["feature"]], f"{where}.feature", words)
        listed = read_list(fields["switches"], f"{where}.switches")
        switches = tuple(read_cut(switch, f"{where}.switches[{i}]") for i, switch in enumerate(listed))
        if not all(left < right for left, right in itertools.pairwise(switches)):
            raise ParameterError(f"{where}.switches", "strictly increasing", "other ones")
        return IntervalUnion(switches)


class RectangleKind(TreeLikeKind[Rectangle]):
    name = "rectangle"
    title = "rectangle"
    hypothesis = Rectangle
    width = 2

    def where(self, hypothesis: Rectangle, words: Vocabulary) -> str | bool:
        sides = _sides(hypothesis)
        if not all(low < high for low, high in sides):
            return False
        said = [_between(feature, side, words) for feature, side in enumerate(sides) if side != (-math.inf, math.inf)]
        return " and ".join(said) or True

    def as_tree(self, hypothesis: Rectangle) -> DecisionTree:
        node: Leaf | Split = Leaf(1)
        for feature, (low, high) in enumerate(_sides(hypothesis)):
            if not low < high:
                return DecisionTree(Leaf(0), 2)
            if high < math.inf:
                node = Split(Predicate(feature, high), fails=node, holds=Leaf(0))
            if low > -math.inf:
                node = Split(Predicate(feature, low), fails=Leaf(0), holds=node)
        return DecisionTree(node, 2)

    def draw(self, hypothesis: Rectangle, words: Vocabulary, path: Path, caption: Caption) -> None:
        sides = _sides(hypothesis)
        write_page(path, caption, lambda: plane_block(box_region(*sides), sides, words))

    def describe(self, hypothesis: Rectangle, words: Vocabulary) -> dict[str, Any]:
        sides = [_described_range(feature, side, words) for feature, side in enumerate(_sides(hypothesis))]
        return {"sides": sides} | _described_labels(words)

    def restore(self, value: object, where: str, words: Vocabulary) -> Rectangle:
        fields = read_object(value, where, ("sides", *SIDES))
        _check_labels(fields, where, words)
        listed = read_list(fields["sides"], f"{where}.sides")
        if len(listed) != 2:
            raise ParameterError(f"{where}.sides", "two, one for each feature", len(listed))
        sides = []
        for place, entry in enumerate(listed):
            at = f"{where}.sides[{place}]"
            sides.append(_read_range(read_object(entry, at, ("feature", "above", "up_to")), at, words, feature=place))
        return Rectangle(*sides[0], *sides[1])


class HalfspaceKind(RegionKind[Halfspace]):
    name = "halfspace"
    title = "half-plane"
    hypothesis = Halfspace
    width = 2

    def where(self, hypothesis: Halfspace, words: Vocabulary) -> str:
        """The sign of a product of differences: it has the numbers of the model, and w·x > b would have others."""
        (x0, y0), (x1, y1) = (
            tuple(words.cut(Predicate(feature, value)) for feature, value in enumerate(end))
            for end in (hypothesis.tail, hypothesis.head)
        )
        x, y = (printable(feature.name) for feature in words.features)
        left, right = f"({_minus(x1, x0)})·({_minus(y, y0)})", f"({_minus(y1, y0)})·({_minus(x, x0)})"
        axis = 0 if hypothesis.tail[0] != hypothesis.head[0] else 1
        behind = "≤" if hypothesis.head[axis] > hypothesis.tail[axis] else "≥"
        return f"{left} > {right}, or both are equal and {(x, y)[axis]} {behind} {(x0, y0)[axis]}"

    def cuts(self, hypothesis: Halfspace) -> Iterator[Predicate]:
        ends = (hypothesis.tail, hypothesis.head)
        return (Predicate(feature, value) for end in ends for feature, value in enumerate(end))

    def add_labels(self, hypothesis: Halfspace, graph: Graph) -> str:  # noqa: ARG002
        raise ParameterError(
            "hypothesis", "one that ONNX can compute: sides of a line take exact arithmetic", self.title
        )

    def draw(self, hypothesis: Halfspace, words: Vocabulary, path: Path, caption: Caption) -> None:
        ends = tuple(zip(hypothesis.tail, hypothesis.head, strict=True))
        region = half_plane(hypothesis.tail, hypothesis.head)
        write_page(path, caption, lambda: plane_block(region, ends, words))

    def describe(self, hypothesis: Halfspace, words: Vocabulary) -> dict[str, Any]:
        return {
            "features": [feature.name for feature in words.features],
            "from": list(hypothesis.tail),
            "to": list(hypothesis.head),
        } | _described_labels(words)

    def restore(self, value: object, where: str, words: Vocabulary) -> Halfspace:
        fields = read_object(value, where, ("features", "from", "to", *SIDES))
        _check_labels(fields, where, words)
        _check_features(read_list(fields["features"], f"{where}.features"), f"{where}.features", words)
        tail, head = (_read_point(fields[end], f"{where}.{end}") for end in ("from", "to"))
        if tail == head:
            raise ParameterError(f"{where}.to", "another point than 'from'", list(head))
        return Halfspace(tail, head)


class ConstantKind(TreeLikeKind[Constant]):
    """What the class of half-planes has beside them."""

    name = "constant"
    title = "constant"
    hypothesis = Constant
    width = 2

    def check(self, hypothesis: Constant, words: Vocabulary) -> None:
        super().check(hypothesis, words)
        if hypothesis.label not in (0, 1):
            raise ParameterError("hypothesis", "labels 0 or 1", hypothesis.label)

    def where(self, hypothesis: Constant, words: Vocabulary) -> bool:  # noqa: ARG002
        return hypothesis.label == 1

    def as_tree(self, hypothesis: Constant) -> DecisionTree:
        return DecisionTree(Leaf(hypothesis.label), 2)

    def draw(self, hypothesis: Constant, words: Vocabulary, path: Path, caption: Caption) -> None:
        everything = (-math.inf, math.inf)
        region = box_region(everything, everything if hypothesis.label else (0.0, 0.0))
        write_page(path, caption, lambda: plane_block(region, (everything, everything), words))

    def describe(self, hypothesis: Constant, words: Vocabulary) -> dict[str, Any]:
        return {"label": words.classes[hypothesis.label]}

    def restore(self, value: object, where: str, words: Vocabulary) -> Constant:
        name = read_object(value, where, ("label",))["label"]
        label = None if isinstance(name, dict | list) else words.label_of(name)
        if label is None:
            raise ParameterError(f"{where}.label", f"one of the classes {list(words.classes)}", name)
        return Constant(label)


def _ranges(switches: Sequence[float]) -> Iterator[Range]:
    """The intervals between `switches` that hold a finite number."""
    ends = switches if len(switches) % 2 == 0 else (*switches, math.inf)
    return ((low, high) for low, high in zip(ends[::2], ends[1::2], strict=True) if low < math.inf and high > -math.inf)


def _line_tree(switches: Sequence[float]) -> DecisionTree:
    """A balanced tree on one feature whose label is 0 far to the left and changes after each of `switches`."""
    finite = [switch for switch in switches if math.isfinite(switch)]
    passed = sum(switch == -math.inf for switch in switches)

    def grown(first: int, last: int) -> Leaf | Split:
        """Of the finite switches between `first` and `last` are passed."""
        if first == last:
            return Leaf((passed + first) % 2)
        middle = (first + last) // 2
        return Split(Predicate(0, finite[middle]), fails=grown(first, middle), holds=grown(middle + 1, last))

    return DecisionTree(grown(0, len(finite)), 1)


def _any_of(ranges: Iterator[Range], words: Vocabulary) -> str | bool:
    found = tuple(ranges)
    if found == ((-math.inf, math.inf),):
        return True
    return " or ".join(_between(0, each, words) for each in found) or False


def _between(feature: int, side: Range, words: Vocabulary) -> str:
    """low < x ≤ high in words, without the ends that are open."""
    low, high = side
    ends = [(low, True)] if low > -math.inf else []
    ends += [(high, False)] if high < math.inf else []
    if len(ends) == 2 and not words.features[feature].is_indicator:
        least, most = (words.cut(Predicate(feature, end)) for end in side)
        return f"{least} < {printable(words.features[feature].name)} ≤ {most}"
    return " and ".join(words.condition(Predicate(feature, cut), holds=holds) for cut, holds in ends)


def _sides(rectangle: Rectangle) -> tuple[Range, Range]:
    return (rectangle.left, rectangle.right), (rectangle.bottom, rectangle.top)


def _minus(name: str, value: str) -> str:
    return f"{name} + {value[1:]}" if value.startswith("-") else f"{name} − {value}"


def _described_labels(words: Vocabulary) -> dict[str, Any]:
    return {"inside": words.classes[1], "outside": words.classes[0]}


def _described_range(feature: int, side: Range, words: Vocabulary) -> dict[str, Any]:
    return {"feature": words.features[feature].name, "above": written_cut(side[0]), "up_to": written_cut(side[1])}


def _check_labels(fields: dict[str, Any], where: str, words: Vocabulary) -> None:
    for key, label, place in (("inside", 1, "second"), ("outside", 0, "first")):
        name = fields[key]
        if isinstance(name, dict | list) or words.label_of(name) != label:
            raise ParameterError(f"{where}.{key}", f"the {place} class, {words.classes[label]!r}", name)


def _check_features(names: list[Any], where: str, words: Vocabulary) -> None:
    needed = [feature.name for feature in words.features]
    if names != needed:
        shown = names[0] if len(names) == 1 and not isinstance(names[0], dict | list) else "other ones"
        raise ParameterError(where, f"{', '.join(map(repr, needed))} of the schema", shown)


def _read_range(fields: dict[str, Any], where: str, words: Vocabulary, *, feature: int) -> Range:
    name = fields["feature"]
    if feature >= len(words.features) or name != words.features[feature].name:
        raise ParameterError(f"{where}.feature", f"the name of feature {feature + 1} of the schema", name)
    return read_cut(fields["above"], f"{where}.above"), read_cut(fields["up_to"], f"{where}.up_to")


def _read_point(value: object, where: str) -> tuple[float, float]:
    listed = read_list(value, where)
    if len(listed) != 2:
        raise ParameterError(where, "a list of two numbers", f"{len(listed)} of them")
    return read_number(listed[0], f"{where}[0]"), read_number(listed[1], f"{where}[1]")
