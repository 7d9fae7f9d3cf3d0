"""A tree as a picture, read from left to right: questions, then one label in each row.

Left to right because questions are long and levels are few: every leaf has a line of its own, however wide the names.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcqr.drawing import BODY, INK, LABELS, LINE, MUTED, PAPER, TINY, text_width
from pcqr.models.canvas import Block, Caption, write, write_page
from pcqr.models.vocabulary import Vocabulary
from pcqr.records.branching import Leaf, Split

YES, NO = INK, MUTED

# Lengths in points; one unit of the axes is one point.
ROW, LINE_HEIGHT, PADDING, GAP = 30.0, 13.0, 8.0, 62.0
WRAP = 38


@dataclass
class Box:
    """A node with its text, its place in the tree and, once it is known, its place on paper.

    `fill` is the colour of a leaf, None for a question and for a leaf that abstains.
    """

    lines: list[str]
    depth: int
    is_leaf: bool
    fill: str | None = None
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
    write_page(path, caption, lambda: tree_block(root, words))


def tree_block(root: Leaf | Split, words: Vocabulary) -> Block:
    boxes = _boxes(root, words, 0)
    bottom = _place(boxes[0], boxes)

    def draw(axes: Any, x: float, y: float) -> None:
        for box in boxes:
            box.left, box.middle = box.left + x, box.middle + y
        for box in boxes:
            _draw_edges(axes, box)
        for box in boxes:
            _draw_box(axes, box)

    return Block(max(box.right for box in boxes), bottom, draw)


def _boxes(node: Leaf | Split, words: Vocabulary, depth: int) -> list[Box]:
    """The boxes of a node and of everything under it, the node's own first."""
    if isinstance(node, Leaf):
        fill = None if words.classes[node.label] is None else LABELS[node.label % len(LABELS)]
        return [
            Box(_wrapped(f"{words.label(node.label)} {words.share(node)}".rstrip()), depth, is_leaf=True, fill=fill)
        ]
    holds, fails = _boxes(node.holds, words, depth + 1), _boxes(node.fails, words, depth + 1)
    text = words.condition(node.predicate, holds=True)
    return [Box(_wrapped(text + "?"), depth, is_leaf=False, children=(holds[0], fails[0])), *holds, *fails]


def _place(tree: Box, boxes: Sequence[Box]) -> float:
    """Give every box its place; return the lower edge of the lowest."""
    for box in boxes:
        box.width = text_width(box.lines, BODY, bold=box.is_leaf) + 2 * PADDING
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
        write(axes, end[0] - 5.0, end[1] - 3.0, word, size=TINY, color=colour, ha="right", va="bottom")


def _draw_box(axes: Any, box: Box) -> None:
    from matplotlib.patches import FancyBboxPatch  # noqa: PLC0415

    axes.add_patch(
        FancyBboxPatch(
            (box.left, box.middle - box.height / 2.0),
            box.width,
            box.height,
            boxstyle=f"round,pad=0,rounding_size={10.0 if box.is_leaf else 4.0}",
            facecolor=box.fill or PAPER,
            edgecolor=box.fill or LINE,
            linewidth=1.0,
        )
    )
    for place, line in enumerate(box.lines):
        height = box.middle + LINE_HEIGHT * (place - (len(box.lines) - 1) / 2.0)
        write(
            axes,
            box.left + PADDING,
            height,
            line,
            size=BODY,
            color=PAPER if box.fill else MUTED if box.is_leaf else INK,
            weight="bold" if box.is_leaf else "normal",
            va="center_baseline",
        )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WRAP, break_on_hyphens=False) or [text]
