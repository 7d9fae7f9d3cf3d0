"""`pcqr publish`: a classifier made on a user's own files, to be carried away."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import Progress

from pcqr import Groups, PrivateClassifier
from pcqr.cli.classifiers import check_kinds, is_bare, public_rows, read_and_plan, schema_for, show_plan
from pcqr.cli.console import complain, fail, field_table, print_json, progress, stages
from pcqr.cli.inputs import Inputs, Shown, declared_types, label_names, naming_labels
from pcqr.cli.jobs import Publish
from pcqr.cli.model_folder import check_folder, not_written
from pcqr.cli.spending import account_facts, account_line, account_of, charged_words, refusing_weak
from pcqr.cli.stopping import FROM_OUTSIDE, STOPPED, Signals, Stopped, reason
from pcqr.durable.account import Account
from pcqr.errors import ParameterError
from pcqr.files import InUse, own_directory
from pcqr.hypotheses import DecisionTrees
from pcqr.hypotheses.base import MOST_LABELS
from pcqr.hypotheses.trees import DecisionTree
from pcqr.models import PublishedModel
from pcqr.models.published import MODEL, Saved
from pcqr.privacy.guarantee import assumed
from pcqr.releases.base.contributions import ClassWeight, declared_weights
from pcqr.releases.classifier.rule import Choice
from pcqr.releases.words import guarantee_facts, promise

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


def run(job: Publish, *, as_json: bool) -> None:
    """Read, check, plan, draw, write, summarise. Whatever can be refused is refused before the draw.

    Once the model is drawn, no signal comes between it and the disk.
    """
    _check_out(job)
    check_kinds(job)
    make = partial(_learner, job, _method(job))
    account = account_of(job, "pcqr publish")
    if job.dry_run:
        show_plan(job, make, account, as_json=as_json)
        return
    made = Made(account=account)
    with refusing_weak(job, job.epsilon), Signals() as signals:
        try:
            with progress(hidden=as_json) as bar:
                inputs = read_and_plan(job, make, bar, as_json=as_json)
                with stages(bar, "publishing"), _own_directory(job):
                    made.learner = make(inputs.names).set_params(
                        account=account, types=declared_types(job.types) or None
                    )
                    try:
                        shown = inputs.shown
                        groups = _groups(job, inputs)
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
            _summarise(job, made, as_json=as_json)
        except BaseException as cause:
            if made.is_drawn:
                _report_failure(job, cause, made, as_json=as_json)
                raise typer.Exit(STOPPED if isinstance(cause, Stopped) else SPENT) from None
            if isinstance(cause, FROM_OUTSIDE):
                spent = charged_words(made.learner, made.account, _price(job))
                fail(f"{reason(cause)}. No model was drawn, and nothing is written. {spent}", cause, as_json=as_json)
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
    is_tree = _is_sized(job) if is_bare(job) else job.delta is None
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


def _groups(job: Publish, inputs: Inputs) -> Groups | None:
    return None if inputs.groups is None else Groups(inputs.groups, job.group_rows)


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
    delta = (
        ""
        if _method(job) == "tree" and not is_bare(job)
        else f" and δ = {DEFAULT_DELTA if job.delta is None else job.delta:.12g}"
    )
    return f"ε = {job.epsilon:.12g}{delta}"


def _summarise(job: Publish, made: Made, *, as_json: bool) -> None:
    learner, model, saved = made.learner, made.model, made.saved
    if learner is None or model is None or saved is None:
        raise AssertionError("A fitted learner was saved.")
    origin, records = model.provenance, learner.n_records_
    if as_json:
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
    fields = {"guarantee": promise(model.guarantee, records)}
    if job.class_weight is not None:
        fields["weights of labels"] = ", ".join(f"{label} {w:g}" for label, w in learner.class_weight_.items())
    fields |= {
        origin.making.lower(): origin.hypotheses,
        "public inputs": "columns and their kinds" if is_bare(job) else _public_inputs(model),
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


def _report_failure(job: Publish, cause: BaseException, made: Made, *, as_json: bool) -> None:
    """Say that ε is spent and what failed; print the model if it was not written. ASCII, lest this fail as well."""
    to = " without an account" if made.account is None else f", charged to the account {made.account.name}"
    spent = f"The model was drawn and {_price(job)} is spent{to}"
    if made.saved is not None:
        fail(f"{spent}; it is in {job.out / MODEL}. Then: {reason(cause)}.", cause, as_json=as_json)
    elif made.model is not None:
        message = f"{spent}, but it could not be written to {job.out} ({reason(cause)}). model.json is printed instead."
        fail(message, cause, as_json=as_json, model=json.loads(made.model.to_json()))
    else:
        fail(f"{spent}, but it could not be described ({reason(cause)}) and is lost.", cause, as_json=as_json)


def _public_inputs(model: PublishedModel) -> str:
    rows = model.provenance.public_rows
    return f"{rows:,} public rows" if rows else "the schema alone"
