"""`pcqr score`: a published model scored on private records that it was not fitted on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

import typer
from rich.console import Console

from pcqr.cli.console import fail, field_table, print_json
from pcqr.cli.inputs import check_drop, check_label, naming, persons_of, read
from pcqr.cli.jobs import Score
from pcqr.cli.model_folder import loaded
from pcqr.cli.spending import (
    Outlook,
    account_facts,
    account_line,
    account_of,
    charged_words,
    end_dry_run,
    refusing_weak,
)
from pcqr.cli.stopping import FROM_OUTSIDE, STOPPED, Signals, reason
from pcqr.datasets.tables import table_size
from pcqr.errors import ParameterError
from pcqr.estimators.scoring import Scoring
from pcqr.files import check_output, write_whole
from pcqr.guarantee import rounded_text
from pcqr.models.score import ASSUMPTIONS, PrivateScore
from pcqr.plan.words import guarantee_facts, promise
from pcqr.release.account import Account

SPENT = 1
"""Exit code: the score was drawn, ε is spent, and its file could not be written."""


def run(job: Score, *, as_json: bool) -> None:
    """Load, check, charge, count, write, show. Once noise is drawn, no signal comes between it and what is shown."""
    if job.out is not None:
        check_output(job.out, inputs=job.inputs, overwrite=job.overwrite)
    with _named_as_options():
        scoring = Scoring.of(loaded(job.model), job.epsilon, job.bins)
    account = account_of(job, "pcqr score")
    if job.dry_run:
        _show_plan(job, scoring, account, as_json=as_json)
        return
    score: PrivateScore | None = None
    with refusing_weak(job, job.epsilon), Signals() as signals:
        try:
            private = read(job.private, "--private")
            check_label(private, job.label)
            check_drop(job.drop, private, scoring.model.schema.names)
            groups = persons_of(private, job)
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
                _summarise(job, score, account, as_json=as_json)
        except FROM_OUTSIDE as cause:
            price = f"ε = {job.epsilon:.12g}"
            if score is None:
                spent = charged_words(scoring, account, price)
                fail(f"{reason(cause)}. Nothing is shown. {spent}", cause, as_json=as_json)
                raise typer.Exit(STOPPED) from None
            to = "" if account is None else f", charged to the account {account.name}"
            message = (
                f"The score was drawn and {price} is spent{to}. Then: {reason(cause)}. The score is printed instead."
            )
            fail(message, cause, as_json=as_json, score=score.facts())
            raise typer.Exit(SPENT) from None


@contextmanager
def _named_as_options() -> Iterator[None]:
    """Errors about a parameter speak of the option that it was given by."""
    try:
        yield
    except ParameterError as error:
        if error.name not in {field.name for field in fields(Score)}:
            raise
        raise ParameterError(f"--{error.name}", error.allowed, error.received) from None


def _show_plan(job: Score, scoring: Scoring, account: Account | None, *, as_json: bool) -> None:
    """What `run` would do. Of the private file: column names and n (rows, or persons)."""
    if job.person is None:
        with naming("--private"):
            columns, records = table_size(job.private)
    else:
        private = read(job.private, "--private")
        groups = persons_of(private, job)
        columns, records = tuple(private), 0 if groups is None else 1 + int(groups.max())
    check_label(columns, job.label)
    check_drop(job.drop, columns, scoring.model.schema.names)
    scoring.model.schema.encode(dict.fromkeys(columns, ()), drop=job.not_features, name=str(job.private))  # no record
    guarantee = scoring.guarantee(records, persons=job.person is not None)
    guarantee = guarantee.drawn_with(private_entropy=job.seed is None)
    expected = scoring.expected(records)
    lines = {
        "scores": f"{scoring.model.kind.title}, {scoring.bins.count} bins for each of its labels",
        "expected": f"accuracy to ± {rounded_text(expected, 2)}, were it .8",
        "assumed": "; ".join(ASSUMPTIONS),
    }
    facts = {"bins": scoring.bins.count, "expected_error": expected, "assumptions": list(ASSUMPTIONS)}
    end_dry_run(guarantee, records, Outlook.of(job, account, guarantee, records), lines, facts, as_json=as_json)


def _summarise(job: Score, score: PrivateScore, account: Account | None, *, as_json: bool) -> None:
    if as_json:
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
