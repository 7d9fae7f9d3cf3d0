"""The picture of `pcqr plan`: records against queries, provable α against ε, teachers against unstable answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pcqr.errors import MissingExtra, ParameterError
from pcqr.mechanisms.sparse_vector import PaperSparseVector, RenyiSparseVector, best_one_sided
from pcqr.planning import paper
from pcqr.planning.certified import CertifiedVotes, fewest_records
from pcqr.planning.deviations import sampling_slack
from pcqr.planning.request import Request
from pcqr.planning.search import Knobs
from pcqr.planning.solving import Question, Solved

INK, MUTED, GRID = "#222222", "#7a7a7a", "#e6e6e6"
OURS, PAPER, SUBSAMP, PALE = "#0b6e99", "#d1603d", "#9a7500", "#8cc5de"
DASHED, DOTTED = (0, (5, 2)), (0, (1, 1.6))
STYLE = {"font.size": 10.5, "svg.hashsalt": "pcqr"}

DEFAULT_QUERIES = 1_000
SPAN = 30.0  # how far the axes reach from the user's m and T, as a factor
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
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
        title = f"{request.hypotheses}" + (f" on {request.features} features" if request.features > 1 else "")
        figure.suptitle(
            f"{title}: ε = {request.epsilon:.3g}, δ = {request.delta:.2g}, m = {request.queries:,}, "
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
    if epsilon <= 8.0 * math.log(2.0 / delta):  # else the paper's sparse vector says nothing
        words = "SubSamp, paper's constants, for α + 3γ"
        _plot(axes, _curve(sub_samp, queries), words, SUBSAMP, linestyle="-.")
    _plot(axes, _fewest_for(request, queries, fewest), "proved here, for α + γ", OURS, bold=True)
    limit = (dimension + math.log(1.0 / beta)) / alpha**2
    _plot(axes, _curve(lambda _: limit, queries), "without privacy (order of magnitude)", MUTED, linestyle=DOTTED)
    if at_hand is not None:
        _mark(axes, request.queries, at_hand, proved=fewest is not None and fewest.plan.records <= at_hand)
    axes.set(xscale="log", yscale="log")
    axes.set_ylim(top=10 * axes.get_ylim()[1])
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
    records = at_hand or (None if fewest is None else fewest.plan.records)
    curves: list[tuple[int, Curve]] = []
    if records is not None:
        curves = [(n, _provable(request, n, fewest)) for n in (records, 10 * records)]
        if not curves[0][1][0] and fewest is not None and fewest.plan.records > records:
            curves[0] = (fewest.plan.records, _provable(request, fewest.plan.records, fewest))
    for (n, curve), colour, linestyle in zip(curves, (OURS, PALE), ("-", DASHED), strict=False):
        if curve[0]:
            _plot(axes, curve, f"n = {_short(n)}", colour, bold=colour == OURS, linestyle=linestyle, marker="o")
    if at_hand is not None and fewest is not None:
        _mark(axes, request.epsilon, request.alpha, proved=fewest.plan.records <= at_hand)
    axes.set(xscale="log", yscale="log")
    _entitle(axes, "The α that is proved", "ε", "α, excess error")


def _provable(request: Request, records: int, fewest: CertifiedVotes | None) -> Curve:
    """The least α proved for n = `records` at every ε that has one."""
    epsilons: list[float] = []
    alphas: list[float] = []
    knobs = None if fewest is None else fewest.knobs
    guess = request.alpha
    for epsilon in EPSILONS:
        found = _least_alpha(replace(request, epsilon=epsilon), records, guess, knobs)
        if found is not None:
            guess, knobs = found
            epsilons.append(epsilon)
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

    if epsilon <= 8.0 * math.log(2.0 / delta):
        _plot(axes, _curve(printed, budgets), "the paper's", PAPER, linestyle=DASHED)
    _plot(axes, _curve(one_sided, budgets), "one-sided", SUBSAMP, linestyle="-.")
    _plot(axes, _curve(renyi, budgets), "Rényi", OURS, bold=True)
    if fewest is not None:
        _mark(axes, unstable, fewest.plan.teachers, proved=True, words="the plan")
    axes.set(xscale="log", yscale="log")
    spent = f"sparse vector with ε = {epsilon:.2g}, δ = {delta:.1g}"
    _entitle(axes, "Teachers needed", f"T, unstable answers\n({spent})", "k, teachers")


def _curve(value: Callable[[int], float], places: Sequence[int]) -> Curve:
    return [float(place) for place in places], [float(value(place)) for place in places]


def _plot(axes: Any, curve: Curve, words: str, colour: str, *, bold: bool = False, **style: Any) -> None:
    """A line with its name in the legend."""
    axes.plot(*curve, color=colour, linewidth=2.6 if bold else 1.8, label=words, markersize=4, **style)


def _mark(axes: Any, x: float, y: float, *, proved: bool, words: str = "you are here") -> None:
    """The user's own point: filled where it is proved."""
    words += "" if proved else " (not proved)"
    axes.plot([x], [y], "o", color=INK, markerfacecolor=INK if proved else "white", markersize=7, zorder=5, label=words)


def _entitle(axes: Any, title: str, horizontal: str, vertical: str) -> None:
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", color=INK)
    axes.set_xlabel(horizontal, color=MUTED)
    axes.set_ylabel(vertical, color=MUTED)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK, loc="best", handlelength=2.4)


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
