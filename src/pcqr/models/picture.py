"""A tree as a picture, read from left to right: questions, then one label in each row. Needs the extra `plot`.

Left to right because questions are long and levels are few: every leaf has a line of its own, however wide the names.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcqr.errors import MissingExtra, ParameterError
from pcqr.hypotheses.trees.tree import Leaf, Split
from pcqr.models.vocabulary import Vocabulary

SUFFIXES = (".svg", ".png", ".pdf")
INK, MUTED, LINE, PAPER = "#222222", "#6b6b6b", "#9aa4ad", "#ffffff"
YES, NO = "#3a3a3a", "#8a8a8a"
WARNING = "#b3261e"
LABELS = ("#b4532a", "#0b6e99", "#5b7f2b", "#7d4f9e", "#8a6d00", "#a83a6a", "#2f6f6a", "#555555")
"""White text on each of them has a contrast of at least 4.5 : 1."""

# Lengths in points; one unit of the axes is one point.
FONT, SMALL, HEADING, NOTE = 10.0, 8.0, 12.0, 11.0
ROW, LINE_HEIGHT, PADDING, GAP, MARGIN = 30.0, 13.0, 8.0, 62.0, 14.0
WRAP = 38
HINTING = 1.03
"""How much wider than its outlines a line of text can come out in pixels."""


@dataclass(frozen=True)
class Caption:
    """`title` above the tree, `notes` under the title, one a line; `warning` makes the first note one."""

    title: str
    notes: tuple[str, ...]
    warning: bool = False


@dataclass
class Box:
    """A node with its text, its place in the tree and, once it is known, its place on paper."""

    node: Leaf | Split
    lines: list[str]
    depth: int
    children: tuple[Box, ...] = ()
    left: float = 0.0
    middle: float = 0.0
    width: float = 0.0

    @property
    def height(self) -> float:
        return LINE_HEIGHT * len(self.lines) + PADDING

    @property
    def right(self) -> float:
        return self.left + self.width


def draw_tree(root: Leaf | Split, words: Vocabulary, path: Path, caption: Caption) -> None:
    """Write the picture of the tree to `path`, in the format that its suffix says."""
    if path.suffix.lower() not in SUFFIXES:
        raise ParameterError("path", f"a name that ends in {', '.join(SUFFIXES)}", str(path))
    try:
        from matplotlib import rc_context  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("A picture", "plot") from None
    # The same tree gives the same file, and a character that the font does not have is a box.
    with rc_context({"svg.hashsalt": "pcqr"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Glyph", category=UserWarning)
        boxes = _boxes(root, words, 0)
        bottom = _place(boxes[0], boxes)
        heading = _width([caption.title], HEADING, bold=True)
        wide = max(heading, _width(caption.notes, SMALL), *(box.right for box in boxes))
        width, height = wide + 2 * MARGIN, bottom + 2 * MARGIN + 3.0 * HEADING + NOTE * len(caption.notes)
        figure = Figure(figsize=(width / 72.0, height / 72.0), dpi=200, facecolor=PAPER)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_xlim(-MARGIN, wide + MARGIN)
        axes.set_ylim(bottom + MARGIN, bottom + MARGIN - height)
        axes.set_axis_off()
        top = bottom + 2 * MARGIN - height
        _write(axes, 0.0, top, caption.title, size=HEADING, weight="bold", va="top")
        for place, note in enumerate(caption.notes):
            colour = WARNING if caption.warning and place == 0 else MUTED
            _write(axes, 0.0, top + 1.6 * HEADING + NOTE * place, note, size=SMALL, color=colour, va="top")
        for box in boxes:
            _draw_edges(axes, box)
        for box in boxes:
            _draw_box(axes, box)
        figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def _boxes(node: Leaf | Split, words: Vocabulary, depth: int) -> list[Box]:
    """The boxes of a node and of everything under it, the node's own first."""
    if isinstance(node, Leaf):
        return [Box(node, _wrapped(words.label(node.label)), depth)]
    holds, fails = _boxes(node.holds, words, depth + 1), _boxes(node.fails, words, depth + 1)
    text = words.condition(node.predicate, holds=True)
    return [Box(node, _wrapped(text + "?"), depth, (holds[0], fails[0])), *holds, *fails]


def _place(tree: Box, boxes: Sequence[Box]) -> float:
    """Give every box its place; return the lower edge of the lowest."""
    for box in boxes:
        box.width = _width(box.lines, FONT, bold=isinstance(box.node, Leaf)) + 2 * PADDING
    left = 0.0
    for depth in range(max(box.depth for box in boxes) + 1):
        column = [box for box in boxes if box.depth == depth]
        for box in column:
            box.left = left
        left += max(box.width for box in column) + GAP
    lowest = 0.0
    for leaf in (box for box in boxes if not box.children):
        row = max(ROW, leaf.height + PADDING)
        leaf.middle = lowest + row / 2.0
        lowest += row
    _centre(tree)
    return max(lowest, *(box.middle + box.height / 2.0 for box in boxes))


def _centre(box: Box) -> None:
    for child in box.children:
        _centre(child)
    if box.children:
        box.middle = sum(child.middle for child in box.children) / len(box.children)


def _draw_edges(axes: Any, box: Box) -> None:
    from matplotlib.patches import PathPatch  # noqa: PLC0415
    from matplotlib.path import Path as Curve  # noqa: PLC0415

    for child, word, colour in zip(box.children, ("yes", "no"), (YES, NO), strict=bool(box.children)):
        start, end = (box.right, box.middle), (child.left, child.middle)
        bend = child.left - 0.72 * GAP
        points = [start, (bend, start[1]), (bend, start[1]), (bend, (start[1] + end[1]) / 2.0)]
        points += [(bend, end[1]), (bend, end[1]), end]
        codes = [Curve.MOVETO, *[Curve.CURVE4] * 6]
        axes.add_patch(PathPatch(Curve(points, codes), facecolor="none", edgecolor=colour, linewidth=1.3))
        _write(axes, end[0] - 5.0, end[1] - 3.0, word, size=SMALL, color=colour, ha="right", va="bottom")


def _draw_box(axes: Any, box: Box) -> None:
    from matplotlib.patches import FancyBboxPatch  # noqa: PLC0415

    is_leaf = isinstance(box.node, Leaf)
    fill = LABELS[box.node.label % len(LABELS)] if isinstance(box.node, Leaf) else PAPER
    axes.add_patch(
        FancyBboxPatch(
            (box.left, box.middle - box.height / 2.0),
            box.width,
            box.height,
            boxstyle=f"round,pad=0,rounding_size={10.0 if is_leaf else 4.0}",
            facecolor=fill,
            edgecolor=fill if is_leaf else LINE,
            linewidth=1.0,
        )
    )
    for place, line in enumerate(box.lines):
        height = box.middle + LINE_HEIGHT * (place - (len(box.lines) - 1) / 2.0)
        _write(
            axes,
            box.left + PADDING,
            height,
            line,
            size=FONT,
            color=PAPER if is_leaf else INK,
            weight="bold" if is_leaf else "normal",
            va="center_baseline",
        )


def _write(axes: Any, x: float, y: float, text: str, *, size: float, color: str = INK, **style: Any) -> None:
    axes.text(x, y, text, fontsize=size, color=color, parse_math=False, **style)  # a $ in a name is just a $


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WRAP, break_on_hyphens=False) or [text]


def _width(lines: Sequence[str], size: float, *, bold: bool = False) -> float:
    """The width of the widest line in points, and a stop, for text without outlines cannot be measured."""
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415
    from matplotlib.textpath import TextPath  # noqa: PLC0415

    font = FontProperties(weight="bold" if bold else "normal")
    paths = (TextPath((0, 0), line.replace("$", "S") + ".", size=size, prop=font) for line in lines)
    return HINTING * max(float(path.get_extents().x1) for path in paths)
