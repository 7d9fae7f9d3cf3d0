"""`pcqr ask http://…`: the file, the exit codes and the resuming of `pcqr ask DIRECTORY`."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.command_lines import said
from support.kept import kept
from support.serving import clinic, clinic_place, model_place, serving
from typer.testing import CliRunner, Result

from pcqr.cli.main import app
from pcqr.client.wire import Wire
from pcqr.releases.protocol.answers import Usage
from pcqr.server.keys import KeyFile

pytestmark = pytest.mark.usefixtures("pauses")


def written(path: Path, table: Mapping[str, Sequence[Any]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([list(table), *zip(*table.values(), strict=True)])
    return path


def ask(place: object, folder: Path, *more: object, out: str = "answers.csv") -> Result:
    words = ("ask", place, "--queries", folder / "queries.csv", "--out", folder / out, "--yes", *more)
    return CliRunner().invoke(app, [str(word) for word in words])


def test_it_writes_what_it_writes_of_a_directory_and_goes_on(tmp_path: Path) -> None:
    written(tmp_path / "queries.csv", clinic(300))
    here = clinic_place(tmp_path / "here")
    assert ask(here.path, tmp_path, "--anchor", str(here.anchor), out="here.csv").exit_code == 0
    with serving(clinic_place(tmp_path / "there")) as address:
        result = ask(f"{address}/clinic", tmp_path)
        assert result.exit_code == 0, result.output
        assert (tmp_path / "answers.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
        described = json.loads(ask(f"{address}/clinic", tmp_path, "--json").output)
        assert described["queries_answered"] == 300, "asking again asks nothing new"
        assert (tmp_path / "answers.csv").read_bytes() == (tmp_path / "here.csv").read_bytes(), "kinds as they were"
        written(tmp_path / "queries.csv", clinic(300, seed=1))
        result = ask(f"{address}/clinic", tmp_path)
        assert result.exit_code == 2
        assert "--overwrite" in result.output


def test_a_published_model_is_asked_in_the_same_way(tmp_path: Path) -> None:
    written(tmp_path / "queries.csv", clinic(5))
    with serving(model_place(tmp_path)) as address:
        for _ in range(2):
            result = ask(f"{address}/tree", tmp_path)
            assert result.exit_code == 0, result.output
    lines = (tmp_path / "answers.csv").read_text().splitlines()[1:]
    assert {line.split(",")[2] for line in lines} == {"published"}


def test_a_server_that_goes_away_midway_leaves_a_run_to_go_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "queries.csv", clinic(600))
    called = Wire.call
    asked = []

    def breaking(self: Wire, method: str, path: str, *more: Any) -> Any:
        asked.append(path)
        if "/ask" in path and sum("/ask" in each for each in asked) == 2:
            return called(Wire(self.address, _nobody, 1.0), method, path, *more)
        return called(self, method, path, *more)

    with serving(clinic_place(tmp_path / "there")) as address:
        with monkeypatch.context() as patched:
            patched.setattr(Wire, "call", breaking)
            result = ask(f"{address}/clinic", tmp_path)
        assert result.exit_code == 4, result.output
        assert "256 of 600 answers" in result.output
        assert "goes on from there" in result.output
        assert ask(f"{address}/clinic", tmp_path).exit_code == 0
    kinds = [line.rpartition(",")[2] for line in (tmp_path / "answers.csv").read_text().splitlines()[1:]]
    assert kinds.count("stable") == 600, "what the first run wrote is kept"


def test_a_server_that_goes_away_at_the_start_is_not_taken_for_another_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "queries.csv", clinic(3))
    called = Wire.call

    def breaking(self: Wire, method: str, path: str, *more: Any) -> Any:
        wire = Wire(self.address, _nobody, 1.0) if path.endswith("/preview") else self
        return called(wire, method, path, *more)

    with serving(clinic_place(tmp_path / "there")) as address:
        assert ask(f"{address}/clinic", tmp_path).exit_code == 0
        monkeypatch.setattr(Wire, "call", breaking)
        result = ask(f"{address}/clinic", tmp_path)
    assert result.exit_code == 2
    assert "does not answer" in result.output
    assert "--overwrite" not in result.output


def _nobody() -> Any:
    def away(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("away")

    return httpx.Client(transport=httpx.MockTransport(away))


def test_a_server_that_is_away_is_said_with_what_to_do(tmp_path: Path) -> None:
    written(tmp_path / "queries.csv", clinic(3))
    result = ask("http://127.0.0.1:9/clinic", tmp_path)
    assert result.exit_code == 2
    assert "pcqr serve" in result.output
    assert not (tmp_path / "answers.csv").exists()


def test_a_key_that_has_used_up_what_it_may_ask_leaves_rows_unanswered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = clinic(600)
    written(tmp_path / "queries.csv", {name: [*values[:5], *values] for name, values in table.items()})
    key = KeyFile(tmp_path / "keys.json").create("ward", "asker", Usage(5, None))
    monkeypatch.setenv("WARD", key)
    monkeypatch.delenv("PCQR_KEY", raising=False)
    with serving(clinic_place(tmp_path / "there"), keys=tmp_path / "keys.json") as address:
        assert ask(f"{address}/clinic", tmp_path).exit_code == 2, "no key"
        result = ask(f"{address}/clinic", tmp_path, "--key", "env:WARD", "--json")
        in_words = said(ask(f"{address}/clinic", tmp_path, "--key", "env:WARD"))
    assert "595 unanswered: the key has used up what it may ask" in in_words, "the release goes on for others"
    assert "Unanswered: 595 rows." in in_words, "of the whole file"
    assert result.exit_code == 3, result.output
    described = json.loads(result.output)
    assert described["counts"]["unanswered"] == 595
    assert described["counts"]["repeated"] == 5
    assert described["error"]["type"] == "QuotaSpent"
    assert key not in result.output


def test_after_a_quota_the_known_rows_of_a_batch_take_one_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = clinic(200)
    written(
        tmp_path / "queries.csv",
        {name: [v for each in values for v in (values[0], each)] for name, values in table.items()},
    )
    monkeypatch.setenv("WARD", KeyFile(tmp_path / "keys.json").create("ward", "asker", Usage(5, None)))
    sent, call = [], Wire.call

    def noted(wire: Wire, method: str, path: str, *more: Any, **how: Any) -> Any:
        sent.append(path)
        return call(wire, method, path, *more, **how)

    monkeypatch.setattr(Wire, "call", noted)
    with serving(clinic_place(tmp_path / "there"), keys=tmp_path / "keys.json") as address:
        result = ask(f"{address}/clinic", tmp_path, "--key", "env:WARD", "--json")
    assert result.exit_code == 3, result.output
    assert json.loads(result.output)["counts"]["unanswered"] == 195
    assert sum(path.endswith(("/ask", "/preview")) for path in sent) <= 6, "one of them for what all rows cost"


@pytest.mark.parametrize(
    "more",
    [("--ledger", "x.sqlite"), ("--anchor", "anchor"), ("--adopt",), ("--key", "pcqr_secret"), ("--ca", "none.pem")],
)
def test_options_of_a_directory_are_refused(tmp_path: Path, more: tuple[str, ...]) -> None:
    written(tmp_path / "queries.csv", clinic(3))
    result = ask("https://127.0.0.1:9/clinic", tmp_path, *more)
    assert result.exit_code == 2
    assert "pcqr_secret" not in result.output
    assert "does not answer" not in result.output


def test_a_directory_trusts_no_certificates(tmp_path: Path) -> None:
    written(tmp_path / "queries.csv", clinic(3))
    result = ask(kept(tmp_path / "kept"), tmp_path, "--ca", "authority.pem")
    assert result.exit_code == 2
    assert "--ca" in result.output
