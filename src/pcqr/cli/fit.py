"""`pcqr fit`: a release that is kept in a directory, for `pcqr ask`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import Progress

from pcqr import AssumePublic, UniversalRelease
from pcqr.cli.account import Outlook, account_facts, account_line, account_of, charged_words, end_dry_run, refusing_weak
from pcqr.cli.console import (
    FROM_OUTSIDE,
    STOPPED,
    Signals,
    complain,
    fail,
    field_table,
    print_json,
    progress,
    reason,
    stages,
    warn_if_together,
)
from pcqr.cli.inputs import (
    Inputs,
    check_label,
    declared_types,
    label_names,
    naming_labels,
    public_size,
    read_inputs,
    read_shown,
)
from pcqr.cli.jobs import Fit
from pcqr.cli.publish import check_kinds, public_rows, read_and_plan, schema_for, show_plan
from pcqr.cli.releases import Price, found_again, made_release, most_labels
from pcqr.durable.account import Account
from pcqr.durable.directory import dry_run_release
from pcqr.durable.ledger import Ledger
from pcqr.durable.ledger.opening import is_address, written_place
from pcqr.errors import ParameterError
from pcqr.files import check_not_input, check_outside_releases
from pcqr.hypotheses.base import MOST_LABELS
from pcqr.planner.expectation import INSTEAD, is_short, rounded
from pcqr.releases.base.answering import Release
from pcqr.releases.subsample.plan import VotingPlan
from pcqr.releases.universal.plan import ClassifierPlan, UniversalPlan
from pcqr.releases.words import guarantee_facts, plan_facts, plan_lines, promise

COMMAND = "pcqr fit"
DEFAULT_QUERIES = 300


def run(job: Fit) -> None:
    """Read, check, fit, keep, summarise. Whatever can be refused is refused before the fit."""
    check_not_input(job.out, job.inputs)
    check_outside_releases(job.out.absolute().parent)
    if job.ledger is not None and not is_address(job.ledger):
        check_not_input(Path(written_place(job.ledger)), job.inputs, option="--ledger")
    if job.anchor is not None:
        check_not_input(job.anchor, job.inputs, option="--anchor")
    _check_options(job)
    dry_run_release(job.out, ledger=job.ledger, anchor=job.anchor, key=job.key, cautious=job.cautious)
    account = account_of(job, COMMAND)
    if job.dry_run:
        if job.is_at_once:
            show_plan(job, partial(_publishing, job), account)
        else:
            _show_plan(job, account)
        return
    price = str(Price(job.epsilon, job.delta))
    release: Any = None
    is_kept = False
    with refusing_weak(job, job.epsilon), Signals() as signals:
        try:
            with progress(hidden=job.as_json) as bar:
                inputs = _read(job, bar)
                release = _release(job, inputs).set_params(account=account)
                with stages(bar, "fitting"):
                    try:
                        _fit(job, release, inputs)
                    finally:
                        if hasattr(release, "plan_"):  # it is paid for: whatever came meanwhile, it goes to disk first
                            with signals.held():
                                _keep(job, release, inputs)
                                is_kept = True
            ledger = release.quota_table().ledger
            release.close()
            _summarise(job, release, ledger, inputs.records, account)
        except BaseException as cause:
            kept = f"The release is in {job.out}." if is_kept else f"Nothing is kept in {job.out}."
            said = f"{reason(cause)}. {kept} {charged_words(release, account, price)}"
            if isinstance(cause, FROM_OUTSIDE):
                fail(said, cause, as_json=job.as_json)
                raise typer.Exit(STOPPED) from None
            if hasattr(release, "plan_"):
                complain(said)
            raise


def _check_options(job: Fit) -> None:
    """Raise where an option does not apply to what is asked for."""
    if job.is_at_once:
        for option, value in job.of_votes.items():
            raise ParameterError(
                option, "left out, or given with --class or --algorithm: without them there are no votes", value
            )
        if job.cautious:
            raise ParameterError("--cautious", "left out without --class and --algorithm: there are no votes", True)
        if job.categories and job.is_bare:
            raise ParameterError("--categories", "left out: --types says which columns are text", job.categories)
        check_kinds(job)
        return
    if job.types:
        raise ParameterError(
            "--types",
            "left out for a release that votes: give --public or --schema, or leave --class and --algorithm out",
            job.types,
        )
    if job.cautious and job.publishes:
        raise ParameterError("--cautious", "left out for --algorithm universal, whose draw cannot be announced", True)


def _read(job: Fit, bar: Progress) -> Inputs:
    if not job.is_at_once:
        return read_inputs(job, most_labels=most_labels(job))
    return read_and_plan(job, partial(_publishing, job), bar)


def _release(job: Fit, inputs: Inputs) -> Release[Any]:
    if job.is_at_once:
        release = _publishing(job, inputs.names)
        release.types = declared_types(job.types) or None
        return release
    return made_release(job, inputs.shown, _planned(job), inputs.names)


def _publishing(job: Fit, names: Sequence[Any]) -> UniversalRelease:
    """Return the release that publishes its classifier at `fit`."""
    return UniversalRelease(
        epsilon=job.epsilon, delta=job.delta, entropy=job.seed, classes=tuple(names), shows=job.shows
    )


def _fit(job: Fit, release: Release[Any], inputs: Inputs) -> None:
    shown = inputs.shown
    if job.is_at_once:
        public, schema = public_rows(shown), schema_for(job, shown)
        with naming_labels(job.label, label_names(job.labels, most=MOST_LABELS)):
            release.fit(inputs.table, inputs.y, public=public, schema=schema, groups=inputs.groups)
        return
    release.fit(
        inputs.table,
        inputs.y,
        public=AssumePublic(shown.public if job.family.needs_public else None),
        groups=inputs.groups,
    )


def _keep(job: Fit, release: Release[Any], inputs: Inputs) -> None:
    if not job.is_at_once:
        release.schema_ = inputs.shown.schema  # by which the table was read
    release.save(job.out, ledger=job.ledger, anchor=job.anchor, key=job.key, cautious=job.cautious)


def _summarise(job: Fit, release: Any, ledger: Ledger, records: int, account: Account | None) -> None:
    if job.as_json:
        facts = guarantee_facts(release.guarantee_, records)
        facts |= {"plan": plan_facts(release.plan_), "account": account_facts(account), "out": str(job.out)}
        facts |= {"anchor": str(ledger.anchor_path), "anchor_apart": ledger.is_apart}
        print_json(facts)
        return
    place = found_again(job.out, ledger=job.ledger, anchor=job.anchor, key=job.key)
    fields = {"guarantee": promise(release.guarantee_, records)} | plan_lines(release.plan_)
    is_drawn = isinstance(release.plan_, ClassifierPlan)
    secrets = "It holds no secrets" if is_drawn else "It holds secrets: keep it as the private records"
    if is_drawn and job.shows == "answers":
        secrets = "It holds the classifier: keep it from those who are to see answers alone"
    fields |= {
        "account": account_line(account),
        "release": f"{job.out}. {secrets}.",
        "anchor": f"{ledger.anchor_path}. It notices an older copy of the release: do not restore both together.",
        "next": f"pcqr ask {place} --queries queries.csv --out answers.csv",
    }
    Console().print(field_table(fields))
    warn_if_together(ledger.anchor_path, is_apart=ledger.is_apart)


def _show_plan(job: Fit, account: Account | None) -> None:
    """What `run` would make, and what can be expected of it. Of the private file: column names and n."""
    columns, records = public_size(job)
    names = label_names(job.labels, most=most_labels(job)) or (0, 1)
    check_label(columns, job.label)
    shown = read_shown(job, columns)
    shown.schema.encode(dict.fromkeys(columns, ()), drop=job.not_features, name=str(job.private))  # no record
    release = made_release(job, shown, _planned(job), names)
    public = shown.public if job.family.needs_public else None
    plan = release.plan(records, len(shown.schema.features), public, user_level=job.groups is not None)
    plan = replace(plan, guarantee=plan.guarantee.drawn_with(private_entropy=job.seed is None))
    lines = plan_lines(plan) | {"expected": _expected(plan)}
    facts = {"plan": plan_facts(plan), "expected_answers": plan.expected_answers}
    outlook = Outlook.of(job, account, plan.guarantee, records)
    end_dry_run(plan.guarantee, records, outlook, lines, facts, as_json=job.as_json)


def _expected(plan: VotingPlan | ClassifierPlan) -> str:
    if isinstance(plan, ClassifierPlan):
        return "no votes: one member of the class, drawn once, answers any number of queries"
    if isinstance(plan, UniversalPlan):
        return "votes first; then its classifier is published, and answers any number of queries"
    if plan.expected_answers is None:
        return "there is no model for this class"
    described = (
        f"about {rounded(plan.expected_answers):,} of m = {plan.queries:,} planned queries are expected to be "
        "answered, an estimate of the planner and no bound"
    )
    return f"{described}; {INSTEAD}" if is_short(plan) else described


def _planned(job: Fit) -> int:
    if job.planned_queries is None and job.publishes:
        raise ParameterError(
            "--planned-queries",
            "given for --algorithm universal with options of votes: so many are answered before it publishes",
            None,
        )
    return DEFAULT_QUERIES if job.planned_queries is None else job.planned_queries
