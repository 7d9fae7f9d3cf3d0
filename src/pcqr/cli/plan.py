"""What `pcqr plan --json` prints about a class: one object, documented in docs/planning.md."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pcqr import registry
from pcqr.advice.advice import Advice, Situation, advise
from pcqr.advice.outlook import Line, Outlook, explain_calibrated, explain_paper, look
from pcqr.advice.question import ASSUMED, SYMBOLS, Option, Question, Unknown, estimator_of
from pcqr.advice.solving import MOST_QUERIES, Solved
from pcqr.cli.advice import advice_object, print_advice
from pcqr.cli.console import EXAMPLES, field_table, line_for_option, print_json
from pcqr.cli.jobs import Plan
from pcqr.errors import ParameterError
from pcqr.files import check_output, replacing
from pcqr.hypotheses import UnionsOfIntervals
from pcqr.hypotheses.base import Combinatorics
from pcqr.planner.certificate import VcClass
from pcqr.planner.certified import MOST_RECORDS, CertifiedVotes
from pcqr.planner.paper import RELABEL_TEMPERATURE
from pcqr.planner.request import Demand, Request

SCHEMA = "pcqr.plan/1"


def as_object(outlook: Outlook, *, explain: bool = False, command: str | None = None) -> dict[str, Any]:
    """The whole answer. Keys are only ever added within one version of the schema."""
    request, solved = outlook.request, outlook.solved
    best = outlook.recommendation
    value: dict[str, Any] = {
        "schema": SCHEMA,
        "class": class_in_words(outlook),
        "features": request.features,
        "vc_dimension": request.hypotheses.vc_bound(request.features),
        **_numbers(request),
        "solved_for": list(outlook.question.unknown),
        "solution": None
        if solved is None
        else {name: getattr(solved.request, name) for name in outlook.question.unknown},
        "proved": outlook.is_proved,
        "paper": asdict(outlook.figures),
        "calibrated": None if outlook.fewest is None else _calibrated(outlook.fewest),
        "algorithms": [_algorithm(option) for option in outlook.options],
        "recommendation": {
            "algorithm": None if best.option is None else best.option.algorithm,
            "estimator": None if best.option is None else estimator_of(best.option),
            "reason": best.reason,
            "command": command,
            "python": None if best.python is None else estimator_of(best.python),
        },
        "nearest_changes": outlook.changes,
        "frontier_over": outlook.runs,
        "frontier": [_point(at, found) for at, found in outlook.points],
        "notes": list(outlook.notes),
    }
    if explain:
        value["explanation"] = {
            "paper": [asdict(line) for line in explain_paper(outlook.figures)],
            "calibrated": []
            if outlook.fewest is None
            else [asdict(line) for line in explain_calibrated(request, outlook.fewest)],
        }
    return value


def _calibrated(votes: CertifiedVotes) -> dict[str, Any]:
    plan, proved = votes.plan, votes.certificate
    return {
        "n": plan.records,
        "k": plan.teachers,
        "T": plan.sparse_vector.unstable,
        "subsample": plan.subsample,
        "sampling_rate": plan.sampling_rate,
        "inverse_temperature": plan.inverse_temperature,
        "teacher_records": plan.teacher_records,
        "sparse_vector": {"form": type(plan.sparse_vector).__name__} | asdict(plan.sparse_vector),
        "margin": proved.margin,
        "excess": proved.excess,
        "terms": {
            "selection": proved.selection,
            "generalisation": proved.generalisation,
            "unclear": proved.unclear,
            "sampling": proved.sampling,
        },
    }


def _algorithm(option: Option) -> dict[str, Any]:
    return {
        "algorithm": option.algorithm,
        "estimator": estimator_of(option),
        "certified": {"excess_error": option.proved},
        "expected": None if option.expected is None else asdict(option.expected),
        "objection": option.objection,
    }


def _point(at: float, found: Solved | None) -> dict[str, Any]:
    if found is None:
        return {"at": at, "solution": None}
    return {"at": at, "solution": _numbers(found.request)}


def _numbers(request: Demand) -> dict[str, float | None]:
    """The six numbers; n is None where it was asked for and none was found."""
    records = request.records if isinstance(request, Request) else None
    return {"records": records} | {name: getattr(request, name) for name in ASSUMED}


def class_in_words(outlook: Outlook) -> str:
    hypotheses, features = outlook.request.hypotheses, outlook.request.features
    if isinstance(hypotheses, VcClass):
        return f"any class of VC dimension {hypotheses.dimension}"
    name = type(hypotheses).__name__ + (f"({hypotheses.r})" if isinstance(hypotheses, UnionsOfIntervals) else "")
    return name if hypotheses.features is not None else f"{name} on {features} feature{'s' * (features != 1)}"


# ---------------------------------------------------------------------------------------------------------------------
# `pcqr plan`: what is possible, before anything private is touched.


_TABULATED: tuple[Unknown, ...] = ("records", "epsilon", "queries", "alpha")
_FORMS = {"OneSidedSparseVector": "one-sided", "RenyiSparseVector": "Rényi"}


def run(job: Plan, *, as_json: bool) -> None:
    """Without a class: what to do with n records at ε. With one: what is proved and expected for it."""
    if job.class_name is not None and job.vc is not None:
        raise ParameterError("vc", "left out where --class is given, which has a VC dimension of its own", job.vc)
    if job.class_name is None and job.vc is None:
        if job.explain or job.plot is not None:
            raise ParameterError("--class or --vc", "given for --explain and --plot", None)
        _without_a_class(job, as_json=as_json)
        return
    if job.plot is not None:
        check_output(job.plot, inputs=(), overwrite=job.overwrite, option="--plot")
    outlook = look(_question(job, job.class_name))
    command = _command(job, outlook)
    if job.plot is not None:
        from pcqr.plotting.pictures import draw_plan  # noqa: PLC0415 - matplotlib is an extra

        with replacing(job.plot) as draft:
            draw_plan(draft, outlook.question, outlook.solved)
    if as_json:
        print_json(as_object(outlook, explain=job.explain, command=command))
        return
    console = Console(highlight=False)
    _print(console, outlook, explain=job.explain, command=command)
    if job.plot is not None:
        console.print(f"\nPicture: {job.plot}")


def _advice(job: Plan) -> Advice | None:
    """What to do, where enough is known to say so: n and ε."""
    if job.records is None or job.epsilon is None:
        return None
    return advise(
        Situation(
            records=job.records,
            epsilon=job.epsilon,
            delta=ASSUMED["delta"] if job.delta is None else job.delta,
            columns=job.features,
            queries=job.queries,
            public=job.public,
            schema=job.schema,
        )
    )


def _command(job: Plan, outlook: Outlook) -> str | None:
    best = outlook.recommendation.option
    return None if best is None else line_for_option(best, outlook.request, job.class_name, job.intervals)


def _question(job: Plan, class_name: str | None) -> Question:
    hypotheses: Combinatorics = (
        VcClass(job.vc or 0)
        if class_name is None
        else registry.hypothesis_class(class_name).made(intervals=job.intervals)
    )
    if job.features is not None and hypotheses.features not in (None, job.features):
        raise ParameterError("features", f"{hypotheses.features} for {class_name}", job.features)
    return Question(
        hypotheses=hypotheses,
        features=job.features or hypotheses.features or 1,
        records=job.records,
        epsilon=job.epsilon,
        delta=job.delta,
        queries=job.queries,
        alpha=job.alpha,
        beta=job.beta,
        public=job.public,
        solve=job.solve,
    )


def _up(value: float, digits: int = 3) -> str:
    """A bound, rounded upwards to so many digits: what is shown holds if what was proved does."""
    if value <= 0.0 or not math.isfinite(value):
        return f"{value:g}"
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    steps = math.ceil(value / unit * (1.0 - 1e-12))
    return f"{steps * unit:.{digits}g}"


def _percent(share: float) -> str:
    if 0.0 < share < 1e-5:
        return "< 0.001 %"
    return "100 %" if share >= 0.995 else f"{100 * share:.2g} %"


def _shown(name: Unknown, value: float) -> str:
    """A parameter as one reads it. Whole numbers in full; the others are all better small, so never rounded down."""
    return f"{value:,.0f}" if name in ("records", "queries") else _up(value, 4)


def _print(console: Console, outlook: Outlook, *, explain: bool, command: str | None) -> None:
    request = outlook.request
    console.print(Text(_headline(outlook), style="bold green" if outlook.is_proved else "bold yellow"))
    console.print()
    asked = {
        "class": f"{class_in_words(outlook)}, VC dimension at most {request.hypotheses.vc_bound(request.features)}",
        "privacy": f"ε = {_shown('epsilon', request.epsilon)}, δ = {_shown('delta', request.delta)}",
        "accuracy": f"α = {_shown('alpha', request.alpha)} beyond the best of the class, but for a chance "
        f"β = {_shown('beta', request.beta)}",
        "queries": f"m = {request.queries:,}",
    }
    if outlook.question.records is not None:
        asked["records"] = f"n = {outlook.question.records:,}"
    console.print(field_table(asked))
    if outlook.points:
        console.print()
        console.print(_frontier_table(outlook))
    console.print()
    console.print(_modes_table(outlook))
    if outlook.options:
        console.print()
        console.print(_options_table(outlook))
        for option in outlook.options:
            if option.objection is not None:
                console.print(f"{option.algorithm}: {option.objection}", style="dim")
        console.print()
        console.print(Text.assemble(("Recommended. ", "bold"), outlook.recommendation.reason))
        if command is not None:
            console.print(f"  {command}", soft_wrap=True, markup=False)
            console.print(f"  ({EXAMPLES})", style="dim", soft_wrap=True)
    if outlook.changes:
        console.print()
        console.print(Text.assemble((_lead(outlook), "bold"), "; ".join(_changes(outlook.changes)) + "."))
    for note in outlook.notes:
        console.print()
        console.print(Text.assemble(("Note. ", "bold"), note))
    if explain:
        _print_explanation(console, outlook)


def _headline(outlook: Outlook) -> str:
    unknown, solved = outlook.question.unknown, outlook.solved
    if not unknown:
        return _verdict(outlook)
    name = unknown[0]
    if solved is None:
        if name == "records":
            return f"No number n of records up to {MOST_RECORDS:.0e} is known to be enough."
        return f"No {SYMBOLS[name]} can be proved with n = {outlook.records:,} records."
    value = getattr(solved.request, name)
    shown = _shown(name, value)
    ends = " (the search goes no farther)" if value in (MOST_QUERIES, MOST_RECORDS) else ""
    words = {
        "records": f"n = {shown} records are enough, with proof.",
        "alpha": f"An excess error of at most α = {shown} is proved.",
        "queries": f"m = {shown} queries can be answered, with proof{ends}.",
        "epsilon": f"ε = {shown} is enough, with proof.",
        "delta": f"δ = {shown} is enough, with proof.",
        "beta": f"A chance of failure of at most β = {shown} is proved.",
    }
    return words[name]


def _verdict(outlook: Outlook) -> str:
    """Nothing was open: is it possible?"""
    n, alpha = outlook.records, outlook.request.alpha
    if outlook.is_proved:
        return f"Feasible: n = {n:,} records are enough, with proof."
    votes = "" if outlook.fewest is None else f" Votes would need n = {outlook.fewest.plan.records:,} for a proof."
    proved = [option for option in outlook.options if option.proved is not None and option.proved <= alpha]
    if proved:
        estimator = estimator_of(proved[0])
        return f"Feasible with {proved[0].algorithm} ({estimator}): n = {n:,} records are enough, with proof.{votes}"
    return f"Accuracy is not proved at n = {n:,}; privacy is.{votes} What is expected is below."


def _lead(outlook: Outlook) -> str:
    if outlook.question.records is None:
        return f"For a proof with n ≤ {MOST_RECORDS:.0e} records: "
    return "For a proof of the votes, any one of: " if len(outlook.changes) > 1 else "For a proof of the votes: "


def _changes(changes: dict[Unknown, float]) -> list[str]:
    units = {"records": " records", "queries": " queries"}
    return [f"{SYMBOLS[name]} = {_shown(name, value)}{units.get(name, '')}" for name, value in changes.items()]


def _frontier_table(outlook: Outlook) -> Table:
    table = Table(title="What is proved", title_justify="left", box=None, padding=(0, 2, 0, 0))
    names = dict.fromkeys((*_TABULATED, *outlook.question.unknown))
    for name in names:
        table.add_column(SYMBOLS[name], justify="right")
    for at, found in outlook.points:
        known = outlook.question if found is None else found.request
        values = {name: getattr(known, name) for name in names} | {outlook.runs: at}
        table.add_row(*("none" if values[name] is None else _shown(name, values[name]) for name in names))
    return table


def _modes_table(outlook: Outlook) -> Table:
    figures, votes = outlook.figures, outlook.fewest
    table = Table(title="Records for a proof, and the parameters", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    table.add_column("paper, as printed", justify="right")
    table.add_column("calibrated", justify="right")
    none = ("–",) * 9
    plan = None if votes is None else votes.plan
    calibrated = none
    if plan is not None and votes is not None:
        calibrated = (
            f"{plan.records:,}",
            f"{plan.subsample:,} (q = {plan.sampling_rate:.3g})",
            f"{plan.teachers:,}",
            f"{plan.teacher_records:,}",
            f"{plan.sparse_vector.unstable:,}",
            f"{plan.sparse_vector.threshold:,}",
            f"{votes.certificate.margin:,}",
            f"{plan.inverse_temperature or 0:.4g}",
            _FORMS[type(plan.sparse_vector).__name__],
        )
    printed = (
        f"{figures.n:.3g}",
        f"{figures.subsample:.3g}",
        f"{figures.k:,}",
        f"{figures.subsample // figures.k:,}",
        f"{figures.T:,}",
        f"{figures.threshold:,}",
        "–",
        f"{RELABEL_TEMPERATURE:g}",
        "as printed",
    )
    names = (
        "records n",
        "sub-sample n'",
        "teachers k",
        "records a teacher",
        "unstable answers T",
        "threshold w",
        "margin D",
        "relabelling η",
        "sparse vector",
    )
    for row in zip(names, printed, calibrated, strict=True):
        table.add_row(*row)
    return table


def _options_table(outlook: Outlook) -> Table:
    table = Table(title=f"Algorithms at n = {outlook.records:,}", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for title in ("excess error, proved", "excess error, expected", "unstable, expected", "unanswered, expected"):
        table.add_column(title, justify="right")
    for option in outlook.options:
        if option.expected is None:
            table.add_row(option.algorithm, *("–",) * 4)
            continue
        table.add_row(
            option.algorithm,
            "–" if option.proved is None else f"≤ {_up(option.proved)}",
            f"{option.expected.excess_error:.2g}",
            _percent(option.expected.unstable_share),
            _percent(option.expected.unanswered_share),
        )
    return table


def _print_explanation(console: Console, outlook: Outlook) -> None:
    parts: list[tuple[str, tuple[Line, ...]]] = [("The paper's numbers", explain_paper(outlook.figures))]
    if outlook.fewest is not None:
        parts.append(("The calibrated numbers", explain_calibrated(outlook.request, outlook.fewest)))
    for title, lines in parts:
        console.print()
        table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
        table.add_column("")
        table.add_column("value", justify="right")
        table.add_column("formula")
        table.add_column("proof")
        for line in lines:
            shown = f"{line.value:,}" if isinstance(line.value, int) else f"{line.value:.4g}"
            table.add_row(line.symbol, shown, line.formula, line.proof)
        console.print(table)


def _without_a_class(job: Plan, *, as_json: bool) -> None:
    """No class was named: advice, and the question about proofs for each of some classes where that was asked."""
    advice = _advice(job)
    asks_for_proofs = advice is None or job.alpha is not None or job.solve is not None
    outlooks = _some_classes(job) if as_json or asks_for_proofs else {}
    if as_json:
        classes = {name: as_object(found) for name, found in outlooks.items()}
        print_json({"schema": SCHEMA, "advice": None if advice is None else advice_object(advice), "classes": classes})
        return
    console = Console(highlight=False)
    if advice is not None:
        print_advice(console, advice)
    if outlooks:
        table = Table(title="What is proved, for some classes", title_justify="left", box=None, padding=(0, 2, 0, 0))
        for title in ("class", "answer", "recommended"):
            table.add_column(title)
        for name, found in outlooks.items():
            best = found.recommendation.option
            table.add_row(name, _headline(found), "–" if best is None else best.algorithm)
        console.print(table)
    console.print("\nWhat is proved, for a class of hypotheses: add --class.", style="dim")


def _some_classes(job: Plan) -> dict[str, Outlook]:
    return {
        name: look(_question(job if name == "stumps" else replace(job, features=None), name))
        for name in ("thresholds", "intervals", "stumps")
    }
