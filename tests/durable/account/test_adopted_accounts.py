"""Adopted accounts: an older copy comes back with nothing left, and every adoption is told for ever."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pcqr.durable.account import account as entries
from pcqr.durable.account.account import account_facts
from pcqr.durable.account.filters import Tally
from pcqr.durable.ledger import open_ledger
from pcqr.errors import AccountExhausted, LedgerDamaged, LedgerRolledBack, ParameterError
from pcqr.privacy.guarantee import Guarantee
from pcqr.release import Account

SMALL = Guarantee(0.1, 1e-7)


def restored(folder: Path, **terms: str) -> Account:
    """An account that was charged, backed up, charged again and restored. Its anchor is in the state directory."""
    path = folder / "hospital.account"
    account = Account.create(path, epsilon=1.0, delta=1e-5, **terms)  # type: ignore[arg-type]
    account.charge(SMALL, "before")
    shutil.copy(path, folder / "backup")
    account.charge(SMALL, "after")
    for beside in folder.glob("hospital.account*"):
        beside.unlink()
    shutil.move(folder / "backup", path)
    return account


@pytest.mark.parametrize("filter_name", ["basic", "zcdp"])
def test_an_older_copy_comes_back_with_nothing_left(home: Path, filter_name: str) -> None:
    account = restored(home, filter=filter_name)
    with pytest.raises(LedgerRolledBack, match=r"pcqr account adopt .*--write-off"):
        Account.open(account.place)
    with pytest.raises(LedgerRolledBack):
        Account.open(account.place, adopt=True)
    with pytest.raises(ParameterError, match="write_off"):
        Account.open(account.place, write_off=True)
    for again in (Account.open(account.place, adopt=True, write_off=True), Account.open(account.place)):
        assert (again.remaining, again.spent) == (Tally(), again.filter.limit)
        assert [charge.what for charge in again.charges] == ["before"]
        (adoption,) = again.adoptions
        assert (adoption.entries, adoption.lost, adoption.is_written_off) == (2, 1, True)
        for guarantee in (SMALL, Guarantee(1e-9), Guarantee(0.0, 1e-12)):
            assert not again.covers(guarantee)
            with pytest.raises(AccountExhausted):
                again.charge(guarantee, "x")
        again.verify()
    again.charge(Guarantee(0.0), "nothing at all")
    again.verify()
    assert Account.open(account.place, adopt=True, write_off=True).adoptions == (adoption,)


def test_every_adoption_is_told(home: Path) -> None:
    account = Account.create("hospital", epsilon=1.0, delta=1e-5)
    assert account_facts(account)["adoptions"] == []
    shutil.rmtree(home / "state")
    adopted = Account.open("hospital", adopt=True)
    (outcome,) = account_facts(adopted)["adoptions"]
    assert (outcome["written_off"], outcome["lost"], outcome["entries"]) == (False, None, 1)
    assert outcome["user"] is not None
    assert outcome["host"] is not None
    assert account_facts(adopted)["anchor"].startswith(str(home / "state"))
    adopted.charge(SMALL, "y")
    adopted.verify()


def test_what_was_charged_after_a_write_off_is_noticed(home: Path) -> None:
    account = restored(home)
    Account.open(account.place, adopt=True, write_off=True)
    with open_ledger(account.place, "account") as ledger, ledger.transaction() as transaction:
        body = {"what": "x", "time": "", "epsilon": 0.1, "delta": 0.0, "price": ["1/10", "0"], "facts": {}}
        transaction.append(entries.CHARGE, entries.as_json(body))
        transaction.state = entries.state_of(*entries.read_state(transaction.state)[:1], 2)
    with pytest.raises(LedgerDamaged, match="sum is not that"):
        account.verify()
