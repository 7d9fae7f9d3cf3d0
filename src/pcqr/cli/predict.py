"""`pcqr predict`: a published model applied to a file. Nothing private is needed, and nothing is spent."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from pcqr.cli.console import field_table, print_json
from pcqr.cli.inputs import naming, read
from pcqr.cli.jobs import Predict
from pcqr.cli.keeping import check_replaced
from pcqr.cli.model_folder import loaded
from pcqr.datasets.tables import Columns, check_suffix, write_table
from pcqr.errors import DataError, ParameterError
from pcqr.files import check_output
from pcqr.models import PublishedModel
from pcqr.models.card import guarantee_in_words
from pcqr.models.kind import ScoredKind
from pcqr.plan import counted
from pcqr.schema.cells import listed

FREE = "Nothing: whatever is computed from a published model costs nothing, however often."


def run(job: Predict, *, as_json: bool) -> None:
    """Load, check, predict, write, summarise."""
    with naming("--out"):
        check_suffix(job.out)
    model_file = job.model / "model.json" if job.model.is_dir() else job.model  # labels may lie beside it
    check_output(job.out, inputs=(model_file, job.file), overwrite=job.overwrite)
    check_replaced(job.out, ("row", "label"), what="predictions")
    model = loaded(job.model)
    if job.scores and not isinstance(model.kind, ScoredKind):
        raise ParameterError("--scores", f"left out for a {model.kind.title}, which has none", True)
    if job.probabilities and not isinstance(model.kind, ScoredKind):
        raise ParameterError("--probabilities", f"left out for a {model.kind.title}, which has none", True)
    table = _features(read(job.file, "FILE"), model, job)
    labels = model.predict(table).tolist()
    columns: dict[str, Sequence[Any]] = {"row": range(1, len(labels) + 1), "label": labels}
    if job.scores:
        columns |= _scores(model, table)
    if job.probabilities:
        found = model.predict_proba(table)
        columns |= {f"probability {name}": found[:, place].tolist() for place, name in enumerate(model.classes)}
    write_table(job.out, columns)
    _summarise(job, model, labels, as_json=as_json)


def _features(table: Columns, model: PublishedModel, job: Predict) -> Columns:
    """The columns of `table` that the model takes; others are refused unless they are to be dropped."""
    for name in job.drop:
        if name not in table:
            raise ParameterError("--drop", "the name of a column of the file", name)
    kept = {name: values for name, values in table.items() if name not in job.drop}
    extra = [name for name in kept if name not in model.schema.names]
    if extra:
        raise DataError(
            str(job.file),
            "a table with the columns of the model alone",
            f"also {listed(extra)} (to leave out: {' '.join(f'--drop {shlex.quote(name)}' for name in extra)})",
        )
    return kept


def _scores(model: PublishedModel, table: Columns) -> dict[str, list[float]]:
    """One column "score", positive for the second label; with more labels one for each, the largest decides."""
    found = model.decision_function(table)
    if found.ndim == 1:
        return {"score": found.tolist()}
    return {f"score {name}": found[:, place].tolist() for place, name in enumerate(model.classes)}


def _summarise(job: Predict, model: PublishedModel, labels: list[Any], *, as_json: bool) -> None:
    counts = Counter(labels)
    if as_json:
        print_json(
            {
                "rows": len(labels),
                "counts": {str(name): counts[name] for name in model.classes},
                "cost": {"epsilon": 0, "delta": 0},
                "kind": model.kind.name,
                "guarantee": model.guarantee.facts(),
                "out": str(job.out),
            }
        )
        return
    by_label = "\n".join(f"{model.vocabulary.label(i)}: {counts[name]:,}" for i, name in enumerate(model.classes))
    fields = {
        "model": f"{model.kind.title}, {job.model}",
        "its promise": guarantee_in_words(model.guarantee, model.provenance.records),
        counted(len(labels), "row"): by_label,
        "cost": FREE,
        "predictions": str(job.out),
    }
    if not model.guarantee.is_private:
        fields["its promise"] = f"NOT PRIVATE: the randomness was seeded. {fields['its promise']}"
    Console().print(field_table(fields))
