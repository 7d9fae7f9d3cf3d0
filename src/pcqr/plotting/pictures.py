"""The pictures of commands: an account, an audit, the demonstration, a plan."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pcqr import registry
from pcqr.advice.question import Question, Unknown
from pcqr.advice.solving import Solved
from pcqr.audit.report import Report, Row, tightest
from pcqr.durable.account import Account, Charge
from pcqr.durable.account.filters import Tally, at_least, at_most
from pcqr.errors import ParameterError
from pcqr.mechanisms.sparse_vector import PaperSparseVector, RenyiSparseVector, best_one_sided
from pcqr.planner import paper
from pcqr.planner.certificate import VcClass, sampling_slack
from pcqr.planner.certified import CertifiedVotes, fewest_records, rounded_up
from pcqr.planner.request import Demand
from pcqr.planner.search import Knobs
from pcqr.plotting.axes import (
    BODY,
    BOLD,
    DASH_DOT,
    DASHED,
    DOTTED,
    GRID,
    INK,
    MUTED,
    NAME,
    ON_EPSILON,
    ON_EXCESS,
    ON_QUERIES,
    ON_RECORDS,
    ON_TEACHERS,
    ON_UNSTABLE,
    OTHERS,
    PAPER,
    PLAIN,
    PUBLISHED,
    SMALL,
    SUBSAMP,
    THIN,
    TINY,
    TITLE,
    VOTES,
    WARNING,
    draw_without_privacy,
    entitle,
    fitted,
    in_powers,
    mark_in_percent,
    note,
    picture,
    spread_out,
    text_width,
    tidy,
    tint,
)

if TYPE_CHECKING:
    from pcqr.cli.demo import Trace


@contextmanager
def _plot_option(path: Path, width: float, height: float) -> Iterator[Any]:
    """Open a figure for the file of --plot, in the format that its suffix says. Raise where there is none of it."""
    with picture(path, width, height) as figure:
        if path.suffix.lower().removeprefix(".") not in figure.canvas.get_supported_filetypes():
            allowed = "a name that ends in .svg, .png, .pdf or what else matplotlib writes"
            raise ParameterError("--plot", allowed, path.name)
        yield figure


def _headline(figure: Any, words: str) -> None:
    figure.suptitle(words, x=0.008, ha="left", fontsize=TITLE, fontweight="bold")


# ---------------------------------------------------------------------------------------------------------------------
# The picture of `pcqr account show`: a bar for each release, where the one before ended, up to what there is.


MOST_BARS = 30
"""Charges with a bar of their own; earlier ones share the first."""
_WORDS_WIDTH = 235.0
"""Points for the words beside the bars."""


def draw_account(path: Path, account: Account) -> None:
    """Write the picture to `path`, in the format that its suffix says. Needs the extra `plot`."""
    charges, limit = account.charges, account.filter.limit
    bars = max(1, min(len(charges), MOST_BARS + 1)) + any(each.is_written_off for each in account.adoptions)
    with _plot_option(path, 10.0, 1.9 + 0.34 * bars) as figure:
        has_delta = limit.delta > 0
        panels = figure.subplots(1, 2 if has_delta else 1, sharey=True, squeeze=False)[0]
        names, spans, colours = _bars(charges)
        spent, charged = account.spent, spans[-1][1] if spans else Tally()
        if spent != charged:
            names, spans, colours = [*names, "written off"], [*spans, (charged, spent)], [*colours, MUTED]
        symbol, remaining = account.filter.symbol, limit - spent
        _draw(panels[0], [(a.loss, b.loss) for a, b in spans], colours, limit.loss, symbol)
        panels[0].set_yticks(range(len(names)), [fitted(name, SMALL, _WORDS_WIDTH) for name in names], fontsize=SMALL)
        words = f"left: {symbol} = {at_most(remaining.loss, 4)}"
        if has_delta:
            _draw(panels[1], [(a.delta, b.delta) for a, b in spans], colours, limit.delta, "δ")
            words += f", δ = {at_most(remaining.delta, 3)}"
        terms = f"ε = {account.epsilon:.6g}, δ = {in_powers(account.delta)}"
        _headline(figure, f"Account {account.name}: {terms}; {words}")


def _bars(charges: Sequence[Charge]) -> tuple[list[str], list[tuple[Tally, Tally]], list[str]]:
    """A name, from where to where, and a colour for each bar."""
    sums = list(accumulate((charge.price for charge in charges), initial=Tally()))
    first = max(0, len(charges) - MOST_BARS)
    names = [f"{charge.time[:10]}  {_short_name(charge)}" for charge in charges[first:]]
    spans = list(zip(sums[first:], sums[first + 1 :], strict=False))
    colours = [_colour(charge) for charge in charges[first:]]
    if first:
        return [f"{first:,} earlier releases", *names], [(sums[0], sums[first]), *spans], [MUTED, *colours]
    return names, spans, colours


def _short_name(charge: Charge) -> str:
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


# ---------------------------------------------------------------------------------------------------------------------
# The picture of `pcqr audit`: one row a case, the exact ε against the claimed one.


# Inches.
WIDTH, NAMES, NUMBERS, MARGIN = 9.0, 3.1, 1.6, 0.1
HEAD, ROW, FOOT = 0.65, 0.225, 0.5
COLUMNS = (0.75, 1.5)
"""Where the numbers end, from the right edge of the axes."""

# Powers of 2 of exact ε / claimed ε. ∞ has a place of its own at the right edge.
LOWEST, HIGHEST, INFINITY = -4.5, 3.6, 4.3
TICKS = {-4.0: "1/16", -3.0: "1/8", -2.0: "1/4", -1.0: "1/2", 0.0: "claim", 1.0: "2 ×", 2.0: "4 ×", 3.0: "8 ×"}
BEYOND = tint(WARNING, 0.07)


@dataclass(frozen=True)
class Line:
    """One row of the picture: `exact` ε, computed (∞ is possible), `bound`, what ε is at least by runs, or both."""

    name: str
    claimed: float
    exact: float | None
    bound: float | None
    is_bug: bool
    is_flagged: bool

    @classmethod
    def of(cls, row: Row) -> Line:
        return cls(
            row.name,
            row.claim.epsilon,
            None if row.finding is None else row.finding.epsilon,
            None if row.audited is None else row.audited.epsilon,
            row.bug is not None,
            row.is_flagged,
        )

    @property
    def colour(self) -> str:
        return WARNING if self.is_flagged else PUBLISHED


def lines_of(report: Report) -> list[Line]:
    """Return the lines of the picture: of each shipped algorithm the case nearest to its claim, and all bugs.

    Cases that only runs can judge and all that was flagged are among them.
    """
    nearest = {
        finding.name for finding in tightest(row.finding for row in report.rows if row.bug is None and row.finding)
    }
    return [
        Line.of(row)
        for row in report.rows
        if row.bug is not None or row.finding is None or row.name in nearest or row.is_flagged
    ]


def draw_audit(path: Path, lines: Sequence[Line]) -> None:
    """Write the picture to `path`. Needs the extra `plot`."""
    shipped, bugs = [line for line in lines if not line.is_bug], [line for line in lines if line.is_bug]
    blocks = [("Shipped: nothing may pass the line", shipped), ("Broken: each must pass it", bugs)]
    blocks = [(title, block) for title, block in blocks if block]
    rows = sum(len(block) + 1 for _, block in blocks) + len(blocks) - 1
    height = HEAD + ROW * rows + FOOT
    with picture(path, WIDTH, height, layout=None) as figure:
        wide = WIDTH - NAMES - NUMBERS - 2 * MARGIN
        axes = figure.add_axes(((MARGIN + NAMES) / WIDTH, FOOT / height, wide / WIDTH, ROW * rows / height))
        _set_up(axes, rows)
        place = 0
        for title, block in blocks:
            _write_row(axes, place, -NAMES, title, fontsize=NAME, fontweight="bold")
            for line in block:
                place += 1
                _draw_line(axes, place, line)
            place += 2
        figure.legend(
            handles=_legend(),
            loc="upper left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=4,
            frameon=False,
            fontsize=SMALL,
            handletextpad=0.3,
            columnspacing=1.6,
        )


def _set_up(axes: Any, rows: int) -> None:
    """The common axis, below and above, the claim as a line, and what lies beyond it in another colour."""
    right = INFINITY + 0.35
    axes.set(xlim=(LOWEST, right), ylim=(rows - 0.4, -0.6), yticks=[])
    axes.set_xticks([*TICKS, INFINITY], [*TICKS.values(), "∞"])
    axes.tick_params(length=0, labelsize=SMALL, labelcolor=MUTED, labeltop=True)
    axes.spines[["top", "left", "right", "bottom"]].set_visible(False)
    axes.set_xlabel("exact ε as a multiple of the claimed ε")
    axes.axvspan(0, right, color=BEYOND, linewidth=0, zorder=0)
    axes.axvline(0, color=INK, linewidth=THIN, zorder=3)
    for inches, words in zip(COLUMNS, ("exact ε", "claimed ε"), strict=True):
        _write_row(axes, -1.15, inches, words, color=MUTED, ha="right")


def _draw_line(axes: Any, place: int, line: Line) -> None:
    axes.axhline(place, color=GRID, linewidth=0.7, zorder=1)
    found = line.bound if line.exact is None else line.exact
    if found:
        at = _position(found, line.claimed)
        style = "-" if line.exact is not None else DOTTED
        axes.plot((0, at), (place, place), color=line.colour, linewidth=THIN, linestyle=style, zorder=2)
    bound = LOWEST if line.bound is None else _position(line.bound, line.claimed)
    if bound > LOWEST:
        axes.plot([bound], [place], ">", markerfacecolor=PAPER, color=line.colour, markersize=6, zorder=4)
    if line.exact is not None:
        axes.plot([_position(line.exact, line.claimed)], [place], "o", color=line.colour, markersize=6, zorder=4)
    name, case = _described(line)
    _write_row(axes, place, -NAMES, name)
    taken = text_width([name], SMALL) / 72.0 + 0.07
    room = 72.0 * (NAMES - taken - 0.1)
    _write_row(axes, place, taken - NAMES, fitted(case, TINY, room) if case else "", fontsize=TINY, color=MUTED)
    exact = f"≥ {line.bound:.3f}" if line.exact is None else "∞" if math.isinf(line.exact) else f"{line.exact:.3f}"
    _write_row(axes, place, COLUMNS[0], exact, color=line.colour, fontweight="bold", ha="right")
    _write_row(axes, place, COLUMNS[1], f"{line.claimed:.3f}", ha="right")


def _position(epsilon: float, claimed: float) -> float:
    """On the axis; what is too small for it, 0 included, is at its left end, ∞ alone at its right."""
    if math.isinf(epsilon):
        return INFINITY
    return LOWEST if epsilon <= 0 else min(HIGHEST, max(LOWEST, math.log2(epsilon / claimed)))


def _described(line: Line) -> tuple[str, str]:
    """The algorithm, and which case of it; a bug has but its name."""
    if line.is_bug:
        return line.name, ""
    name = re.split("[:,(]", line.name)[0]
    case = line.name.removeprefix(name)
    return name, case[1:-1] if case.startswith("(") else case.lstrip(":, ")


def _write_row(axes: Any, place: float, inches: float, words: str, **style: Any) -> None:
    """Words in a row: so many inches left of the axes' left edge, or right of their right one."""
    edge = 0 if inches < 0 else 1
    coordinates = ("axes fraction", "data")
    note(axes, words, (edge, place), (72.0 * inches, 0), xycoords=coordinates, va="center_baseline", **style)


def _legend() -> list[Any]:
    from matplotlib.lines import Line2D  # noqa: PLC0415

    return [
        Line2D([], [], color=INK, linewidth=THIN, label="claimed ε"),
        Line2D([], [], color=PUBLISHED, marker="o", linewidth=0, label="exact ε, claim holds"),
        Line2D([], [], color=WARNING, marker="o", linewidth=0, label="exact ε, flagged"),
        Line2D(
            [], [], color=MUTED, marker=">", markerfacecolor=PAPER, linewidth=0, label="ε is at least this, by runs"
        ),
    ]


# ---------------------------------------------------------------------------------------------------------------------
# The picture of `pcqr demo`: accuracy as the queries come in, and on everybody else.


COLOURS = (PUBLISHED, VOTES, INK, MUTED)
STYLES: Any = ({"linewidth": BOLD}, {"linewidth": BOLD}, {"linewidth": THIN, "linestyle": DASHED}, {"linewidth": THIN})
MAJORITY = 3
"""Which of the methods is the commoner label."""


def draw_demo(path: Path, traces: Sequence[Trace], *, epsilon: float, delta: float, others: int) -> None:
    """Write the picture to `path`. Needs the extra `plot`."""
    with picture(path, 11.0, 4.6) as figure:
        accuracy, bars = figure.subplots(1, 2, width_ratios=(1.55, 1))
        _headline(figure, f"UCI Adult: two releases, each with ε = {epsilon:g}, δ = {in_powers(delta)}")
        _draw_accuracy(accuracy, traces)
        _draw_others(bars, traces, others)


def _draw_accuracy(axes: Any, traces: Sequence[Trace]) -> None:
    count = traces[0].correct.size
    asked = np.arange(1, count + 1)
    settled = count // 10  # the mean of the first few answers jumps between 0 and 1 and would hide the rest
    for trace, colour, style in zip(traces, COLOURS, STYLES, strict=True):
        axes.plot(asked[settled:], trace.running_accuracy[settled:], color=colour, **style)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.16 * (high - low))  # room for the note on publication
    _label_line_ends(axes, traces)
    for trace, colour in zip(traces, COLOURS, strict=True):
        if "published" in trace.kinds:
            published = trace.kinds.index("published")
            axes.axvline(published, color=colour, linewidth=THIN)
            words = "the votes end, a tree is published:\nevery later answer is free"
            note(axes, words, (published, 1), (6, -2), xycoords=("data", "axes fraction"), va="top", color=colour)
    entitle(axes, "Accuracy so far", "a query without a label counts as half right")
    axes.set(xlim=(0, count), xlabel="people asked about", ylabel="accuracy so far")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    mark_in_percent(axes.yaxis)
    tidy(axes)


def _label_line_ends(axes: Any, traces: Sequence[Trace]) -> None:
    """Each line's name and accuracy at its right end, moved apart where lines end close to each other."""
    low, high = axes.get_ylim()
    heights = spread_out([trace.accuracy for trace in traces], 0.065 * (high - low))
    for trace, colour, height in zip(traces, COLOURS, heights, strict=True):
        note(
            axes,
            f"{trace.name}  {100 * trace.accuracy:.1f} %",
            (1, height),
            (6, 0),
            xycoords=("axes fraction", "data"),
            va="center",
            color=colour,
            fontweight="bold" if colour in (PUBLISHED, VOTES) else "normal",
        )


def _draw_others(axes: Any, traces: Sequence[Trace], others: int) -> None:
    """A dot for each method, and how far it is from the commoner label."""
    majority = traces[MAJORITY].others
    axes.axvline(majority, color=GRID, linewidth=1.5)
    for row, (trace, colour, style) in enumerate(zip(traces, COLOURS, STYLES, strict=True)):
        axes.plot((majority, trace.others), (row, row), color=colour, **style)
        axes.plot(trace.others, row, "o", color=colour, markersize=8)
        name = "the tree after the votes" if trace.kinds else trace.name
        words = f"{name}  {100 * trace.others:.1f} %"
        axes.text(majority, row - 0.17, words, va="bottom", color=colour, fontsize=BODY)
    highest = max(trace.others for trace in traces)
    axes.set_xlim(majority - 0.01, max(highest, majority + 0.05) + 0.01)
    axes.set_ylim(len(traces) - 0.6, -0.75)
    axes.set_yticks([])
    mark_in_percent(axes.xaxis)
    entitle(axes, "Everybody else", f"accuracy on {others:,} people not asked about")
    axes.set_xlabel("accuracy")
    tidy(axes, grid=None)


# ---------------------------------------------------------------------------------------------------------------------
# The picture of `pcqr plan`: records against queries, provable α against ε, teachers against unstable answers.


SPAN, POINTS = 30.0, 7  # how far m and T reach from the user's, as a factor, and at how many values
EPSILON_FACTORS = (0.4, 0.6, 1.0, 1.7, 3.0, 6.0)  # of the user's ε
EPSILON_TICKS = tuple(digit * 10.0**power for power in range(-4, 4) for digit in (1, 2, 5))
ALPHA_TICKS = (0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5)
LARGEST_ALPHA = 0.45
ATTEMPTS, FIRST_SLOPE = 6, 1.5  # of the search for a provable α
CLOSE = 0.9  # it ends where α needs this share of the records at hand
DISSENT = 0.2
PLENTY = 1.5
Curve = tuple[list[float], list[float]]


def draw_plan(path: Path, question: Question, solved: Solved | None) -> None:
    """Write the picture to `path`, in the format that its suffix says. Needs the extra `plot`.

    `solved` is the answer to `question`, None where there is none; what is open is then drawn at its default. All
    curves called proved are certified at every point that is marked on them; the paper's are its formulas as printed.
    """
    with _plot_option(path, 12.0, 4.8) as figure:
        request = question.assuming().demand() if solved is None else solved.request
        at_hand = question.records or (None if solved is None else solved.request.records)
        fewest = fewest_records(request) if solved is None else solved.votes
        panels = figure.subplots(1, 3)
        _draw_records(panels[0], request, fewest, at_hand)
        is_asked = solved is not None or "alpha" not in question.unknown
        _draw_alpha(panels[1], request, fewest, at_hand, is_asked=is_asked)
        _draw_teachers(panels[2], request, fewest)
        for axes in panels:
            tidy(axes)
        _headline(figure, _title(request, question, solved))


def _title(request: Demand, question: Question, solved: Solved | None) -> str:
    """The class and the numbers; those that nobody gave and nothing solved for are marked."""
    assumed = () if solved is not None else question.unknown
    numbers: dict[str, tuple[Unknown, str]] = {
        "ε": ("epsilon", f"{request.epsilon:.3g}"),
        "δ": ("delta", in_powers(request.delta)),
        "m": ("queries", f"{request.queries:,}"),
        "α": ("alpha", f"{request.alpha:.3g}"),
        "β": ("beta", f"{request.beta:.2g}"),
    }
    words = (f"{sign} = {value}" + " (assumed)" * (name in assumed) for sign, (name, value) in numbers.items())
    return f"{_name(request)}: {', '.join(words)}"


def _name(request: Demand) -> str:
    hypotheses = request.hypotheses
    if isinstance(hypotheses, VcClass):
        return f"Any class of VC dimension {hypotheses.dimension}"
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(hypotheses).__name__).capitalize()
    return words if request.features == 1 else f"{words} on {request.features} features"


def _draw_records(axes: Any, request: Demand, fewest: CertifiedVotes | None, at_hand: int | None) -> None:
    """n against m: what is proved, the paper's formula, SubSamp, and the limit without privacy."""
    dimension = request.hypotheses.vc_bound(request.features)
    epsilon, delta, alpha, beta = request.epsilon, request.delta, request.alpha, request.beta
    queries = [round(m) for m in np.geomspace(max(1.0, request.queries / SPAN), request.queries * SPAN, POINTS)]

    def printed(m: int) -> float:
        return paper.records_needed(dimension, m, epsilon, delta, alpha, beta)

    def sub_samp(m: int) -> float:
        unstable = paper.unstable_cutoff(m, alpha, beta)
        vector = PaperSparseVector.from_paper(epsilon, delta, unstable, m)
        teachers = paper.teachers_needed(vector.scale, m, unstable, delta, beta)
        return paper.sub_samp_records_needed(dimension, teachers, alpha, beta)

    _plot(axes, _curve(printed, queries), "the paper's formula", OTHERS, linestyle=DASH_DOT)
    if epsilon <= _largest_for_paper(delta):
        words = "SubSamp, paper's constants, for 3γ + α"
        _plot(axes, _curve(sub_samp, queries), words, SUBSAMP, linestyle=DOTTED)
    _plot(axes, _fewest_for(request, queries, fewest), "proved here, for γ + α", VOTES, bold=True)
    limit = (dimension + math.log(1.0 / beta)) / alpha**2
    draw_without_privacy(axes, limit, "without privacy (order of magnitude)")
    if at_hand is not None:
        is_proved = fewest is not None and fewest.plan.records <= at_hand
        words = f"n = {_short(at_hand)}" + ("" if is_proved else "\nnot proved")
        is_plenty = fewest is not None and at_hand > PLENTY * fewest.plan.records
        place = "above" if is_plenty else "below" if is_proved else "beside"
        _mark(axes, request.queries, at_hand, words, proved=is_proved, place=place)
    axes.set(xscale="log", yscale="log")
    axes.set_ylim(bottom=limit / 8.0)
    entitle(axes, "Records needed for m queries")
    axes.set(xlabel=ON_QUERIES, ylabel=ON_RECORDS)


def _fewest_for(request: Demand, queries: Sequence[int], fewest: CertifiedVotes | None) -> Curve:
    """The fewest records with a proof for each m, from the centre outwards; none where labels vary too much."""
    found: dict[int, int] = {}
    middle = len(queries) // 2
    for half in (queries[middle:], queries[middle - 1 :: -1]):
        knobs = None if fewest is None else fewest.knobs
        for m in half:
            votes = _fewest(request.but(queries=m), knobs)
            if votes is not None:
                found[m], knobs = votes.plan.records, votes.knobs
    return [float(m) for m in sorted(found)], [float(found[m]) for m in sorted(found)]


def _draw_alpha(
    axes: Any, request: Demand, fewest: CertifiedVotes | None, at_hand: int | None, *, is_asked: bool
) -> None:
    """The least α that is proved, against ε, for n records and for ten times as many."""
    needed = None if fewest is None else fewest.plan.records
    floor = sampling_slack(request.queries, request.beta)
    ends = [EPSILON_FACTORS[0] * request.epsilon, EPSILON_FACTORS[-1] * request.epsilon]
    axes.set(xscale="log", yscale="log", xlim=(0.9 * ends[0], 1.1 * ends[1]), ylim=(min(0.7 * floor, 0.3), 0.55))
    for records in (at_hand, needed):
        curve = ([], []) if records is None else _provable(request, records, fewest)
        if records is not None and len(curve[0]) > 1:  # else too few records to show anything
            _plot(axes, curve, f"n = {_short(records)}", VOTES, bold=True, marker="o", falls=True)
            many = _provable(request, 10 * records, fewest)
            _plot(axes, many, f"n = {_short(10 * records)}", VOTES, marker="o", falls=True, markerfacecolor=PAPER)
            break
    else:
        words = "nothing is proved at these numbers"
        axes.text(0.5, 0.5, words, ha="center", color=INK, fontweight="bold", fontsize=SMALL, transform=axes.transAxes)
    if floor < LARGEST_ALPHA:
        axes.plot(ends, [floor, floor], color=MUTED, linewidth=PLAIN, linestyle=DOTTED)
        _write(axes, (ends[1], floor), "m labels vary as much by themselves", MUTED, (0, -5), "right", "top")
    if needed is not None and is_asked:
        is_proved = at_hand is None or needed <= at_hand
        words = f"α = {request.alpha:.2g}" + ("" if is_proved else f"\nnot proved\nfor n = {_short(at_hand or needed)}")
        _mark(axes, request.epsilon, request.alpha, words, proved=is_proved, place="above" if is_proved else "left")
    for axis, ticks in ((axes.yaxis, ALPHA_TICKS), (axes.xaxis, EPSILON_TICKS)):
        low, high = axis.get_view_interval()
        axis.set_ticks([tick for tick in ticks if low <= tick <= high])
        axis.set_ticks([], minor=True)
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    entitle(axes, "The α that is proved")
    axes.set(xlabel=ON_EPSILON, ylabel=ON_EXCESS)


def _provable(request: Demand, records: int, fewest: CertifiedVotes | None) -> Curve:
    """The least α proved for n = `records` at every ε that has one."""
    epsilons: list[float] = []
    alphas: list[float] = []
    knobs = None if fewest is None else fewest.knobs
    guess = request.alpha
    for factor in EPSILON_FACTORS:
        found: tuple[float, Knobs] | None
        if factor == 1.0 and fewest is not None and CLOSE * records <= fewest.plan.records <= records:
            found = request.alpha, fewest.knobs
        else:
            found = _least_alpha(request.but(epsilon=factor * request.epsilon), records, guess, knobs)
        if found is not None:
            guess, knobs = found
            epsilons.append(factor * request.epsilon)
            alphas.append(guess)
    return epsilons, alphas


def _least_alpha(request: Demand, records: int, guess: float, knobs: Knobs | None) -> tuple[float, Knobs] | None:
    """An α proved for n = `records`, nearly the least, and the knobs of its plan; None if none was found.

    n falls nearly like a power of what α leaves when the sampling of m labels has had its part: secants in logarithms.
    """
    floor = sampling_slack(request.queries, request.beta)
    left = max(guess - floor, 0.1 * floor)
    refused, proved, slope = 0.0, math.inf, FIRST_SLOPE
    before: tuple[float, int] | None = None
    best: tuple[float, Knobs] | None = None
    for _ in range(ATTEMPTS):
        alpha = min(LARGEST_ALPHA, floor + left)
        votes = _fewest(request.but(alpha=alpha), knobs)
        enough = votes is not None and votes.plan.records <= records
        if votes is not None and enough:
            proved, best = left, (alpha, votes.knobs)
        else:
            refused = left
        if votes is None:
            aim = 3.0 * left
        else:
            knobs, needed = votes.knobs, votes.plan.records
            if before is not None:
                slope = min(4.0, max(0.7, math.log(before[1] / needed) / math.log(left / before[0])))
            before, aim = (left, needed), left * math.pow(needed / (math.sqrt(CLOSE) * records), 1.0 / slope)
        is_close = enough and before is not None and before[1] >= CLOSE * records
        if is_close or proved < 1.05 * refused or (not enough and alpha == LARGEST_ALPHA):
            break
        left = aim if refused < aim < proved else math.sqrt(refused * proved)
    return best


def _fewest(request: Demand, knobs: Knobs | None) -> CertifiedVotes | None:
    return (knobs and fewest_records(request, knobs)) or fewest_records(request)


def _draw_teachers(axes: Any, request: Demand, fewest: CertifiedVotes | None) -> None:
    """k against T for three sparse vectors that may spend what the plan's may; the same share of teachers dissents."""
    if fewest is None:
        epsilon, delta, unstable, dissent = request.epsilon, request.delta, 10, DISSENT
        failure = request.beta / 10.0
    else:
        vector, certificate = fewest.plan.sparse_vector, fewest.certificate
        epsilon, delta = vector.guarantee.epsilon, vector.guarantee.delta
        unstable, dissent, failure = vector.unstable, certificate.dissent, certificate.failure
    budgets = sorted({max(1, round(t)) for t in np.geomspace(max(1.0, unstable / SPAN), unstable * SPAN, POINTS)})

    def teachers(margin: int) -> float:
        return 2.0 * math.ceil((margin + 0.5) / (1.0 - 2.0 * dissent)) + 1.0

    def one_sided(budget: int) -> float:
        form = best_one_sided(epsilon, delta, budget, request.queries, failure)
        return teachers(form.margin_needed(request.queries, failure))

    def renyi(budget: int) -> float:
        form = RenyiSparseVector.calibrate(epsilon, delta, budget, request.queries, failure)
        return teachers(form.margin_needed(request.queries, failure))

    def printed(budget: int) -> float:
        form = PaperSparseVector.from_paper(epsilon, delta, budget, request.queries)
        return paper.teachers_needed(form.scale, request.queries, budget, delta, request.beta)

    if epsilon <= _largest_for_paper(delta):
        _plot(axes, _curve(printed, budgets), "the paper's", OTHERS, linestyle=DASH_DOT, beside=True)
    _plot(axes, _curve(one_sided, budgets), "one-sided", VOTES, linestyle=DOTTED, beside=True)
    _plot(axes, _curve(renyi, budgets), "Rényi", VOTES, bold=True, beside=True)
    if fewest is not None:
        _mark(axes, unstable, fewest.plan.teachers, f"k = {fewest.plan.teachers:,}, T = {unstable:,}")
    axes.set(xscale="log", yscale="log")
    spent = f"for a sparse vector of ε = {in_powers(epsilon)}, δ = {in_powers(delta, 1)}"
    entitle(axes, "Teachers needed")
    axes.set(xlabel=f"{ON_UNSTABLE}\n({spent})", ylabel=ON_TEACHERS)


def _largest_for_paper(delta: float) -> float:
    """The paper's constants promise nothing beyond ε = 8·ln(2/δ)."""
    return 8.0 * math.log(2.0 / delta)


def _curve(value: Callable[[int], float], places: Sequence[int]) -> Curve:
    return [float(place) for place in places], [float(value(place)) for place in places]


def _plot(
    axes: Any,
    curve: Curve,
    words: str,
    colour: str,
    *,
    bold: bool = False,
    falls: bool = False,
    beside: bool = False,
    **style: Any,
) -> None:
    """A line with its name: above its right end, above the left one where it falls, or to the right of it."""
    if not curve[0]:
        return
    axes.plot(*curve, color=colour, linewidth=BOLD if bold else PLAIN, markersize=5, **style)
    end = (curve[0][0], curve[1][0]) if falls else (curve[0][-1], curve[1][-1])
    if beside:
        _write(axes, end, words, colour, (6, 0), "left", "center", bold=bold)
    else:
        _write(axes, end, words, colour, (8, 3) if falls else (0, 5), "left" if falls else "right", bold=bold)


def _mark(axes: Any, x: float, y: float, words: str, *, proved: bool = True, place: str = "below") -> None:
    """The user's own point: filled where it is proved. Its name goes where the line does not."""
    axes.plot([x], [y], "o", color=INK, markerfacecolor=INK if proved else PAPER, markersize=7.5, zorder=5)
    offset, side, vertical = {
        "below": ((6, -6), "left", "top"),
        "beside": ((10, 0), "left", "center"),
        "above": ((9, 5), "left", "bottom"),
        "left": ((-9, 0), "right", "center"),
    }[place]
    _write(axes, (x, y), words, INK, offset, side, vertical, bold=True)


def _write(
    axes: Any,
    at: tuple[float, float],
    words: str,
    colour: str,
    offset: tuple[float, float],
    side: str,
    vertical: str = "bottom",
    *,
    bold: bool = False,
) -> None:
    weight = "bold" if bold else "normal"
    note(axes, words, at, offset, ha=side, va=vertical, color=colour, fontweight=weight, zorder=6)


def _short(number: int) -> str:
    """In full below a million, then two digits, never rounded down: 48,123 or 1.3·10⁶ for 1,249,870.

    What is proved for a number of records is so for more of them, and not for fewer.
    """
    if number < 10**6:
        return f"{number:,}"
    return in_powers(rounded_up(number))
