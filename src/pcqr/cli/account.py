"""Accounts, weak guarantees and dry runs, for every command that spends ε; and `pcqr account`."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pcqr.addresses import without_password
from pcqr.cli.console import (
    BAD_INPUT,
    complain,
    draw_into,
    error_fields,
    field_table,
    naming,
    open_table,
    print_json,
    warn,
    warn_if_together,
)
from pcqr.cli.jobs import AdoptAccount, CreateAccount, ListAccounts, ShowAccount
from pcqr.cli.options import Charging
from pcqr.durable.account import Account, Charge
from pcqr.durable.account.account import account_facts as terms_facts
from pcqr.durable.account.account import charge_facts, tally_facts
from pcqr.durable.account.filters import ConcentratedFilter, Tally, at_least, at_most, exact
from pcqr.durable.account.keeping import all_names, directory, found
from pcqr.errors import AccountExhausted, ParameterError, PcqrError, Undecided, WeakGuarantee
from pcqr.files import check_not_input, check_output
from pcqr.models.scoring import Scoring
from pcqr.plotting.pictures import draw_account
from pcqr.privacy.guarantee import WEAK_EPSILON, Guarantee
from pcqr.privacy.unit import RECORD, USER, Unit
from pcqr.releases.base.fitting import PrivateEstimator
from pcqr.releases.classifier.schema_release import SchemaRelease
from pcqr.releases.words import guarantee_facts, promise

NOTHING_REMEMBERED = "none (--no-account): nothing remembers what was spent"


def account_of(job: Charging, command: str) -> Account | None:
    """Return the account that a command charges, or None for --no-account. Reads nothing private."""
    if job.account is None:
        if job.account_anchor is not None:
            raise ParameterError("--account-anchor", "left out without --account", str(job.account_anchor))
        if not job.no_account and not job.dry_run:
            raise Undecided(
                "--account",
                "No account would remember what this run spends.",
                "Make one, once for each private table, by pcqr account create NAME --epsilon … --delta …, and add "
                "--account NAME. To spend without an account, add --no-account.",
            )
        return None
    if job.no_account:
        raise ParameterError("--no-account", "left out with --account", True)
    if job.seed is not None:
        raise ParameterError("--seed", "left out with --account: what is not private is not charged", job.seed)
    with naming(account="--account"):
        place = found(job.account)
    if isinstance(place, Path):
        check_not_input(place, job.inputs, option="--account")
    if job.account_anchor is not None:
        check_not_input(job.account_anchor, job.inputs, option="--account-anchor")
    with naming(account="--account"):
        return Account.open(job.account, anchor=job.account_anchor).on_behalf_of(command)


@contextmanager
def refusing_weak(job: Charging, epsilon: float) -> Iterator[None]:
    """Refuse a fit whose guarantee is weak, before it is charged, unless the job accepts it.

    A large ε is refused at once. Whether δ is too large depends on n: `fit` warns of it once n is known.
    """
    if job.accept_weak_guarantee:
        yield
        return
    if epsilon > WEAK_EPSILON:
        raise weak(Guarantee(epsilon, unit=RECORD if job.groups is None else USER).caveats())
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakGuarantee)
        try:
            yield
        except WeakGuarantee as warning:
            raise weak((str(warning),)) from None


def weak(caveats: tuple[str, ...]) -> Undecided:
    """Return the refusal of a guarantee with these caveats."""
    remedy = "Take a smaller ε or δ. To go on all the same, add --accept-weak-guarantee."
    return Undecided("--accept-weak-guarantee", " ".join(caveats), remedy)


def account_line(account: Account | None) -> str:
    """Return what remains of the account after a run, or that no account remembers it, as a line of the summary."""
    if account is None:
        return NOTHING_REMEMBERED
    return f"{account.name}: charged. Remaining: {account.amount_text(account.remaining, is_remaining=True)}"


def account_facts(account: Account | None) -> dict[str, Any] | None:
    """Return the name and place of the account and what remains, for JSON."""
    if account is None:
        return None
    return {
        "name": account.name,
        "place": account.place,
        "remaining": tally_facts(account, account.remaining, is_remaining=True),
    }


def charged_words(
    estimator: PrivateEstimator[Any] | Scoring | SchemaRelease | None, account: Account | None, price: str
) -> str:
    """Return a sentence on whether a run that ended early was charged, and to which account."""
    charged = estimator is not None and estimator.has_spent
    if charged is False:
        return "Nothing was spent" + ("." if account is None else f", and the account {account.name} was not charged.")
    if account is None:
        return f"This run has spent {price}, and no account remembers it."
    show = f"pcqr account show {shlex.quote(account.name)}"
    if charged is None:
        return f"The account {account.name} was being charged with {price}. To see whether it was: {show}."
    return f"This run was charged to the account {account.name}, {price}, and stays charged: {show}."


@dataclass(frozen=True)
class Outlook:
    """What a dry run found: what would remain of the account, or why the run would be refused."""

    account: Account | None
    after: Tally | None
    refusal: PcqrError | None

    @classmethod
    def of(cls, job: Charging, account: Account | None, guarantee: Guarantee, records: int) -> Outlook:
        caveats = () if job.accept_weak_guarantee else guarantee.caveats(records)
        refusal: PcqrError | None = weak(caveats) if caveats else None
        after = None
        if account is not None:
            try:
                after = account.remaining_after(guarantee)
            except AccountExhausted as exhausted:
                refusal = refusal or exhausted
        return cls(account, after, refusal)

    @property
    def line(self) -> str:
        if self.account is None:
            return "none named: a run that spends needs --account or --no-account"
        remaining = f"Remaining: {self.account.amount_text(self.account.remaining, is_remaining=True)}"
        if self.after is None:
            return f"{self.account.name} has NO room for it, so the run would be refused. {remaining}"
        after = self.account.amount_text(self.after, is_remaining=True)
        return f"{self.account.name} has room for it. {remaining}, and after it {after}"

    @property
    def facts(self) -> dict[str, Any] | None:
        if self.account is None:
            return None
        after = None if self.after is None else tally_facts(self.account, self.after, is_remaining=True)
        return (account_facts(self.account) or {}) | {"fits": self.after is not None, "remaining_after": after}


def end_dry_run(
    guarantee: Guarantee,
    records: int,
    outlook: Outlook,
    lines: Mapping[str, str],
    facts: Mapping[str, Any],
    *,
    as_json: bool,
) -> None:
    """Print what a dry run has found: `lines` for people, `facts` for --json. Exit 2 where the run would be refused."""
    if as_json:
        found = guarantee_facts(guarantee, records) | dict(facts) | {"account": outlook.facts, "dry_run": True}
        print_json(found | ({} if outlook.refusal is None else {"error": error_fields(outlook.refusal)}))
    else:
        fields = {"guarantee": promise(guarantee, records)} | dict(lines) | {"account": outlook.line}
        Console().print(field_table(fields | {"dry run": "nothing was spent or written"}))
        if outlook.refusal is not None:
            complain(f"The run would be refused. {outlook.refusal}")
    if outlook.refusal is not None:
        raise typer.Exit(BAD_INPUT)


# ---------------------------------------------------------------------------------------------------------------------
# `pcqr account`: the limit of what is spent on a private table, and what was spent.


# ---------------------------------------------------------------------------------------------------------------------
# `pcqr account`: the limit of what is spent on a private table, and what was spent.


_MOST_LINES = 40
"""Charges that are listed one by one; the picture and --json have all of them."""


def run_create(job: CreateAccount) -> None:
    """Make it, and say what it allows."""
    if job.unit == "record" and job.rows is not None:
        raise ParameterError("--rows", "left out with --unit record", job.rows)
    unit = Unit(job.unit, job.rows)
    if not job.accept_weak_guarantee and (caveats := Guarantee(job.epsilon, job.delta, unit=unit).caveats()):
        raise weak(caveats)
    with naming(account="NAME"):
        account = Account.create(
            job.place, job.epsilon, job.delta, filter=job.filter_name, unit=unit, anchor=job.anchor
        )
    if job.as_json:
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


def run_show(job: ShowAccount) -> None:
    """Show the terms, the charges with running sums and what remains, and draw a picture if `job` wants one."""
    if job.plot is not None:
        check_output(job.plot, inputs=(), overwrite=job.overwrite, option="--plot")
    with naming(account="NAME"):
        account = Account.open(job.place, anchor=job.anchor)
    if job.verify:
        account.verify()
    charges, remaining = account.charges, account.remaining
    if not account.is_confirmed:
        warn(f"the anchor of {account.name} is missing, so this may be an older copy (see pcqr account adopt).")
    picture, words = (None, "") if job.plot is None else draw_into(job.plot, lambda to: draw_account(to, account))
    if job.as_json:
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


def run_adopt(job: AdoptAccount) -> None:
    with naming(account="NAME"):
        account = Account.open(job.place, anchor=job.anchor, adopt=True, write_off=job.write_off)
    if job.as_json:
        print_json(_facts(account))
        return
    spent = f"{account.amount_text(account.spent)}, in {_counted(account.charges)}"
    adopted = "\n".join(map(str, account.adoptions)) or f"{account.place} has its anchor: there was nothing to adopt"
    remaining = account.amount_text(account.remaining, is_remaining=True)
    Console().print(
        field_table({"account": account.name, "adopted": adopted, "spent by it": spent, "remaining": remaining})
    )


def run_list(job: ListAccounts) -> None:
    accounts = [_or_error(name) for name in all_names()]
    if job.as_json:
        print_json({"directory": str(directory()), "accounts": [_listed(each) for each in accounts]})
        return
    if not accounts:
        Console().print(f"No account in {directory()}. To make one: pcqr account create NAME --epsilon … --delta …")
        return
    table = open_table(("account", "filter", "all together", "remaining", "charges"))
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
    return terms_facts(account) | {"confirmed": account.is_confirmed}
