"""`pcqr keys create | list | renew | revoke`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from pcqr.cli.main import app
from pcqr.server.keys import Keyring

pytestmark = pytest.mark.usefixtures("home")


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["keys", *map(str, words)])


def test_the_key_is_alone_on_standard_output(home: Path) -> None:
    made = run("create", "ward-7", "--role", "asker", "--queries", 100, "--unstable", 5)
    assert made.exit_code == 0
    key = made.stdout.strip()
    assert made.stdout == f"{key}\n"
    assert "PCQR_KEY" in made.stderr
    assert key not in made.stderr
    found = Keyring(home / "data" / "keys.json").asker(key)
    assert found is not None
    assert (found.name, found.allowance.queries, found.allowance.unstable) == ("ward-7", 100, 5)


def test_list_and_revoke(home: Path) -> None:
    place = home / "here.json"
    assert "No key" in run("list", "--keys", place).output
    key = json.loads(run("create", "boss", "--role", "holder", "--keys", place, "--json").output)["key"]
    assert run("revoke", "boss", "--keys", place).exit_code == 0
    listed = run("list", "--keys", place)
    assert "boss" in listed.output
    assert key not in listed.output
    facts = json.loads(run("list", "--keys", place, "--json").output)["keys"]
    assert [(each["name"], each["role"], each["revoked"] is not None) for each in facts] == [("boss", "holder", True)]
    assert Keyring(place).asker(key) is None


def test_a_renewed_key_is_printed_alone_and_replaces_the_old_one(home: Path) -> None:
    old = run("create", "ward-7", "--role", "asker", "--queries", 100).stdout.strip()
    renewed = run("renew", "ward-7")
    assert renewed.exit_code == 0
    key = renewed.stdout.strip()
    assert renewed.stdout == f"{key}\n"
    assert key not in renewed.stderr
    assert "the old one" in " ".join(renewed.stderr.split())
    ring = Keyring(home / "data" / "keys.json")
    assert (ring.asker(old) is None, ring.asker(key) is None) == (True, False)
    facts = json.loads(run("renew", "ward-7", "--json").output)
    assert (facts["name"], facts["role"]) == ("ward-7", "asker")
    assert ring.asker(facts["key"]) is not None


@pytest.mark.parametrize(
    "words",
    [
        ("create", "a b", "--role", "asker"),
        ("create", "a", "--role", "root"),
        ("create", "a"),
        ("create", "a", "--role", "asker", "--queries", -1),
        ("revoke", "nobody"),
        ("renew", "nobody"),
        ("limit", "nobody", "--queries", 5),
        ("limit", "nobody"),
    ],
)
def test_bad_input_is_refused_and_writes_no_key(home: Path, words: tuple[object, ...]) -> None:
    assert run(*words).exit_code == 2
    assert not (home / "data" / "keys.json").exists()


def test_the_limits_of_a_key_are_changed_one_at_a_time(home: Path) -> None:
    key = run("create", "ward-7", "--role", "asker", "--queries", 100, "--unstable", 5).stdout.strip()
    ring = Keyring(home / "data" / "keys.json")
    assert "150" in run("limit", "ward-7", "--queries", 150).output
    found = ring.asker(key)
    assert found is not None
    assert (found.allowance.queries, found.allowance.unstable, found.role) == (150, 5, "asker"), "a server notices"
    described = json.loads(run("limit", "ward-7", "--queries", "any", "--unstable", 0, "--json").output)["key"]
    assert (described["queries"], described["unstable"]) == (None, 0)
    for wrong in ("-1", "many", "1.5", "", 2**63, "9" * 30):
        assert run("limit", "ward-7", "--queries", wrong).exit_code == 2
    assert run("limit", "ward-7").exit_code == 2
    found = ring.asker(key)
    assert found is not None
    assert (found.allowance.queries, found.allowance.unstable) == (None, 0)
