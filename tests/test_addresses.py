"""Addresses of databases: a password in one is shown and written nowhere."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path

import pytest

from pcqr.addresses import DatabaseAddress, hidden, without_password
from pcqr.durable.ledger import create_ledger, open_ledger
from pcqr.errors import ParameterError
from pcqr.release import Account

SHOWN = {
    "postgresql://me:secret@host:5432/db?ledger=x": "postgresql://me@host:5432/db?ledger=x",
    "postgresql+psycopg://me:secret@[::1]:5432/db": "postgresql+psycopg://me@[::1]:5432/db",
    "postgresql://me:se/secret@host/db": "postgresql://me@host/db",
    "postgresql://me:se?secret@host/db": "postgresql://me@host/db",
    "postgresql://me:s@secret@host/db": "postgresql://me@host/db",
    "postgresql://:secret@host/db": "postgresql://@host/db",
    "postgresql://m/e:secret@host/db": "postgresql://m/e",
    "postgresql://m/e:s@secret@host/db": "postgresql://m/e",
    "postgresql://m/e:secret?x@host/db": "postgresql://m/e",
    "postgresql://m?e:secret@host/db": "postgresql://m",
    "postgresql://host/db?password=secret": "postgresql://host/db",
    "postgresql://host?password=secret@x&ledger=a@b": "postgresql://host?ledger=a@b",
    "postgresql://host/db?port=1&sslpassword=secret&ledger=z": "postgresql://host/db?port=1&ledger=z",
    "postgresql://host/db?Password=secret&ledger=z": "postgresql://host/db?ledger=z",
    "postgresql://host/db?passwd=secret&+password=secret&ledger=z": "postgresql://host/db?ledger=z",
    "postgresql://host/db?oauth_client_secret=secret": "postgresql://host/db",
    "postgresql://host/db?ledger=z;password=secret": "postgresql://host/db",
    "postgresql://host/db#password=secret": "postgresql://host/db",
    "postgresql://host#password=secret@x": "postgresql://host@x",
    "postgresql:/me:secret@host/db": "postgresql:/me@host/db",
    "postgres:me:secret@host/db": "postgres:me@host/db",
    "host=here user=me password=secret dbname=db": "host=here user=me",
    "postgresql://host/db?pass%77ord=secret": "postgresql://host/db",
    "postgresql;//me:secret@host/db": "postgresql;//me@host/db",
    "postgresql://me%3Asecret@host/db": "postgresql://me@host/db",
    "me:secret@host/db": "me@host/db",
    "http://me:secret@host/name": "http://me@host/name",
}
PLAIN = (
    "postgresql://me@host:5432/db?ledger=x",
    "postgresql:///db?host=/run/postgresql&ledger=x",
    "postgresql://host/d@b",
    "postgresql://me@host:5432,other:5433/db?passfile=/home/me/.pgpass&sslmode=verify-full&service=x",
    "postgresql://me@/db?host=/run&options=-csearch_path%3Dpass&ledger=password",
    "postgres-hospital",
    "/home/me/password=x/hospital.account",
    "hospital",
    "/home/me:you@here/x.account",
    "C:\\me@here.account",
    "",
)


@pytest.mark.parametrize(("address", "shown"), SHOWN.items())
def test_a_password_is_taken_out_and_all_else_stays(address: str, shown: str) -> None:
    assert without_password(address) == shown
    assert without_password(shown) == shown


@pytest.mark.parametrize("address", PLAIN)
def test_what_has_no_password_stays_as_it_is(address: str) -> None:
    assert without_password(address) == address
    assert hidden(address) is address


@pytest.mark.parametrize("address", [*SHOWN][:3])
def test_it_is_read_as_sqlalchemy_reads_it(address: str) -> None:
    from sqlalchemy import make_url

    whole, bare = make_url(address), make_url(without_password(address))
    assert whole.password is not None
    assert bare.password is None
    assert (bare.username, bare.host, bare.port, bare.database, bare.query) == (
        whole.username,
        whole.host,
        whole.port,
        whole.database,
        whole.query,
    )


def test_an_address_connects_with_its_password_and_shows_it_to_nobody() -> None:
    text = next(iter(SHOWN))
    address = hidden(text)
    assert isinstance(address, DatabaseAddress)
    assert os.fspath(address) == text
    for same in (copy.copy(address), copy.deepcopy(address)):
        assert same == address
        assert hash(same) == hash(address)
    assert str(address) == SHOWN[text]
    assert repr(address) == repr(SHOWN[text])
    pickled = pickle.dumps(address)
    assert b"secret" not in pickled
    assert os.fspath(pickle.loads(pickled)) == SHOWN[text]  # noqa: S301
    assert hidden(None) is None


def test_an_error_about_a_parameter_does_not_repeat_it() -> None:
    error = ParameterError("--ledger", "left out", next(iter(SHOWN)))
    assert "secret" not in f"{error} {error.received} {error!r} {vars(error)}"
    assert "me@host" in str(error)


@pytest.mark.parametrize(
    "address", ["postgresql:/me:secret@host/db", "me:secret@host/db", "host=/run user=me password=secret"]
)
def test_an_address_that_is_misspelt_is_not_taken_for_a_path(address: str, tmp_path: Path) -> None:
    for call in (
        lambda: Account.open(address),
        lambda: Account.create(address, 1.0, 1e-6),
        lambda: open_ledger(address, "release", tmp_path / "anchor"),
        lambda: create_ledger(address, "release", tmp_path / "anchor"),
    ):
        with pytest.raises(ParameterError, match="postgresql://USER@HOST") as refusal:
            call()
        assert "secret" not in str(refusal.value)
        assert refusal.value.__context__ is None


@pytest.mark.parametrize("end", ["ledger=x;password=secret", "ledger=x%20password=secret", "ledger=password=secret"])
def test_a_ledger_whose_name_holds_a_password_is_refused(end: str) -> None:
    """The server would be asked for it, and the message that it cannot be reached would have the name in it."""
    for reach in (
        lambda place: Account.create(place, 1.0, 0.0),
        Account.open,
        lambda place: open_ledger(place, "release"),
    ):
        with pytest.raises(ParameterError, match="looks like a password") as caught:
            reach(f"postgresql://me@localhost:1/db?{end}")
        assert "secret" not in f"{caught.value} {caught.value.args}"
