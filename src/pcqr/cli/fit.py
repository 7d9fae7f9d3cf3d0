"""`pcqr fit`: a release that is kept in a directory, for `pcqr ask`."""

from __future__ import annotations

import shlex
from typing import Any

from rich.console import Console

from pcqr import SurelyPublic, registry
from pcqr.cli.account import account_facts, account_line, account_of, stays_charged
from pcqr.cli.console import complain, field_table, print_json, progress, stages
from pcqr.cli.inputs import read_inputs
from pcqr.cli.jobs import Fit
from pcqr.cli.releases import made_release
from pcqr.cli.stopping import Signals
from pcqr.errors import ParameterError
from pcqr.files import check_not_input
from pcqr.plan.words import guarantee_facts, plan_facts, plan_lines, promise
from pcqr.release.durable.directory import rehearse

COMMAND = "pcqr fit"
DEFAULT_QUERIES = 300


def run(job: Fit, *, as_json: bool) -> None:
    """Read, check, fit, keep, summarise. Whatever can be refused is refused before the fit."""
    check_not_input(job.out, job.inputs)
    if job.cautious and job.publishes:
        raise ParameterError("--cautious", "left out for --algorithm universal, whose draw cannot be announced", True)
    rehearse(job.out, ledger=job.ledger, head=job.head, key=job.key, cautious=job.cautious)
    account = account_of(job, COMMAND)
    inputs = read_inputs(job, most_labels=2, categories=job.categories)
    release: Any = made_release(job, inputs.shown, _planned(job), inputs.names).set_params(account=account)
    release_kept = False
    with Signals() as signals:
        try:
            with progress(hidden=as_json) as bar, stages(bar, "fitting"):
                public = inputs.shown.public if registry.hypothesis_class(job.class_name).needs_public else None
                release.fit(inputs.table, inputs.y, public=SurelyPublic(public))
            release.schema_ = inputs.shown.schema  # by which the table was read
            with signals.held():
                release.save(job.out, ledger=job.ledger, head=job.head, key=job.key, cautious=job.cautious)
                release_kept = True
            release.close()
        except BaseException:
            if hasattr(release, "plan_") and not release_kept:
                complain(f"The release was prepared and could not be kept in {job.out}.{stays_charged(account)}")
            raise
    if as_json:
        facts = guarantee_facts(release.guarantee_, inputs.records)
        facts |= {"plan": plan_facts(release.plan_), "account": account_facts(account), "out": str(job.out)}
        print_json(facts)
        return
    fields = {"guarantee": promise(release.guarantee_, inputs.records)} | plan_lines(release.plan_)
    place = shlex.quote(str(job.out))
    fields |= {
        "account": account_line(account),
        "release": f"{job.out}. It holds secrets: keep it as the private records.",
        "next": f"pcqr ask {place} --queries queries.csv --out answers.csv",
    }
    Console().print(field_table(fields))


def _planned(job: Fit) -> int:
    if job.planned_queries is None and job.publishes:
        raise ParameterError(
            "--planned-queries", "given for --algorithm universal: so many are answered before it publishes", None
        )
    return DEFAULT_QUERIES if job.planned_queries is None else job.planned_queries
