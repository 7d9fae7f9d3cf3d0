"""`pcqr fit`: a release that is kept in a directory, for `pcqr ask`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from pcqr import AssumePublic, registry
from pcqr.cli.console import complain, fail, field_table, print_json, progress, stages, warn_if_together
from pcqr.cli.inputs import Points, Shown, check_label, label_names, public_size, read_inputs, read_shown
from pcqr.cli.jobs import Fit
from pcqr.cli.keeping import Price
from pcqr.cli.releases import found_again, made_release, most_labels
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
from pcqr.errors import ParameterError
from pcqr.files import check_not_input, check_outside_releases
from pcqr.plan import ClassifierPlan, UniversalPlan, VotingPlan
from pcqr.plan.words import guarantee_facts, plan_facts, plan_lines, promise
from pcqr.planning.expected.shortfall import INSTEAD, is_short, rounded
from pcqr.release.account import Account
from pcqr.release.durable.directory import rehearse
from pcqr.release.ledger import Ledger
from pcqr.release.ledger.opening import is_address, written_place

COMMAND = "pcqr fit"
DEFAULT_QUERIES = 300


def run(job: Fit, *, as_json: bool) -> None:
    """Read, check, fit, keep, summarise. Whatever can be refused is refused before the fit."""
    check_not_input(job.out, job.inputs)
    check_outside_releases(job.out.absolute().parent)
    if job.ledger is not None and not is_address(job.ledger):
        check_not_input(Path(written_place(job.ledger)), job.inputs, option="--ledger")
    if job.anchor is not None:
        check_not_input(job.anchor, job.inputs, option="--anchor")
    if job.cautious and job.publishes:
        raise ParameterError("--cautious", "left out for --algorithm universal, whose draw cannot be announced", True)
    rehearse(job.out, ledger=job.ledger, anchor=job.anchor, key=job.key, cautious=job.cautious)
    account = account_of(job, COMMAND)
    if job.dry_run:
        _show_plan(job, account, as_json=as_json)
        return
    price = str(Price(job.epsilon, job.delta))
    release: Any = None
    is_kept = False
    with refusing_weak(job, job.epsilon), Signals() as signals:
        try:
            inputs = read_inputs(job, most_labels=most_labels(job), categories=job.categories)
            release = made_release(job, inputs.shown, _planned(job), inputs.names).set_params(account=account)
            with progress(hidden=as_json) as bar, stages(bar, "fitting"):
                release.fit(
                    inputs.table, inputs.y, public=AssumePublic(_public(job, inputs.shown)), groups=inputs.groups
                )
            release.schema_ = inputs.shown.schema  # by which the table was read
            with signals.held():
                release.save(job.out, ledger=job.ledger, anchor=job.anchor, key=job.key, cautious=job.cautious)
                is_kept = True
            ledger = release.book().ledger
            release.close()
            _summarise(job, release, ledger, inputs.records, account, as_json=as_json)
        except BaseException as cause:
            kept = f"The release is in {job.out}." if is_kept else f"Nothing is kept in {job.out}."
            said = f"{reason(cause)}. {kept} {charged_words(release, account, price)}"
            if isinstance(cause, FROM_OUTSIDE):
                fail(said, cause, as_json=as_json)
                raise typer.Exit(STOPPED) from None
            if hasattr(release, "plan_"):
                complain(said)
            raise


def _summarise(job: Fit, release: Any, ledger: Ledger, records: int, account: Account | None, *, as_json: bool) -> None:
    if as_json:
        facts = guarantee_facts(release.guarantee_, records)
        facts |= {"plan": plan_facts(release.plan_), "account": account_facts(account), "out": str(job.out)}
        facts |= {"anchor": str(ledger.anchor_path), "anchor_apart": ledger.is_apart}
        print_json(facts)
        return
    place = found_again(job.out, ledger=job.ledger, anchor=job.anchor, key=job.key)
    fields = {"guarantee": promise(release.guarantee_, records)} | plan_lines(release.plan_)
    is_drawn = isinstance(release.plan_, ClassifierPlan)
    secrets = "It holds no secrets" if is_drawn else "It holds secrets: keep it as the private records"
    fields |= {
        "account": account_line(account),
        "release": f"{job.out}. {secrets}.",
        "anchor": f"{ledger.anchor_path}. It notices an older copy of the release: do not restore both together.",
        "next": f"pcqr ask {place} --queries queries.csv --out answers.csv",
    }
    Console().print(field_table(fields))
    warn_if_together(ledger.anchor_path, is_apart=ledger.is_apart)


def _public(job: Fit, shown: Shown) -> Points | None:
    return shown.public if registry.hypothesis_class(job.class_name).needs_public else None


def _show_plan(job: Fit, account: Account | None, *, as_json: bool) -> None:
    """What `run` would make, and what can be expected of it. Of the private file: column names and n."""
    columns, records = public_size(job)
    names = label_names(job.labels, most=most_labels(job)) or (0, 1)
    check_label(columns, job.label)
    shown = read_shown(job, columns, categories=job.categories)
    shown.schema.encode(dict.fromkeys(columns, ()), drop=job.not_features, name=str(job.private))  # no record
    release = made_release(job, shown, _planned(job), names)
    plan = release.plan(records, len(shown.schema.features), _public(job, shown), persons=job.person is not None)
    plan = replace(plan, guarantee=plan.guarantee.drawn_with(private_entropy=job.seed is None))
    lines = plan_lines(plan) | {"expected": _expected(plan)}
    facts = {"plan": plan_facts(plan), "expected_answers": plan.expected_answers}
    outlook = Outlook.of(job, account, plan.guarantee, records)
    end_dry_run(plan.guarantee, records, outlook, lines, facts, as_json=as_json)


def _expected(plan: VotingPlan | ClassifierPlan) -> str:
    if isinstance(plan, ClassifierPlan):
        return "no votes: one member of the class, drawn once, answers any number of queries"
    if isinstance(plan, UniversalPlan):
        return "votes first; then its classifier is published, and answers any number of queries"
    if plan.expected_answers is None:
        return "there is no model for this class"
    told = (
        f"about {rounded(plan.expected_answers):,} of m = {plan.queries:,} planned queries are expected to be "
        "answered, an estimate of the planner and no bound"
    )
    return f"{told}; {INSTEAD}" if is_short(plan) else told


def _planned(job: Fit) -> int:
    if job.planned_queries is None and job.publishes:
        raise ParameterError(
            "--planned-queries", "given for --algorithm universal: so many are answered before it publishes", None
        )
    return DEFAULT_QUERIES if job.planned_queries is None else job.planned_queries
