"""`pcqr plan`: what is possible, before anything private is touched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pcqr.cli.console import field_table, print_json
from pcqr.errors import ParameterError
from pcqr.hypotheses import Halfspaces, Intervals, Rectangles, Stumps, Thresholds, UnionsOfIntervals
from pcqr.hypotheses.base import Combinatorics
from pcqr.planning.capacity import VcClass
from pcqr.planning.certified import CertifiedVotes
from pcqr.planning.explain import Line, explain_calibrated, explain_paper
from pcqr.planning.options import ESTIMATORS, Option
from pcqr.planning.outlook import Outlook, look
from pcqr.planning.solving import FLAGS, Question, Solved, Unknown

SCHEMA = "pcqr.plan/1"
SYMBOLS: dict[str, str] = {
    "records": "n",
    "alpha": "α",
    "queries": "m",
    "epsilon": "ε",
    "delta": "δ",
    "beta": "β",
}
CLASSES: dict[str, Callable[[int], Combinatorics]] = {
    "thresholds": lambda _: Thresholds(),
    "intervals": lambda _: Intervals(),
    "unions": UnionsOfIntervals,
    "stumps": lambda _: Stumps(),
    "rectangles": lambda _: Rectangles(),
    "halfspaces": lambda _: Halfspaces(),
}
_WIDTHS = {"rectangles": 2, "halfspaces": 2}


@dataclass(frozen=True)
class Job:
    """The options of one run, as they were typed."""

    class_name: str | None
    vc: int | None
    intervals: int
    features: int | None
    records: int | None
    epsilon: float | None
    delta: float | None
    queries: int | None
    alpha: float | None
    beta: float | None
    public: int | None
    solve: Unknown | None
    explain: bool
    plot: Path | None


def run(job: Job, *, as_json: bool) -> None:
    """Answer for the class that was named, or show what each class would need."""
    if job.class_name is not None and job.vc is not None:
        raise ParameterError("vc", "left out when --class is given (a class has its own VC dimension)", job.vc)
    if job.class_name is None and job.vc is None:
        _every_class(job, as_json=as_json)
        return
    outlook = look(_question(job, job.class_name))
    if job.plot is not None:
        from pcqr.cli.plan_picture import draw_plan  # noqa: PLC0415 - matplotlib is an extra

        draw_plan(job.plot, outlook.question, outlook.solved)
    if as_json:
        print_json(as_object(outlook, explain=job.explain))
        return
    console = Console(highlight=False)
    _print(console, outlook, explain=job.explain)
    if job.plot is not None:
        console.print(f"\nPicture: {job.plot}")


def _question(job: Job, class_name: str | None) -> Question:
    hypotheses = CLASSES[class_name](job.intervals) if class_name else VcClass(job.vc or 0)
    width = hypotheses.features or _WIDTHS.get(class_name or "", 1)
    if job.features is not None and hypotheses.features not in (None, job.features):
        raise ParameterError("features", f"{hypotheses.features} for {class_name}", job.features)
    return Question(
        hypotheses=hypotheses,
        features=job.features or width,
        records=job.records,
        epsilon=job.epsilon,
        delta=job.delta,
        queries=job.queries,
        alpha=job.alpha,
        beta=job.beta,
        public=job.public,
        solve=job.solve,
    )


# ---------------------------------------------------------------------------------------------------------------
# One JSON object, documented in docs/planning.md


def as_object(outlook: Outlook, *, explain: bool = False) -> dict[str, Any]:
    """The whole answer. Keys are only ever added within one version of the schema."""
    request, solved = outlook.request, outlook.solved
    best = outlook.recommendation
    value: dict[str, Any] = {
        "schema": SCHEMA,
        "class": _class_name(outlook),
        "features": request.features,
        "vc_dimension": request.hypotheses.vc_bound(request.features),
        **{name: getattr(request, name) for name in ("records", "epsilon", "delta", "queries", "alpha", "beta")},
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
            "estimator": None if best.option is None else ESTIMATORS[best.option.algorithm],
            "reason": best.reason,
        },
        "nearest_changes": outlook.changes,
        "frontier": [_point(outlook, at, found) for at, found in outlook.points],
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
        "estimator": ESTIMATORS[option.algorithm],
        "certified": {"excess_error": option.proved},
        "expected": None if option.expected is None else asdict(option.expected),
        "objection": option.objection,
    }


def _point(outlook: Outlook, at: float, found: Solved | None) -> dict[str, Any]:
    del outlook
    if found is None:
        return {"at": at, "solution": None}
    names = ("records", "epsilon", "queries", "alpha")
    return {"at": at, "solution": {name: getattr(found.request, name) for name in names}}


# ---------------------------------------------------------------------------------------------------------------
# For people


def _print(console: Console, outlook: Outlook, *, explain: bool) -> None:
    request = outlook.request
    console.print(Text(_headline(outlook), style="bold green" if outlook.is_proved else "bold yellow"))
    console.print()
    asked = {
        "class": f"{_class_name(outlook)}, VC dimension at most {request.hypotheses.vc_bound(request.features)}",
        "privacy": f"ε = {request.epsilon:.4g}, δ = {request.delta:.3g}",
        "accuracy": f"α = {request.alpha:.4g} beyond the best of the class, but for a chance β = {request.beta:.3g}",
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
    if outlook.changes:
        console.print()
        console.print(Text.assemble(("For a proof, any one of: ", "bold"), "; ".join(_changes(outlook.changes)) + "."))
    for note in outlook.notes:
        console.print()
        console.print(Text.assemble(("Note. ", "bold"), note))
    if explain:
        _print_explanation(console, outlook)


def _class_name(outlook: Outlook) -> str:
    hypotheses, features = outlook.request.hypotheses, outlook.request.features
    if isinstance(hypotheses, VcClass):
        return f"any class of VC dimension {hypotheses.dimension}"
    name = type(hypotheses).__name__ + (f"({hypotheses.r})" if isinstance(hypotheses, UnionsOfIntervals) else "")
    return name if hypotheses.features is not None else f"{name} on {features} feature{'s' * (features != 1)}"


def _headline(outlook: Outlook) -> str:
    request, unknown, solved = outlook.request, outlook.question.unknown, outlook.solved
    if not unknown:
        if outlook.is_proved:
            return f"Feasible: n = {request.records:,} records are enough, with proof."
        needed = "" if outlook.fewest is None else f" (a proof needs {outlook.fewest.plan.records:,})"
        return f"Not proved at n = {request.records:,}{needed}. Privacy is; see what is expected below."
    name = unknown[0]
    if solved is None:
        return f"No {SYMBOLS[name]} is proved to be enough here."
    value = getattr(solved.request, name)
    shown = f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    words = {
        "records": f"n = {shown} records are enough, with proof.",
        "alpha": f"An excess error of α = {shown} is proved.",
        "queries": f"m = {shown} queries can be answered, with proof.",
        "epsilon": f"ε = {shown} is enough, with proof.",
        "delta": f"δ = {shown} can be kept, with proof.",
        "beta": f"β = {shown} is proved.",
    }
    return words[name]


def _changes(changes: dict[Unknown, float]) -> list[str]:
    words = {
        "records": "n = {:,.0f} records",
        "epsilon": "ε = {:.3g}",
        "alpha": "α = {:.3g}",
        "queries": "m = {:,.0f} queries",
    }
    return [words[name].format(value) for name, value in changes.items()]


def _frontier_table(outlook: Outlook) -> Table:
    table = Table(title="What is proved", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for head in ("n", "ε", "m", "α"):
        table.add_column(head, justify="right")
    for at, found in outlook.points:
        if found is None:
            table.add_row("–", "–", f"(at {at:g})", "nothing is proved")
        else:
            request = found.request
            table.add_row(
                f"{request.records:,}", f"{request.epsilon:.3g}", f"{request.queries:,}", f"{request.alpha:.3g}"
            )
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
            type(plan.sparse_vector).__name__.removesuffix("SparseVector"),
        )
    printed = (
        f"{figures.n:.3g}",
        f"{figures.subsample:.3g}",
        f"{figures.k:,}",
        f"{figures.subsample // figures.k:,}",
        f"{figures.T:,}",
        f"{figures.threshold:,}",
        "–",
        "0.5",
        "Paper",
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
    table = Table(
        title=f"Algorithms at n = {outlook.request.records:,}", title_justify="left", box=None, padding=(0, 2, 0, 0)
    )
    table.add_column("")
    for head in ("excess error, proved", "excess error, expected", "unstable, expected", "unanswered, expected"):
        table.add_column(head, justify="right")
    for option in outlook.options:
        if option.expected is None:
            table.add_row(option.algorithm, *("–",) * 4)
            continue
        table.add_row(
            option.algorithm,
            "–" if option.proved is None else f"≤ {option.proved:.3g}",
            f"{option.expected.excess_error:.2g}",
            f"{100 * option.expected.unstable_share:.2g} %",
            f"{100 * option.expected.unanswered_share:.2g} %",
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


def _every_class(job: Job, *, as_json: bool) -> None:
    """No class was named: the same question for each of them."""
    outlooks = {
        name: look(_question(replace(job, features=None), name)) for name in ("thresholds", "intervals", "stumps")
    }
    if as_json:
        print_json({"schema": SCHEMA, "classes": {name: as_object(found) for name, found in outlooks.items()}})
        return
    table = Table(title="No --class was given. For some of them:", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for head in ("class", "answer", "recommended"):
        table.add_column(head)
    for name, found in outlooks.items():
        best = found.recommendation.option
        table.add_row(name, _headline(found), "–" if best is None else best.algorithm)
    Console(highlight=False).print(table)


__all__ = ["FLAGS", "Job", "as_object", "run"]
