"""`pcqr answer`: the main job on a user's own files, and what it would cost."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from pcqr import AssumePublic
from pcqr.cli.account import Outlook, account_facts, account_line, account_of, charged_words, end_dry_run, refusing_weak
from pcqr.cli.console import (
    BUDGET_EXHAUSTED,
    KINDS,
    Signals,
    complain,
    error_fields,
    field_table,
    naming,
    print_json,
    progress,
    stages,
)
from pcqr.cli.inputs import Points, Shown, check_label, check_public, label_names, public_size, read_inputs, read_shown
from pcqr.cli.jobs import Answer
from pcqr.cli.releases import Price, Publication, answers_beside, check_answers, check_folder, made_release, most_labels
from pcqr.datasets.tables import check_suffix
from pcqr.durable.account import Account
from pcqr.errors import BudgetExhausted, ParameterError
from pcqr.releases.base.answering import Release, first_batch_cost
from pcqr.releases.protocol.answers import counted
from pcqr.releases.words import guarantee_facts, plan_facts, plan_lines, promise

COMMAND = "pcqr answer"
MODEL_UNSAVED = 1
"""Exit code: all answers are written, but the published model, or a file beside it, could not be."""


@dataclass(frozen=True)
class Done:
    """What a run that came to its end has to tell. `exhausted` is why queries stayed unanswered, if any did."""

    release: Release[Any]
    records: int
    kinds: Sequence[str]
    exhausted: BudgetExhausted | None
    out: Path
    publication: Publication
    account: Account | None

    @property
    def published(self) -> str | None:
        """The published classifier in words, with the names of columns and labels. Anybody may see it."""
        return None if self.publication.model is None else self.publication.model.rules()

    @property
    def model_folder(self) -> Path | None:
        return None if self.publication.saved is None else self.publication.folder


def run(job: Answer) -> None:
    """Read, check, fit, answer, write, summarise. Whatever can be refused is refused before the fit.

    Each answer is on disk before it is shown or counted. However the run ends, what was given is kept and said.
    """
    if job.dry_run:
        show_plan(job)
        return
    out = _checked_out(job)
    account = account_of(job, COMMAND)
    price = Price(job.epsilon, job.delta)
    release: Release[Any] | None = None
    with (
        Signals() as signals,
        answers_beside(out, price, overwrite=job.overwrite, as_json=job.as_json) as answers,
        refusing_weak(job, job.epsilon),
    ):
        answers.charged = lambda: charged_words(release, account, str(price))
        inputs = read_inputs(job, most_labels=most_labels(job))
        points = inputs.shown.queries
        if job.publishes:  # its classifier is made of them
            check_public(points, inputs.source, option="--queries", path=job.queries, assume_public=job.assume_public)
        release = _release(job, inputs.shown, len(inputs.names)).set_params(account=account)
        with progress(hidden=job.as_json or job.show) as bar:
            with stages(bar, "fitting"):
                public = inputs.shown.public if job.family.needs_public else None
                release.fit(inputs.table, inputs.places, public=AssumePublic(public), groups=inputs.groups)
            answers.begin(signals, points.shape[0], show=job.show)
            exhausted = None
            answering = bar.add_task("answering", total=points.shape[0])
            publication = Publication(_model_folder(job, out), inputs.shown.schema, inputs.names)
            try:
                for point in points:
                    label, kind, error = _answer(release, point, inputs.names)
                    exhausted = exhausted or error
                    with signals.held():
                        bar.update(answering, completed=answers.give(label, kind))
                        publication.keep(release)
            finally:
                publication.keep(release)  # drawn in a call that was broken off: it is paid for
                if publication.saved is not None:
                    answers.beside += f" The published model is in {publication.folder}."
            answers.finish(out, overwrite=job.overwrite)
        done = Done(release, inputs.records, answers.kinds, exhausted, out, publication, account)
        _summarise(done, as_json=job.as_json)
    if publication.unsaved is not None:
        complain(publication.complaint)
        if not job.as_json:
            print_json(publication.unsaved)
        raise typer.Exit(MODEL_UNSAVED)
    if publication.saved is not None and publication.saved.failed:
        complain(publication.missing)
        raise typer.Exit(MODEL_UNSAVED)
    if exhausted is not None:
        raise typer.Exit(BUDGET_EXHAUSTED)


def _answer(release: Release[Any], point: Points, names: Sequence[Any]) -> tuple[Any, str, BudgetExhausted | None]:
    """Label, kind and, after a halt, why. Then the rest is still asked: a query asked before is in the log."""
    try:
        answer = release.answer(point)
    except BudgetExhausted as error:
        return None, "unanswered", error
    return None if answer.label is None else names[int(answer.label)], answer.kind, None


def show_plan(job: Answer) -> None:
    """Say what `run` would promise, plan and use up. Of the private file: the column names and n (rows, or persons)."""
    account = account_of(job, COMMAND)
    columns, records = public_size(job)
    names = label_names(job.labels, most=most_labels(job)) or (0, 1)
    check_label(columns, job.label)
    shown = read_shown(job, columns)
    points = shown.queries
    nothing = dict.fromkeys(columns, ())
    shown.schema.encode(nothing, drop=job.not_features, name=str(job.private))  # its columns, no record
    plan = _release(job, shown, len(names)).plan(records, points.shape[1], user_level=job.groups is not None)
    plan = replace(plan, guarantee=plan.guarantee.drawn_with(private_entropy=job.seed is None))
    cost = first_batch_cost(plan, points)
    lines = {"queries": str(cost)} | plan_lines(plan)
    facts = {
        "queries": points.shape[0],
        "cost": asdict(cost) | {"is_certain": cost.is_certain},
        "plan": plan_facts(plan),
    }
    outlook = Outlook.of(job, account, plan.guarantee, records)
    end_dry_run(plan.guarantee, records, outlook, lines, facts, as_json=job.as_json)


def _release(job: Answer, shown: Shown, labels: int) -> Release[Any]:
    """The release, planned for all the queries; one that publishes is planned for those that come before it does."""
    queries = shown.queries.shape[0]
    if job.publishes:
        queries = max(1, queries // 2) if job.publish_after is None else job.publish_after
    return made_release(job, shown, queries, range(labels))  # what `labels_of` makes of them


def _checked_out(job: Answer) -> Path:
    if job.out is None:
        raise ParameterError("--out", "given, for the answers: only --dry-run needs none", job.out)
    if job.show and job.as_json:
        raise ParameterError("--show", "left out with --json, which prints one object", True)
    if job.model_out is not None and not job.publishes:
        raise ParameterError("--model-out", "left out, but for --algorithm universal", str(job.model_out))
    with naming(path="--out"):
        check_suffix(job.out)
    price = Price(job.epsilon, job.delta)
    check_answers(job.out, job.inputs, price, overwrite=job.overwrite)
    if job.publishes:
        folder = _model_folder(job, job.out)
        check_folder(folder, job.inputs, overwrite=job.overwrite, cost=price.again, option="--model-out")
    return job.out


def _model_folder(job: Answer, out: Path) -> Path:
    """Where a published model goes: as asked, or beside the answers."""
    return job.model_out or out.with_name(f"{out.name.partition('.')[0]}.model")


def _summarise(done: Done, *, as_json: bool) -> None:
    release, counts, asked = done.release, Counter(done.kinds), len(done.kinds)
    if as_json:
        summary = guarantee_facts(release.guarantee_, done.records) | {
            "queries": asked,
            "counts": {kind: counts[kind] for kind in KINDS},
            "plan": plan_facts(release.plan_),
            "published": done.published,
            "model": None if done.model_folder is None else str(done.model_folder),
            "unsaved_model": done.publication.unsaved,
            "failed": {} if done.publication.saved is None else done.publication.saved.failed,
            "out": str(done.out),
            "account": account_facts(done.account),
        }
        print_json(summary | ({} if done.exhausted is None else {"error": error_fields(done.exhausted)}))
        return
    kinds = "\n".join(f"{counts[kind]:,} {meaning}" for kind, meaning in KINDS.items() if counts[kind])
    fields = {"guarantee": promise(release.guarantee_, done.records), counted(asked, "query", "queries"): kinds}
    fields |= plan_lines(release.plan_)
    if done.published is not None:
        fields["published"] = done.published
    if done.model_folder is not None:
        use = f"pcqr predict {shlex.quote(str(done.model_folder))} rows.csv --out predictions.csv"
        fields["model"] = f"{done.model_folder}. It labels any number of rows at no cost: {use}"
    Console().print(field_table(fields | {"answers": str(done.out), "account": account_line(done.account)}))
    if done.exhausted is not None:
        first = release.plan_.remaining
        had = f"{first.queries or 0:,}" if first.unstable is None else f"{first.unstable:,} unstable"
        complain(
            f"the release was exhausted after its {had} answers: "
            f"{counts['unanswered']:,} of {asked:,} queries are unanswered. The answers given before are "
            f"in {done.out}. A larger ε, more records, or --algorithm universal answers more."
        )
