"""`pcqr answer`: the main job on a user's own files, and what it would cost."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from pcqr import AgnosticRelease, SubsampleAggregate, UniversalRelease
from pcqr.cli.console import (
    BUDGET_EXHAUSTED,
    complain,
    error_fields,
    field_table,
    print_json,
    progress,
)
from pcqr.cli.words import KINDS, plan_lines, promise
from pcqr.datasets.tables import Columns, check_suffix, read_table, table_size, write_table
from pcqr.errors import BudgetExhausted, DataError, ParameterError
from pcqr.estimators.releases import first_batch_cost
from pcqr.hypotheses import Halfspaces, Intervals, Rectangles, Stumps, Thresholds, UnionsOfIntervals
from pcqr.hypotheses.base import HypothesisClass
from pcqr.plan import Mode
from pcqr.schema import Column, Schema

ALGORITHMS = {"subsamp": SubsampleAggregate, "agnostic": AgnosticRelease, "universal": UniversalRelease}
CLASSES = {
    "thresholds": Thresholds,
    "intervals": Intervals,
    "stumps": Stumps,
    "rectangles": Rectangles,
    "halfspaces": Halfspaces,
}

Release = SubsampleAggregate | AgnosticRelease | UniversalRelease


@dataclass(frozen=True)
class Job:
    """The options of one run, as they were typed."""

    private: Path
    label: str
    queries: Path
    out: Path | None
    class_name: str
    intervals: int
    algorithm: str
    publish_after: int | None
    epsilon: float
    delta: float
    alpha: float
    beta: float
    mode: Mode
    on_unstable: str
    schema: Path | None
    categories: tuple[str, ...]
    drop: tuple[str, ...]
    labels: str | None
    seed: int | None

    @property
    def not_features(self) -> tuple[str, ...]:
        return (self.label, *self.drop)


@dataclass
class Outcome:
    """The labels and kinds of the queries asked so far, in their order, and why the release halted if it did."""

    asked: int
    names: tuple[Any, Any]
    labels: list[Any] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    halted: BudgetExhausted | None = None

    def ask(self, release: Release, point: NDArray[np.float64]) -> None:
        """After a halt the rest is still asked: a query asked before is answered from the log."""
        try:
            answer = release.answer(point)
        except BudgetExhausted as error:
            self.halted = self.halted or error
            self.labels.append(None)
            self.kinds.append("unanswered")
        else:
            self.labels.append(None if answer.label is None else self.names[int(answer.label)])
            self.kinds.append(answer.kind)

    def table(self) -> dict[str, list[Any]]:
        """One row for each query; those that were not reached are unanswered."""
        missing = self.asked - len(self.kinds)
        return {
            "row": list(range(1, self.asked + 1)),
            "label": self.labels + [None] * missing,
            "kind": self.kinds + ["unanswered"] * missing,
        }


def run(job: Job, *, as_json: bool) -> None:
    """Read, check, fit, answer, write, summarise. Whatever can be refused is refused before the fit."""
    out = _writable(job.out)
    private, queries = read_table(job.private), read_table(job.queries)
    names = _label_names(job.labels)
    y = _labels(private, job.label, names)
    schema, points = _points(job, queries)
    X = schema.encode(private, drop=job.not_features, name=str(job.private))
    release = _release(job, queries=points.shape[0])
    outcome = Outcome(asked=points.shape[0], names=names or (0, 1))
    try:
        with progress(hidden=as_json) as bar:
            fitting = bar.add_task("fitting", total=1)
            release.fit(X, y)
            bar.update(fitting, completed=1)
            for point in bar.track(points, description="answering"):
                outcome.ask(release, point)
    finally:  # an interrupted run keeps the answers that it paid for
        if outcome.kinds:
            write_table(out, outcome.table())
    _summarise(out, release, outcome, records=X.shape[0], as_json=as_json)
    if outcome.halted is not None:
        raise typer.Exit(BUDGET_EXHAUSTED)


def preview(job: Job, *, as_json: bool) -> None:
    """Say what `run` would promise, plan and use up. Of the private file: the column names and the number of rows."""
    columns, records = table_size(job.private)
    _label_names(job.labels)
    _check_label(columns, job.label)
    schema, points = _points(job, read_table(job.queries))
    schema.encode(dict.fromkeys(columns, ()), drop=job.not_features, name=str(job.private))  # its columns, no record
    plan = _release(job, queries=points.shape[0]).plan(records, points.shape[1])
    plan = replace(plan, guarantee=plan.guarantee.drawn_with(private_entropy=job.seed is None))
    cost = first_batch_cost(plan, points)
    if as_json:
        print_json(
            {
                "promise": promise(plan.guarantee, records),
                "guarantee": asdict(plan.guarantee),
                "records": records,
                "queries": points.shape[0],
                "cost": asdict(cost) | {"is_certain": cost.is_certain},
                "plan": asdict(plan),
            }
        )
        return
    fields = {"guarantee": promise(plan.guarantee, records), "queries": str(cost)} | plan_lines(plan)
    Console().print(field_table(fields | {"spent": "nothing: this is a preview"}))


def _points(job: Job, queries: Columns) -> tuple[Schema, NDArray[np.float64]]:
    schema = _declared_schema(job, queries)
    return schema, schema.encode(queries, drop=job.not_features, name=str(job.queries))


def _release(job: Job, queries: int) -> Release:
    """The release, planned for all the queries; a universal one is planned for those that come before publication."""
    if job.algorithm == "universal":
        queries = max(1, queries // 2) if job.publish_after is None else job.publish_after
    return ALGORITHMS[job.algorithm](
        hypotheses=_hypotheses(job),
        epsilon=job.epsilon,
        delta=job.delta,
        queries=queries,
        alpha=job.alpha,
        beta=job.beta,
        mode=job.mode,
        on_unstable=job.on_unstable,
        entropy=job.seed,
    )


def _hypotheses(job: Job) -> HypothesisClass:
    return UnionsOfIntervals(job.intervals) if job.class_name == "unions" else CLASSES[job.class_name]()


def _declared_schema(job: Job, queries: Columns) -> Schema:
    """The declared columns; without a schema file, the columns of the queries (which are public), as numbers."""
    if job.schema is None:
        columns = {name: Column(name) for name in queries if name not in job.not_features}
    else:
        read = Schema.from_json if job.schema.suffix == ".json" else Schema.from_toml
        columns = {column.name: column for column in read(job.schema).columns}
    for declaration in job.categories:
        name, given, values = declaration.partition("=")
        if not given or name not in columns:
            raise ParameterError("--categories", "'column=first,second,…' for a column of the queries", declaration)
        columns[name] = Column(name, "categorical", [value.strip() for value in values.split(",")])
    return Schema(tuple(columns.values()))


def _label_names(declared: str | None) -> tuple[str, str] | None:
    if declared is None:
        return None
    names = [name.strip() for name in declared.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise ParameterError("--labels", "two different names, 'negative,positive'", declared)
    return names[0], names[1]


def _labels(private: Columns, name: str, declared: tuple[str, str] | None) -> NDArray[np.int8]:
    """0 or 1 for each private record: the values themselves, or the position among the two declared names."""
    _check_label(private, name)
    if declared is not None:
        allowed = f"{declared[0]!r} or {declared[1]!r} in every row, as --labels says"
        encoded = _encoded(Column(name, "categorical", declared), private[name])
        if encoded is not None and not encoded[:, 2].any():
            return encoded[:, 1].astype(np.int8)
    else:
        allowed = "0 or 1 in every row; declare other names with --labels 'negative,positive'"
        encoded = _encoded(Column(name), private[name])
        if encoded is not None and np.isin(encoded, (0.0, 1.0)).all():
            return encoded[:, 0].astype(np.int8)
    raise DataError(f"label column {name!r}", allowed, "other values, or missing ones")


def _check_label(columns: Collection[str], name: str) -> None:
    if name not in columns:
        # The columns are not listed: in a file without a header they are a private record.
        raise ParameterError("--label", f"the name of one of the {len(columns)} columns in the first line", name)


def _encoded(column: Column, values: Sequence[Any]) -> NDArray[np.float64] | None:
    try:
        return column.encode(values)
    except DataError:
        return None


def _writable(out: Path | None) -> Path:
    if out is None:
        raise ParameterError("--out", "given, for the answers; --preview alone goes without", out)
    check_suffix(out)
    if not out.parent.is_dir() or not os.access(out if out.exists() else out.parent, os.W_OK) or out.is_dir():
        raise ParameterError("--out", "a file in an existing directory that can be written to", str(out))
    return out


def _summarise(out: Path, release: Release, outcome: Outcome, *, records: int, as_json: bool) -> None:
    counts = Counter(outcome.kinds)
    if as_json:
        summary: dict[str, Any] = {
            "promise": promise(release.guarantee_, records),
            "guarantee": asdict(release.guarantee_),
            "records": records,
            "queries": outcome.asked,
            "counts": {kind: counts[kind] for kind in KINDS},
            "plan": asdict(release.plan_),
            "published": _published(release),
            "out": str(out),
        }
        print_json(summary | ({} if outcome.halted is None else {"error": error_fields(outcome.halted)}))
        return
    kinds = "\n".join(f"{counts[kind]:,} {meaning}" for kind, meaning in KINDS.items() if counts[kind])
    fields = {"guarantee": promise(release.guarantee_, records), f"{outcome.asked:,} queries": kinds}
    fields |= plan_lines(release.plan_)
    if published := _published(release):
        fields["published"] = published
    Console().print(field_table(fields | {"answers": str(out)}))
    if outcome.halted is not None:
        complain(
            f"the release halted after its {release.plan_.vote.sparse_vector.unstable:,} unstable answers: "
            f"{counts['unanswered']:,} of {outcome.asked:,} queries are unanswered. The answers given before are "
            f"in {out}. A larger ε, more records, or --algorithm universal answers more."
        )


def _published(release: Release) -> str | None:
    """The published classifier, which anybody may see. Features are numbered from 0 in the order of the schema."""
    return repr(release.hypothesis_) if isinstance(release, UniversalRelease) and release.is_published_ else None
