"""One style for all pictures: colours, sizes of type, axes, how they are labelled, and the line without privacy.

Pictures need the extra `plot`; matplotlib is imported when something is drawn, never before. A method has one colour in
every picture. Solid lines are private; dashes are kept for what is possible *without privacy*.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pcqr.errors import MissingExtra

# Colours. On white, text in each of them but LINE and GRID has a contrast of at least 4.5 : 1.
INK, MUTED, LINE, GRID, PAPER = "#222222", "#6b6b6b", "#9aa4ad", "#e6e6e6", "#ffffff"
PUBLISHED, VOTES, SUBSAMP, OTHERS = "#0b6e99", "#5e2ca5", "#946c00", "#85301a"
"""What is published at once; votes with relabelling; votes without (SubSamp); what others do or print.

Told apart from each other, from INK and from MUTED with any kind of colour blindness.
"""
WARNING = "#b3261e"
LABELS = ("#b4532a", PUBLISHED, "#5b7f2b", "#7d4f9e", "#8a6d00", "#a83a6a", "#2f6f6a", "#555555")
"""Of labels in pictures of models, as a fill under white text."""

# Sizes of type in points, at the width of a page of documentation.
TITLE, NAME, BODY, SMALL, TINY = 12.0, 11.0, 10.0, 9.0, 8.0

# Lines.
BOLD, PLAIN, THIN = 2.4, 1.7, 1.2
DASHED, DASH_DOT, DOTTED = (0, (5, 3)), (0, (6, 2, 1, 2)), (0, (1, 1.6))

# Axes are labelled in words, with the symbol last.
ON_EPSILON, ON_RECORDS, ON_QUERIES = "privacy budget ε", "records n", "queries m"
ON_TEACHERS, ON_UNSTABLE, ON_EXCESS = "teachers k", "unstable answers allowed T", "excess error α"
ON_ACCURACY, ON_ERROR = "accuracy on test rows", "average error of a run"

DPI = 160
Layout = Literal["constrained"] | None
STYLE: Any = {
    "font.size": BODY,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": LINE,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "pcqr",
}
HINTING = 1.03
"""How much wider than its outlines a line of text can come out in pixels."""
_LONGEST = 200
"""Characters of a text that has to fit; no more are measured."""


@contextmanager
def house_style() -> Iterator[None]:
    """Everything drawn and written to a file inside has the style of this page.

    A character that the font does not have is a box, not a warning.

    Raises
    ------
    MissingExtra
        Matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: F401, PLC0415
    except ImportError:
        raise MissingExtra("A picture", "plot") from None
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Glyph", category=UserWarning)
        yield


@contextmanager
def picture(path: Path, width: float, height: float, *, layout: Layout = "constrained") -> Iterator[Any]:
    """A figure of `width` × `height` inches, written to `path` when the block ends.

    The format is what the suffix says; the same content gives the same file.
    """
    with house_style():
        figure = new_figure(width, height, layout=layout)
        yield figure
        save(figure, path)


def new_figure(width: float, height: float, *, layout: Layout = None, dpi: int = DPI) -> Any:
    """A white figure, for use inside `house_style`."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), dpi=dpi, facecolor=PAPER)
    if layout is not None:
        figure.set_layout_engine(layout, w_pad=0.08, h_pad=0.08)
    return figure


def save(figure: Any, path: Path) -> None:
    """Write `figure`, without the date, so that the same picture is the same file."""
    figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def tint(colour: str, share: float) -> str:
    """`colour` mixed with white: `share` of it is left. For areas behind text and lines."""
    channels = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(255 - share * (255 - channel)):02x}" for channel in channels)


def tidy(axes: Any, *, grid: Literal["x", "y"] | None = "y") -> None:
    """Axes with a line below, a pale grid behind and no ticks."""
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(which="both", length=0)
    axes.set_axisbelow(True)
    if grid is not None:
        axes.grid(axis=grid, color=GRID, linewidth=0.8)


def note(axes: Any, words: str, at: tuple[float, float], offset: tuple[float, float] = (0, 0), **style: Any) -> None:
    """Write `words` in small type, `offset` points from `at`. `xycoords` is the system of `at`, by default data."""
    style = {"fontsize": SMALL, "annotation_clip": False} | style
    axes.annotate(words, at, xytext=offset, textcoords="offset points", **style)


def entitle(axes: Any, title: str, words: str = "") -> None:
    """A bold title at the left, and under it a few more words."""
    axes.set_title(title, loc="left", fontsize=TITLE, fontweight="bold", pad=22 if words else 10)
    note(axes, words, (0, 1), (0, 7), xycoords="axes fraction", color=MUTED, in_layout=False)


def draw_without_privacy(axes: Any, value: float, words: str = "", *, colour: str = INK) -> None:
    """A dashed line across at `value`: the limit that no private method passes, or is compared with."""
    axes.axhline(value, color=colour, linewidth=THIN, linestyle=DASHED, zorder=1)
    note(axes, words, (1, value), (0, 4), xycoords=("axes fraction", "data"), ha="right", color=colour)


def mark_in_percent(axis: Any) -> None:
    """Few round ticks as 85 %, for values from 0 to 1."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    axis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")


def mark_epsilons(axes: Any, epsilons: Sequence[float]) -> None:
    """A logarithmic axis below, marked at `epsilons`."""
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.set_xlabel(ON_EPSILON)


def in_powers(value: float, digits: int = 2) -> str:
    """A number as people write it: 0.05, 10⁻⁶, 1.3·10⁶."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:.{digits}g}" if abs(value) < 1 else f"{value:,.{digits}f}".rstrip("0").rstrip(".")
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    power = "10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return power if float(mantissa) == 1.0 else f"{mantissa}·{power}"


def spread_out(heights: Sequence[float], gap: float, *, highest: float = float("inf")) -> list[float]:
    """`heights`, moved upwards where two are closer than `gap`, none above `highest`: places for names beside lines."""
    placed, last = [0.0] * len(heights), float("-inf")
    for index in sorted(range(len(heights)), key=lambda index: heights[index]):
        last = placed[index] = max(last + gap, heights[index])
    if last <= highest:
        return placed
    for above, index in enumerate(sorted(range(len(placed)), key=lambda index: placed[index], reverse=True)):
        placed[index] = min(placed[index], highest - above * gap)
    return placed


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
    """`text`, or as much of its beginning as fits into `width` points, and an ellipsis."""
    text = text[:_LONGEST] + "…" if len(text) > _LONGEST else text
    if text_width([text], size, bold=bold) <= width:
        return text
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        short = text_width([text[:middle] + "…"], size, bold=bold) <= width
        fits, too_long = (middle, too_long) if short else (fits, middle)
    return text[:fits].rstrip() + "…"
