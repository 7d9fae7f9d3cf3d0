"""Accounts, weak guarantees and dry runs, for every command that spends ε."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from pcqr.cli.console import BAD_INPUT, complain, error_fields, field_table, print_json
from pcqr.cli.jobs import Charging
from pcqr.durable.account import Account
from pcqr.durable.account.account import tally_facts
from pcqr.durable.account.filters import Tally
from pcqr.durable.account.keeping import found
from pcqr.errors import AccountExhausted, ParameterError, PcqrError, Undecided, WeakGuarantee
from pcqr.files import check_not_input
from pcqr.models.scoring import Scoring
from pcqr.privacy.guarantee import WEAK_EPSILON, Guarantee
from pcqr.privacy.unit import RECORD, USER
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
    with naming_account("--account"):
        place = found(job.account)
    if isinstance(place, Path):
        check_not_input(place, job.inputs, option="--account")
    if job.account_anchor is not None:
        check_not_input(job.account_anchor, job.inputs, option="--account-anchor")
    with naming_account("--account"):
        return Account.open(job.account, anchor=job.account_anchor).on_behalf_of(command)


@contextmanager
def naming_account(option: str) -> Iterator[None]:
    """Name `option`, by which the account was given, in errors about the account."""
    try:
        yield
    except ParameterError as error:
        if error.name != "account":
            raise
        raise ParameterError(option, error.allowed, error.received) from None


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
        amount_text = guarantee_facts(guarantee, records) | dict(facts) | {"account": outlook.facts, "dry_run": True}
        print_json(amount_text | ({} if outlook.refusal is None else {"error": error_fields(outlook.refusal)}))
    else:
        fields = {"guarantee": promise(guarantee, records)} | dict(lines) | {"account": outlook.line}
        Console().print(field_table(fields | {"dry run": "nothing was spent or written"}))
        if outlook.refusal is not None:
            complain(f"The run would be refused. {outlook.refusal}")
    if outlook.refusal is not None:
        raise typer.Exit(BAD_INPUT)
