"""An account on disk: charged once and for ever, by any number of processes, and never beyond its cap."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import shutil
import signal
import sqlite3
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pcqr.durable.account import Account
from pcqr.durable.account import account as entries
from pcqr.durable.account.filters import BasicFilter, Tally
from pcqr.durable.ledger import create_ledger, opening
from pcqr.durable.ledger.store import TURN, watched
from pcqr.errors import (
    AccountExhausted,
    AccountReplaced,
    AnchorMissing,
    LedgerDamaged,
    LedgerError,
    LedgerRolledBack,
    NotALedger,
    OtherVersion,
    ParameterError,
)
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.unit import PRESENCE, RECORD, USER, Unit

pytestmark = pytest.mark.usefixtures("home")
FORK = multiprocessing.get_context("fork")
SMALL = Guarantee(0.1, 1e-7)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader waits for a writer to confirm its last turn; killed ones never do."""
    monkeypatch.setattr(opening, "PATIENCE", 0.05)


@pytest.fixture
def account() -> Account:
    return Account.create("hospital", 1.0, 1e-5)


def test_it_remembers_what_was_charged_for_what(account: Account) -> None:
    account.charge(Guarantee(0.5, 1e-6), "AgnosticRelease", records=1_000, hypotheses="Stumps")
    account.charge(Guarantee(0.25), "a table of counts")
    again = Account.open("hospital")
    first, second = again.charges
    assert (first.number, first.what, first.epsilon, first.delta) == (1, "AgnosticRelease", 0.5, 1e-6)
    assert first.facts == {"records": 1_000, "hypotheses": "Stumps"}
    assert (second.number, second.what, second.delta, second.facts) == (2, "a table of counts", 0.0, {})
    assert first.time.endswith("+00:00")
    assert again.spent == Tally(Fraction(3, 4), Fraction(1, 10**6))
    assert again.remaining == Tally(Fraction(1, 4), Fraction(9, 10**6))
    assert (again.epsilon, again.delta, again.unit, again.filter) == (1.0, 1e-5, RECORD, account.filter)
    again.verify()
    assert again.is_confirmed


@pytest.mark.parametrize("name", ["basic", "zcdp"])
def test_what_does_not_fit_is_refused_and_costs_nothing(name: str) -> None:
    account = Account.create("hospital", 1.0, 1e-5, filter=name)
    largest = float(account.filter.largest_epsilon(account.remaining))
    account.charge(Guarantee(largest), "most of it")
    before = account.spent
    with pytest.raises(AccountExhausted, match=r"hospital has no room .* Nothing was drawn, and nothing was charged"):
        account.charge(Guarantee(0.05), "more")
    with pytest.raises(AccountExhausted):
        account.charge(Guarantee(0.0, 1e-5 + 1e-12), "all of δ, and a little more")
    assert account.spent == before
    assert len(account.charges) == 1
    assert account.covers(Guarantee(0.0, 1e-7))
    assert not account.covers(Guarantee(0.05))


def test_a_rho_counts_where_the_filter_does(account: Account) -> None:
    account.charge(Guarantee(0.5, 1e-6, rho=0.01), "linear")
    assert account.spent == Tally(Fraction(1, 2), Fraction(1, 10**6))
    other = Account.create("other", 1.0, 1e-5, filter="zcdp")
    other.charge(Guarantee(0.5, 1e-6, rho=0.01), "linear")
    assert other.spent == Tally(Fraction(1, 100))
    assert Account.open("other").filter == other.filter


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.floats(0, 0.7), st.floats(0, 6e-6)), max_size=5), st.sampled_from(["basic", "zcdp"]))
def test_whatever_is_asked_for_it_stays_within_its_limit(
    home: Path, asked: list[tuple[float, float]], name: str
) -> None:
    place = home / "random.account"
    place.unlink(missing_ok=True)
    account = Account.create(place, 1.0, 1e-5, filter=name)
    expected = Tally()
    for epsilon, delta in asked:
        price = account.filter.price(Guarantee(epsilon, delta))
        fits = account.covers(Guarantee(epsilon, delta))
        assert fits == (expected + price).within(account.filter.limit)
        if fits:
            account.charge(Guarantee(epsilon, delta), "x")
            expected += price
        else:
            with pytest.raises(AccountExhausted):
                account.charge(Guarantee(epsilon, delta), "x")
    assert account.spent == expected
    assert expected.within(account.filter.limit)


def test_another_unit_and_a_seeded_run_are_refused(account: Account) -> None:
    user_level = Account.create("persons", 1.0, 1e-5, unit=Unit.user(5))
    assert Account.open("persons").unit == Unit.user(5)
    for charged, unit in ((account, Unit.user(5)), (user_level, RECORD), (user_level, Unit.user(4))):
        for act in (charged.covers, lambda guarantee, to=charged: to.charge(guarantee, "x")):
            with pytest.raises(ParameterError, match="the account's unit"):
                act(Guarantee(0.1, unit=unit))
    with pytest.raises(ParameterError, match="seeded"):
        account.charge(Guarantee(0.1, is_private=False), "x")
    assert account.charges == user_level.charges == ()


# Names ----------------------------------------------------------------------------------------------------------------


def test_a_name_and_a_path_lead_to_it(account: Account, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = home / "data" / "accounts" / "hospital.account"
    assert account.place == str(place)
    assert account.name == "hospital"
    account.charge(SMALL, "x")
    assert len(Account.open(place).charges) == 1
    assert Account.open(str(place)).name == "hospital"
    monkeypatch.chdir(home)
    other = Account.create("other.account", 1.0, 0.0)
    assert other.place == str(home / "other.account")
    assert Account.open("./other.account").place == other.place
    assert oct(place.stat().st_mode & 0o777) == oct(0o600)


@pytest.mark.parametrize("name", ["..", ".", "", " ", ".hidden", "-f", "a b", "a\nb", "a\0b", "é:", "CON", "x" * 101])
def test_what_is_no_name_is_refused(name: str, home: Path) -> None:
    for act in (Account.open, lambda place: Account.create(place, 1.0, 1e-6)):
        with pytest.raises(ParameterError, match="account must be a name"):
            act(name)
    assert not list(home.rglob("*.account"))


@pytest.mark.parametrize("place", ["a/\0b", "x" * 999 + "/y", "y/" + "x" * 300, "/dev/null", "/", "/proc/x.account"])
def test_strange_paths_are_refused_in_our_words(place: str) -> None:
    for act in (Account.open, lambda place: Account.create(place, 1.0, 1e-6)):
        with pytest.raises((ParameterError, LedgerError)):
            act(place)


def test_an_account_that_was_never_finished_is_told(home: Path) -> None:
    create_ledger(home / "half.account", "account").close()
    with pytest.raises(LedgerDamaged, match="never finished"):
        Account.open(home / "half.account")


def test_strange_addresses_do_not_show_their_password() -> None:
    for address in (f"postgresql://me:secret@{'x' * 1_000}/db", "mysql://me:secret@host/db"):
        with pytest.raises((ParameterError, LedgerError)) as caught:
            Account.open(address)
        assert "secret" not in str(caught.value)


def test_terms_of_another_version_are_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "FORMAT", 3)
    Account.create("new", 1.0, 1e-6)
    monkeypatch.undo()
    with pytest.raises(OtherVersion, match="terms of format 3"):
        Account.open(home / "data" / "accounts" / "new.account", anchor=next((home / "state" / "anchors").iterdir()))


def test_a_missing_account_says_how_to_make_it() -> None:
    with pytest.raises(ParameterError, match=r"pcqr account create hospital --epsilon … --delta …") as caught:
        Account.open("hospital")
    assert caught.value.name == "account"


def test_it_is_created_once(account: Account) -> None:
    account.charge(SMALL, "x")
    for place in ("hospital", account.place):
        with pytest.raises(ParameterError, match="a new one"):
            Account.create(place, 100.0, 1e-5)
    assert len(account.charges) == 1
    assert Account.open("hospital").epsilon == 1.0


def test_a_directory_that_is_not_there_and_what_is_no_account_are_refused(home: Path) -> None:
    with pytest.raises(LedgerError, match="directory"):
        Account.create(home / "nowhere" / "x.account", 1.0, 1e-6)
    (home / "text.account").write_text("not an account")
    with pytest.raises(LedgerError):
        Account.open(home / "text.account")
    create_ledger(home / "other.account", "release").close()
    with pytest.raises(NotALedger):
        Account.open(home / "other.account")


# Copies, processes, crashes -------------------------------------------------------------------------------------------


def test_copies_of_the_object_charge_the_same_account(account: Account) -> None:
    for same in (copy.copy(account), copy.deepcopy(account), pickle.loads(pickle.dumps(account))):  # noqa: S301
        same.charge(SMALL, "x")
    assert len(account.charges) == 3
    assert repr(account) == "Account('hospital')"


def _made_anew(account: Account, epsilon: float = 1.0, delta: float = 1e-6) -> Account:
    """Another account at the same place."""
    for end in ("", "-wal", "-shm", ".lock"):
        Path(f"{account.place}{end}").unlink(missing_ok=True)
    return Account.create(account.place, epsilon, delta)


def test_an_account_made_anew_at_the_same_place_is_another_one() -> None:
    """Its limit is its own: an object that was opened for the earlier one neither charges it nor reads it."""
    stale = Account.create("hospital", 100.0, 1e-3)
    pickled = pickle.dumps(stale)
    new = _made_anew(stale)
    for old in (stale, copy.deepcopy(stale), pickle.loads(pickled), stale.on_behalf_of("pcqr publish")):  # noqa: S301
        for act in (
            lambda old=old: old.charge(Guarantee(50.0), "x"),
            lambda old=old: old.charge(Guarantee(0.5), "what would fit"),
            lambda old=old: old.covers(Guarantee(0.5)),
            old.verify,
            lambda old=old: (old.spent, old.remaining),
            lambda old=old: old.charges,
        ):
            with pytest.raises(AccountReplaced, match=r"hospital is not the one that was opened.*Nothing was charged"):
                act()
    assert new.charges == ()
    new.charge(Guarantee(0.5), "x")
    again = Account.open("hospital")
    assert (again.epsilon, again.delta, len(again.charges)) == (1.0, 1e-6, 1)


def test_the_terms_are_those_of_the_ledger_whatever_the_object_says(account: Account) -> None:
    with pytest.raises(AttributeError):
        account.filter = BasicFilter(100.0, 1e-3)  # type: ignore[misc]
    for terms in (
        entries.Terms(BasicFilter(100.0, 1e-3), RECORD, account.created),
        entries.Terms(account.filter, USER, account.created),
    ):
        other = copy.copy(account)
        other._terms = terms
        with pytest.raises(AccountExhausted, match=r"Remaining:\sε = 1, δ = 1e-05 of ε = 1"):
            other.charge(Guarantee(50.0), "x")
        with pytest.raises(ParameterError, match="the account's unit"):
            other.charge(Guarantee(0.1, unit=PRESENCE), "x")
    assert account.charges == ()


@pytest.mark.parametrize("prices", [["50"], ["50", "-50"]])
def test_verify_refuses_what_is_beyond_the_limit(account: Account, prices: list[str], home: Path) -> None:
    """Entries that an account without the limit had written: the chain and the sum fit."""
    with opening.open_ledger(account.place, "account") as ledger:
        for price in prices:
            with ledger.transaction() as transaction:
                spent, count = entries.read_state(transaction.state)
                body = {"what": "x", "time": "", "epsilon": 50.0, "delta": 0.0, "price": [price, "0"], "facts": {}}
                transaction.append(entries.CHARGE, entries.as_json(body))
                transaction.state = entries.state_of(spent + Tally(Fraction(price)), count + 1)
    refused = r"more than its limit of ε = 1, δ = 1e-05|its sum is not that"
    with pytest.raises(LedgerDamaged, match=refused):
        account.verify()
    shutil.rmtree(home / "state")
    with pytest.raises(LedgerDamaged, match=refused):  # to write it off does not make it good
        Account.open("hospital", adopt=True, write_off=True).verify()


def _charge_often(account: Account, times: int) -> int:
    done = 0
    for _ in range(times):
        try:
            account.charge(SMALL, f"process {os.getpid()}")
            done += 1
        except AccountExhausted:
            pass
    return done


def test_processes_that_charge_at_once_see_each_other(account: Account) -> None:
    """Together they ask for twice what there is, and get all of it."""
    with FORK.Pool(2) as pool:
        done = pool.starmap(_charge_often, [(account, 10)] * 2)
    assert sum(done) == 10
    assert account.spent.loss == 1
    account.verify()


def test_threads_do_too(account: Account) -> None:
    threads = [threading.Thread(target=_charge_often, args=(account, 4)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert account.spent.loss == 1
    account.verify()


@pytest.mark.parametrize("point", TURN)
def test_a_kill_at_any_point_of_a_charge_leaves_it_whole_or_not_at_all(account: Account, point: str) -> None:
    account.charge(SMALL, "before")

    def charge_and_die() -> None:
        def die(reached: str) -> None:
            if reached == point:
                os.kill(os.getpid(), signal.SIGKILL)

        with watched(die):
            account.charge(Guarantee(0.5), "killed")

    process = FORK.Process(target=charge_and_die)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    again = Account.open("hospital")
    spent = [charge.what for charge in again.charges]
    assert spent == (["before", "killed"] if TURN.index(point) >= TURN.index("committed") else ["before"])
    again.verify()
    with pytest.raises(AccountExhausted):
        again.charge(Guarantee(1.0), "all of it, again")
    again.charge(SMALL, "after")


def test_an_older_copy_is_refused_for_charges_and_for_a_look(account: Account, home: Path) -> None:
    account.charge(SMALL, "x")
    shutil.copy(account.place, home / "backup")
    account.charge(Guarantee(0.5), "y")
    shutil.copy(home / "backup", account.place)
    for suffix in ("-wal", "-shm"):
        Path(account.place + suffix).unlink(missing_ok=True)
    with pytest.raises(LedgerRolledBack):
        account.charge(SMALL, "z")
    with pytest.raises(LedgerRolledBack):
        Account.open("hospital")
    with pytest.raises(LedgerRolledBack):
        Account.open("hospital", adopt=True)


def test_without_its_anchor_it_can_be_seen_and_not_charged_until_somebody_adopts_it(
    account: Account, home: Path
) -> None:
    account.charge(SMALL, "x")
    shutil.rmtree(home / "state")
    assert not Account.open("hospital").is_confirmed
    with pytest.raises(AnchorMissing, match="adopt"):
        account.charge(SMALL, "y")
    adopted = Account.open("hospital", adopt=True)
    adopted.charge(SMALL, "y")
    assert adopted.is_confirmed
    assert len(adopted.charges) == 2


def test_edited_figures_are_noticed(account: Account) -> None:
    account.charge(Guarantee(0.5), "x")
    with sqlite3.connect(account.place) as database:
        body = json.dumps({"loss": "0", "delta": "0", "charges": 0}, sort_keys=True).encode()
        database.execute("UPDATE pcqr_ledgers SET state = ?", (body,))
    database.close()
    with pytest.raises(LedgerDamaged):
        account.charge(Guarantee(0.9), "y")
    with pytest.raises(LedgerDamaged):
        Account.open("hospital")


def test_only_plain_facts_are_kept(account: Account) -> None:
    values: list[Any] = [[1, 2], object(), Fraction(1, 2)]
    for value in values:
        with pytest.raises(ParameterError, match="facts"):
            account.charge(SMALL, "x", fact=value)
    account.charge(SMALL, "ünï\ncode", text="⊥", number=0.1, nothing=None)
    assert account.charges[0].what == "ünï\ncode"
    assert account.charges[0].facts == {"text": "⊥", "number": 0.1, "nothing": None}
