"""`pcqr publish`: a classifier made on a user's own files, to be carried away."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

from pcqr import Guarantee, PrivateClassifier, SemiPrivateLearner, SurelyPublic
from pcqr.cli.account import account_facts, account_line, account_of, stays_charged
from pcqr.cli.console import complain, field_table, give_up_output, print_json, progress, stages
from pcqr.cli.inputs import Inputs, Shown, read_inputs
from pcqr.cli.jobs import Publish
from pcqr.cli.model_folder import check_folder
from pcqr.cli.stopping import FROM_OUTSIDE, STOPPED, Signals, Stopped, reason
from pcqr.errors import ParameterError
from pcqr.files import InUse, own_directory
from pcqr.hypotheses import DecisionTrees
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.head import Head
from pcqr.hypotheses.linear import LinearHypothesis, OneAgainstRest
from pcqr.hypotheses.trees import DecisionTree, Leaf, Predicate, Split
from pcqr.hypotheses.trees.boosted import BoostedTrees
from pcqr.models import Provenance, PublishedModel
from pcqr.models.folder import MODEL, Saved
from pcqr.models.vocabulary import MOST_CLASSES
from pcqr.plan import BoostedPlan, ComparedPlan, CountedPlan
from pcqr.plan.words import guarantee_facts, promise
from pcqr.planning.classifiers.rule import TWO_CLASSES_ONLY, Choice, Method, choose, trees_for
from pcqr.records.features import LinearFeatures
from pcqr.records.head_features import WHOLE_SHARE, HeadFeatures
from pcqr.records.vectors import PredicateVectors
from pcqr.release.account import Account

Learner = SemiPrivateLearner | PrivateClassifier

DEFAULT_DELTA = 1e-6
MOST_OPERATIONS = DecisionTrees.operations
LONG = 5e9
"""Steps of a draw that takes more than a few seconds."""
_MOST_LINES = 60
SPENT = 1
"""Exit code: the model was drawn, ε is spent, and something failed afterwards."""


@dataclass
class Made:
    """How far a run has come: what was fitted, the model that it holds, and what of it was written."""

    account: Account | None
    learner: Learner | None = None
    model: PublishedModel | None = None
    saved: Saved | None = None

    @property
    def is_drawn(self) -> bool:
        return self.learner is not None and hasattr(self.learner, "plan_")  # the last thing that `fit` sets

    def save(self, shown: Shown, out: Path) -> None:
        if self.learner is not None:
            self.model = PublishedModel.from_learner(self.learner, schema=shown.schema)
            self.saved = self.model.save(out, public=shown.public)
            self.model = self.saved.model


def run(job: Publish, *, as_json: bool) -> None:
    """Read, check, rehearse, draw, write, summarise. Whatever can be refused is refused before the draw.

    Once the model is drawn, no signal comes between it and the disk.
    """
    _check_out(job)
    if job.public is None and job.schema is None:
        raise ParameterError(
            "--public", "public rows, or --schema a file with the columns: trees ask public questions only", None
        )
    method = _method(job)
    made = Made(account=account_of(job, "pcqr publish"))
    with Signals() as signals:
        try:
            with progress(hidden=as_json) as bar:
                with stages(bar, "reading and encoding"):
                    inputs = read_inputs(job, most_labels=MOST_CLASSES)
                    trees, method = _chosen(job, inputs, method)
                    _rehearse(trees, inputs, job.epsilon, method)
                if not as_json:
                    _announce(bar, trees, inputs.records, method)
                with stages(bar, f"publishing ({method})"), _own_directory(job):
                    made.learner = _learner(job, inputs, trees, method).set_params(account=made.account)
                    try:
                        made.learner.fit(inputs.table, inputs.y, public=SurelyPublic(inputs.shown.public))
                    finally:
                        if made.is_drawn:  # it is paid for: whatever came meanwhile, it goes to disk first
                            with signals.held():
                                made.save(inputs.shown, job.out)
            _summarise(job, made, _depth(trees, made, inputs), method, as_json=as_json)
        except BaseException as cause:
            if made.is_drawn:
                _report_failure(job, cause, made, as_json=as_json)
                raise typer.Exit(STOPPED if isinstance(cause, Stopped) else SPENT) from None
            if isinstance(cause, FROM_OUTSIDE):
                nothing = "No model was drawn: nothing was released, and nothing is written."
                _fail(f"{reason(cause)}. {nothing}{stays_charged(made.account)}", cause, as_json=as_json)
                raise typer.Exit(STOPPED) from None
            raise


@contextmanager
def _own_directory(job: Publish) -> Iterator[None]:
    """Two runs that publish to one place at a time would lose a model that was paid for."""
    with ExitStack() as held:
        try:
            held.enter_context(own_directory(job.out))
        except InUse:
            raise ParameterError("--out", "a directory that no other run is publishing to", str(job.out)) from None
        except OSError as error:
            told = f"{job.out} ({error.strerror})"
            raise ParameterError("--out", "a directory that can be written to", told) from None
        _check_out(job)  # again: another run may have been here while this one was reading
        yield


def _chosen(job: Publish, inputs: Inputs, method: Choice) -> tuple[DecisionTrees, Method]:
    """The class of trees with its public questions, and the method, from public numbers."""
    trees = DecisionTrees(depth=job.depth, operations=job.operations)
    if not _is_sized(job):
        trees = trees_for(inputs.records, job.epsilon)
    if method == "auto":
        method = choose(inputs.records, job.epsilon, len(inputs.names))
    return trees.prepared(inputs.shown.public, inputs.shown.schema), method


def _method(job: Publish) -> Choice:
    """As asked. Without --method and --delta: one tree, which is pure; with --delta: as the public numbers suggest."""
    method = job.method or ("tree" if job.delta is None else "auto")
    if method != "tree" and _is_sized(job):
        raise ParameterError("--method", "tree, where --depth or --operations is given", method)
    return method


def _is_sized(job: Publish) -> bool:
    """Did the user say how large a tree may be?"""
    return job.depth is not None or job.operations != MOST_OPERATIONS


def _learner(job: Publish, inputs: Inputs, trees: DecisionTrees, method: Method) -> Learner:
    if method == "tree":
        return SemiPrivateLearner(trees, job.epsilon, entropy=job.seed, classes=inputs.names)
    delta = DEFAULT_DELTA if job.delta is None else job.delta
    if method in ("head", "counted"):  # a head has more predicates than trees can afford
        return PrivateClassifier(job.epsilon, delta, method=method, entropy=job.seed, classes=inputs.names)
    return PrivateClassifier(job.epsilon, delta, method=method, trees=trees, entropy=job.seed, classes=inputs.names)


def _depth(trees: DecisionTrees, made: Made, inputs: Inputs) -> int | None:
    """The depth of what was drawn; None for a linear classifier."""
    learner, model = made.learner, made.model
    plan = learner.plan_ if isinstance(learner, PrivateClassifier) else None
    if isinstance(plan, BoostedPlan):
        return plan.boosting.depth
    if model is None or not isinstance(model.hypothesis, DecisionTree):
        return None
    if isinstance(plan, ComparedPlan):
        return plan.compared.depth
    if isinstance(plan, CountedPlan):
        return plan.counted.depth
    return trees.with_labels(len(model.classes)).depth_for(inputs.records)


def _announce(bar: Progress, trees: DecisionTrees, records: int, method: Method) -> None:
    """What a long draw of a tree will take, from public numbers."""
    if method != "tree":
        return
    depth = trees.depth_for(records)
    steps = trees.cost(records, depth)
    if steps > LONG:
        bar.console.print(
            f"A tree of depth {depth} over {len(trees.predicates or ())} predicates takes about {steps:.0e} steps; a "
            "core makes 1 to 2·10⁹ a second. --depth makes it shorter.",
            highlight=False,
        )


def _rehearse(trees: DecisionTrees, inputs: Inputs, epsilon: float, method: Method) -> None:
    """Write out a model with the same words, made up: what cannot be written must fail before ε is spent."""
    names = inputs.names
    if trees.predicates is None:
        return  # `fit` says what is wrong
    if method in TWO_CLASSES_ONLY and len(names) > 2:
        raise ParameterError("--method", "tree, head or linear for more than two labels", method)
    features = len(inputs.shown.schema.features)
    tree = DecisionTree(_made_up(trees.predicates), features)
    made_up: list[Hypothesis] = []
    if method in ("tree", "counted", "compared"):
        made_up.append(tree)
    if method in ("linear", "compared"):
        feature_map = LinearFeatures.of(trees.predicates, features, inputs.shown.public)
        line = LinearHypothesis(feature_map, (1.0,) * feature_map.size)
        made_up.append(line if len(names) == 2 else OneAgainstRest((line,) * len(names)))
    if method in ("head", "counted"):
        questions = HeadFeatures(PredicateVectors.of(trees.predicates, features), None, WHOLE_SHARE)
        ones = np.ones((1 if len(names) == 2 else len(names), questions.size))
        made_up.append(Head.of(questions, len(names), ones, np.zeros((ones.shape[0], 0, 1))))
    if method == "boosted":
        made_up.append(BoostedTrees((tree,), 1.0, features))
    origin = Provenance(predicates=trees.predicates)
    for hypothesis in made_up:
        PublishedModel(hypothesis, names, inputs.shown.schema, Guarantee(epsilon), origin).texts()


def _made_up(predicates: Sequence[Predicate], label: int = 0) -> Leaf | Split:
    """A tree that asks every one of the predicates."""
    if not predicates:
        return Leaf(label)
    middle = len(predicates) // 2
    return Split(predicates[middle], _made_up(predicates[:middle], 0), _made_up(predicates[middle + 1 :], 1))


def _check_out(job: Publish) -> None:
    cost = f"A new model is a new release and costs {_price(job)} again."
    check_folder(job.out, job.inputs, overwrite=job.overwrite, cost=cost)


def _price(job: Publish) -> str:
    return f"ε = {job.epsilon:.12g}"


def _summarise(job: Publish, made: Made, depth: int | None, method: Method, *, as_json: bool) -> None:
    model, saved = made.model, made.saved
    if model is None or saved is None or model.provenance.records is None:
        raise AssertionError("A fitted learner was saved, and it knows the number of records.")
    origin, records = model.provenance, model.provenance.records
    if isinstance(made.learner, PrivateClassifier):
        method = made.learner.method_
    if as_json:
        print_json(
            guarantee_facts(model.guarantee, records)
            | {
                "public_rows": origin.public_rows,
                "predicates": len(origin.predicates or ()),
                "method": method,
                "depth": depth,
                "numerical_slack": origin.numerical_slack,
                "classes": list(model.classes),
                "rules": model.rules(),
                "out": str(job.out),
                "files": [path.name for path in saved.written],
                "left_out": saved.left_out,
                "account": account_facts(made.account),
            }
        )
        return
    fields = {"guarantee": promise(model.guarantee, records)}
    fields |= {"drawn from": origin.hypotheses, "public inputs": _public_inputs(model)}
    if model.guarantee.assumptions:
        fields["treated as public"] = "; ".join(model.guarantee.assumptions)
    fields |= {
        "model": _shortened(model.rules()),
        "files": ", ".join(path.name for path in saved.written) + f" in {job.out}",
    }
    if saved.left_out:
        fields["left out"] = "\n".join(f"{name}: {why}" for name, why in saved.left_out.items())
    Console().print(field_table(fields | {"account": account_line(made.account)}))


def _shortened(rules: str) -> str:
    lines = rules.splitlines()
    if len(lines) <= _MOST_LINES:
        return rules
    return "\n".join([*lines[:_MOST_LINES], f"… and {len(lines) - _MOST_LINES:,} more lines, in rules.txt"])


def _report_failure(job: Publish, cause: BaseException, made: Made, *, as_json: bool) -> None:
    """Say that ε is spent and what failed; print the model if it was not written. ASCII, lest this fail as well."""
    spent = f"The model was drawn and {_price(job)} is spent"
    if made.saved is not None:
        _fail(f"{spent}; it is in {job.out / MODEL}. Then: {reason(cause)}.", cause, as_json=as_json)
    elif made.model is not None:
        message = f"{spent}, but it could not be written to {job.out} ({reason(cause)}). model.json is printed instead."
        _fail(message, cause, as_json=as_json, model=json.loads(made.model.to_json()))
    else:
        _fail(f"{spent}, but it could not be described ({reason(cause)}) and is lost.", cause, as_json=as_json)


def _fail(message: str, cause: BaseException, *, as_json: bool, **document: Any) -> None:
    if isinstance(cause, BrokenPipeError):
        give_up_output()
        as_json = False
    if as_json:
        typer.echo(json.dumps({"error": {"type": type(cause).__name__, "message": message}} | document, indent=2))
        return
    complain(message)
    for value in document.values():
        typer.echo(json.dumps(value, indent=2))


def _public_inputs(model: PublishedModel) -> str:
    rows = model.provenance.public_rows
    return f"{rows:,} public rows" if rows else "the schema alone"
