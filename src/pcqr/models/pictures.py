"""What all pictures share: a page in points, its heading, and blocks that are laid out before they are drawn.

Needs the extra `plot`. Letters have to be measured to find out how large a page is, so a picture is made in two
steps: first blocks that know their size, then a page around them.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcqr.data.records.predicates import Leaf, Split
from pcqr.errors import ParameterError
from pcqr.models.effects import Level, Shape
from pcqr.models.vocabulary import Vocabulary, printable
from pcqr.plotting.axes import (
    BODY,
    INK,
    LABELS,
    LINE,
    MUTED,
    PAPER,
    SMALL,
    TINY,
    TITLE,
    WARNING,
    fitted,
    house_style,
    new_figure,
    save,
    text_width,
)

SUFFIXES = (".svg", ".png", ".pdf")

# Lengths in points; one unit of the axes is one point.
NOTE, MARGIN = 11.0, 14.0

# Letters in a line of the heading: names may be long, and a picture as wide as they are would be read by nobody.
TITLE_LETTERS, NOTE_LETTERS = 60, 100


@dataclass(frozen=True)
class Caption:
    """`title` above the picture, `notes` under the title, one a line; `warning` makes the first note one."""

    title: str
    notes: tuple[str, ...]
    warning: bool = False


@dataclass(frozen=True)
class Block:
    """A part of a picture: its size, and how to draw it on axes with its upper left corner at (x, y)."""

    width: float
    height: float
    draw: Callable[[Any, float, float], None]


def write_page(path: Path, caption: Caption, lay_out: Callable[[], Block]) -> None:
    """Write the picture that `lay_out` lays out to `path`, in the format that its suffix says."""
    if path.suffix.lower() not in SUFFIXES:
        raise ParameterError("path", f"a name that ends in {', '.join(SUFFIXES)}", str(path))
    with house_style():
        block = lay_out()
        title = textwrap.wrap(caption.title, TITLE_LETTERS) or [""]
        notes = [
            (line, WARNING if caption.warning and place == 0 else MUTED)
            for place, note in enumerate(caption.notes)
            for line in textwrap.wrap(note, NOTE_LETTERS) or [""]
        ]
        below_title = 1.6 * TITLE + 1.35 * TITLE * (len(title) - 1)
        above = below_title + 1.4 * TITLE + NOTE * len(notes)
        lines = [line for line, _ in notes]
        wide = max(block.width, text_width(title, TITLE, bold=True), text_width(lines, TINY))
        width, height = wide + 2 * MARGIN, above + block.height + 2 * MARGIN
        figure = new_figure(width / 72.0, height / 72.0, dpi=200)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_xlim(-MARGIN, wide + MARGIN)
        axes.set_ylim(height - MARGIN, -MARGIN)
        axes.set_axis_off()
        for place, line in enumerate(title):
            write(axes, 0.0, 1.35 * TITLE * place, line, size=TITLE, weight="bold", va="top")
        for place, (line, colour) in enumerate(notes):
            write(axes, 0.0, below_title + NOTE * place, line, size=TINY, color=colour, va="top")
        block.draw(axes, 0.0, above)
        save(figure, path)


def stacked(blocks: Sequence[Block], gap: float) -> Block:
    """`blocks` one under the other, all from the left edge."""

    def draw(axes: Any, x: float, y: float) -> None:
        for block in blocks:
            block.draw(axes, x, y)
            y += block.height + gap

    height = sum(block.height for block in blocks) + gap * max(0, len(blocks) - 1)
    return Block(max((block.width for block in blocks), default=0.0), height, draw)


def text_block(lines: Sequence[str], *, size: float, color: str = MUTED, **style: Any) -> Block:
    """Lines of text, each as long as it is."""
    step = 1.35 * size

    def draw(axes: Any, x: float, y: float) -> None:
        for place, line in enumerate(lines):
            write(axes, x, y + step * place, line, size=size, color=color, va="top", **style)

    return Block(text_width(lines, size, bold=style.get("weight") == "bold"), step * len(lines), draw)


def write(axes: Any, x: float, y: float, text: str, *, size: float, color: str = INK, **style: Any) -> None:
    axes.text(x, y, text, fontsize=size, color=color, parse_math=False, **style)  # a $ in a name is just a $


# ---------------------------------------------------------------------------------------------------------------------
# A tree as a picture, read from left to right: questions, then one label in each row.
#
# Left to right because questions are long and levels are few: every leaf has a line of its own, however wide the names.


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


# ---------------------------------------------------------------------------------------------------------------------
# What the columns of a record do to a score, as a page of small pictures: steps or curves for numbers, else bars.
#
# All steps are drawn to one scale and all bars to another, so that a column that looks strong is strong. What speaks
# for a label is drawn upwards or to the right in the colour of that label, what speaks against it the other way.


MOST_PANELS, MOST_BARS, ACROSS = 15, 10, 3
LABELS_DRAWN, COLUMNS_DRAWN = 12, 6

# Lengths in points; one unit of the axes is one point.
PANEL, GUTTER, SPACE = 240.0, 30.0, 24.0
PANEL_TITLE, TALLEST, LOWEST, TICKS, BAR = 17.0, 130.0, 18.0, 15.0, 14.0
NAMES, MISSING = 104.0, 40.0
TICK = 7.0
TINT = 0.22


@dataclass(frozen=True)
class Side:
    """What points below 0, or above 0, say, and their colour."""

    words: str
    colour: str


Sides = tuple[Side, Side]
"""Below 0, above 0."""


@dataclass(frozen=True)
class Scale:
    """The lowest and the highest points of some columns, 0 between them."""

    low: float
    high: float

    @classmethod
    def of(cls, *shapes: Shape) -> Scale:
        points = [level.points for shape in shapes for level in shape.levels]
        low, high = min([0.0, *points]), max([0.0, *points])
        return cls(low, high if high > low else low + 1.0)

    @property
    def range(self) -> float:
        return self.high - self.low


def speaking_for(words: Vocabulary) -> Sides:
    """The sides of a score that decides between two labels."""
    no, yes = (Side(f"speaks for {words.label(label)}", LABELS[label]) for label in (0, 1))
    return no, yes


def shapes_block(
    shapes: Sequence[Shape], sides: Sides, explanation: Sequence[str], *, most: int = MOST_PANELS
) -> Block:
    """`shapes`, the first ones, in columns of even height, under a legend and an explanation."""
    shown, left_out = shapes[:most], shapes[most:]
    blocks = [_legend(sides), text_block(explanation, size=TINY)]
    if shown:
        blocks += [Block(0.0, 6.0, lambda *_: None), _in_columns(_shape_blocks(shown, sides))]
    if left_out:
        names = ", ".join(printable(shape.column.name) for shape in left_out)
        strongest = max(shape.importance for shape in left_out)
        weaker = f"Not drawn; they move the score by at most {_short(strongest)}: {names}"
        blocks.append(text_block([fitted(weaker, TINY, ACROSS * PANEL + (ACROSS - 1) * GUTTER)], size=TINY))
    return stacked(blocks, 8.0)


def labels_block(
    shapes: Callable[[int], Sequence[Shape]], words: Vocabulary, explanation: Sequence[str], starts: Sequence[str] = ()
) -> Block:
    """The strongest columns of each label, one label under the other; `shapes`(k) are those of label k."""
    blocks = [text_block(explanation, size=TINY)]
    count = len(words.classes)
    for label in range(min(count, LABELS_DRAWN)):
        name = words.label(label)
        sides = (Side(f"speaks against {name}", MUTED), Side(f"speaks for {name}", LABELS[label % len(LABELS)]))
        blocks.append(shapes_block(shapes(label), sides, starts[label : label + 1], most=COLUMNS_DRAWN))
    if count > LABELS_DRAWN:
        blocks.append(text_block([f"And {count - LABELS_DRAWN} more labels, which are not drawn."], size=TINY))
    return stacked(blocks, 30.0)


def _shape_blocks(shapes: Sequence[Shape], sides: Sides) -> list[Block]:
    tallest = max((Scale.of(shape).range for shape in shapes if shape.is_numeric), default=1.0)
    bars = Scale.of(*(shape for shape in shapes if not shape.is_numeric))

    def panel(shape: Shape) -> Block:
        if not shape.is_numeric:
            return _bars(shape, bars, sides)
        return (_curve if shape.values else _steps)(shape, TALLEST / tallest, sides)

    return [panel(shape) for shape in shapes]


def _legend(sides: Sides) -> Block:
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    widths = [text_width([side.words], SMALL) for side in sides]

    def draw(axes: Any, x: float, y: float) -> None:
        for side, width in zip(sides, widths, strict=True):
            axes.add_patch(Rectangle((x, y + 1.0), 9.0, 9.0, facecolor=side.colour, edgecolor="none"))
            write(axes, x + 14.0, y + 5.5, side.words, size=SMALL, va="center_baseline")
            x += width + 36.0

    return Block(sum(widths) + 50.0, 12.0, draw)


def _in_columns(blocks: Sequence[Block]) -> Block:
    """Each panel under the column that is shortest so far."""
    bottoms = [0.0] * min(ACROSS, len(blocks))
    places = []
    for panel in blocks:
        column = bottoms.index(min(bottoms))
        places.append((column * (PANEL + GUTTER), bottoms[column]))
        bottoms[column] += panel.height + SPACE

    def draw(axes: Any, x: float, y: float) -> None:
        for panel, (right, down) in zip(blocks, places, strict=True):
            panel.draw(axes, x + right, y + down)

    return Block(len(bottoms) * (PANEL + GUTTER) - GUTTER, max(bottoms) - SPACE, draw)


def _write_title(axes: Any, x: float, y: float, shape: Shape) -> None:
    points = [level.points for level in shape.levels]
    spread = f"{_signed(min(points))} to {_signed(max(points))}"
    room = PANEL - text_width([spread], TINY) - 12.0
    name = fitted(printable(shape.column.name), BODY, room, bold=True)
    write(axes, x, y, name, size=BODY, weight="bold", va="top")
    write(axes, x + PANEL, y + 1.5, spread, size=TINY, color=MUTED, ha="right", va="top")


def _steps(shape: Shape, unit: float, sides: Sides) -> Block:
    """A number: one step between two cuts, and a bar for the missing ones. `unit` is the height of one point."""
    scale = Scale.of(shape)
    plot = max(LOWEST, unit * scale.range)
    steps, missing = shape.levels[: len(shape.cuts) + 1], shape.levels[len(shape.cuts) + 1 :]
    width = (PANEL - MISSING if missing else PANEL) / len(steps)

    def draw(axes: Any, x: float, y: float) -> None:
        _write_title(axes, x, y, shape)
        top = y + PANEL_TITLE
        zero = top + unit * scale.high

        def height(level: Level) -> float:
            return zero - unit * level.points

        axes.plot((x, x + PANEL), (zero, zero), color=LINE, linewidth=0.8, zorder=1)
        for place, level in enumerate(steps):
            _bar(axes, (x + place * width, zero), (width, height(level) - zero), _colour(level, sides), TINT)
        edges = [x + place * width for place in range(len(steps) + 1)]
        for level, left, right in zip(steps, edges, edges[1:], strict=False):
            ends = (height(level), height(level))
            axes.plot((left, right), ends, color=_colour(level, sides), linewidth=1.8, solid_capstyle="butt", zorder=3)
        for before, after, edge in zip(steps, steps[1:], edges[1:], strict=False):
            axes.plot((edge, edge), (height(before), height(after)), color=LINE, linewidth=0.7, zorder=2)
        for level in missing:
            _missing_bar(axes, x, (zero, top + plot), height(level), _colour(level, sides))
        _write_ticks(axes, top + plot, _described(shape, shape.cuts), edges[1:-1], x, edges[-1])

    return Block(PANEL, PANEL_TITLE + plot + TICKS, draw)


def _curve(shape: Shape, unit: float, sides: Sides) -> Block:
    """A number: a curve through its values, equally far apart, and a bar for the missing ones."""
    scale = Scale.of(shape)
    plot = max(LOWEST, unit * scale.range)
    count = len(shape.values)
    missing = shape.levels[count:]
    width = PANEL - MISSING if missing else PANEL

    def draw(axes: Any, x: float, y: float) -> None:
        _write_title(axes, x, y, shape)
        top = y + PANEL_TITLE
        zero = top + unit * scale.high
        places = [
            x + width * (place + 0.5) / count if count == 1 else x + width * place / (count - 1)
            for place in range(count)
        ]
        path = _crossing_zero([(place, level.points) for place, level in zip(places, shape.levels, strict=False)])
        axes.plot((x, x + PANEL), (zero, zero), color=LINE, linewidth=0.8, zorder=1)
        for (left, before), (right, after) in itertools.pairwise(path):
            colour = sides[int(before + after > 0)].colour
            heights = (zero - unit * before, zero - unit * after)
            axes.fill_between(
                (left, right), (zero, zero), heights, facecolor=colour, edgecolor="none", alpha=TINT, zorder=2
            )
            axes.plot((left, right), heights, color=colour, linewidth=1.8, solid_capstyle="round", zorder=3)
        for level in missing:
            _missing_bar(axes, x, (zero, top + plot), zero - unit * level.points, _colour(level, sides))
        _write_ticks(axes, top + plot, _described(shape, shape.values), places, x, x + width)

    return Block(PANEL, PANEL_TITLE + plot + TICKS, draw)


def _crossing_zero(path: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The path, with a point wherever it crosses 0, so that each piece lies on one side of it."""
    found = list(path[:1])
    for (left, before), (right, after) in itertools.pairwise(path):
        if before * after < 0:
            found.append((left + (right - left) * before / (before - after), 0.0))
        found.append((right, after))
    return found


def _missing_bar(axes: Any, x: float, ends: tuple[float, float], height: float, colour: str) -> None:
    """What a missing number adds, at the right of a panel; `ends` are the height of 0 and the bottom."""
    left, (zero, bottom) = x + PANEL - 0.5 * MISSING - 1.0, ends
    _bar(axes, (left, zero), (14.0, height - zero), colour, 1.0)
    write(axes, left + 7.0, bottom + 4.0, "missing", size=TICK, color=MUTED, ha="center", va="top")


def _described(shape: Shape, values: Sequence[float]) -> list[str]:
    owner = shape.column.features[0]
    return [owner.date(value) or _short(value) for value in values]


def _write_ticks(axes: Any, y: float, cuts: Sequence[str], places: Sequence[float], left: float, right: float) -> None:
    """The cuts that there is room for, first and last before the others."""
    ranked = sorted(range(len(cuts)), key=lambda place: (0 < place < len(cuts) - 1, place))
    taken: list[tuple[float, float]] = []
    for place in ranked:
        text = cuts[place]
        half = 0.5 * text_width([text], TICK)
        middle = min(max(places[place], left + half), right - half)
        if all(middle + half + 7.0 < start or middle - half - 7.0 > end for start, end in taken):
            taken.append((middle - half, middle + half))
            axes.plot((places[place],) * 2, (y, y + 3.0), color=LINE, linewidth=0.8)
            write(axes, middle, y + 4.0, text, size=TICK, color=MUTED, ha="center", va="top")


def _bars(shape: Shape, scale: Scale, sides: Sides) -> Block:
    """Categories: the strongest, from the highest to the lowest, and how many there are besides."""
    strongest = sorted(shape.levels, key=lambda level: -abs(level.points))[:MOST_BARS]
    rest = len(shape.levels) - len(strongest)
    shown = sorted(strongest, key=lambda level: -level.points)

    def draw(axes: Any, x: float, y: float) -> None:
        _write_title(axes, x, y, shape)
        start, room = x + NAMES + 6.0, PANEL - NAMES - 6.0
        unit = room / scale.range
        zero, top = start - unit * scale.low, y + PANEL_TITLE
        axes.plot((zero, zero), (top, top + BAR * len(shown)), color=LINE, linewidth=0.8, zorder=1)
        for place, level in enumerate(shown):
            middle = top + BAR * (place + 0.5)
            name = fitted(level.name, TINY, NAMES)
            write(axes, x + NAMES, middle, name, size=TINY, color=INK, ha="right", va="center_baseline")
            _bar(axes, (zero, middle - 0.32 * BAR), (unit * level.points, 0.64 * BAR), _colour(level, sides), 1.0)
        if rest:
            words = f"and {rest} more, of at most {_short(abs(strongest[-1].points))}"
            write(axes, x, top + BAR * len(shown) + 2.0, words, size=TICK, color=MUTED, va="top")

    return Block(PANEL, PANEL_TITLE + BAR * len(shown) + (TICKS if rest else 0.0), draw)


def _bar(axes: Any, corner: tuple[float, float], size: tuple[float, float], colour: str, alpha: float) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    axes.add_patch(Rectangle(corner, *size, facecolor=colour, edgecolor="none", alpha=alpha, zorder=2))


def _colour(level: Level, sides: Sides) -> str:
    return sides[int(level.points > 0)].colour


def _short(value: float) -> str:
    shown = f"{value:,.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.3g}"
    return shown.replace("-", "−")


def _signed(value: float) -> str:
    return f"{value:+.2g}".replace("-", "−")
