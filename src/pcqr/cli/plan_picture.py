"""The picture of `pcqr plan`: records against queries, provable α against ε, teachers against unstable answers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pcqr.drawing import (
    BOLD,
    DASH_DOT,
    DOTTED,
    INK,
    MUTED,
    ON_EPSILON,
    ON_EXCESS,
    ON_QUERIES,
    ON_RECORDS,
    ON_TEACHERS,
    ON_UNSTABLE,
    OTHERS,
    PAPER,
    PLAIN,
    SMALL,
    SUBSAMP,
    TITLE,
    VOTES,
    draw_without_privacy,
    entitle,
    house_style,
    in_powers,
    new_figure,
    note,
    save,
    tidy,
)
from pcqr.errors import ParameterError
from pcqr.mechanisms.sparse_vector import PaperSparseVector, RenyiSparseVector, best_one_sided
from pcqr.planning import paper
from pcqr.planning.proved.capacity import VcClass
from pcqr.planning.proved.certified import CertifiedVotes, fewest_records, rounded_up
from pcqr.planning.proved.deviations import sampling_slack
from pcqr.planning.questions.question import Question, Unknown
from pcqr.planning.questions.solving import Solved
from pcqr.planning.request import Demand
from pcqr.planning.search.knobs import Knobs

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
    with house_style():
        figure = new_figure(12.0, 4.8, layout="constrained")
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
        is_asked = solved is not None or "alpha" not in question.unknown
        _draw_alpha(panels[1], request, fewest, at_hand, is_asked=is_asked)
        _draw_teachers(panels[2], request, fewest)
        for axes in panels:
            tidy(axes)
        figure.suptitle(_title(request, question, solved), x=0.008, ha="left", fontsize=TITLE, fontweight="bold")
        save(figure, path)


def _centre(question: Question, solved: Solved | None) -> Demand:
    """What the panels vary one number of."""
    if solved is not None:
        return solved.request
    return question.assuming().demand()


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
    _entitle(axes, "Records needed for m queries", ON_QUERIES, ON_RECORDS)


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
    _entitle(axes, "The α that is proved", ON_EPSILON, ON_EXCESS)


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
    _entitle(axes, "Teachers needed", f"{ON_UNSTABLE}\n({spent})", ON_TEACHERS)


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


def _entitle(axes: Any, title: str, horizontal: str, vertical: str) -> None:
    entitle(axes, title)
    axes.set(xlabel=horizontal, ylabel=vertical)


def _short(number: int) -> str:
    """In full below a million, then two digits, never rounded down: 48,123 or 1.3·10⁶ for 1,249,870.

    What is proved for a number of records is so for more of them, and not for fewer.
    """
    if number < 10**6:
        return f"{number:,}"
    return in_powers(rounded_up(number))
