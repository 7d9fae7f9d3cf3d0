"""`pcqr predict`: a published model applied to a file. Nothing private is needed, and nothing is spent."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console

from pcqr.cli.account import Outlook, account_facts, account_line, account_of, charged_words, end_dry_run, refusing_weak
from pcqr.cli.console import FROM_OUTSIDE, STOPPED, Signals, fail, field_table, naming, print_json, reason
from pcqr.cli.inputs import check_drop, check_label, read, units_of
from pcqr.cli.jobs import Predict, Score
from pcqr.cli.releases import check_replaced, loaded
from pcqr.data.schema.cells import listed
from pcqr.datasets.tables import Columns, check_suffix, table_size, write_table
from pcqr.durable.account import Account
from pcqr.errors import DataError, ParameterError
from pcqr.files import check_output, write_whole
from pcqr.models import PublishedModel
from pcqr.models.card import guarantee_in_words
from pcqr.models.kind import ScoredKind
from pcqr.models.scoring import ASSUMPTIONS, PrivateScore, Scoring
from pcqr.privacy.guarantee import rounded_text
from pcqr.releases.protocol.answers import counted
from pcqr.releases.words import guarantee_facts, promise

FREE = "Nothing: whatever is computed from a published model costs nothing, however often."


def run(job: Predict) -> None:
    """Load, check, predict, write, summarise."""
    with naming(path="--out"):
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
    _summarise(job, model, labels)


def _features(table: Columns, model: PublishedModel, job: Predict) -> Columns:
    """The columns of `table` that the model takes; others are refused unless they are to be dropped."""
    check_drop(job.drop, table, of="the file")
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


def _summarise(job: Predict, model: PublishedModel, labels: list[Any]) -> None:
    counts = Counter(labels)
    if job.as_json:
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


# ---------------------------------------------------------------------------------------------------------------------
# `pcqr score`: a published model scored on private records that it was not fitted on.


SPENT = 1
"""Exit code: the score was drawn, ε is spent, and its file could not be written."""


def run_score(job: Score) -> None:
    """Load, check, charge, count, write, show. Once noise is drawn, no signal comes between it and what is shown."""
    if job.out is not None:
        check_output(job.out, inputs=job.inputs, overwrite=job.overwrite)
    with naming(epsilon="--epsilon", bins="--bins"):
        scoring = Scoring.of(loaded(job.model), job.epsilon, job.bins)
    account = account_of(job, "pcqr score")
    if job.dry_run:
        _show_plan(job, scoring, account)
        return
    score: PrivateScore | None = None
    with refusing_weak(job, job.epsilon), Signals() as signals:
        try:
            private = read(job.private, "--private")
            check_label(private, job.label)
            check_drop(job.drop, private, scoring.model.schema.names)
            groups = units_of(private, job)
            with signals.held():
                score = scoring.run(
                    private,
                    private[job.label],
                    groups=groups,
                    account=account,
                    entropy=job.seed,
                    drop=job.not_features,
                    name=str(job.private),
                )
                if job.out is not None:
                    write_whole(job.out, score.to_json())
                _summarise_score(job, score, account)
        except FROM_OUTSIDE as cause:
            price = f"ε = {job.epsilon:.12g}"
            if score is None:
                spent = charged_words(scoring, account, price)
                fail(f"{reason(cause)}. Nothing is shown. {spent}", cause, as_json=job.as_json)
                raise typer.Exit(STOPPED) from None
            to = "" if account is None else f", charged to the account {account.name}"
            message = (
                f"The score was drawn and {price} is spent{to}. Then: {reason(cause)}. The score is printed instead."
            )
            fail(message, cause, as_json=job.as_json, score=score.facts())
            raise typer.Exit(SPENT) from None


def _show_plan(job: Score, scoring: Scoring, account: Account | None) -> None:
    """What `run_score` would do. Of the private file: column names and n (rows, or persons)."""
    if job.groups is None:
        with naming(path="--private"):
            columns, records = table_size(job.private)
    else:
        private = read(job.private, "--private")
        groups = units_of(private, job)
        columns, records = tuple(private), 0 if groups is None else 1 + int(groups.max())
    check_label(columns, job.label)
    check_drop(job.drop, columns, scoring.model.schema.names)
    scoring.model.schema.encode(dict.fromkeys(columns, ()), drop=job.not_features, name=str(job.private))  # no record
    guarantee = scoring.guarantee(records, user_level=job.groups is not None)
    guarantee = guarantee.drawn_with(private_entropy=job.seed is None)
    expected = scoring.expected(records)
    lines = {
        "scores": f"{scoring.model.kind.title}, {scoring.bins.count} bins for each of its labels",
        "expected": f"accuracy to ± {rounded_text(expected, 2)}, were it .8",
        "assumed": "; ".join(ASSUMPTIONS),
    }
    facts = {"bins": scoring.bins.count, "expected_error": expected, "assumptions": list(ASSUMPTIONS)}
    end_dry_run(guarantee, records, Outlook.of(job, account, guarantee, records), lines, facts, as_json=job.as_json)


def _summarise_score(job: Score, score: PrivateScore, account: Account | None) -> None:
    if job.as_json:
        facts = guarantee_facts(score.guarantee, score.records) | score.facts() | {"account": account_facts(account)}
        print_json(facts | {"out": None if job.out is None else str(job.out)})
        return
    fields = {"guarantee": promise(score.guarantee, score.records)} | score.lines()
    fields |= {
        "in brackets": "the ends of 95 % intervals, which cover noise and sampling",
        "assumed": "; ".join(score.assumptions),
        "account": account_line(account),
    }
    Console().print(field_table(fields | ({} if job.out is None else {"file": str(job.out)})))
