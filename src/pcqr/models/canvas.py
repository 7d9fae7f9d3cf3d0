"""What all pictures share: a page in points, its heading, and blocks that are laid out before they are drawn.

Needs the extra `plot`. Letters have to be measured to find out how large a page is, so a picture is made in two
steps: first blocks that know their size, then a page around them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcqr.drawing import INK, MUTED, TINY, TITLE, WARNING, house_style, new_figure, save, text_width
from pcqr.errors import ParameterError

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
