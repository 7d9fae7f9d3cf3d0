"""The picture of `pcqr account show`: a bar for each release, where the one before ended, up to what there is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from pcqr import registry
from pcqr.drawing import (
    GRID,
    INK,
    MUTED,
    OTHERS,
    PLAIN,
    PUBLISHED,
    SMALL,
    TINY,
    TITLE,
    VOTES,
    fitted,
    house_style,
    in_powers,
    new_figure,
    note,
    save,
    tidy,
)
from pcqr.errors import ParameterError
from pcqr.release.account import Account, Charge
from pcqr.release.account.figures import Tally, at_least, at_most

MOST_BARS = 30
"""Charges with a bar of their own; earlier ones share the first."""
_WORDS_WIDTH = 235.0
"""Points for the words beside the bars."""


def draw_account(path: Path, account: Account) -> None:
    """Write the picture to `path`, in the format that its suffix says. Needs the extra `plot`."""
    charges, limit = account.charges, account.filter.limit
    bars = max(1, min(len(charges), MOST_BARS + 1)) + any(each.is_written_off for each in account.adoptions)
    with house_style():
        figure = new_figure(10.0, 1.9 + 0.34 * bars, layout="constrained")
        if path.suffix.lower().removeprefix(".") not in figure.canvas.get_supported_filetypes():
            raise ParameterError("--plot", "a name that ends in .svg, .png, .pdf", path.name)
        has_delta = limit.delta > 0
        panels = figure.subplots(1, 2 if has_delta else 1, sharey=True, squeeze=False)[0]
        names, spans, colours = _bars(charges)
        spent, charged = account.spent, spans[-1][1] if spans else Tally()
        if spent != charged:
            names, spans, colours = [*names, "written off"], [*spans, (charged, spent)], [*colours, MUTED]
        symbol = account.filter.symbol
        _draw(panels[0], [(a.loss, b.loss) for a, b in spans], colours, limit.loss, symbol)
        panels[0].set_yticks(range(len(names)), [fitted(name, SMALL, _WORDS_WIDTH) for name in names], fontsize=SMALL)
        if has_delta:
            _draw(panels[1], [(a.delta, b.delta) for a, b in spans], colours, limit.delta, "δ")
        left = limit - spent
        words = f"left: {symbol} = {at_most(left.loss, 4)}" + (f", δ = {at_most(left.delta, 3)}" if has_delta else "")
        figure.suptitle(
            f"Account {account.name}: ε = {account.epsilon:.6g}, δ = {in_powers(account.delta)}; {words}",
            x=0.008,
            ha="left",
            fontsize=TITLE,
            fontweight="bold",
        )
        save(figure, path)


def _bars(charges: Sequence[Charge]) -> tuple[list[str], list[tuple[Tally, Tally]], list[str]]:
    """A name, from where to where, and a colour for each bar."""
    sums = list(accumulate((charge.price for charge in charges), initial=Tally()))
    first = max(0, len(charges) - MOST_BARS)
    names = [f"{charge.time[:10]}  {_short(charge)}" for charge in charges[first:]]
    spans = list(zip(sums[first:], sums[first + 1 :], strict=False))
    colours = [_colour(charge) for charge in charges[first:]]
    if first:
        return [f"{first:,} earlier releases", *names], [(sums[0], sums[first]), *spans], [MUTED, *colours]
    return names, spans, colours


def _short(charge: Charge) -> str:
    hypotheses = charge.facts.get("hypotheses")
    return f"{charge.what} ({hypotheses})" if hypotheses else charge.what


def _colour(charge: Charge) -> str:
    """That of its method in every picture: what is published at once, votes, or what is not ours."""
    known = {entry.estimator_name: entry for entry in registry.algorithms()}
    if charge.what not in known:
        return OTHERS
    return VOTES if known[charge.what].option else PUBLISHED


def _draw(axes: Any, spans: Sequence[tuple[Any, Any]], colours: Sequence[str], limit: Any, symbol: str) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    reach = float(limit)
    for row, ((start, end), colour) in enumerate(zip(spans, colours, strict=True)):
        low, high = float(start), float(end)
        axes.barh(row, high - low, left=low, height=0.62, color=colour, zorder=3)
        axes.plot([high, high], [row, row + 1], color=GRID, linewidth=PLAIN, zorder=1)
        if high > low:
            beside, side, offset = (high, "left", 4) if high < 0.8 * reach else (low, "right", -4)
            words = at_least(end - start, 3)
            note(axes, words, (beside, row), (offset, 0), ha=side, va="center", fontsize=TINY, color=INK)
    if not spans:
        axes.text(0.5, 0.5, "nothing was spent", ha="center", va="center", transform=axes.transAxes, color=MUTED)
        axes.set_yticks([])
    axes.axvline(reach, color=INK, linewidth=PLAIN, zorder=2)
    note(axes, f"{symbol} = {at_most(limit, 4)}", (reach, 1), (-4, 3), xycoords=("data", "axes fraction"), ha="right")
    axes.set(
        xlim=(0, 1.02 * reach),
        ylim=(max(len(spans), 1) - 0.4, -0.6),
        xlabel=f"{symbol} spent, one release after another",
    )
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(lambda value, _: in_powers(value, 1) if reach < 1e-3 else in_powers(value))
    tidy(axes, grid="x")
