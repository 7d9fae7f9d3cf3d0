"""`pcqr publish`: one decision tree on a user's own files, to be carried away."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from pcqr import SemiPrivateLearner
from pcqr.cli.console import field_table, print_json, progress
from pcqr.cli.words import promise
from pcqr.datasets.tables import Columns, read_table
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses import DecisionTrees
from pcqr.models import PublishedModel
from pcqr.models.published import FILES, MOST_CLASSES
from pcqr.schema import Schema
from pcqr.schema.cells import categories, cells

_EXTRAS = {"tree.svg": "plot", "model.onnx": "onnx"}


@dataclass(frozen=True)
class Job:
    """The options of one run, as they were typed."""

    private: Path
    label: str
    public: Path | None
    schema: Path | None
    epsilon: float
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
    """Read, check, draw, write, summarise. Whatever can be refused is refused before the draw."""
    _check_writable(job.out)
    if job.public is None and job.schema is None:
        raise ParameterError(
            "--public", "public rows, or --schema a file with the columns: trees ask public questions only", None
        )
    trees = DecisionTrees(depth=job.depth, operations=job.operations)
    with progress(hidden=as_json) as bar:
        step = bar.add_task("reading and encoding", total=3)
        inputs = _read(job)
        trees = trees.prepared(inputs.public, inputs.schema)
        depth = trees.depth_for(inputs.X.shape[0])
        bar.update(step, advance=1, description=f"counting and drawing: depth {depth}")
        learner = SemiPrivateLearner(trees, job.epsilon, entropy=job.seed, classes=inputs.names)
        learner.fit(inputs.X, inputs.y)
        bar.update(step, advance=1, description="writing")
        model = PublishedModel.from_learner(
            learner,
            schema=inputs.schema,
            records=inputs.X.shape[0],
            public_rows=0 if inputs.public is None else inputs.public.shape[0],
        )
        written = model.save(job.out)
        bar.update(step, advance=1)
    _summarise(job, model, depth, written, as_json=as_json)


def _read(job: Job) -> Inputs:
    private = read_table(job.private)
    public = None if job.public is None else read_table(job.public)
    names = _label_names(job.labels)
    y = _labels(private, job.label, names)
    not_features = (job.label, *job.drop)
    schema = _schema(job, public, not_features)
    return Inputs(
        X=schema.encode(private, drop=not_features, name=str(job.private)),
        y=y,
        names=names,
        public=None if public is None else schema.encode(public, drop=not_features, name=str(job.public)),
        schema=schema,
    )


def _schema(job: Job, public: Columns | None, not_features: tuple[str, ...]) -> Schema:
    """The declared columns; without a file, what the public rows say about theirs."""
    if job.schema is not None:
        read = Schema.from_json if job.schema.suffix == ".json" else Schema.from_toml
        declared = read(job.schema)
        return declared.without(*(name for name in declared.names if name in not_features))
    return Schema.from_public(public or {}, drop=not_features)


def _label_names(declared: str | None) -> tuple[str, ...] | None:
    if declared is None:
        return None
    names = tuple(name.strip() for name in declared.split(","))
    if not 2 <= len(names) <= MOST_CLASSES or not all(names) or len(set(names)) < len(names):
        raise ParameterError("--labels", f"2 to {MOST_CLASSES} different names, 'first,second,…'", declared)
    return names


def _labels(private: Columns, name: str, declared: tuple[str, ...] | None) -> NDArray[Any]:
    """The label of each private record as text, or as 0 and 1 where all of them are."""
    if name not in private:
        # The columns are not listed: in a file without a header they are a private record.
        raise ParameterError("--label", f"the name of one of the {len(private)} columns in the first line", name)
    found = categories(cells(private[name]))
    allowed = "a label in every row" if declared is None else f"one of {', '.join(declared)} in every row (--labels)"
    if None in found or (declared is not None and not set(found) <= set(declared)):
        raise DataError(f"label column {name!r}", allowed, "other values, or missing ones")
    if declared is None and len(set(found)) > MOST_CLASSES:
        raise DataError(f"label column {name!r}", f"labels of at most {MOST_CLASSES} classes", "more different values")
    if declared is None and set(found) <= {"0", "1"}:
        return np.array(found).astype(np.int64)
    return np.array(found, dtype=str)


def _check_writable(out: Path) -> None:
    """`out` is a directory, or can become one."""
    existing = next(place for place in (out, *out.absolute().parents) if place.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise ParameterError("--out", "a directory that can be written to", str(out))


def _summarise(job: Job, model: PublishedModel, depth: int, written: tuple[Path, ...], *, as_json: bool) -> None:
    origin = model.provenance
    if origin.records is None:
        raise AssertionError("The number of records was handed to the model.")
    said = promise(model.guarantee, origin.records)
    if as_json:
        print_json(
            {
                "promise": said,
                "guarantee": asdict(model.guarantee),
                "records": origin.records,
                "public_rows": origin.public_rows,
                "predicates": len(origin.predicates or ()),
                "depth": depth,
                "numerical_slack": origin.numerical_slack,
                "classes": list(model.classes),
                "rules": model.rules(),
                "out": str(job.out),
                "files": [path.name for path in written],
            }
        )
        return
    missing = [f"{name} (pip install 'pcqr[{_EXTRAS[name]}]')" for name in FILES if job.out / name not in written]
    fields = {"guarantee": said, "drawn from": origin.hypotheses, "public inputs": _public_inputs(model)}
    if model.guarantee.assumptions:
        fields["treated as public"] = "; ".join(model.guarantee.assumptions)
    fields |= {"model": model.rules(), "files": ", ".join(path.name for path in written) + f" in {job.out}"}
    Console().print(field_table(fields | ({"left out": ", ".join(missing)} if missing else {})))


def _public_inputs(model: PublishedModel) -> str:
    rows = model.provenance.public_rows
    return f"{rows:,} public rows" if rows else "the schema alone"
