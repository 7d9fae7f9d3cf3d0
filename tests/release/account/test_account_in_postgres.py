"""An account in a PostgreSQL database: the same promises, and several machines may charge it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator

import pytest
from support.postgres import MISSING, Server, server

from pcqr.errors import AccountExhausted, ParameterError, PcqrError
from pcqr.guarantee import Guarantee
from pcqr.release.account import Account, places

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
    assert account.spent == account.filter.limit - account.left
    assert account.left.loss == 0
    account.verify()


def test_it_is_made_once_and_must_be_there(address: str) -> None:
    with pytest.raises(ParameterError, match="To make it: pcqr account create"):
        Account.open(address)
    Account.create(address, 1.0, 1e-5)
    with pytest.raises(PcqrError):
        Account.create(address, 2.0, 1e-5)
    assert Account.open(address).epsilon == 1.0


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:secret@host/db?ledger=x",
        "postgresql://me:se/secret@host/db",
        "postgresql://host/db?password=secret",
        "postgresql://host/db?x=y&sslpassword=secret",
    ],
)
def test_passwords_are_not_shown(address: str) -> None:
    assert "secret" not in places.name_of(address)
    assert "host/db" in places.name_of(address)
