"""Regions of the line and of the plane as pictures: inside and outside in the colours of their labels."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from pcqr.drawing import BODY, INK, LABELS, MUTED, TINY, fitted, text_width
from pcqr.models.canvas import Block, write
from pcqr.models.vocabulary import Vocabulary, printable
from pcqr.records.predicates import Predicate
from pcqr.schema import Feature

Corner = tuple[float, float]
Range = tuple[float, float]
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
