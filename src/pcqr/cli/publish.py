"""`pcqr publish`: a classifier made on a user's own files; what `pcqr fit` shares where it publishes one, too."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

from pcqr import AssumePublic, Groups, PrivateClassifier, UniversalRelease
from pcqr.cli.account import Outlook, account_facts, account_line, account_of, charged_words, end_dry_run, refusing_weak
from pcqr.cli.console import (
    FROM_OUTSIDE,
    STOPPED,
    Signals,
    Stopped,
    complain,
    fail,
    field_table,
    naming,
    print_json,
    progress,
    reason,
    stages,
)
from pcqr.cli.inputs import (
    Inputs,
    Shown,
    check_label,
    check_weight_column,
    declared_types,
    in_parts,
    kinds_of,
    label_names,
    naming_labels,
    public_size,
    read_by_kinds,
    read_inputs,
    read_shown,
    shown_by_kinds,
)
from pcqr.cli.jobs import Publish
from pcqr.cli.options import Learning, option_of
from pcqr.cli.releases import check_folder, not_written
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.parted.engine import Layout
from pcqr.data.records.parted.parquet import ParquetParts
from pcqr.data.records.predicates import leaves_of
from pcqr.data.schema import Schema
from pcqr.durable.account import Account
from pcqr.errors import ParameterError
from pcqr.files import InUse, own_directory
from pcqr.hypotheses.base import MOST_LABELS, Hypothesis
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees, Leaf, Predicate, Split
from pcqr.models import Provenance, PublishedModel
from pcqr.models.published import MODEL, Saved
from pcqr.privacy import composition
from pcqr.privacy.composition import Context, parts_of
from pcqr.privacy.guarantee import Guarantee, assumed, rounded_text
from pcqr.releases.base.contributions import ClassWeight, declared_weights
from pcqr.releases.classifier.estimator import DryRun
from pcqr.releases.classifier.plan import LinearStage
from pcqr.releases.classifier.rule import Choice
from pcqr.releases.protocol.answers import counted
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.words import guarantee_facts, plan_facts, promise

DEFAULT_DELTA = 1e-6
MOST_OPERATIONS = DecisionTrees.operations
_MOST_LINES = 60
SPENT = 1
"""Exit code: the model was drawn, ε is spent, and something failed afterwards."""


@dataclass
class Made:
    """How far a run has come: what was fitted, the model that it holds, and what of it was written."""

    account: Account | None
    learner: PrivateClassifier | None = None
    model: PublishedModel | None = None
    saved: Saved | None = None

    @property
    def is_drawn(self) -> bool:
        return self.learner is not None and hasattr(self.learner, "plan_")  # the last thing that `fit` sets

    def save(self, shown: Shown, out: Path) -> None:
        if self.learner is not None:
            self.model = PublishedModel.from_learner(self.learner)
            self.saved = self.model.save(out, public=shown.public)
            self.model = self.saved.model


def run(job: Publish) -> None:
    """Read, check, plan, draw, write, summarise. Whatever can be refused is refused before the draw.

    Once the model is drawn, no signal comes between it and the disk.
    """
    _check_out(job)
    check_kinds(job)
    make = partial(_learner, job, _method(job))
    account = account_of(job, "pcqr publish")
    if job.dry_run:
        show_plan(job, make, account)
        return
    made = Made(account=account)
    with refusing_weak(job, job.epsilon), Signals() as signals:
        try:
            with progress(hidden=job.as_json) as bar:
                inputs = read_and_plan(job, make, bar)
                with stages(bar, "publishing"), _own_directory(job):
                    made.learner = make(inputs.names).set_params(
                        account=account, types=declared_types(job.types) or None
                    )
                    try:
                        shown = inputs.shown
                        groups = None if inputs.groups is None else Groups(inputs.groups, job.group_rows)
                        with naming_labels(job.label, label_names(job.labels, most=MOST_LABELS)):
                            made.learner.fit(
                                inputs.table,
                                inputs.y,
                                public=public_rows(shown),
                                schema=schema_for(job, shown),
                                groups=groups,
                                sample_weight=inputs.weights,
                            )
                    finally:
                        if made.is_drawn:  # it is paid for: whatever came meanwhile, it goes to disk first
                            with signals.held():
                                _tell_of_writing(bar)
                                made.save(inputs.shown, job.out)
            _summarise(job, made)
        except BaseException as cause:
            if made.is_drawn:
                _report_failure(job, cause, made)
                raise typer.Exit(STOPPED if isinstance(cause, Stopped) else SPENT) from None
            if isinstance(cause, FROM_OUTSIDE):
                spent = charged_words(made.learner, made.account, _price(job))
                fail(
                    f"{reason(cause)}. No model was drawn, and nothing is written. {spent}", cause, as_json=job.as_json
                )
                raise typer.Exit(STOPPED) from None
            raise
    if made.saved is not None and made.saved.failed:
        complain(not_written(made.saved, job.out))
        raise typer.Exit(SPENT)


def _tell_of_writing(bar: Progress) -> None:
    """Pictures take a while. A terminal that is gone must not keep the model from the disk."""
    with suppress(Exception):
        bar.add_task("writing the files", total=None)


@contextmanager
def _own_directory(job: Publish) -> Iterator[None]:
    """Two runs that publish to one place at a time would lose a model that was paid for."""
    with ExitStack() as held:
        try:
            held.enter_context(own_directory(job.out))
        except InUse:
            raise ParameterError("--out", "a directory that no other run is publishing to", str(job.out)) from None
        except OSError as error:
            described = f"{job.out} ({error.strerror})"
            raise ParameterError("--out", "a directory that can be written to", described) from None
        _check_out(job)  # again: another run may have been here while this one was reading
        yield


def _method(job: Publish) -> Choice:
    """As asked. Without --method and --delta: one tree, which is pure; with --delta: as the public numbers suggest."""
    is_tree = _is_sized(job) if job.is_bare else job.delta is None
    method = job.method or ("tree" if is_tree else "auto")
    if method != "tree" and _is_sized(job):
        raise ParameterError("--method", "tree, where --depth or --operations is given", method)
    return method


def _is_sized(job: Publish) -> bool:
    """Did the user say how large a tree may be?"""
    return job.depth is not None or job.operations != MOST_OPERATIONS


def _learner(job: Publish, method: Choice, names: Sequence[Any]) -> PrivateClassifier:
    delta = DEFAULT_DELTA if job.delta is None else job.delta
    trees = DecisionTrees(depth=job.depth, operations=job.operations) if _is_sized(job) else None
    return PrivateClassifier(
        job.epsilon,
        delta,
        method=method,
        features=job.features,
        trees=trees,
        entropy=job.seed,
        classes=tuple(names),
        device=job.device,
        class_weight=_class_weight(job, names),
        weight_bound=job.weight_bound,
    )


def _class_weight(job: Publish, names: Sequence[Any]) -> ClassWeight:
    """Read --class-weight: balanced, or what a record of each label counts."""
    if job.class_weight is None:
        return None
    if job.class_weight == "balanced":
        return "balanced"
    allowed = f"balanced, or a positive number for labels of {', '.join(map(str, names))}: 'first=1,second=10'"
    parts = [part.rpartition("=") for part in job.class_weight.split(",")]
    try:
        found = {label.strip(): float(weight) for label, _, weight in parts}
        declared_weights(found, names)
    except ValueError:  # ParameterError is one
        raise ParameterError("--class-weight", allowed, job.class_weight) from None
    if len(found) < len(parts):
        raise ParameterError("--class-weight", allowed, job.class_weight)
    return found


def _depth(learner: PrivateClassifier) -> int | None:
    """The depth of the tree that was drawn; None for a linear classifier, with a tree beside it or not."""
    trees = learner.hypotheses_
    if not isinstance(learner.hypothesis_, DecisionTree):
        return None
    return trees.depth_for(learner.n_records_) if isinstance(trees, DecisionTrees) else None


def _check_out(job: Publish) -> None:
    cost = f"A new model is a new release and costs {_price(job)} again."
    check_folder(job.out, job.inputs, overwrite=job.overwrite, cost=cost)


def _price(job: Publish) -> str:
    if _method(job) == "tree" and not job.is_bare:
        return f"ε = {job.epsilon:.12g}"
    return f"ε = {job.epsilon:.12g} and δ = {DEFAULT_DELTA if job.delta is None else job.delta:.12g}"


def _summarise(job: Publish, made: Made) -> None:
    learner, model, saved = made.learner, made.model, made.saved
    if learner is None or model is None or saved is None:
        raise AssertionError("A fitted learner was saved.")
    origin, records = model.provenance, learner.n_records_
    if job.as_json:
        print_json(
            guarantee_facts(model.guarantee, records)
            | {
                "public_rows": origin.public_rows,
                "predicates": len(origin.predicates or ()),
                "method": learner.method_,
                "depth": _depth(learner),
                "numerical_slack": origin.numerical_slack,
                "classes": list(model.classes),
                "class_weight": {str(label): weight for label, weight in learner.class_weight_.items()},
                "rules": model.rules(),
                "out": str(job.out),
                "files": [path.name for path in saved.written],
                "left_out": saved.left_out,
                "failed": saved.failed,
                "account": account_facts(made.account),
            }
        )
        return
    rows = f"{origin.public_rows:,} public rows" if origin.public_rows else "the schema alone"
    fields = {"guarantee": promise(model.guarantee, records)}
    if job.class_weight is not None:
        fields["weights of labels"] = ", ".join(f"{label} {w:g}" for label, w in learner.class_weight_.items())
    fields |= {
        origin.making.lower(): origin.hypotheses,
        "public inputs": "columns and their kinds" if job.is_bare else rows,
    }
    for line in assumed(model.guarantee.assumptions):
        title, _, assumption = line.partition(": ")
        fields[title.lower()] = assumption
    fields |= {
        "model": _shortened(model.rules()),
        "files": ", ".join(path.name for path in saved.written) + f" in {job.out}",
    }
    if saved.left_out:
        fields["left out"] = "\n".join(f"{name}: {why}" for name, why in saved.left_out.items())
    if saved.failed:
        fields["NOT written"] = "\n".join(f"{name}: {why}" for name, why in saved.failed.items())
    Console().print(field_table(fields | {"account": account_line(made.account)}))


def _shortened(rules: str) -> str:
    lines = rules.splitlines()
    if len(lines) <= _MOST_LINES:
        return rules
    return "\n".join([*lines[:_MOST_LINES], f"… and {len(lines) - _MOST_LINES:,} more lines, in rules.txt"])


def _report_failure(job: Publish, cause: BaseException, made: Made) -> None:
    """Say that ε is spent and what failed; print the model if it was not written. ASCII, lest this fail as well."""
    to = " without an account" if made.account is None else f", charged to the account {made.account.name}"
    spent = f"The model was drawn and {_price(job)} is spent{to}"
    if made.saved is not None:
        fail(f"{spent}; it is in {job.out / MODEL}. Then: {reason(cause)}.", cause, as_json=job.as_json)
    elif made.model is not None:
        message = f"{spent}, but it could not be written to {job.out} ({reason(cause)}). model.json is printed instead."
        fail(message, cause, as_json=job.as_json, model=json.loads(made.model.to_json()))
    else:
        fail(f"{spent}, but it could not be described ({reason(cause)}) and is lost.", cause, as_json=job.as_json)


# ---------------------------------------------------------------------------------------------------------------------
# Reading, planning and dry runs of what publishes a classifier at once.


Make = Callable[[Sequence[Any]], PrivateClassifier | UniversalRelease]
"""Return the estimator that a job asks for, for these label names."""


def check_kinds(job: Learning) -> None:
    """Raise where --types is given although public rows or a schema give the kinds."""
    if job.types and not job.is_bare:
        raise ParameterError("--types", "left out with --public or --schema, which give the kinds", job.types)


def read_and_plan(job: Learning, make: Make, bar: Progress) -> Inputs:
    """Return all that the job names, with the plan tried out. Announce runs that take long, and tables in parts."""
    parts = in_parts(job)
    if parts is not None:  # n is known before a record is read
        _announce(job, make, parts, bar)
    with stages(bar, "reading and encoding"):
        inputs = (read_by_kinds if job.is_bare else read_inputs)(job, most_labels=MOST_LABELS)
    if parts is None:
        with stages(bar, "planning"):
            planned = _dry_run(job, make, inputs.names, inputs.records, inputs.shown)
        if not job.as_json and (long := announcement(planned, inputs.records)):
            bar.console.print(long, highlight=False)
    return inputs


def public_rows(shown: Shown) -> AssumePublic | None:
    """Return the rows that were compared with the private ones already, for `fit`."""
    return None if shown.rows is None else AssumePublic(shown.rows)


def schema_for(job: Learning, shown: Shown) -> Schema | None:
    """Return the schema for `fit`. None where a share of the budget buys it."""
    return None if job.is_bare else shown.schema


def _dry_run(job: Learning, make: Make, names: Sequence[Any], records: int, shown: Shown) -> DryRun:
    """Return what the run will do, tried out as far as public things go."""
    with naming(**{field.name: option_of(field.name) for field in fields(job)}):
        learner = make(names)
        if job.is_bare:
            learner.set_params(types={column.name: column.kind for column in kinds_of(job)[0]})
        weighed = {} if job.weight_column is None else {"weights": True}
        public, schema = public_rows(shown), schema_for(job, shown)
        found = learner.dry_run(records, public, schema, user_level=job.groups is not None, **weighed)
    try_out(found, names, shown if found.schema is None else replace(shown, schema=found.schema), job.epsilon)
    return found


def _announce(job: Learning, make: Make, parts: ParquetParts, bar: Progress) -> None:
    """Say what will be done with a table in parts, and what it takes: from footers and public files alone."""
    names = label_names(job.labels, most=MOST_LABELS) or (0, 1)
    check_label(parts.columns, job.label)
    with stages(bar, "planning"):
        shown = (shown_by_kinds if job.is_bare else read_shown)(job, parts.columns)
        found = _dry_run(job, make, names, parts.rows, shown)
    if not job.as_json:
        bar.console.print(announcement(found, parts.rows, _taken(job, parts, shown, names)), highlight=False)


def show_plan(job: Learning, make: Make, account: Account | None) -> None:
    """Print what a run would do. Of the private file: column names and n (rows, or persons)."""
    parts = in_parts(job)
    columns, records = public_size(job) if parts is None else (parts.columns, parts.rows)
    names = label_names(job.labels, most=MOST_LABELS) or (0, 1)
    check_label(columns, job.label)
    check_weight_column(columns, job)
    shown = (shown_by_kinds if job.is_bare else read_shown)(job, columns)
    if not job.is_bare:
        shown.schema.encode(dict.fromkeys(columns, ()), drop=job.not_features, name=str(job.private))  # no record
    found = _dry_run(job, make, names, records, shown)
    plan = found.plan
    plan = replace(plan, guarantee=plan.guarantee.drawn_with(private_entropy=job.seed is None))
    takes = described(found, records, None if parts is None else _taken(job, parts, shown, names))
    if cost := shown.schema.cost:
        takes["treated as public"] = "; ".join(cost)
    outlook = Outlook.of(job, account, plan.guarantee, records)
    facts = {"plan": plan_facts(plan), "parts": takes}
    end_dry_run(plan.guarantee, records, outlook, takes, facts, as_json=job.as_json)


def _taken(job: Learning, parts: ParquetParts, shown: Shown, names: Sequence[Any]) -> Parts:
    columns = shown.schema.columns
    texts = tuple(column.name for column in columns if column.kind == "categorical") if job.is_bare else ()
    layout = Layout(columns, len(names), texts)
    record_bytes = layout.record_bytes + layout.bytes_read_again
    return Parts(parts.rows, max(parts.sizes), record_bytes, not (job.scheduler is None and job.workers is None))


# ---------------------------------------------------------------------------------------------------------------------
# What will be done, in words and with made-up models: from public things alone.


LONG = 5e9
"""Steps that take more than a few seconds."""
_STEPS_A_DRAW = 100
_BYTES_A_WEIGHT = 60
"""Of a draw of noise, and of what is held for each weight: weights, velocity, mean, sums, noise."""
_BYTES_AT_REST, _COPIES_OF_A_PART = 4.2e8, 3.0
"""Of pcqr and its libraries with blocks of a table at hand; and how often a part is in memory while it is read."""


def try_out(dry_run: DryRun, names: Sequence[Any], shown: Shown, epsilon: float) -> None:
    """Write out models with the same words, made up: what cannot be written must fail before ε is spent."""
    origin = Provenance(predicates=_predicates(dry_run))
    for hypothesis in _made_up(dry_run, len(names), shown):
        PublishedModel(hypothesis, tuple(names), shown.schema, Guarantee(epsilon), origin).texts()


@dataclass(frozen=True)
class Parts:
    """What a table that is read part by part takes: records, those of its largest part, and bytes of one. Public."""

    records: int
    largest: int
    record_bytes: int
    on_cluster: bool = False

    def memory(self, dry_run: DryRun) -> float:
        """Bytes, all in all: what is held of one part, and what does not grow with the table."""
        kept = max((_kept_bytes(stage) for stage in _longest(dry_run)), default=0.0)
        of_a_part = self.largest * (_COPIES_OF_A_PART * self.record_bytes + 2.0 * kept)
        return _BYTES_AT_REST + of_a_part + _fixed_bytes(dry_run, self.records)

    def scratch(self, dry_run: DryRun) -> float:
        """Bytes on disk: the table in compact form, and what a linear classifier keeps of its records."""
        kept = max((_kept_bytes(stage) for stage in _longest(dry_run)), default=0.0)
        return self.records * (self.record_bytes + kept)

    def in_words(self, dry_run: DryRun) -> dict[str, str]:
        memory, scratch = self.memory(dry_run), self.scratch(dry_run)
        if self.on_cluster:
            return {
                "workers": f"about {scratch / 1e9:,.1f} GB in the memory of all workers together, or on their disks"
            }
        return {
            "memory": f"about {memory / 1e9:,.1f} GB, the table included: it is read part by part",
            "scratch": f"about {scratch / 1e9:,.1f} GB on disk, until the end of the run",
        }


def described(dry_run: DryRun, records: int, parts: Parts | None = None) -> dict[str, str]:
    """Return what will be done, step by step: what each step costs by itself, its size, and what it takes."""
    plan, context = dry_run.plan, _context(dry_run, records)
    steps = plan.stage.stages if isinstance(plan.stage, composition.Sequence) else (plan.stage,)
    lines = {"publishes": plan.stage.words(context)} if len(steps) == 1 else {}
    words = plan.stage.steps(context) if isinstance(plan.stage, composition.Sequence) else ()
    for place, (stage, step) in enumerate(zip(steps, words, strict=False), start=1):
        cost = rounded_text(composition.account(stage, context, plan.delta).epsilon, 3)
        lines[f"step {place}"] = f"{step}; ε = {cost} by itself"
    if parts_of(plan.stage, LinearStage) and len(steps) > 1:
        lines["together"] = "noise adds up by squares, so that all steps cost less than the sum of their ε"
    if dry_run.maps:
        lines["columns"] = f"{next(iter(dry_run.maps.values())).features:,}, once they are encoded"
    if dry_run.shortfall is not None:
        lines["expected"] = dry_run.shortfall
    return lines | _effort(dry_run, records, parts)


def _context(dry_run: DryRun, records: int) -> Context:
    width = next((features.features for features in dry_run.maps.values()), 1)
    return Context(dry_run.hypotheses, records, width)


def announcement(dry_run: DryRun, records: int, parts: Parts | None = None) -> str | None:
    """For a run that takes long: what it will do, and the steps that it takes. None for a short one.

    Where the table is read part by part: memory and scratch, too.
    """
    steps = _steps(dry_run, records)
    if steps <= LONG and parts is None:
        return None
    made = dry_run.plan.stage.words(_context(dry_run, records))
    shorter = " --depth makes it shorter." if not _longest(dry_run) else ""
    takes = (
        [] if parts is None else [f"{name.capitalize()}: {words}." for name, words in parts.in_words(dry_run).items()]
    )
    return " ".join([f"To publish: {made}. {_in_words(steps).capitalize()}.{shorter}", *takes])


def _effort(dry_run: DryRun, records: int, parts: Parts | None) -> dict[str, str]:
    """Time and memory, beside what the table itself takes where that is in memory."""
    steps, needed = _steps(dry_run, records), _bytes(dry_run, records)
    lines = {"time": _in_words(steps)} if steps else {}
    if parts is not None:
        return lines | parts.in_words(dry_run)
    return lines | ({"memory": f"about {needed / 1e6:,.0f} MB beside the table"} if needed else {})


def _in_words(steps: float) -> str:
    low, high = (max(1, round(steps / speed)) for speed in (2e9, 1e9))
    span = f"{low:,} to {high:,} seconds" if low < high else counted(high, "second")
    return f"about {steps:.0e} steps, {'a second or less' if steps <= 1e9 else span} on one core"


def _steps(dry_run: DryRun, records: int) -> float:
    linears = sum(
        stage.steps * stage.blocks * (2.0 * records * (stage.dense + stage.ferns) + _STEPS_A_DRAW * stage.coordinates)
        for stage in _longest(dry_run)
    )
    trees = _trees(dry_run)
    if trees is None:
        return linears
    return linears + trees.cost(records, trees.depth_for(records))


def _bytes(dry_run: DryRun, records: int) -> float:
    kept = max((_kept_bytes(stage) + 4.0 * stage.blocks for stage in _longest(dry_run)), default=0.0)
    return records * kept + _fixed_bytes(dry_run, records)


def _kept_bytes(stage: LinearStage) -> float:
    """Of what a linear classifier keeps of one record."""
    return 2.0 * (stage.dense + stage.ferns) + 8.0


def _fixed_bytes(dry_run: DryRun, records: int) -> float:
    """Of what does not lie there once for every record: weights, and the counts of trees."""
    weights = max((_BYTES_A_WEIGHT * stage.blocks * stage.coordinates for stage in _longest(dry_run)), default=0)
    trees = _trees(dry_run)
    return float(max(weights, 0 if trees is None else trees.bytes_needed(trees.depth_for(records))))


def _longest(dry_run: DryRun) -> tuple[LinearStage, ...]:
    """The linear classifiers of a run: of several options the one that takes longest."""
    return tuple(stage for stage in dry_run.plan.stage.longest() if isinstance(stage, LinearStage))


def _trees(dry_run: DryRun) -> DecisionTrees | None:
    """The trees of which one is drawn."""
    trees = dry_run.hypotheses
    is_drawn = bool(parts_of(dry_run.plan.stage, DrawStage))
    return trees if is_drawn and isinstance(trees, DecisionTrees) and trees.predicates else None


def _predicates(dry_run: DryRun) -> tuple[Predicate, ...] | None:
    return dry_run.hypotheses.predicates if isinstance(dry_run.hypotheses, DecisionTrees) else None


def _made_up(dry_run: DryRun, labels: int, shown: Shown) -> Iterator[Hypothesis]:
    """Yield one classifier of each kind that may come out."""
    predicates, width = _predicates(dry_run) or (), len(shown.schema.features)
    has_tree, tree = _trees(dry_run) is not None, _asking_all(predicates)
    for features in dry_run.maps.values():
        yield _zero(features, labels)
        if has_tree:
            yield _zero(_beside(features, tree, shown, labels), labels)
    if has_tree and not dry_run.maps:
        drawn = DecisionTree(tree, width)
        rows = (np.arange(labels) == leaf.label for leaf in leaves_of(tree))
        yield drawn.with_shares([((1.0 + row) / (labels + 1.0)).tolist() for row in rows])


def _zero(features: FeatureMap, labels: int) -> LinearClassifier:
    blocks = 1 if labels == 2 else labels
    cells = np.zeros((blocks, features.count, 1 << features.depth))
    return LinearClassifier.of(features, labels, np.ones((blocks, features.size)), cells)


def _beside(features: FeatureMap, tree: Leaf | Split, shown: Shown, labels: int) -> FeatureMap:
    """The feature map beside this tree. Without public rows there is one whatever the tree says on them."""
    found = (features.beside(tree, public, 1.0, labels=labels) for public in (shown.public, None))
    return next((each for each in found if each.tree is not None), features)


def _asking_all(predicates: Sequence[Predicate], label: int = 0) -> Leaf | Split:
    """A tree that asks every one of the predicates."""
    if not predicates:
        return Leaf(label)
    middle = len(predicates) // 2
    return Split(predicates[middle], _asking_all(predicates[:middle], 0), _asking_all(predicates[middle + 1 :], 1))
