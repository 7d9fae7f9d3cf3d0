"""The command line: its commands and how a job becomes one.

The work of a command is in a module of its own, imported when it is called: `pcqr --help` does not wait for numpy.
"""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, fields
from typing import Annotated, Any, get_args, get_type_hints

import typer

from pcqr import __version__, registry
from pcqr.cli import jobs
from pcqr.cli.console import plain_terminal, reporting, to_the_end
from pcqr.cli.options import Job, option_of


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


def command(app: typer.Typer, name: str, job: type[Job], work: str) -> None:
    """Register `work`, a "module:function" of this folder, as a command: its options are the fields of `job`.

    The docstring of `job` is the help. `work` is imported when it is called, with the job that was typed. Options
    come in the order of declaration, those of a class before those of its bases, and the ones that have no default
    before all others.
    """
    hints, declared = get_type_hints(job, include_extras=True), {each.name: each for each in fields(job)}
    names = dict.fromkeys(each for cls in job.__mro__ for each in vars(cls).get("__annotations__", {}))
    options = [_keyword(declared[each], hints[each]) for each in names if each in declared]

    def called(**given: Any) -> None:
        typed = job(**given)
        with reporting(as_json=typed.as_json), to_the_end():
            registry.resolve(f"pcqr.cli.{work}")(typed)

    called.__name__, called.__doc__ = name, _unwrapped(inspect.cleandoc(job.__doc__ or ""))
    called.__annotations__ = {option.name: option.annotation for option in options}
    options.sort(key=lambda option: option.default is not inspect.Parameter.empty)
    called.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]  # what typer reads
    app.command(name)(called)


def _unwrapped(text: str) -> str:
    """One line a paragraph: the terminal breaks lines, not the source."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _keyword(declared: Field[Any], annotation: Any) -> inspect.Parameter:
    """Return the parameter that typer reads. What is annotated with a text is an option with this help."""
    kind, said = get_args(annotation)
    if isinstance(said, str):
        annotation = Annotated[kind, typer.Option(option_of(declared.name), help=said)]
    default = inspect.Parameter.empty if declared.default is MISSING else declared.default
    if declared.default_factory is not MISSING:
        default = declared.default_factory()
    return inspect.Parameter(declared.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


_COMMANDS: tuple[tuple[typer.Typer, str, type[Job], str], ...] = (
    (app, "answer", jobs.Answer, "answer:run"),
    (app, "fit", jobs.Fit, "fit:run"),
    (app, "ask", jobs.Ask, "ask:run"),
    (app, "serve", jobs.Serve, "server:run"),
    (app, "status", jobs.Status, "releases:run_status"),
    (app, "export", jobs.Export, "releases:run_export"),
    (app, "publish", jobs.Publish, "publish:run"),
    (app, "predict", jobs.Predict, "predict:run"),
    (app, "score", jobs.Score, "predict:run_score"),
    (app, "schema", jobs.MakeSchema, "schema:run"),
    (app, "plan", jobs.Plan, "plan:run"),
    (app, "demo", jobs.Demo, "demo:run"),
    (app, "audit", jobs.Audit, "audit:run"),
    (app, "bench", jobs.Bench, "bench:run"),
    (app, "datasets", jobs.Datasets, "demo:run_datasets"),
    (accounts, "create", jobs.CreateAccount, "account:run_create"),
    (accounts, "show", jobs.ShowAccount, "account:run_show"),
    (accounts, "adopt", jobs.AdoptAccount, "account:run_adopt"),
    (accounts, "list", jobs.ListAccounts, "account:run_list"),
    (keys, "create", jobs.CreateKey, "server:run_create"),
    (keys, "list", jobs.ListKeys, "server:run_list"),
    (keys, "limit", jobs.LimitKey, "server:run_limit"),
    (keys, "renew", jobs.RenewKey, "server:run_renew"),
    (keys, "revoke", jobs.RevokeKey, "server:run_revoke"),
)
for _app, _name, _job, _work in _COMMANDS:
    command(_app, _name, _job, _work)
