"""What all pictures share: a page in points, its heading, and blocks that are laid out before they are drawn.

Needs the extra `plot`. Letters have to be measured to find out how large a page is, so a picture is made in two
steps: first blocks that know their size, then a page around them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcqr.errors import MissingExtra, ParameterError

SUFFIXES = (".svg", ".png", ".pdf")
INK, MUTED, LINE, PAPER = "#222222", "#6b6b6b", "#9aa4ad", "#ffffff"
WARNING = "#b3261e"
LABELS = ("#b4532a", "#0b6e99", "#5b7f2b", "#7d4f9e", "#8a6d00", "#a83a6a", "#2f6f6a", "#555555")
"""White text on each of them has a contrast of at least 4.5 : 1."""

# Lengths in points; one unit of the axes is one point.
FONT, SMALL, HEADING, NOTE = 10.0, 8.0, 12.0, 11.0
MARGIN = 14.0
HINTING = 1.03
"""How much wider than its outlines a line of text can come out in pixels."""
_LONGEST = 200
"""Characters of a text that has to fit; no more are measured."""


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
    try:
        from matplotlib import rc_context  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("A picture", "plot") from None
    # The same model gives the same file, and a character that the font does not have is a box.
    with rc_context({"svg.hashsalt": "pcqr"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Glyph", category=UserWarning)
        block = lay_out()
        above = 3.0 * HEADING + NOTE * len(caption.notes)
        wide = max(block.width, text_width([caption.title], HEADING, bold=True), text_width(caption.notes, SMALL))
        width, height = wide + 2 * MARGIN, above + block.height + 2 * MARGIN
        figure = Figure(figsize=(width / 72.0, height / 72.0), dpi=200, facecolor=PAPER)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_xlim(-MARGIN, wide + MARGIN)
        axes.set_ylim(height - MARGIN, -MARGIN)
        axes.set_axis_off()
        write(axes, 0.0, 0.0, caption.title, size=HEADING, weight="bold", va="top")
        for place, note in enumerate(caption.notes):
            colour = WARNING if caption.warning and place == 0 else MUTED
            write(axes, 0.0, 1.6 * HEADING + NOTE * place, note, size=SMALL, color=colour, va="top")
        block.draw(axes, 0.0, above)
        figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


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


def text_width(lines: Sequence[str], size: float, *, bold: bool = False) -> float:
    """The width of the widest line in points, and a stop, for text without outlines cannot be measured.

    The control points of a curve bound it, and are much faster to find than its extents.
    """
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415
    from matplotlib.textpath import TextPath  # noqa: PLC0415

    font = FontProperties(weight="bold" if bold else "normal")
    paths = (TextPath((0, 0), line.replace("$", "S") + ".", size=size, prop=font) for line in lines)
    return HINTING * max((float(path.vertices[:, 0].max()) for path in paths), default=0.0)


def fitted(text: str, size: float, width: float, *, bold: bool = False) -> str:
    """`text`, or as much of its beginning as fits into `width`, and an ellipsis."""
    text = text[:_LONGEST] + "…" if len(text) > _LONGEST else text
    if text_width([text], size, bold=bold) <= width:
        return text
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        short = text_width([text[:middle] + "…"], size, bold=bold) <= width
        fits, too_long = (middle, too_long) if short else (fits, middle)
    return text[:fits].rstrip() + "…"
