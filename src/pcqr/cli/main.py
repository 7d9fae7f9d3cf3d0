"""The command line: one function a command, with its help. Its options are in `jobs`, the work is in a file of its own.

The commands' own modules are imported when they are called, so that `pcqr --help` does not wait for numpy.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pcqr import __version__
from pcqr.cli import account as account_jobs
from pcqr.cli import bench as bench_jobs
from pcqr.cli import jobs
from pcqr.cli import keys as key_jobs
from pcqr.cli import serve as service_jobs
from pcqr.cli.console import plain_terminal
from pcqr.cli.options import command


class _App(typer.Typer):
    """The commands, with output that any terminal can show."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        plain_terminal()
        return super().__call__(*given, **named)


app = _App(
    name="pcqr",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a decorated traceback may show local values, and those are private
)


accounts = typer.Typer(
    no_args_is_help=True,
    help="Keep count of what is spent on a private table, over all releases.",
    pretty_exceptions_enable=False,
)
app.add_typer(accounts, name="account")

keys = typer.Typer(
    no_args_is_help=True,
    help="Who may ask a server (pcqr serve), as what, and how much.",
    pretty_exceptions_enable=False,
)
app.add_typer(keys, name="keys")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"pcqr {__version__}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Answer classification queries on private records under differential privacy, then publish a classifier."""


@command(app, jobs.Answer)
def answer(job: jobs.Answer, /, *, as_json: bool) -> None:
    """Label the queries, one at a time. Each run is a new release and costs ε and δ anew.

    Columns hold numbers unless their categories are declared; nothing is ever read off the private records to find
    out. The answers have three columns: row (1 is the first query), label (empty where there is none) and kind.

    While they come they are in FILE.part.csv beside the output, each on disk before it is shown. Should the run be
    stopped, by Ctrl-C, a kill or a full disk, all that was given is there.

    A universal run writes its model as soon as that is published: pcqr predict applies it, at no cost.

    With --dry-run nothing is answered and nothing is spent.

    Exit codes: 0 done; 1 all answers are written, but the model could not be (it is printed), or a file beside it; 2
    bad input, or no room in the account, nothing was spent; 3 the release was exhausted before the last query (the
    answers given until then are in the output); 4 stopped before the end (the answers given until then are in
    FILE.part.csv).
    """
    from pcqr.cli.answer import run, show_plan  # noqa: PLC0415

    act = show_plan if job.dry_run else run
    act(job, as_json=as_json)


@command(app, jobs.Fit)
def fit(job: jobs.Fit, /, *, as_json: bool) -> None:
    """Prepare a release and keep it in a directory: it outlives this process, and pcqr ask answers from it.

    It publishes a classifier, which answers every query. Nothing has to be public but columns and their kinds. With
    --class, or --algorithm agnostic or subsamp, votes answer.

    ε and δ are spent here, whole. Asking adds nothing to them. The directory holds the log of all answers and, for
    votes, secrets (mode 0600, --key encrypts them). The last position of the log is kept apart (--anchor) to detect
    older copies.

    Exit codes: 0 done; 2 bad input, or no room in the account, nothing was spent; 4 stopped.
    """
    from pcqr.cli.fit import run  # noqa: PLC0415

    run(job, as_json=as_json)


@command(app, jobs.Ask)
def ask(job: jobs.Ask, /, *, as_json: bool) -> None:
    """Label queries by a release that pcqr fit has made. Adds nothing to ε and δ. Queries asked before are repeated.

    A new query may take one of the release's unstable answers. When they are used up, the release is exhausted for
    ever: a batch that is expected to do that is not asked without --yes. With --dry-run nothing is asked.

    The release is in a directory, or on a server that may be anywhere (pcqr serve). Each answer is on disk before it is
    shown. Should the run be stopped, the same command goes on where it was. The queries of a universal release become
    public with its classifier.

    Exit codes: 0 done; 2 bad input, a batch that needs --yes, or the release cannot be opened or reached: nothing was
    asked; 3 the release is exhausted, or our key has used up its quota, before the last query; 4 stopped before the
    end (the answers given until then are in FILE.part.csv, and in the release).
    """
    from pcqr.cli.ask import run  # noqa: PLC0415

    run(job, as_json=as_json)


@command(app, service_jobs.Serve)
def serve(job: service_jobs.Serve, /, *, as_json: bool) -> None:
    """Answer over HTTP: releases and published models, by the Open Inference Protocol v2 and by a page.

    Each answer is on disk before it is sent. Asking adds nothing to the ε and δ that pcqr fit has spent. A signal
    (Ctrl-C, SIGTERM) ends the server: what is in flight is answered first.

    Exit codes: 0 ended by a signal; 2 bad input, or something cannot be opened.
    """
    from pcqr.cli.serve import run  # noqa: PLC0415

    run(job, as_json=as_json)


@command(app, jobs.Status)
def status(job: jobs.Status, /, *, as_json: bool) -> None:
    """Show what a release has promised, what was asked and what remains. Reads no secret; a writer may be running.

    Exit codes: 0 done; 2 there is no release, or it cannot be believed.
    """
    from pcqr.cli.releases import run_status  # noqa: PLC0415

    run_status(job, as_json=as_json)


@command(app, jobs.Export)
def export(job: jobs.Export, /, *, as_json: bool) -> None:
    """Write the public part of a release: transcript.csv, how it is read (reading.json), guarantee.json and, once it is
    published, the model. `pcqr.transfer(DIRECTORY, learner)` trains a student on it, anywhere.

    The transcript has every query, as it was encoded, with its answer: whoever sees it sees what was asked.

    Exit codes: 0 done; 1 a file beside the model could not be written; 2 bad input, or there is no release.
    """
    from pcqr.cli.releases import run_export  # noqa: PLC0415

    run_export(job, as_json=as_json)


@command(app, jobs.Publish)
def publish(job: jobs.Publish, /, *, as_json: bool) -> None:
    """Publish a classifier that everybody may use. Each run is a new release and costs ε anew.

    Its predicates come from public rows (--public) or from a schema (--schema). With neither, a share of ε and δ buys
    them from the private records. Writes model.json, rules.txt, card.md and, with the extras plot and onnx, a picture
    (.svg) and model.onnx.

    model.json comes first: once the model is drawn, nothing comes between it and the disk.

    With --dry-run nothing is drawn and nothing is spent.

    Exit codes: 0 done; 1 the model was drawn and ε is spent, but a file beside it could not be written, or something
    else failed afterwards;
    2 bad input, or no room in the account, nothing was spent; 4 stopped (the message says whether a model was drawn).
    """
    from pcqr.cli.publish import run  # noqa: PLC0415

    run(job, as_json=as_json)


@command(app, jobs.Predict)
def predict(job: jobs.Predict, /, *, as_json: bool) -> None:
    """Apply a published model to a file. Costs nothing, however often; needs no private data.

    Columns are found by name, in any order. The predictions have the columns row (1 is the first) and label.

    Exit codes: 0 done; 2 bad input, nothing was written.
    """
    from pcqr.cli.predict import run  # noqa: PLC0415

    run(job, as_json=as_json)


@command(app, jobs.Score)
def score(job: jobs.Score, /, *, as_json: bool) -> None:
    """Score a published model on private records: accuracy, confusion matrix and AUC, with intervals. Costs ε anew.

    The records must be others than those that the model was fitted on. That cannot be checked. Each interval covers
    the noise and the sampling of the records. One whose label is missing or no class of the model counts as wrong.

    With --dry-run nothing is drawn and nothing is spent.

    Exit codes: 0 done; 1 the score was drawn and ε is spent, but --out could not be written; 2 bad input, or no room in
    the account, nothing was spent; 4 stopped (the message says whether ε was spent).
    """
    from pcqr.cli.predict import run_score as run  # noqa: PLC0415

    run(job, as_json=as_json)


@command(app, jobs.MakeSchema)
def schema(job: jobs.MakeSchema, /, *, as_json: bool) -> None:
    """Make a schema from public rows: which columns are numbers, their bounds, which categories the others have.

    The rows must be public, and running this declares that they are: the schema shows their smallest and largest
    numbers and their categories. Nothing is spent. Use it with --schema of fit, answer and publish.

    With --private the rows are private records, and ε is spent: cuts of numbers and dates, and categories of texts, are
    released with differential privacy. The file states its guarantee. It may be used in any number of later releases,
    which pay for what they add to it. Drop the label: each column takes a share of ε. With --dry-run nothing is spent.

    Exit codes: 0 done; 1 a private schema was drawn and ε is spent, but it could not be written (it is printed); 2 bad
    input, or no room in the account, nothing was written or spent; 4 stopped (the message says whether ε was spent).
    """
    from pcqr.cli.schema import run  # noqa: PLC0415

    run(job, as_json=as_json)


@command(app, jobs.Plan)
def plan(job: jobs.Plan, /, *, as_json: bool) -> None:
    """What do I get, with which command? For instance: pcqr plan --n 20000 --columns 12 --epsilon 1 --queries 500.

    Uses public numbers alone: nothing private is read and nothing is spent. Recommends one command, says what it gave
    on real tables, and shows the others beside it.

    With --class (or --vc): what is proved and what is expected for that class. Leave out any one or two of --n,
    --epsilon, --alpha and --queries, and they are solved for.

    Exit codes: 0 answered, feasible or not; 2 bad input.
    """
    from pcqr.cli.plan import run  # noqa: PLC0415

    run(job, as_json=as_json)


@command(app, jobs.Demo)
def demo(job: jobs.Demo, /, *, as_json: bool) -> None:
    """Show both main jobs on UCI Adult: publish a classifier, and answer one query at a time; compare them."""
    from pcqr.cli.demo import run  # noqa: PLC0415

    run(job, as_json=as_json)


@command(app, jobs.Audit)
def audit(job: jobs.Audit, /, *, as_json: bool) -> None:
    """Check, on this machine, that what is installed is as private as it claims, and that the check can fail.

    The exact law of small cases and many runs of the real code are compared with every claim. Every broken
    mechanism must be flagged. Nothing private is needed or touched.

    Exit codes: 0 all as expected; 1 something shipped was flagged, or a broken mechanism was not; 2 bad input.
    """
    from pcqr.cli.audit import run  # noqa: PLC0415

    run(job, as_json=as_json)


@command(app, bench_jobs.Bench)
def bench(job: bench_jobs.Bench, /, *, as_json: bool) -> None:
    """Compare: ours, the systems beside us and outside libraries, on the same data, at the same ε and δ.

    Each run is a process of its own and is stored when it ends; the same command goes on where it was stopped. Writes
    results.json (every run, with the command that makes it again), table.md and accuracy.png.

    Nothing here is private: runs are seeded, and accuracies are measured on rows of the table. Use data that you may
    look at.

    Exit codes: 0 done, also where a method failed, which its row says; 2 bad input; 4 stopped.
    """
    from pcqr.cli.bench import run  # noqa: PLC0415

    run(job, as_json=as_json)


@command(app, jobs.Datasets)
def datasets(_: jobs.Datasets, /, *, as_json: bool) -> None:
    """List the data sets that come with pcqr, with their sources and licences."""
    from pcqr.cli.demo import run_datasets as run  # noqa: PLC0415

    run(as_json=as_json)


@command(accounts, account_jobs.CreateAccount)
def create(job: account_jobs.CreateAccount, /, *, as_json: bool) -> None:
    """Make an account for a private table: what may ever be spent on it. Its terms are fixed for ever.

    Give its name as --account to every command that spends. What is charged stays charged, and what does not fit is
    refused before anything is drawn. One table, one account: nothing can see that two of them are about one table.

    Exit codes: 0 done; 2 bad input, nothing was written.
    """
    from pcqr.cli.account import run_create  # noqa: PLC0415

    run_create(job, as_json=as_json)


@command(accounts, account_jobs.ShowAccount)
def show(job: account_jobs.ShowAccount, /, *, as_json: bool) -> None:
    """Show what was spent, when and for what, and what remains. Nothing private is in an account.

    Exit codes: 0 done; 2 there is no such account, or it cannot be believed.
    """
    from pcqr.cli.account import run_show  # noqa: PLC0415

    run_show(job, as_json=as_json)


@command(accounts, account_jobs.AdoptAccount)
def adopt(job: account_jobs.AdoptAccount, /, *, as_json: bool) -> None:
    """Take an account that was moved or restored, and whose anchor is missing, to be the newest copy.

    The anchor is the account's last committed position, kept apart from it. Without an anchor, an older copy that has
    forgotten what was spent looks like the newest. The account records that you decided, and shows it for ever. With
    --write-off an older copy comes back, and all that remained of it counts as spent.

    Exit codes: 0 done; 2 there is no such account, or it is an older copy after all.
    """
    from pcqr.cli.account import run_adopt  # noqa: PLC0415

    run_adopt(job, as_json=as_json)


@command(accounts, account_jobs.ListAccounts, "list")
def list_accounts(_: account_jobs.ListAccounts, /, *, as_json: bool) -> None:
    """List all accounts that have a name, with what remains of each."""
    from pcqr.cli.account import run_list  # noqa: PLC0415

    run_list(as_json=as_json)


@command(keys, key_jobs.CreateKey, "create")
def create_key(job: key_jobs.CreateKey, /, *, as_json: bool) -> None:
    """Make a key and print it, once: the file keeps its hash alone. A name is for ever, also when it is revoked.

    Limits hold for each release and for good: repeated queries are free, and what is used up stays used up.

    Exit codes: 0 done; 2 bad input, nothing was written.
    """
    from pcqr.cli.keys import run_create  # noqa: PLC0415

    run_create(job, as_json=as_json)


@command(keys, key_jobs.ListKeys, "list")
def list_keys(job: key_jobs.ListKeys, /, *, as_json: bool) -> None:
    """All keys with their roles and limits, the revoked ones too.

    Exit codes: 0 done; 2 the file cannot be read or believed.
    """
    from pcqr.cli.keys import run_list  # noqa: PLC0415

    run_list(job, as_json=as_json)


@command(keys, key_jobs.LimitKey, "limit")
def limit_key(job: key_jobs.LimitKey, /, *, as_json: bool) -> None:
    """Change the quotas of a key, up or down. A running server notices.

    What was used stays used: a key whose limit is lowered below that gets nothing new.

    Exit codes: 0 done; 2 there is no such key, or no limit was given.
    """
    from pcqr.cli.keys import run_limit  # noqa: PLC0415

    run_limit(job, as_json=as_json)


@command(keys, key_jobs.RenewKey, "renew")
def renew_key(job: key_jobs.RenewKey, /, *, as_json: bool) -> None:
    """Make another key for a name, and print it, once: the old one lets nobody in any more, lost or revoked.

    Role, limits and what was used stay with the name; whoever has the new key sees the answers that were given under
    it. A server that runs notices at its next request.

    Exit codes: 0 done; 2 there is no such key.
    """
    from pcqr.cli.keys import run_renew  # noqa: PLC0415

    run_renew(job, as_json=as_json)


@command(keys, key_jobs.RevokeKey, "revoke")
def revoke_key(job: key_jobs.RevokeKey, /, *, as_json: bool) -> None:
    """Let nobody in with this key any more. A server that runs notices at its next request.

    Exit codes: 0 done, also where it was revoked before; 2 there is no such key.
    """
    from pcqr.cli.keys import run_revoke  # noqa: PLC0415

    run_revoke(job, as_json=as_json)
