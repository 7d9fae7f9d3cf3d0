"""`pcqr serve` as a process: what it refuses to start with, where it says it is, and how it ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from support.certificates import certificate
from support.kept import QUERIES, kept, reopened
from support.workers import fails_at_once, says_its_number
from typer.testing import CliRunner, Result

from pcqr.cli.main import app
from pcqr.errors import AnchorMissing, LedgerRolledBack, ParameterError, SecretError
from pcqr.releases.protocol.answers import Usage
from pcqr.server.keys import KeyFile
from pcqr.server.run import WorkersFailed, address_of, bind, serve, tls, watch
from pcqr.server.service import Place, ServedRelease, state_of
from pcqr.server.state import Settings


def never(_: str) -> None:
    raise AssertionError("nothing is served")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "192.0.2.1"])  # noqa: S104
def test_anything_but_loopback_needs_keys(host: str) -> None:
    with pytest.raises(ParameterError, match="pcqr keys create"):
        serve([], Settings(host=host, port=0), never)


@pytest.mark.parametrize("name", ["data.example.org", "10.1.2.3"])
def test_a_name_for_others_needs_keys_on_loopback_too(name: str) -> None:
    """A proxy on this machine passes on whoever asks for that name: without keys they would all be holders."""
    with pytest.raises(ParameterError, match=r"--host-name.*pcqr keys create"):
        serve([], Settings(port=0, host_names=(name,)), never)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "127.0.0.2", "::1", "[::1]"])
def test_loopback_does_not(host: str) -> None:
    settings = Settings(host=host, port=0)
    with bind(settings) as bound:
        port = bound.getsockname()[1]
        assert address_of(bound, settings) in (
            *(f"http://127.0.0.1:{port}", f"http://127.0.0.2:{port}", f"http://[::1]:{port}"),
        )


def test_with_keys_any_address_will_do_but_not_with_a_file_that_is_not_there(tmp_path: Path) -> None:
    everywhere = {"host": "0.0.0.0", "port": 0, "host_names": ("answers.example",)}  # noqa: S104
    settings = Settings(keys=tmp_path / "keys.json", **everywhere)  # type: ignore[arg-type]
    with pytest.raises(SecretError, match="not there"):
        serve([], settings, never)
    KeyFile(tmp_path / "keys.json").create("a", "asker", Usage(None, None))
    with bind(settings) as bound:
        assert address_of(bound, settings).startswith("http://answers.example:")


def test_a_port_in_use_is_said_plainly() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(ParameterError, match="--port must be one that no other program uses"),
    ):
        bind(Settings(port=other.getsockname()[1]))


@pytest.mark.parametrize("host", ["no such name", "name.invalid", "127.0.0.1:80", "a" * 300, ""])
def test_a_host_that_is_none_is_said_plainly(host: str) -> None:
    with pytest.raises(ParameterError, match="--host"):
        bind(Settings(host=host, port=0)).close()


def test_tls_files_that_do_not_do_are_said_plainly(tmp_path: Path) -> None:
    chain, key = certificate(tmp_path)
    assert tls(Settings(certificate=chain, certificate_key=key)) is not None
    (tmp_path / "other").mkdir()
    _, other = certificate(tmp_path / "other", password=b"secret")
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("nothing")
    for wrong in (
        (chain, other),
        (key, chain),
        (nothing, key),
        (tmp_path / "gone", key),
        (chain, tmp_path),
        (None, key),
    ):
        with pytest.raises(ParameterError, match="--certificate"):
            tls(Settings(certificate=wrong[0], certificate_key=wrong[1]))


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["serve", *map(str, words)])


@pytest.mark.usefixtures("home")
def test_options_are_checked_before_anything_is_opened() -> None:
    for words in (
        ("x", "--reply-every", "50"),
        ("x", "--reply-every", "0ms"),
        ("x", "--reply-every", "2h"),
        ("x", "--host", "0.0.0.0"),  # noqa: S104
        ("x", "--host-name", "http://x"),
        ("x", "--port", "70000"),
        ("x", "--keys", "no-such-file"),
    ):
        told = run(*words)
        assert told.exit_code == 2, words
        assert words[1] in told.output or words[2] in told.output


@pytest.mark.usefixtures("home")
def test_without_its_anchor_a_release_is_not_served_and_the_refusal_names_what_adopts_it(tmp_path: Path) -> None:
    kept(tmp_path)
    (tmp_path / "anchor").unlink()
    with pytest.raises(AnchorMissing, match="pcqr serve … --adopt NAME"):
        Place("ages", tmp_path / "release", anchor=tmp_path / "anchor").open()
    assert not (tmp_path / "anchor").exists()
    for words in (("--adopt", "other"), ("--adopt", "ages", "--adopt", "ages")):
        told = run(f"ages={tmp_path / 'release'}", *words)
        assert told.exit_code == 2
        assert "--adopt" in told.output


@pytest.mark.usefixtures("home")
def test_an_older_copy_is_served_when_it_is_written_off(tmp_path: Path) -> None:
    path = kept(tmp_path)
    shutil.copytree(path, tmp_path / "backup")
    release = reopened(tmp_path)
    release.answer(QUERIES[0])
    release.close()
    shutil.rmtree(path)
    (tmp_path / "backup").rename(path)
    place = Place("ages", path, anchor=tmp_path / "anchor")
    for refused in (place.open, replace(place, adopt=True).adopted):
        with pytest.raises(LedgerRolledBack):
            refused()
    for words in (("--write-off", "ages"), ("--adopt", "ages", "--write-off", "other")):
        told = run(f"ages={path}", *words)
        assert (told.exit_code, "--write-off" in told.output) == (2, True)
    again = replace(place, adopt=True, write_off=True).adopted()
    assert again == place, "no later process does so once more"
    served = again.open()
    assert isinstance(served, ServedRelease)
    try:
        assert state_of(served)["state"] == "exhausted"
        assert [each.is_written_off for each in served.adoptions] == [True]
    finally:
        served.close()


def test_a_server_ends_well(tmp_path: Path) -> None:
    """TLS, a key, and SIGTERM while a request is in flight: it is answered, logged, and the process ends with 0.

    The anchor of its release was lost; the release was adopted before, as `pcqr ask --adopt` does, and records it.
    """
    kept(tmp_path)
    (tmp_path / "anchor").unlink()
    chain, private = certificate(tmp_path)
    key = KeyFile(tmp_path / "keys.json").create("ward-7", "asker", Usage(None, None))
    words = (
        *("serve", f"ages={tmp_path / 'release'}", "--anchor", f"ages={tmp_path / 'anchor'}", "--port", "0"),
        *("--adopt", "ages"),
        *("--keys", tmp_path / "keys.json", "--certificate", chain, "--key-file", private, "--reply-every", "1s"),
    )
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "pcqr", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("ages served at https://127.0.0.1:")
    port = line.strip().rstrip("/").rpartition(":")[2]
    context = ssl.create_default_context(cafile=chain)
    x = {"name": "x", "datatype": "FP64", "shape": [2, 1], "data": [0.1, 0.9]}
    threading.Timer(0.5, process.send_signal, (signal.SIGTERM,)).start()
    with httpx.Client(base_url=f"https://localhost:{port}", verify=context, timeout=20) as client:
        told = client.post("/v2/models/ages/infer", json={"inputs": [x]}, headers={"authorization": f"Bearer {key}"})
    assert told.status_code == 200
    assert told.headers["connection"] == "close"
    out, log = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "")
    together, ending, logged, ended = map(json.loads, log.splitlines())
    assert together["message"].startswith("the anchor of ages is on the volume of its ledger: restored together, ")
    assert ending["message"] == "ending: 1 request in flight is answered first"
    assert (logged["status"], logged["key"], logged["ms"] % 1000) == (200, "ward-7", 0)
    assert ended["message"] == "ended: all was answered and every release is closed"
    release = reopened(tmp_path)
    assert [entry.kind for entry in release._votes.log.ledger.entries()].count("adopted") == 1
    release.close()


def test_several_workers_serve_one_address_and_are_started_anew() -> None:
    steps: list[str] = []
    numbers: set[int] = set()

    def ask() -> int:
        """Who serves. A connection that a killed worker had taken is lost: another one is made."""
        while True:
            with suppress(OSError), socket.create_connection(bound.getsockname(), timeout=10) as connection:
                if told := connection.recv(20):
                    return int(told)

    def scene() -> None:
        try:
            first = ask()
            os.kill(first, signal.SIGKILL)
            while len(numbers) < 2:
                numbers.add(ask())
            assert first not in numbers
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    def on_start() -> None:
        steps.append("said")
        threading.Thread(target=scene).start()

    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        watch(says_its_number, bound, 2, on_start)
    assert steps == ["said"]
    assert len(numbers) == 2
    for number in numbers:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)
    assert "PROMETHEUS_MULTIPROC_DIR" not in os.environ


def test_workers_tell_their_numbers_together(tmp_path: Path) -> None:
    """Two processes with one folder: either tells the sum, and what releases have spent once."""
    words = (
        "from pcqr.server.logs import *; from pcqr.releases.protocol.answers import Usage as U;"
        "m = Metrics(lambda: [Counts('a', U(3, 1), U(None, 4))]); m.begin(); m.end('GET', '/v2', 200, 0.1);"
        "print(m.text().decode())"
    )
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for number in (1, 2):
        told = subprocess.run(  # noqa: S603
            [sys.executable, "-c", words], env=environment, capture_output=True, text=True, check=True
        ).stdout
        assert f'pcqr_requests_total{{method="GET",route="/v2",status="200"}} {number}.0' in told
        assert told.count('pcqr_queries_spent_total{release="a"} 3.0') == 1


def test_a_worker_that_cannot_begin_ends_all() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(WorkersFailed):
            watch(fails_at_once, bound, 2, lambda: None)


def test_a_name_is_judged_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolved(*_: object, **__: object) -> object:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.9.9.9", 0))]

    monkeypatch.setattr("socket.getaddrinfo", resolved)
    with pytest.raises(ParameterError, match="pcqr keys create"):
        bind(Settings(host="localhost.example", port=0))


def test_several_workers_need_a_log_that_they_can_share(tmp_path: Path) -> None:
    place = Place("ages", kept(tmp_path), anchor=tmp_path / "anchor")
    with pytest.raises(ParameterError, match="--workers must be 1 for ages, whose log is a file"):
        serve([place], Settings(port=0, workers=2), never)
