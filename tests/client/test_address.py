"""Where a release is served, and the key that opens it: no secret in an address, none in a message."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.client.wire import Address, read_api_key
from pcqr.errors import ParameterError, SecretError

SECRET = "pcqr_0123456789abcdef"  # noqa: S105


@pytest.mark.parametrize(
    ("url", "server", "name"),
    [
        ("http://127.0.0.1:8080/hospital", "http://127.0.0.1:8080", "hospital"),
        ("https://data.example.org/pcqr/a.b-c_1/", "https://data.example.org/pcqr", "a.b-c_1"),
        ("http://[::1]:8080/x", "http://[::1]:8080", "x"),
        ("https://EXAMPLE.org", "https://example.org", ""),
        ("http://localhost:8080/", "http://localhost:8080", ""),
    ],
)
def test_an_address_is_a_server_and_a_name(url: str, server: str, name: str) -> None:
    assert Address.read(url) == Address(server, name)


@pytest.mark.parametrize(
    "url",
    [
        f"http://me:{SECRET}@127.0.0.1/hospital",
        f"http://{SECRET}@127.0.0.1/hospital",
        f"http://127.0.0.1/hospital?key={SECRET}",
        f"http://127.0.0.1/hospital#{SECRET}",
        f"http://127.0.0.1/hos pital{SECRET}",
        f"http://127.0.0.1/hospital\r\nX: {SECRET}",
        f"http://127.0.0.1:99999/{SECRET}",
    ],
)
def test_what_may_be_a_secret_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ParameterError) as error:
        Address.read(url)
    assert SECRET not in str(error.value)


@given(st.text(max_size=60) | st.text(max_size=60).map(lambda text: f"http://{text}"))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        found = Address.read(text)
    except ParameterError:
        return
    assert Address.read(str(found)) == found


def test_keys_come_from_the_environment_or_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PCQR_KEY", raising=False)
    assert read_api_key(None) is None
    monkeypatch.setenv("PCQR_KEY", f" {SECRET}\n")
    monkeypatch.setenv("OTHER", "another")
    (tmp_path / "key").write_text(f"{SECRET}\n")
    assert read_api_key(None) == SECRET
    assert read_api_key("env:OTHER") == "another"
    assert read_api_key(f"file:{tmp_path / 'key'}") == SECRET


def test_a_key_itself_is_not_taken_and_no_message_has_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="env:NAME") as refused:
        read_api_key(SECRET)
    assert SECRET not in str(refused.value)
    monkeypatch.setenv("BROKEN", f"{SECRET}\r\nHost: evil")
    (tmp_path / "key").write_bytes(b"\xff" + SECRET.encode())
    for source in ("env:BROKEN", "env:NO_SUCH", f"file:{tmp_path / 'key'}", f"file:{tmp_path / 'none'}"):
        with pytest.raises(SecretError) as error:
            read_api_key(source)
        assert SECRET not in str(error.value)
