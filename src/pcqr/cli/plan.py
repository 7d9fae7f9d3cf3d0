"""`pcqr plan`: what is possible and what to run, before anything private is touched."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pcqr import registry
from pcqr.advice.advice import Advice, Advised, Measured, Situation, advise, bought_in_words, n_epsilon_in_words
from pcqr.advice.outlook import Line, Outlook, explain_calibrated, explain_paper, look
from pcqr.advice.question import ASSUMED, SYMBOLS, Option, Question, Unknown, estimator_of
from pcqr.advice.solving import MOST_QUERIES, Solved
from pcqr.cli.console import field_table, open_table, print_json
from pcqr.cli.jobs import Plan
from pcqr.errors import ParameterError
from pcqr.files import check_output, replacing
from pcqr.hypotheses import UnionsOfIntervals
from pcqr.hypotheses.base import Combinatorics
from pcqr.planner.certificate import VcClass
from pcqr.planner.certified import MOST_RECORDS, CertifiedVotes
from pcqr.planner.paper import RELABEL_TEMPERATURE
from pcqr.planner.request import Demand, Request
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.universal.plan import UniversalPlan

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


def run(job: Plan) -> None:
    """Without a class: what to do with n records at ε. With one: what is proved and expected for it."""
    if job.class_name is not None and job.vc is not None:
        raise ParameterError("vc", "left out where --class is given, which has a VC dimension of its own", job.vc)
    if job.class_name is None and job.vc is None:
        if job.explain or job.plot is not None:
            raise ParameterError("--class or --vc", "given for --explain and --plot", None)
        _without_a_class(job)
        return
    if job.plot is not None:
        check_output(job.plot, inputs=(), overwrite=job.overwrite, option="--plot")
    outlook = look(_question(job, job.class_name))
    command = _command(job, outlook)
    if job.plot is not None:
        from pcqr.plotting.pictures import draw_plan  # noqa: PLC0415 - matplotlib is an extra

        with replacing(job.plot) as draft:
            draw_plan(draft, outlook.question, outlook.solved)
    if job.as_json:
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
    names = dict.fromkeys((*_TABULATED, *outlook.question.unknown))
    table = open_table((SYMBOLS[name] for name in names), title="What is proved", flush_left=0)
    for at, found in outlook.points:
        known = outlook.question if found is None else found.request
        values = {name: getattr(known, name) for name in names} | {outlook.runs: at}
        table.add_row(*("none" if values[name] is None else _shown(name, values[name]) for name in names))
    return table


def _modes_table(outlook: Outlook) -> Table:
    figures, votes = outlook.figures, outlook.fewest
    columns = ("", "paper, as printed", "calibrated")
    table = open_table(columns, title="Records for a proof, and the parameters", flush_left=1)
    rows = {
        "records n": f"{figures.n:.3g}",
        "sub-sample n'": f"{figures.subsample:.3g}",
        "teachers k": f"{figures.k:,}",
        "records a teacher": f"{figures.subsample // figures.k:,}",
        "unstable answers T": f"{figures.T:,}",
        "threshold w": f"{figures.threshold:,}",
        "margin D": "–",
        "relabelling η": f"{RELABEL_TEMPERATURE:g}",
        "sparse vector": "as printed",
    }
    calibrated: tuple[str, ...] = ("–",) * len(rows)
    if votes is not None:
        plan = votes.plan
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
    for (name, printed), ours in zip(rows.items(), calibrated, strict=True):
        table.add_row(name, printed, ours)
    return table


def _options_table(outlook: Outlook) -> Table:
    columns = ("", "excess error, proved", "excess error, expected", "unstable, expected", "unanswered, expected")
    table = open_table(columns, title=f"Algorithms at n = {outlook.records:,}", flush_left=1)
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
        table = open_table(("", "value", "formula", "proof"), title=title)
        table.columns[1].justify = "right"
        for line in lines:
            shown = f"{line.value:,}" if isinstance(line.value, int) else f"{line.value:.4g}"
            table.add_row(line.symbol, shown, line.formula, line.proof)
        console.print(table)


def _without_a_class(job: Plan) -> None:
    """No class was named: advice, and the question about proofs for each of some classes where that was asked."""
    advice = _advice(job)
    asks_for_proofs = advice is None or job.alpha is not None or job.solve is not None
    outlooks = _some_classes(job) if job.as_json or asks_for_proofs else {}
    if job.as_json:
        classes = {name: as_object(found) for name, found in outlooks.items()}
        print_json({"schema": SCHEMA, "advice": None if advice is None else advice_object(advice), "classes": classes})
        return
    console = Console(highlight=False)
    if advice is not None:
        print_advice(console, advice)
    if outlooks:
        table = open_table(("class", "answer", "recommended"), title="What is proved, for some classes")
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


# ---------------------------------------------------------------------------------------------------------------------
# Without a class: what to run, what to expect of it, what else there is.


_NEEDS = {
    "public rows": "public rows without labels",
    "schema": "a schema: the columns, their categories and bounds (pcqr schema makes one from public rows)",
    "queries": "all queries beforehand, as public rows",
    None: "nothing but the records and the queries",
}
_NEEDS_NOTHING = "nothing public but the columns and their kinds: --types, or the types of a Parquet file"

_NOT_MEASURED = "not measured below ten times this n·ε"


def advice_object(advice: Advice) -> dict[str, Any]:
    """For --json; every key is documented in docs/planning.md."""
    situation = advice.situation
    return {
        "situation": asdict(situation),
        "recommended": _object(advice.best, situation) | {"reason": advice.reason},
        "bought": _bought(situation) if advice.buys else None,
        "alternatives": [_object(other, situation) for other in advice.others],
        "notes": list(_notes(advice)),
        "shortfall": advice.shortfall,
    }


def _bought(situation: Situation) -> dict[str, Any]:
    recipe = situation.recipe
    shares = {} if recipe is None else {name: getattr(recipe, name) for name in ("cuts", "counts", "categories")}
    return {
        "public_grid": recipe is None,
        "cuts_a_number": 0 if recipe is None else recipe.cuts_a_number,
        "shares_of_mu": shares,
        "remaining": 1.0 if recipe is None else recipe.remaining(),
    }


def _object(advised: Advised, situation: Situation) -> dict[str, Any]:
    found = advised.measured
    return {
        "way": advised.method.words,
        "estimator": advised.method.algorithm.estimator_name,
        "commands": list(lines_for(advised, situation)),
        "python": python_for(advised, situation),
        "needs": advised.source,
        "measured": None
        if found is None
        else {
            "loss": found.loss,
            "gain": found.gain,
            "unanswered": found.unanswered,
            "cells": len(found.cells),
            "tables": found.tables,
            "n_times_epsilon": found.n_epsilon,
            "extrapolated": found.extrapolated,
            "with_public_rows": not advised.alike,
        },
    }


def print_advice(console: Console, advice: Advice) -> None:
    best, situation = advice.best, advice.situation
    console.print(
        Text(f"Recommended: {best.method.words} ({best.method.algorithm.estimator_name})", style="bold green")
    )
    if advice.shortfall is not None:
        console.print(Text.assemble(("But: ", "bold yellow"), advice.shortfall))
    console.print()
    for line in lines_for(best, situation):
        console.print(f"  {line}", soft_wrap=True, markup=False)
    console.print(f"  ({EXAMPLES})", style="dim", soft_wrap=True)
    console.print()
    fields = {
        "expected": _NOT_MEASURED if best.measured is None else _expected(best.measured, best.alike),
        **({"buys": bought_in_words(situation)} if advice.buys else {}),
        "costs": _costs(best, situation),
        "needs": _NEEDS_NOTHING if advice.buys else _NEEDS[best.source],
        "why": advice.reason,
    }
    console.print(field_table(fields))
    console.print()
    console.print(_table(advice))
    shown = (best, *advice.others)
    if not all(advised.alike or advised.measured is None for advised in shown):
        console.print("* measured with public rows, which a schema or queries do not quite replace", style="dim")
    if any(advised.measured is not None and advised.measured.extrapolated for advised in shown):
        console.print("† nothing was measured at this n·ε; these are the nearest cells", style="dim")
    console.print()
    for other in advice.others:
        for line in lines_for(other, situation)[:1] or (f"Python only: {python_for(other, situation)}",):
            console.print(Text.assemble((f"{other.method.words}\n", "bold"), f"  {line}"), soft_wrap=True)
    for note in _notes(advice):
        console.print()
        console.print(Text.assemble(("Note. ", "bold"), note))


def _notes(advice: Advice) -> tuple[str, ...]:
    """Return the notes of the advice, and whether the command needs --accept-weak-guarantee."""
    situation = advice.situation
    delta = 0.0 if advice.best.method.algorithm.pure else situation.delta
    caveats = Guarantee(situation.epsilon, delta).caveats(situation.records)
    if not caveats:
        return advice.notes
    return (*advice.notes, f"{' '.join(caveats)} The command needs --accept-weak-guarantee.")


def _expected(found: Measured, alike: bool) -> str:
    """In points of accuracy: what was lost against boosting, what was gained over the more common label, and where."""
    where = f"{len(found.cells)} runs on {len(found.tables)} tables ({', '.join(found.tables)}) with n·ε = "
    where += n_epsilon_in_words(found) + (" and public rows" if not alike else "")
    lead = "Nothing was measured at this n·ε; nearest: " if found.extrapolated else ""
    return (
        f"{lead}accuracy {_points(found.loss)} points below gradient boosting without privacy on the same records, "
        f"{_points(found.gain)} points above always giving the more common label; measured in {where}. No bound: "
        "another table may do better or worse."
    )


def _costs(advised: Advised, situation: Situation) -> str:
    privacy = f"ε = {situation.epsilon:g}"
    privacy += "" if advised.method.algorithm.pure else f", δ = {situation.delta:g}"
    return f"{privacy}, once, for " + (
        "the answers until it is exhausted" if advised.method.ends else "any number of queries"
    )


def _points(ends: tuple[float, float]) -> str:
    low, high = (f"{round(100.0 * end, 1) + 0.0:.1f}".replace("-", "−") for end in ends)  # + 0: no −0.0
    return low if low == high else f"{low} to {high}"


def _table(advice: Advice) -> Table:
    title = "All ways, as measured: points of accuracy (an unanswered query counts as a coin)"
    table = open_table(("", "n·ε", "below boosting", "unanswered"), title=title, flush_left=1)
    table.add_column("privacy")
    for advised in (advice.best, *advice.others):
        found = advised.measured
        privacy = "ε alone" if advised.method.algorithm.pure else "ε and δ"
        if found is None:
            table.add_row(advised.method.words, "not measured", "–", "–", privacy)
            continue
        unanswered = "none" if advised.method.at_once else _points(found.unanswered) + " %"
        table.add_row(
            advised.method.words,
            n_epsilon_in_words(found),
            _points(found.loss) + " *" * (not advised.alike) + " †" * found.extrapolated,
            unanswered,
            privacy,
        )
    return table


# ---------------------------------------------------------------------------------------------------------------------
# Command lines to copy, for what `pcqr plan` recommends. Files, the label and its values have made-up names.


EXAMPLES = (
    "train.csv, label, no,yes, age=number,job=text, schema.toml, public.csv, queries.csv, model, answers.csv and NAME "
    "stand for yours; a Parquet file needs no --types; "
    "pcqr account create NAME --epsilon … --delta … makes the account, once for each table"
)
_ACCOUNT = "--account NAME"
_FILES = "--private train.csv --label label --labels no,yes"
_SOURCES = {
    None: "--types age=number,job=text",
    "public rows": "--public public.csv",
    "schema": "--schema schema.toml",
    "queries": "--public queries.csv",
}
_TESTED = ("AgPrivCl", "SubSamp")
"""They were measured with tests of stability, so their commands ask for these."""


def lines_for(advised: Advised, situation: Situation) -> tuple[str, ...]:
    """The commands that run a way of answering, one after the other; empty where none does."""
    method, privacy = advised.method, f"--epsilon {_number(situation.epsilon)}"
    if method.at_once:
        delta = "" if method.algorithm.pure else f" --delta {_number(situation.delta)}"
        return (
            f"pcqr publish {_FILES} {_SOURCES[advised.source]} {privacy}{delta} {_ACCOUNT} --out model",
            "pcqr predict model queries.csv --out answers.csv",
        )
    if not method.commanded:
        return ()
    source = advised.source if method.trees else situation.source
    columns = "" if source is None or (source == "queries" and not method.trees) else f" {_SOURCES[source]}"
    hypotheses = "trees --depth 2" if method.trees else "stumps"
    vote = " --vote stability" if method.name in _TESTED else ""
    return (
        f"pcqr answer {_FILES}{columns} --queries queries.csv --class {hypotheses} "
        f"--algorithm {method.algorithm.option}{vote} {privacy} --delta {_number(situation.delta)} {_ACCOUNT} "
        "--out answers.csv",
    )


def python_for(advised: Advised, situation: Situation) -> str:
    """The same as an expression, for those who work in Python."""
    method, given = advised.method, f"epsilon={_number(situation.epsilon)}"
    first = "" if method.hypotheses is None else f"{method.hypotheses}, "
    delta = "" if method.algorithm.pure else f", delta={_number(situation.delta)}"
    queries = "" if method.at_once or situation.queries is None else f", queries={situation.queries}"
    vote = ', vote="stability"' if method.name in _TESTED else ""
    sources = {None: "", "schema": ", schema=schema", "public rows": ", public=public", "queries": ", public=queries"}
    return f"{method.algorithm.estimator_name}({first}{given}{delta}{queries}{vote}).fit(X, y{sources[advised.source]})"


def line_for_option(option: Option, request: Demand, class_name: str | None, intervals: int) -> str | None:
    """The command that runs one algorithm with a class that was named; None where no command does."""
    algorithm = registry.algorithm(option.algorithm).option
    if algorithm is None or class_name is None or option.plan is None:
        return None
    after = f" --publish-after {option.plan.publish.after_queries}" if isinstance(option.plan, UniversalPlan) else ""
    unions = f" --intervals {intervals}" if class_name == "unions" else ""
    accuracy = f"--alpha {_number(request.alpha)} --beta {_number(request.beta)}"
    return (
        f"pcqr answer {_FILES} --queries queries.csv --class {class_name}{unions} --algorithm {algorithm}{after} "
        f"--epsilon {_number(request.epsilon)} --delta {_number(request.delta)} {accuracy} {_ACCOUNT} --out answers.csv"
    )


def _number(value: float) -> str:
    """In full: a rounded ε would be another one."""
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
