"""The options of `pcqr account`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pcqr.addresses import without_password
from pcqr.cli.console import draw_into, field_table, print_json, warn, warn_if_together
from pcqr.cli.options import AcceptWeakGuarantee, OfAccountAnchor, Overwrite, Place
from pcqr.cli.spending import naming_account, weak
from pcqr.durable.account import Account, Charge
from pcqr.durable.account.account import account_facts, charge_facts
from pcqr.durable.account.filters import ConcentratedFilter, Tally, at_least, at_most, exact
from pcqr.durable.account.keeping import directory, known
from pcqr.errors import ParameterError, PcqrError
from pcqr.files import check_output
from pcqr.plotting.pictures import draw_account
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.unit import Unit


@dataclass(frozen=True, kw_only=True)
class CreateAccount:
    """Of `pcqr account create`."""

    place: Annotated[
        str,
        typer.Argument(
            help="A name, for the user's data directory (or PCQR_DATA_DIR), or a path that ends in .account.",
            metavar="NAME",
        ),
    ]
    epsilon: Annotated[float, typer.Option(help="ε that all releases on the table together may have.")]
    delta: Annotated[float, typer.Option(help="δ that they may have, far below 1/n; 0 is possible with basic.")]
    filter_name: Annotated[
        Literal["basic", "zcdp"],
        typer.Option(
            "--filter",
            help="How releases add up. basic: ε and δ do. zcdp: ρ, about ε²/2 or less, and δ do: better for many small "
            "releases, worse for a few large ones.",
        ),
    ] = "basic"
    unit: Annotated[
        Literal["record", "user"],
        typer.Option(help="Whom it protects: one row, or all rows of a person. Releases about another are refused."),
    ] = "record"
    rows: Annotated[
        int | None,
        typer.Option("--rows", min=1, help="With --unit user: the most rows that one has. Default: any number."),
    ] = None
    anchor: OfAccountAnchor = None
    accept_weak_guarantee: AcceptWeakGuarantee = False


@dataclass(frozen=True, kw_only=True)
class ShowAccount:
    """Of `pcqr account show`."""

    place: Place
    anchor: OfAccountAnchor = None
    plot: Annotated[Path | None, typer.Option(help="Draw what was spent when, and for what: .svg, .png, .pdf.")] = None
    verify: Annotated[bool, typer.Option("--verify", help="Check every entry of the file, not only the last.")] = False
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class AdoptAccount:
    """Of `pcqr account adopt`."""

    place: Place
    anchor: OfAccountAnchor = None
    write_off: Annotated[
        bool,
        typer.Option(
            "--write-off",
            help="Adopt an older copy, too: all that remained of it counts as spent, and nothing more can be charged.",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class ListAccounts:
    """Of `pcqr account list`: none."""


# ---------------------------------------------------------------------------------------------------------------------
# `pcqr account`: the limit of what is spent on a private table, and what was spent.


_MOST_LINES = 40
"""Charges that are listed one by one; the picture and --json have all of them."""


def run_create(job: CreateAccount, *, as_json: bool) -> None:
    """Make it, and say what it allows."""
    if job.unit == "record" and job.rows is not None:
        raise ParameterError("--rows", "left out with --unit record", job.rows)
    unit = Unit(job.unit, job.rows)
    if not job.accept_weak_guarantee and (caveats := Guarantee(job.epsilon, job.delta, unit=unit).caveats()):
        raise weak(caveats)
    with naming_account("NAME"):
        account = Account.create(
            job.place, job.epsilon, job.delta, filter=job.filter_name, unit=unit, anchor=job.anchor
        )
    if as_json:
        print_json(_facts(account))
        return
    named = shlex.quote(without_password(job.place))
    Console().print(
        field_table(
            _terms(account)
            | {
                "room for": _room(account, account.remaining),
                "use it": f"pcqr fit … --account {named}, and so with pcqr publish and pcqr answer: all that spend",
                "see it": f"pcqr account show {named}",
            }
        )
    )
    anchor, is_apart = account.anchor
    warn_if_together(anchor, is_apart=is_apart)


def run_show(job: ShowAccount, *, as_json: bool) -> None:
    """Show the terms, the charges with running sums and what remains, and draw a picture if `job` wants one."""
    if job.plot is not None:
        check_output(job.plot, inputs=(), overwrite=job.overwrite, option="--plot")
    with naming_account("NAME"):
        account = Account.open(job.place, anchor=job.anchor)
    if job.verify:
        account.verify()
    charges, remaining = account.charges, account.remaining
    if not account.is_confirmed:
        warn(f"the anchor of {account.name} is missing, so this may be an older copy (see pcqr account adopt).")
    picture, words = (None, "") if job.plot is None else draw_into(job.plot, lambda to: draw_account(to, account))
    if as_json:
        facts = _facts(account) | {"charges": [charge_facts(account, charge) for charge in charges]}
        print_json(facts | ({} if job.plot is None else {"plot": None if picture is None else str(picture)}))
        return
    console = Console()
    is_written_off = any(each.is_written_off for each in account.adoptions)
    rest = ", and all that remained is written off" if is_written_off else ""
    spent = f"{account.amount_text(account.filter.limit - remaining)}, in {_counted(charges)}{rest}"
    now = {
        "spent": spent,
        "remaining": account.amount_text(remaining, is_remaining=True),
        "room for": _room(account, remaining),
    }
    console.print(field_table(_terms(account) | now))
    if charges:
        console.print(_table(account, charges))
    if words:
        console.print(Text(words))
    anchor, is_apart = account.anchor
    warn_if_together(anchor, is_apart=is_apart)


def run_adopt(job: AdoptAccount, *, as_json: bool) -> None:
    with naming_account("NAME"):
        account = Account.open(job.place, anchor=job.anchor, adopt=True, write_off=job.write_off)
    if as_json:
        print_json(_facts(account))
        return
    spent = f"{account.amount_text(account.spent)}, in {_counted(account.charges)}"
    adopted = "\n".join(map(str, account.adoptions)) or f"{account.place} has its anchor: there was nothing to adopt"
    remaining = account.amount_text(account.remaining, is_remaining=True)
    Console().print(
        field_table({"account": account.name, "adopted": adopted, "spent by it": spent, "remaining": remaining})
    )


def run_list(*, as_json: bool) -> None:
    accounts = [_or_error(name) for name in known()]
    if as_json:
        print_json({"directory": str(directory()), "accounts": [_listed(each) for each in accounts]})
        return
    if not accounts:
        Console().print(f"No account in {directory()}. To make one: pcqr account create NAME --epsilon … --delta …")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("account", "filter", "all together", "remaining", "charges"):
        table.add_column(title)
    for name, account in accounts:
        if isinstance(account, Account):
            limit = f"ε = {account.epsilon:.12g}, δ = {account.delta:.12g}"
            remaining = account.amount_text(account.remaining, is_remaining=True)
            remaining += "" if account.is_confirmed else " (NO ANCHOR)"
            remaining += " (adopted)" if account.adoptions else ""
            table.add_row(name, account.filter.name, limit, remaining, f"{len(account.charges):,}")
        else:
            table.add_row(name, "", Text(str(account)))
    Console().print(table)


def _or_error(name: str) -> tuple[str, Account | PcqrError]:
    try:
        return name, Account.open(name)
    except PcqrError as error:
        return name, error


def _listed(found: tuple[str, Account | PcqrError]) -> dict[str, Any]:
    name, account = found
    return _facts(account) if isinstance(account, Account) else {"account": name, "error": str(account)}


def _terms(account: Account) -> dict[str, str]:
    limit = account.filter.limit
    rule = f"{account.filter.name}: {account.filter.symbol} and δ of all releases add up"
    if isinstance(account.filter, ConcentratedFilter):
        rule += (
            f", to at most ρ = {at_most(limit.loss)} and δ = {at_most(limit.delta)}. The other "
            f"δ = {account.filter.conversion:.6g} pays for turning ρ into ε, once"
        )
    adoptions = account.adoptions
    assumed = "".join(f" This assumes that {each.assumption}." for each in adoptions)
    terms = {
        "account": account.name,
        "kept in": account.place,
        "id": account.id,
        "anchor": str(account.anchor[0]),
        "promise": f"All releases charged to it are together ({account.epsilon:.12g}, {account.delta:.12g})-"
        f"differentially private under '{account.unit.adjacency}', although each may depend on those before.{assumed}",
        "filter": rule,
        "made": account.created,
    }
    return terms | ({"adopted": "\n".join(map(str, adoptions))} if adoptions else {})


def _room(account: Account, remaining: Tally) -> str:
    """What still fits, in words, for releases that are known by their ε."""
    parts = []
    for count in (1, 10, 100):
        largest = account.filter.largest_epsilon(Tally(remaining.loss / count, remaining.delta / count))
        parts.append(f"one of ε = {largest}" if count == 1 else f"{count} of ε = {largest}")
    delta = f", with δ = {at_most(remaining.delta)} in all" if remaining.delta else ", pure ones"
    return f"{', or '.join(parts)}{delta}" if remaining.loss > 0 else "nothing more"


def _table(account: Account, charges: Sequence[Charge]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    symbol = account.filter.symbol
    concentrated = ("ρ",) if symbol == "ρ" else ()
    for title in ("#", "when (UTC)", "what", "ε", "δ", *concentrated, f"Σ{symbol}", "Σδ", f"{symbol} left"):
        is_text = title in ("when (UTC)", "what")
        table.add_column(title, justify="left" if is_text else "right", no_wrap=title != "what", overflow="fold")
    spent = Tally()
    hidden = len(charges) - _MOST_LINES
    for charge in charges:
        spent += charge.price
        if charge.number <= hidden:
            continue
        rho = (at_least(charge.price.loss, 4),) if concentrated else ()
        table.add_row(
            f"{charge.number:,}",
            charge.time.removesuffix("+00:00").replace("T", "\n"),
            Text(_described(charge)),
            at_least(exact(charge.epsilon), 4),
            at_least(exact(charge.delta), 3),
            *rho,
            at_least(spent.loss, 4),
            at_least(spent.delta, 3),
            at_most(account.filter.limit.loss - spent.loss, 4),
        )
    if hidden > 0:
        table.title = f"The last {_MOST_LINES} of {len(charges):,} charges; --json has all of them"
    return table


def _described(charge: Charge) -> str:
    """What was run, in a line."""
    by, hypotheses, records = (charge.facts.get(name) for name in ("by", "hypotheses", "records"))
    size = f"n = {records:,}" if isinstance(records, int) else None
    return ", ".join(str(part) for part in (by, charge.what, hypotheses, size) if part)


def _counted(charges: Sequence[Charge]) -> str:
    return "1 charge" if len(charges) == 1 else f"{len(charges):,} charges"


def _facts(account: Account) -> dict[str, Any]:
    return account_facts(account) | {"confirmed": account.is_confirmed}
