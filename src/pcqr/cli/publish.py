"""`pcqr publish`: a classifier made on a user's own files, to be carried away."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from pcqr import Guarantee, PrivateClassifier, SemiPrivateLearner
from pcqr.cli.console import complain, field_table, print_json, progress
from pcqr.cli.words import promise
from pcqr.datasets.tables import Columns, read_table
from pcqr.errors import DataError, ParameterError
from pcqr.estimators.labels import LABELS_READ
from pcqr.guarantee import rounded_text
from pcqr.hypotheses import DecisionTrees
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.linear import LinearFeatures, LinearHypothesis, OneAgainstRest
from pcqr.hypotheses.trees import DecisionTree, Leaf, Predicate, Split
from pcqr.hypotheses.trees.boosted import BoostedTrees
from pcqr.models import Provenance, PublishedModel
from pcqr.models.published import FILES, MOST_CLASSES, Saved
from pcqr.plan import BoostedPublishingPlan, ComparedPublishingPlan, CountedPublishingPlan
from pcqr.planning.published import TWO_CLASSES_ONLY, Choice, Method, choose, trees_for
from pcqr.schema import Schema
from pcqr.schema.cells import categories, category, cells

DEFAULT_DELTA = 1e-6
MOST_OPERATIONS = DecisionTrees.operations
_MOST_LINES = 60
SPENT = 1
"""Exit code: the model was drawn, ε is spent, and something failed afterwards."""

LABELS_READ_HERE = "the label names, read from the private rows because --labels, which is recommended, was not given"
LABELS_WARNING = (
    "The label names were read from the private rows and are published as if they were public. ε does not cover them: "
    "declare them with --labels."
)


@dataclass(frozen=True)
class Job:
    """The options of one run, as they were typed."""

    private: Path
    label: str
    public: Path | None
    schema: Path | None
    epsilon: float
    delta: float | None
    method: Choice | None
    out: Path
    depth: int | None
    operations: float
    labels: str | None
    drop: tuple[str, ...]
    seed: int | None


@dataclass(frozen=True)
class Inputs:
    """What the files hold, encoded. `names` are the declared label names; None: they are read from the labels."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    names: tuple[str, ...] | None
    public: NDArray[np.float64] | None
    schema: Schema


def run(job: Job, *, as_json: bool) -> None:
    """Read, check, rehearse, draw, write, summarise. Whatever can be refused is refused before the draw."""
    _check_writable(job.out)
    if job.public is None and job.schema is None:
        raise ParameterError(
            "--public", "public rows, or --schema a file with the columns: trees ask public questions only", None
        )
    method = _method(job)
    trees = DecisionTrees(depth=job.depth, operations=job.operations)
    with progress(hidden=as_json) as bar:
        step = bar.add_task("reading and encoding", total=2)
        inputs = _read(job)
        if not _is_sized(job):
            trees = trees_for(inputs.X.shape[0], job.epsilon)
        trees = trees.prepared(inputs.public, inputs.schema)
        if method == "auto":
            method = choose(inputs.X.shape[0], job.epsilon, _label_count(inputs))
        _rehearse(trees, inputs, job.epsilon, method)
        bar.update(step, advance=1, description=_cost_in_words(trees, inputs.X.shape[0], method))
        learner = _learner(job, inputs, trees, method)
        bar.update(step, advance=1)
    model = saved = None
    try:
        model = _published(learner, inputs.schema)
        saved = model.save(job.out)
        published = learner.method_ if isinstance(learner, PrivateClassifier) else method
        _summarise(job, model, published, _depth(trees, model, inputs, learner), saved, as_json=as_json)
    except Exception as error:  # ε is spent: whatever it is, the user must learn that, and not lose the model
        spent = f"The model was drawn and ε = {rounded_text(learner.guarantee_.epsilon, 6)} is spent"
        _report_failure(job, spent, error, None if saved else model, as_json=as_json)
        raise typer.Exit(SPENT) from None


def _method(job: Job) -> Choice:
    """As asked. Without --method and --delta: one tree, which is pure; with --delta: as the public numbers suggest."""
    method = job.method or ("tree" if job.delta is None else "auto")
    if method != "tree" and _is_sized(job):
        raise ParameterError("--method", "tree, where --depth or --operations is given", method)
    return method


def _is_sized(job: Job) -> bool:
    """Did the user say how large a tree may be?"""
    return job.depth is not None or job.operations != MOST_OPERATIONS


def _learner(job: Job, inputs: Inputs, trees: DecisionTrees, method: Method) -> SemiPrivateLearner | PrivateClassifier:
    learner: SemiPrivateLearner | PrivateClassifier
    if method == "tree":
        learner = SemiPrivateLearner(trees, job.epsilon, entropy=job.seed, classes=inputs.names)
    else:
        delta = DEFAULT_DELTA if job.delta is None else job.delta
        learner = PrivateClassifier(
            job.epsilon, delta, method=method, trees=trees, entropy=job.seed, classes=inputs.names
        )
    return learner.fit(inputs.X, inputs.y, public=inputs.public)


def _depth(trees: DecisionTrees, model: PublishedModel, inputs: Inputs, learner: object) -> int | None:
    """The depth of what was drawn; None for a linear classifier."""
    plan = learner.plan_ if isinstance(learner, PrivateClassifier) else None
    if isinstance(plan, BoostedPublishingPlan):
        return plan.boosting.depth
    if not isinstance(model.hypothesis, DecisionTree):
        return None
    if isinstance(plan, ComparedPublishingPlan):
        return plan.compared.depth
    if isinstance(plan, CountedPublishingPlan):
        return plan.counted.depth
    return trees.with_labels(len(model.classes)).depth_for(inputs.X.shape[0])


def _cost_in_words(trees: DecisionTrees, records: int, method: Method) -> str:
    asked = len(trees.predicates or ())
    if method != "tree":
        return f"fitting ({method}): {asked} predicates"
    depth = trees.depth_for(records)
    return f"counting and drawing: depth {depth}, {asked} predicates, about {trees.cost(records, depth):.0e} steps"


def _label_count(inputs: Inputs) -> int:
    return np.unique(inputs.y).size if inputs.names is None else len(inputs.names)


def _rehearse(trees: DecisionTrees, inputs: Inputs, epsilon: float, method: Method) -> None:
    """Write out a model with the same words, made up: what cannot be written must fail before ε is spent."""
    names = np.unique(inputs.y).tolist() if inputs.names is None else inputs.names
    if len(names) < 2 or trees.predicates is None:
        return  # `fit` says what is wrong
    if method in TWO_CLASSES_ONLY and len(names) > 2:
        raise ParameterError("--method", "tree or linear for more than two labels", method)
    features = len(inputs.schema.features)
    tree = DecisionTree(_made_up(trees.predicates), features)
    made_up: list[Hypothesis] = []
    if method in ("tree", "counted", "compared"):
        made_up.append(tree)
    if method in ("linear", "counted", "compared"):
        feature_map = LinearFeatures.of(trees.predicates, features, inputs.public)
        line = LinearHypothesis(feature_map, (1.0,) * feature_map.size)
        made_up.append(line if len(names) == 2 else OneAgainstRest((line,) * len(names)))
    if method == "boosted":
        made_up.append(BoostedTrees((tree,), 1.0, features))
    origin = Provenance(predicates=trees.predicates)
    for hypothesis in made_up:
        PublishedModel(hypothesis, names, inputs.schema, Guarantee(epsilon), origin).texts()


def _made_up(predicates: Sequence[Predicate], label: int = 0) -> Leaf | Split:
    """A tree that asks every one of the predicates."""
    if not predicates:
        return Leaf(label)
    middle = len(predicates) // 2
    return Split(predicates[middle], _made_up(predicates[:middle], 0), _made_up(predicates[middle + 1 :], 1))


def _published(learner: SemiPrivateLearner | PrivateClassifier, schema: Schema) -> PublishedModel:
    """The model, with the assumption about label names in the words of the command line."""
    model = PublishedModel.from_learner(learner, schema=schema)
    assumed = model.guarantee.assumptions
    worded = tuple(LABELS_READ_HERE if assumption == LABELS_READ else assumption for assumption in assumed)
    return replace(model, guarantee=replace(model.guarantee, assumptions=worded))


def _read(job: Job) -> Inputs:
    private = read_table(job.private)
    public = None if job.public is None else read_table(job.public)
    if job.public is not None and job.private.samefile(job.public):
        raise ParameterError("--public", "rows that are public, not the private records", str(job.public))
    names = _label_names(job.labels)
    y = _labels(private, job.label, names)
    not_features = (job.label, *job.drop)
    declared = None if job.schema is None else _declared(job.schema)
    _check_drop(job.drop, private, public or {}, () if declared is None else declared.names)
    if declared is None:
        schema = Schema.from_public(public or {}, drop=not_features)
    else:
        schema = declared.without(*(name for name in declared.names if name in not_features))
    X = schema.encode(private, drop=not_features, name=str(job.private))
    shown = None if public is None else schema.encode(public, drop=not_features, name=str(job.public))
    if shown is not None and np.array_equal(X, shown):
        raise ParameterError("--public", "rows that are public, not those of --private", str(job.public))
    return Inputs(X, y, names, shown, schema)


def _declared(path: Path) -> Schema:
    return Schema.from_json(path) if path.suffix == ".json" else Schema.from_toml(path)


def _check_drop(drop: Sequence[str], *tables: Collection[str]) -> None:
    for name in drop:
        if not any(name in table for table in tables):
            raise ParameterError("--drop", "the name of a column of the private, the public or the schema file", name)


def _label_names(declared: str | None) -> tuple[str, ...] | None:
    if declared is None:
        return None
    names = tuple(name.strip() for name in declared.split(","))
    if not 2 <= len(names) <= MOST_CLASSES or len({category(name) for name in names} - {None}) < len(names):
        raise ParameterError("--labels", f"2 to {MOST_CLASSES} different names, 'first,second,…'", declared)
    return names


def _labels(private: Columns, name: str, declared: tuple[str, ...] | None) -> NDArray[Any]:
    """The label of each private record as text, or as 0 and 1 where all of them are."""
    if name not in private:
        # The columns are not listed: in a file without a header they are a private record.
        raise ParameterError("--label", f"the name of one of the {len(private)} columns in the first line", name)
    spelling = {category(label): label for label in declared or ()}
    try:
        found = [spelling.get(text) if spelling else text for text in categories(cells(private[name]))]
    except TypeError:  # neither text nor numbers
        found = [None]
    allowed = "a label in every row" if declared is None else f"one of {', '.join(declared)} in every row (--labels)"
    if not all(label and label.strip() for label in found):
        raise DataError(f"label column {name!r}", allowed, "other values, or missing or blank ones")
    if declared is None and len(set(found)) > MOST_CLASSES:
        raise DataError(f"label column {name!r}", f"labels of at most {MOST_CLASSES} classes", "more different values")
    if declared is None and set(found) <= {"0", "1"}:
        return np.array(found).astype(np.int64)
    return np.array(found, dtype=str)


def _check_writable(out: Path) -> None:
    """`out` is a directory, or can become one, and nothing stands in the way of the files in it."""
    existing = next(place for place in (out, *out.absolute().parents) if place.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise ParameterError("--out", "a directory that can be written to", str(out))
    for target in (out / name for name in FILES):
        if os.path.lexists(target) and not (target.is_file() and os.access(target, os.W_OK)):
            raise ParameterError("--out", "a directory whose files can be written over", str(target))


def _summarise(
    job: Job, model: PublishedModel, method: Method, depth: int | None, saved: Saved, *, as_json: bool
) -> None:
    origin = model.provenance
    if origin.records is None:
        raise AssertionError("The learner knows the number of records.")
    said = promise(model.guarantee, origin.records)
    warnings = [LABELS_WARNING] if LABELS_READ_HERE in model.guarantee.assumptions else []
    if as_json:
        print_json(
            {
                "promise": said,
                "warnings": warnings,
                "guarantee": asdict(model.guarantee),
                "records": origin.records,
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
            }
        )
        return
    fields = {"guarantee": said}
    if warnings:
        fields["WARNING"] = " ".join(warnings)
    fields |= {"drawn from": origin.hypotheses, "public inputs": _public_inputs(model)}
    if model.guarantee.assumptions:
        fields["treated as public"] = "; ".join(model.guarantee.assumptions)
    fields |= {
        "model": _shortened(model.rules()),
        "files": ", ".join(path.name for path in saved.written) + f" in {job.out}",
    }
    if saved.left_out:
        fields["left out"] = "\n".join(f"{name}: {why}" for name, why in saved.left_out.items())
    Console().print(field_table(fields))


def _shortened(rules: str) -> str:
    lines = rules.splitlines()
    if len(lines) <= _MOST_LINES:
        return rules
    return "\n".join([*lines[:_MOST_LINES], f"… and {len(lines) - _MOST_LINES:,} more lines, in rules.txt"])


def _report_failure(job: Job, spent: str, error: Exception, unwritten: PublishedModel | None, *, as_json: bool) -> None:
    """Say that ε is spent and what failed; print the model if it was not written. ASCII, lest this fail as well."""
    reason = getattr(error, "strerror", None) or type(error).__name__
    if unwritten is None:
        message = f"{spent}. Then something failed ({reason}); look for the model in {job.out}."
    else:
        message = f"{spent}, but it could not be written to {job.out} ({reason}). model.json is printed instead."
    document = None if unwritten is None else json.loads(unwritten.to_json())
    if as_json:
        failure = {"type": type(error).__name__, "message": message}
        typer.echo(json.dumps({"error": failure, "model": document}, indent=2))
        return
    complain(message)
    if document is not None:
        typer.echo(json.dumps(document, indent=2))


def _public_inputs(model: PublishedModel) -> str:
    rows = model.provenance.public_rows
    return f"{rows:,} public rows" if rows else "the schema alone"
