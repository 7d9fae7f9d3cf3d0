"""An account in a PostgreSQL database: the same promises, and several machines may charge it."""

from __future__ import annotations

import json
import multiprocessing
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from sklearn.base import clone
from support.postgres import MISSING, Server, server
from support.releases import steps
from typer.testing import CliRunner

import pcqr.release
from pcqr import SubsampleAggregate
from pcqr.addresses import DatabaseAddress
from pcqr.cli.main import app
from pcqr.durable.account import Account
from pcqr.durable.account.account import account_facts
from pcqr.errors import AccountExhausted, AccountReplaced, ParameterError, PcqrError
from pcqr.hypotheses import Thresholds
from pcqr.privacy.guarantee import Guarantee

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server() as found:
        if found is None:
            pytest.skip(MISSING)
        found.run("CREATE SCHEMA accounts")
        yield found


@pytest.fixture
def address(running: Server, request: pytest.FixtureRequest) -> str:
    return f"{running.address('accounts')}&ledger={request.node.name}"


def _charge_often(address: str, times: int) -> int:
    done = 0
    for _ in range(times):
        try:
            Account.open(address).charge(Guarantee(0.1), "x")
            done += 1
        except AccountExhausted:
            pass
    return done


def test_processes_take_turns_and_stay_within_the_cap(address: str) -> None:
    account = Account.create(address, 1.0, 1e-5)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        done = pool.starmap(_charge_often, [(address, 8)] * 2)
    assert sum(done) == 10
    assert account.spent == account.filter.limit - account.remaining
    assert account.remaining.loss == 0
    account.verify()


def test_it_is_made_once_and_must_be_there(address: str) -> None:
    with pytest.raises(ParameterError, match="To make it: pcqr account create"):
        Account.open(address)
    Account.create(address, 1.0, 1e-5)
    with pytest.raises(PcqrError):
        Account.create(address, 2.0, 1e-5)
    assert Account.open(address).epsilon == 1.0


def test_an_account_made_anew_at_the_same_address_is_another_one(running: Server, address: str) -> None:
    stale = Account.create(address, 100.0, 1e-3)
    for table in ("pcqr_entries", "pcqr_index", "pcqr_ledgers"):
        running.run(f"DELETE FROM accounts.{table}")
    new = Account.create(address, 1.0, 1e-6)
    for act in (lambda: stale.charge(Guarantee(50.0), "x"), lambda: stale.spent, stale.verify):
        with pytest.raises(AccountReplaced):
            act()
    assert new.charges == ()


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_commands_do_not_print_a_password(address: str, option: tuple[str, ...]) -> None:
    given = f"{address}{len(option)}&password=opensesame"
    for words in (("create", given, "--epsilon", "1", "--delta", "1e-6"), ("show", given, "--verify"), ("show", "x/y")):
        result = CliRunner().invoke(app, ["account", *words, *option])
        assert result.exit_code == (0 if given in words else 2), result.output
        assert "opensesame" not in result.output


def test_a_password_in_the_address_is_used_and_shown_nowhere(address: str, tmp_path: Path) -> None:
    given = f"{address}&password=opensesame"  # the server asks for none
    account = Account.create(given, 3.0, 1e-5)
    pickled = pickle.dumps(account)
    assert b"opensesame" not in pickled
    pickle.loads(pickled).charge(Guarantee(0.5), "x")  # noqa: S301
    release = SubsampleAggregate(Thresholds(), epsilon=2.0, queries=5, account=given)
    release.fit(*steps(6_000)).save(tmp_path / "release", anchor=tmp_path / "anchor")
    assert len(account.charges) == 2
    shown = (
        *(repr(account), account.name, account.place, json.dumps(account_facts(account))),
        *(repr(release), str(release.get_params()), repr(pickle.dumps(release)), str(vars(release))),
        *(path.read_bytes().decode(errors="replace") for path in (tmp_path / "release").iterdir()),
        *(repr(charge) for charge in account.charges),
    )
    assert not [text for text in shown if "opensesame" in text]
    again = pcqr.release.open(tmp_path / "release", anchor=tmp_path / "anchor", read_only=True)
    assert again.account == str(DatabaseAddress(address))
    with pytest.raises(AccountExhausted) as caught:
        clone(release).set_params(account=given, epsilon=2.9).fit(*steps(6_000))
    assert "opensesame" not in str(caught.value)
    release.close()
