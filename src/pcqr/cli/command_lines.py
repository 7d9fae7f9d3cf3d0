"""Command lines to copy, for what `pcqr plan` recommends. Files, the label and its values have made-up names."""

from __future__ import annotations

from pcqr import registry
from pcqr.plan import UniversalPlan
from pcqr.planning.questions.advice import Advised, Situation
from pcqr.planning.questions.options import Option
from pcqr.planning.request import Demand

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
    way, privacy = advised.way, f"--epsilon {_number(situation.epsilon)}"
    if way.at_once:
        delta = "" if way.algorithm.pure else f" --delta {_number(situation.delta)}"
        return (
            f"pcqr publish {_FILES} {_SOURCES[advised.source]} {privacy}{delta} {_ACCOUNT} --out model",
            "pcqr predict model queries.csv --out answers.csv",
        )
    if not way.commanded:
        return ()
    source = advised.source if way.trees else situation.source
    columns = "" if source is None or (source == "queries" and not way.trees) else f" {_SOURCES[source]}"
    hypotheses = "trees --depth 2" if way.trees else "stumps"
    vote = " --vote stability" if way.name in _TESTED else ""
    return (
        f"pcqr answer {_FILES}{columns} --queries queries.csv --class {hypotheses} --algorithm {way.algorithm.option}"
        f"{vote} {privacy} --delta {_number(situation.delta)} {_ACCOUNT} --out answers.csv",
    )


def python_for(advised: Advised, situation: Situation) -> str:
    """The same as an expression, for those who work in Python."""
    way, given = advised.way, f"epsilon={_number(situation.epsilon)}"
    first = "" if way.hypotheses is None else f"{way.hypotheses}, "
    delta = "" if way.algorithm.pure else f", delta={_number(situation.delta)}"
    queries = "" if way.at_once or situation.queries is None else f", queries={situation.queries}"
    vote = ', vote="stability"' if way.name in _TESTED else ""
    sources = {None: "", "schema": ", schema=schema", "public rows": ", public=public", "queries": ", public=queries"}
    return f"{way.algorithm.estimator_name}({first}{given}{delta}{queries}{vote}).fit(X, y{sources[advised.source]})"


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
