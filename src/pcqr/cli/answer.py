"""`pcqr answer`: the main job on a user's own files, and what it would cost."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from pcqr import AgnosticRelease, SubsampleAggregate, SurelyPublic, UniversalRelease
from pcqr.cli.console import BUDGET_EXHAUSTED, complain, error_fields, field_table, print_json, progress, stages
from pcqr.cli.inputs import check_drop, check_label, check_public, declared_schema, label_names, labels_of, naming, read
from pcqr.cli.keeping import Price, answers_beside, check_answers
from pcqr.cli.model_folder import Publication, check_folder
from pcqr.cli.stopping import Signals
from pcqr.cli.words import KINDS, plan_facts, plan_lines, promise
from pcqr.datasets.tables import Columns, check_suffix, table_size
from pcqr.errors import BudgetExhausted, DataError, ParameterError
from pcqr.estimators.answering import first_batch_cost
from pcqr.hypotheses import (
    DecisionTrees,
    Halfspaces,
    Intervals,
    Rectangles,
    Stumps,
    Thresholds,
    UnionsOfIntervals,
)
from pcqr.hypotheses.base import HypothesisClass
from pcqr.plan import Mode, counted
from pcqr.schema import Column, Schema

ALGORITHMS = {"subsamp": SubsampleAggregate, "agnostic": AgnosticRelease, "universal": UniversalRelease}
CLASSES: dict[str, Callable[[], HypothesisClass]] = {
    "thresholds": Thresholds,
    "intervals": Intervals,
    "stumps": Stumps,
    "rectangles": Rectangles,
    "halfspaces": Halfspaces,
}

MODEL_UNSAVED = 1
"""Exit code: all answers are there, but the model that was published could not be written."""

Release = SubsampleAggregate | AgnosticRelease | UniversalRelease
Points = NDArray[np.float64]


@dataclass(frozen=True)
class Job:
    """The options of one run, as they were typed."""

    private: Path
    label: str
    queries: Path
    out: Path | None
    model_out: Path | None
    class_name: str
    intervals: int
    depth: int | None
    algorithm: str
    publish_after: int | None
    epsilon: float
    delta: float
    alpha: float
    beta: float
    mode: Mode
    on_unstable: str
    public: Path | None
    surely_public: bool
    schema: Path | None
    categories: tuple[str, ...]
    drop: tuple[str, ...]
    labels: str | None
    seed: int | None
    show: bool
    overwrite: bool

    @property
    def not_features(self) -> tuple[str, ...]:
        return (self.label, *self.drop)

    @property
    def inputs(self) -> tuple[Path, ...]:
        return tuple(path for path in (self.private, self.queries, self.public, self.schema) if path is not None)


@dataclass(frozen=True)
class Asked:
    """What is public about a run: the columns, the queries and the public rows, encoded."""

    schema: Schema
    points: Points
    public: Points | None


@dataclass(frozen=True)
class Done:
    """What a run that came to its end has to tell. `halted` is why queries stayed unanswered, if any did."""

    release: Release
    records: int
    kinds: Sequence[str]
    halted: BudgetExhausted | None
    out: Path
    publication: Publication

    @property
    def published(self) -> str | None:
        """The published classifier in words, with the names of columns and labels. Anybody may see it."""
        return None if self.publication.model is None else self.publication.model.rules()

    @property
    def model_folder(self) -> Path | None:
        return None if self.publication.saved is None else self.publication.folder


def run(job: Job, *, as_json: bool) -> None:
    """Read, check, fit, answer, write, summarise. Whatever can be refused is refused before the fit.

    Each answer is on disk before it is shown or counted. However the run ends, what was given is kept and said.
    """
    out = _checked_out(job, as_json=as_json)
    price = Price(job.epsilon, job.delta)
    with Signals() as signals, answers_beside(out, price, overwrite=job.overwrite, as_json=as_json) as answers:
        private = read(job.private, "--private")
        asked = _asked(job, private)
        declared = label_names(job.labels, most=2)
        names: tuple[Any, ...] = declared or (0, 1)
        y = labels_of(private, job.label, declared)
        X = asked.schema.encode(private, drop=job.not_features, name=str(job.private))
        _check_public(job, asked, X)
        release = _release(job, asked)
        with progress(hidden=as_json or job.show) as bar:
            with stages(bar, "fitting"):
                release.fit(X, y, public=SurelyPublic(asked.public if job.class_name == "trees" else None))
            answers.begin(signals, asked.points.shape[0], show=job.show)
            halted = None
            answering = bar.add_task("answering", total=asked.points.shape[0])
            publication = Publication(_model_folder(job, out), asked.schema, names)
            try:
                for point in asked.points:
                    label, kind, error = _answer(release, point, names)
                    halted = halted or error
                    with signals.held():
                        bar.update(answering, completed=answers.give(label, kind))
                        publication.keep(release)
            finally:
                publication.keep(release)  # drawn in a call that was broken off: it is paid for
                if publication.saved is not None:
                    answers.beside = f" The published model is in {publication.folder}."
            answers.finish(out, overwrite=job.overwrite)
        done = Done(release, X.shape[0], answers.kinds, halted, out, publication)
        _summarise(done, as_json=as_json)
    if publication.unsaved is not None:
        complain(publication.complaint)
        if not as_json:
            print_json(publication.unsaved)
        raise typer.Exit(MODEL_UNSAVED)
    if halted is not None:
        raise typer.Exit(BUDGET_EXHAUSTED)


def _answer(release: Release, point: Points, names: Sequence[Any]) -> tuple[Any, str, BudgetExhausted | None]:
    """Label, kind and, after a halt, why. Then the rest is still asked: a query asked before is in the log."""
    try:
        answer = release.answer(point)
    except BudgetExhausted as error:
        return None, "unanswered", error
    return None if answer.label is None else names[int(answer.label)], answer.kind, None


def preview(job: Job, *, as_json: bool) -> None:
    """Say what `run` would promise, plan and use up. Of the private file: the column names and the number of rows."""
    with naming("--private"):
        columns, records = table_size(job.private)
    label_names(job.labels, most=2)
    check_label(columns, job.label)
    asked = _asked(job, columns)
    points = asked.points
    nothing = dict.fromkeys(columns, ())
    asked.schema.encode(nothing, drop=job.not_features, name=str(job.private))  # its columns, no record
    plan = _release(job, asked).plan(records, points.shape[1])
    plan = replace(plan, guarantee=plan.guarantee.drawn_with(private_entropy=job.seed is None))
    cost = first_batch_cost(plan, points)
    if as_json:
        print_json(
            {
                "promise": promise(plan.guarantee, records),
                "guarantee": plan.guarantee.facts(),
                "records": records,
                "queries": points.shape[0],
                "cost": asdict(cost) | {"is_certain": cost.is_certain},
                "plan": plan_facts(plan),
            }
        )
        return
    fields = {"guarantee": promise(plan.guarantee, records), "queries": str(cost)} | plan_lines(plan)
    Console().print(field_table(fields | {"spent": "nothing: this is a preview"}))


def _asked(job: Job, private: Collection[str]) -> Asked:
    queries = read(job.queries, "--queries")
    public = None if job.public is None else read(job.public, "--public")
    schema = _declared_schema(job, queries, public)
    check_drop(job.drop, private, queries, public or (), schema.names)
    schema = schema.without(*(name for name in schema.names if name in job.not_features))
    shown = None if public is None else schema.encode(public, drop=job.not_features, name=str(job.public))
    return Asked(schema, schema.encode(queries, drop=job.not_features, name=str(job.queries)), shown)


def _check_public(job: Job, asked: Asked, X: Points) -> None:
    """Public rows, and the queries that a published classifier is made of, must not be private records."""
    if job.public is not None and asked.public is not None:
        check_public(asked.public, X, option="--public", path=job.public, surely_public=job.surely_public)
    if job.algorithm == "universal":
        check_public(asked.points, X, option="--queries", path=job.queries, surely_public=job.surely_public)


def _release(job: Job, asked: Asked) -> Release:
    """The release, planned for all the queries; a universal one is planned for those that come before publication."""
    queries = asked.points.shape[0]
    if job.algorithm == "universal":
        queries = max(1, queries // 2) if job.publish_after is None else job.publish_after
    return ALGORITHMS[job.algorithm](
        hypotheses=_hypotheses(job, asked),
        epsilon=job.epsilon,
        delta=job.delta,
        queries=queries,
        alpha=job.alpha,
        beta=job.beta,
        mode=job.mode,
        on_unstable=job.on_unstable,
        entropy=job.seed,
        classes=(0, 1),  # what `labels_of` makes of them; any other label is refused
    )


def _hypotheses(job: Job, asked: Asked) -> HypothesisClass:
    if job.depth is not None and job.class_name != "trees":
        raise ParameterError("--depth", "left out, but for --class trees", job.depth)
    if job.class_name == "unions":
        return UnionsOfIntervals(job.intervals)
    if job.class_name != "trees":
        return CLASSES[job.class_name]()
    if job.public is None and job.schema is None:
        raise ParameterError(
            "--class", "one that needs no public questions, unless --public or --schema is given", "trees"
        )
    return DecisionTrees(depth=job.depth).prepared(asked.public, asked.schema)


def _declared_schema(job: Job, queries: Columns, public: Columns | None) -> Schema:
    """The declared columns; else what the public rows say; else the columns of the queries, as numbers."""
    if job.schema is not None:
        declared = declared_schema(job.schema)
    elif public is not None:
        declared = Schema.from_public(public, drop=tuple(name for name in job.not_features if name in public))
    else:
        features = [name for name in queries if name not in job.not_features]
        if not features:
            raise DataError(str(job.queries), "a table with a column besides those that are left out", "none")
        declared = Schema(tuple(map(Column, features)))
    columns = {column.name: column for column in declared.columns}
    for declaration in job.categories:
        name, given, values = declaration.partition("=")
        if not given or name not in columns:
            raise ParameterError("--categories", "'column=first,second,…' for a column of the queries", declaration)
        columns[name] = Column(name, "categorical", [value.strip() for value in values.split(",")])
    return Schema(tuple(columns.values()))


def _checked_out(job: Job, *, as_json: bool) -> Path:
    if job.out is None:
        raise ParameterError("--out", "given, for the answers; --preview alone goes without", job.out)
    if job.show and as_json:
        raise ParameterError("--show", "left out with --json, which prints one object", True)
    if job.model_out is not None and job.algorithm != "universal":
        raise ParameterError("--model-out", "left out, but for --algorithm universal", str(job.model_out))
    with naming("--out"):
        check_suffix(job.out)
    price = Price(job.epsilon, job.delta)
    check_answers(job.out, job.inputs, price, overwrite=job.overwrite)
    if job.algorithm == "universal":
        folder = _model_folder(job, job.out)
        check_folder(folder, job.inputs, overwrite=job.overwrite, cost=price.again, option="--model-out")
    return job.out


def _model_folder(job: Job, out: Path) -> Path:
    """Where a published model goes: as asked, or beside the answers."""
    return job.model_out or out.with_name(f"{out.name.partition('.')[0]}.model")


def _summarise(done: Done, *, as_json: bool) -> None:
    release, counts, asked = done.release, Counter(done.kinds), len(done.kinds)
    if as_json:
        summary: dict[str, Any] = {
            "promise": promise(release.guarantee_, done.records),
            "guarantee": release.guarantee_.facts(),
            "records": done.records,
            "queries": asked,
            "counts": {kind: counts[kind] for kind in KINDS},
            "plan": plan_facts(release.plan_),
            "published": done.published,
            "model": None if done.model_folder is None else str(done.model_folder),
            "unsaved_model": done.publication.unsaved,
            "out": str(done.out),
        }
        print_json(summary | ({} if done.halted is None else {"error": error_fields(done.halted)}))
        return
    kinds = "\n".join(f"{counts[kind]:,} {meaning}" for kind, meaning in KINDS.items() if counts[kind])
    fields = {"guarantee": promise(release.guarantee_, done.records), counted(asked, "query", "queries"): kinds}
    fields |= plan_lines(release.plan_)
    if done.published is not None:
        fields["published"] = done.published
    if done.model_folder is not None:
        use = f"pcqr predict {shlex.quote(str(done.model_folder))} rows.csv --out predictions.csv"
        fields["model"] = f"{done.model_folder}. It labels any number of rows at no cost: {use}"
    Console().print(field_table(fields | {"answers": str(done.out)}))
    if done.halted is not None:
        complain(
            f"the release halted after its {release.plan_.vote.sparse_vector.unstable:,} unstable answers: "
            f"{counts['unanswered']:,} of {asked:,} queries are unanswered. The answers given before are "
            f"in {done.out}. A larger ε, more records, or --algorithm universal answers more."
        )
