"""The picture of `pcqr plan`: records against queries, provable α against ε, teachers against unstable answers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pcqr.errors import MissingExtra, ParameterError
from pcqr.mechanisms.sparse_vector import PaperSparseVector, RenyiSparseVector, best_one_sided
from pcqr.planning import paper
from pcqr.planning.capacity import VcClass
from pcqr.planning.certified import CertifiedVotes, fewest_records
from pcqr.planning.deviations import sampling_slack
from pcqr.planning.request import Request
from pcqr.planning.search import Knobs
from pcqr.planning.solving import Question, Solved

INK, MUTED, GRID = "#222222", "#7a7a7a", "#e6e6e6"
OURS, PAPER, SUBSAMP, LIGHT = "#0b6e99", "#d1603d", "#9a7500", "#4fa3c7"
DASHED, DASH_DOT, DOTTED = (0, (5, 2)), (0, (6, 2, 1, 2)), (0, (1, 1.6))
STYLE = {"font.size": 10.5, "svg.hashsalt": "pcqr"}

DEFAULT_QUERIES = 1_000
SPAN = 30.0  # how far the axes reach from the user's m and T, as a factor
EPSILON_FACTORS = (0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 8.0)  # of the user's ε
EPSILON_TICKS = tuple(digit * 10.0**power for power in range(-4, 4) for digit in (1, 2, 5))
ALPHA_TICKS = (0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5)
LARGEST_ALPHA = 0.45
ATTEMPTS = 6
CLOSE = 0.9  # the search for a provable α ends where it needs this share of the records at hand
DISSENT = 0.2
Curve = tuple[list[float], list[float]]


def draw_plan(path: Path, question: Question, solved: Solved | None) -> None:
    """Write the picture to `path`, in the format that its suffix says. Needs the extra `plot`.

    `solved` is the answer to `question`, None where there is none; what is open is then drawn at its default. All
    curves called proved are certified at every point that is marked on them; the paper's are its formulas as printed.
    """
    try:
        from matplotlib import rc_context  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("A picture", "plot") from None
    with rc_context(STYLE):
        figure = Figure(figsize=(12.6, 4.9), dpi=160, layout="constrained")
        known = figure.canvas.get_supported_filetypes()
        if path.suffix.lower().removeprefix(".") not in known:
            raise ParameterError(
                "plot", "a name that ends in .svg, .png, .pdf or what else matplotlib writes", path.name
            )
        request = _centre(question, solved)
        at_hand = question.records or (None if solved is None else solved.request.records)
        fewest = solved.votes if solved is not None else fewest_records(request)
        panels = figure.subplots(1, 3)
        _draw_records(panels[0], request, fewest, at_hand)
        _draw_alpha(panels[1], request, fewest, at_hand)
        _draw_teachers(panels[2], request, fewest)
        for axes in panels:
            _clean(axes)
        figure.suptitle(
            f"{_name(request)}: ε = {request.epsilon:.3g}, δ = {request.delta:.2g}, m = {request.queries:,}, "
            f"α = {request.alpha:.3g}, β = {request.beta:.2g}",
            x=0.008,
            ha="left",
            color=INK,
            fontweight="bold",
        )
        figure.get_layout_engine().set(w_pad=0.1, h_pad=0.06)
        figure.savefig(path)


def _centre(question: Question, solved: Solved | None) -> Request:
    """What the panels vary one number of."""
    if solved is not None:
        return solved.request
    return question.request(queries=question.queries or DEFAULT_QUERIES)


def _name(request: Request) -> str:
    hypotheses = request.hypotheses
    if isinstance(hypotheses, VcClass):
        return f"Any class of VC dimension {hypotheses.dimension}"
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(hypotheses).__name__).capitalize()
    return words if request.features == 1 else f"{words} on {request.features} features"


def _draw_records(axes: Any, request: Request, fewest: CertifiedVotes | None, at_hand: int | None) -> None:
    """n against m: what is proved, the paper's formula, SubSamp, and the limit without privacy."""
    dimension = request.hypotheses.vc_bound(request.features)
    epsilon, delta, alpha, beta = request.epsilon, request.delta, request.alpha, request.beta
    queries = [round(m) for m in np.geomspace(max(1.0, request.queries / SPAN), request.queries * SPAN, 9)]

    def printed(m: int) -> float:
        return paper.records_needed(dimension, m, epsilon, delta, alpha, beta)

    def sub_samp(m: int) -> float:
        unstable = paper.unstable_cutoff(m, alpha, beta)
        vector = PaperSparseVector.from_paper(epsilon, delta, unstable, m)
        teachers = paper.teachers_needed(vector.scale, m, unstable, delta, beta)
        return paper.sub_samp_records_needed(dimension, teachers, alpha, beta)

    _plot(axes, _curve(printed, queries), "the paper's formula", PAPER, linestyle=DASHED)
    if epsilon <= _largest_for_paper(delta):
        words = "SubSamp, paper's constants, for 3γ + α"
        _plot(axes, _curve(sub_samp, queries), words, SUBSAMP, linestyle=DASH_DOT)
    _plot(axes, _fewest_for(request, queries, fewest), "proved here, for γ + α", OURS, bold=True)
    limit = (dimension + math.log(1.0 / beta)) / alpha**2
    _plot(axes, _curve(lambda _: limit, queries), "without privacy (order of magnitude)", MUTED, linestyle=DOTTED)
    if at_hand is not None:
        is_proved = fewest is not None and fewest.plan.records <= at_hand
        _mark(axes, request.queries, at_hand, f"n = {_short(at_hand)}", proved=is_proved)
    axes.set(xscale="log", yscale="log")
    axes.set_ylim(bottom=limit / 8.0)
    _entitle(axes, "Records needed for m queries", "m, queries", "n, records")


def _fewest_for(request: Request, queries: Sequence[int], fewest: CertifiedVotes | None) -> Curve:
    """The fewest records with a proof for each m, from the m at the centre outwards; none where labels vary too much."""
    found: dict[int, int] = {}
    middle = len(queries) // 2
    for half in (queries[middle:], queries[middle - 1 :: -1]):
        knobs = None if fewest is None else fewest.knobs
        for m in half:
            votes = _fewest(replace(request, queries=m), knobs)
            if votes is not None:
                found[m], knobs = votes.plan.records, votes.knobs
    return [float(m) for m in sorted(found)], [float(found[m]) for m in sorted(found)]


def _draw_alpha(axes: Any, request: Request, fewest: CertifiedVotes | None, at_hand: int | None) -> None:
    """The least α that is proved, against ε, for n records and for ten times as many."""
    needed = None if fewest is None else fewest.plan.records
    for records in (at_hand, needed):
        curve = ([], []) if records is None else _provable(request, records, fewest)
        if records is not None and len(curve[0]) > 1:  # else too few records to show anything
            _plot(axes, curve, f"n = {_short(records)}", OURS, bold=True, marker="o", falls=True)
            many = _provable(request, 10 * records, fewest)
            _plot(axes, many, f"n = {_short(10 * records)}", LIGHT, marker="o", falls=True, linestyle=DASHED)
            break
    floor = sampling_slack(request.queries, request.beta)
    at = [EPSILON_FACTORS[0] * request.epsilon, EPSILON_FACTORS[-1] * request.epsilon]
    _plot(axes, (at, [floor, floor]), "m labels vary as much by themselves", MUTED, linestyle=DOTTED)
    if needed is not None:
        _mark(
            axes, request.epsilon, request.alpha, f"α = {request.alpha:.2g}",
            proved=at_hand is None or needed <= at_hand, falls=True,
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", ylim=(0.75 * floor, 0.55))
    for axis, ticks in ((axes.yaxis, ALPHA_TICKS), (axes.xaxis, EPSILON_TICKS)):
        low, high = axis.get_view_interval()
        axis.set_ticks([tick for tick in ticks if low <= tick <= high])
        axis.set_ticks([], minor=True)
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    _entitle(axes, "The α that is proved", "ε", "α, excess error")


def _provable(request: Request, records: int, fewest: CertifiedVotes | None) -> Curve:
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
            found = _least_alpha(replace(request, epsilon=factor * request.epsilon), records, guess, knobs)
        if found is not None:
            guess, knobs = found
            epsilons.append(factor * request.epsilon)
            alphas.append(guess)
    return epsilons, alphas


def _least_alpha(request: Request, records: int, guess: float, knobs: Knobs | None) -> tuple[float, Knobs] | None:
    """An α proved for n = `records`, nearly the least, and the knobs of its plan; None if none was found.

    n falls nearly like a power of what α leaves when the sampling of m labels has had its part: secants in logarithms.
    """
    floor = sampling_slack(request.queries, request.beta)
    left = max(guess - floor, 0.1 * floor)
    before: tuple[float, int] | None = None
    best: tuple[float, Knobs] | None = None
    for _ in range(ATTEMPTS):
        alpha = min(LARGEST_ALPHA, floor + left)
        votes = _fewest(replace(request, alpha=alpha), knobs)
        if votes is None:
            if alpha == LARGEST_ALPHA:
                break
            left *= 3.0
            continue
        knobs, needed = votes.knobs, votes.plan.records
        if needed <= records and (best is None or alpha < best[0]):
            best = alpha, knobs
        if CLOSE * records <= needed <= records or (alpha == LARGEST_ALPHA and needed > records):
            break
        slope = 1.5 if before is None else math.log(before[1] / needed) / math.log(left / before[0])
        before = left, needed
        left *= math.pow(needed / (math.sqrt(CLOSE) * records), 1.0 / min(4.0, max(0.7, slope)))
    return best


def _fewest(request: Request, knobs: Knobs | None) -> CertifiedVotes | None:
    return (knobs and fewest_records(request, knobs)) or fewest_records(request)


def _draw_teachers(axes: Any, request: Request, fewest: CertifiedVotes | None) -> None:
    """k against T for three sparse vectors that may spend what the plan's may; the same share of teachers dissents."""
    if fewest is None:
        epsilon, delta, unstable, dissent = request.epsilon, request.delta, 10, DISSENT
        failure = request.beta / 10.0
    else:
        vector, certificate = fewest.plan.sparse_vector, fewest.certificate
        epsilon, delta = vector.guarantee.epsilon, vector.guarantee.delta
        unstable, dissent, failure = vector.unstable, certificate.dissent, certificate.failure
    budgets = sorted({max(1, round(t)) for t in np.geomspace(max(1.0, unstable / SPAN), unstable * SPAN, 9)})

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
        _plot(axes, _curve(printed, budgets), "the paper's", PAPER, linestyle=DASHED)
    _plot(axes, _curve(one_sided, budgets), "one-sided", SUBSAMP, linestyle=DASH_DOT)
    _plot(axes, _curve(renyi, budgets), "Rényi", OURS, bold=True)
    if fewest is not None:
        _mark(axes, unstable, fewest.plan.teachers, f"k = {fewest.plan.teachers:,}, T = {unstable:,}", proved=True)
    axes.set(xscale="log", yscale="log")
    spent = f"for a sparse vector with ε = {epsilon:.2g}, δ = {delta:.1g}"
    _entitle(axes, "Teachers needed", f"T, unstable answers ({spent})", "k, teachers")


def _largest_for_paper(delta: float) -> float:
    """The paper's constants promise nothing beyond ε = 8·ln(2/δ)."""
    return 8.0 * math.log(2.0 / delta)


def _curve(value: Callable[[int], float], places: Sequence[int]) -> Curve:
    return [float(place) for place in places], [float(value(place)) for place in places]


def _plot(
    axes: Any, curve: Curve, words: str, colour: str, *, bold: bool = False, falls: bool = False, **style: Any
) -> None:
    """A line with its name above it: at the right end, or at the left one where it falls."""
    if not curve[0]:
        return
    axes.plot(*curve, color=colour, linewidth=2.8 if bold else 1.8, markersize=4.5, **style)
    end = (curve[0][0], curve[1][0]) if falls else (curve[0][-1], curve[1][-1])
    _write(axes, end, words, colour, (8, 3) if falls else (0, 5), "left" if falls else "right", bold=bold)


def _mark(axes: Any, x: float, y: float, words: str, *, proved: bool, falls: bool = False) -> None:
    """The user's own point: filled where it is proved. Its name goes where the line does not."""
    axes.plot([x], [y], "o", color=INK, markerfacecolor=INK if proved else "white", markersize=7.5, zorder=5)
    words += "" if proved else "\nnot proved"
    _write(axes, (x, y), words, INK, (9, 5) if falls else (6, -6), "left", above=falls, bold=True)


def _write(
    axes: Any,
    at: tuple[float, float],
    words: str,
    colour: str,
    offset: tuple[float, float],
    side: str,
    *,
    above: bool = True,
    bold: bool = False,
) -> None:
    axes.annotate(
        words,
        at,
        xytext=offset,
        textcoords="offset points",
        ha=side,
        va="bottom" if above else "top",
        color=colour,
        fontsize=9.5,
        fontweight="bold" if bold else "normal",
        zorder=6,
    )


def _entitle(axes: Any, title: str, horizontal: str, vertical: str) -> None:
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", color=INK, pad=12)
    axes.set_xlabel(horizontal, color=MUTED)
    axes.set_ylabel(vertical, color=MUTED)


def _short(number: int) -> str:
    """2 significant digits: 48,000 or 1.3·10⁶."""
    exponent = math.floor(math.log10(number))
    if exponent < 6:
        return f"{float(f'{number:.2g}'):,.0f}"
    raised = str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{number / 10**exponent:.2g}·10{raised}"


def _clean(axes: Any) -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(MUTED)
    axes.tick_params(which="both", length=0, colors=INK)
    axes.grid(axis="y", color=GRID)
    axes.set_axisbelow(True)
