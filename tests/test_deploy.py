"""deploy/ cannot rot: every flag in it exists, every file it names is there, and what protects a server is in it."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from support.command_lines import commands_in, taken

from pcqr.releases.protocol.answers import Usage
from pcqr.server.app import document
from pcqr.server.logs import Counts, Metrics
from pcqr.server.service import Service
from pcqr.server.state import Settings

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
HOME = "/var/lib/pcqr"
ANCHORS = "/var/lib/pcqr-anchors"


def unit() -> dict[str, list[str]]:
    """The settings of the service: a name may occur more than once."""
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / "pcqr.service").read_text(encoding="utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def instruction(name: str) -> list[str]:
    """The arguments of every instruction of the Dockerfile called so."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.M).replace("\\\n", " ")
    return re.findall(rf"^{name} (.*)$", text, flags=re.M)


def test_what_the_unit_starts_is_a_command() -> None:
    (start,) = unit()["ExecStart"]
    config = configparser.ConfigParser(interpolation=None)
    config.read_string("[all]\n" + (DEPLOY / "pcqr.conf").read_text(encoding="utf-8"))
    program, *words = start.replace("$PCQR_SERVE", config["all"]["PCQR_SERVE"]).split()
    assert program == "/opt/pcqr/bin/pcqr"
    options = taken(words)
    assert options["places"] == [f"hospital={HOME}/hospital"]
    assert options["host"] == "127.0.0.1"
    assert str(options["keys"]).startswith(HOME)
    assert unit()["EnvironmentFile"] == ["/etc/pcqr/pcqr.conf"]
    assert "deploy/pcqr.conf" in PAGE


def test_the_unit_is_hardened_and_waits_for_answers_in_flight() -> None:
    found = unit()
    yes = (
        "ProtectHome PrivateTmp PrivateDevices NoNewPrivileges RestrictNamespaces ProtectKernelTunables LockPersonality"
    )
    assert all(found[name] == ["yes"] for name in yes.split())
    assert found["ProtectSystem"] == ["strict"]
    assert found["User"] != ["root"]
    assert found["CapabilityBoundingSet"] == [""]
    assert found["LimitCORE"] == ["0"]
    assert found["StateDirectoryMode"] == ["0700"]
    assert int(found["TimeoutStopSec"][0]) > Settings().close_seconds
    variables = " ".join(found["Environment"])
    given = dict(word.split("=", 1) for word in variables.split())
    assert (given["PCQR_DATA_DIR"], given["PCQR_STATE_DIR"]) == (HOME, ANCHORS)
    directories = [f"/var/lib/{name}" for name in found["StateDirectory"][0].split()]
    assert directories == [HOME, ANCHORS], "the only places that can be written, but for the cache"


def test_no_deployment_keeps_the_anchors_where_the_releases_are() -> None:
    """Restored with the releases, an anchor would be as old as they are, and nothing would notice."""
    assert not Path(ANCHORS).is_relative_to(HOME)
    (variables,) = instruction("ENV")
    given = dict(word.split("=", 1) for word in variables.split())
    assert (given["PCQR_DATA_DIR"], given["PCQR_STATE_DIR"]) == (HOME, ANCHORS)
    assert json.loads(instruction("VOLUME")[0]) == [HOME, ANCHORS]
    assert f"-m 0700 {HOME} {ANCHORS}" in DOCKERFILE, "a volume has the owner of the directory that it is made from"
    mounts = dict(word.split(":") for word in COMPOSE["services"]["pcqr"]["volumes"])
    assert sorted(mounts.values()) == [HOME, ANCHORS]
    assert {*mounts, "database"} == set(COMPOSE["volumes"]), "the log, the secrets and the anchors: three volumes"
    assert f"PCQR_STATE_DIR={ANCHORS}" in PAGE
    assert f"install -d -o pcqr -g pcqr -m 0700 {HOME} {ANCHORS} " in PAGE, "the user cannot make them"
    assert f"{HOME}/state" not in PAGE + DOCKERFILE + (DEPLOY / "pcqr.service").read_text(encoding="utf-8")


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    text = (
        (DEPLOY / "pcqr.service").read_text(encoding="utf-8").replace("/opt/pcqr/bin/pcqr", shutil.which("true") or "")
    )
    path = tmp_path / "pcqr.service"
    path.write_text(text, encoding="utf-8")
    said = subprocess.run([analyze, "verify", "--man=no", str(path)], check=False, capture_output=True, text=True)  # noqa: S603
    assert (said.returncode, said.stderr) == (0, "")


def test_what_the_container_runs_is_a_command_for_a_user_of_its_own() -> None:
    assert json.loads(instruction("ENTRYPOINT")[0]) == ["pcqr"]
    options = taken(json.loads(instruction("CMD")[0]))
    assert options["keys"] is not None, "anything but loopback needs keys"
    assert instruction("USER") == ["pcqr"]
    assert str(options["port"]) == instruction("EXPOSE")[0]


def test_the_container_is_built_from_files_that_are_there() -> None:
    sources = [word for line in instruction("COPY") if "--from" not in line for word in line.split()[:-1]]
    assert sources
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in kept, source
    extras = re.search(r"'\.\[(.*?)\]'", DOCKERFILE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert extras is not None
    assert {"server", "postgres"} <= set(extras[1].split(",")) <= set(project["optional-dependencies"])
    versions = set(re.findall(r"^FROM python:(\S+?)-slim", DOCKERFILE, flags=re.M))
    assert len(versions) == 1, "an environment that is copied needs the Python that it was made with"


def test_health_is_asked_where_it_is_told() -> None:
    (path,) = re.findall(r"http://127\.0\.0\.1:8080(/[\w/]+)", DOCKERFILE)
    assert path in document(Service(()))["paths"]


def test_what_compose_runs_is_a_command_and_its_password_is_in_a_file() -> None:
    served, database = COMPOSE["services"]["pcqr"], COMPOSE["services"]["database"]
    options = taken(served["command"])
    assert options["workers"] > 1
    assert options["ledger"] == ["hospital=postgresql://pcqr@database/pcqr?ledger=hospital"]
    assert f"releases:{HOME}" in served["volumes"]
    assert database["environment"]["POSTGRES_PASSWORD_FILE"] == "/run/secrets/database"  # noqa: S105
    assert "/run/secrets/database" in served["entrypoint"][2]
    assert served["entrypoint"][2].endswith('exec pcqr "$$@"')
    assert COMPOSE["secrets"]["database"]["file"] == "./secrets/database"
    assert "deploy/secrets/" in (ROOT / ".gitignore").read_text(encoding="utf-8")
    assert all(port.startswith("127.0.0.1:") for port in served["ports"])
    assert "ports" not in database
    assert (DEPLOY / served["build"]["context"] / served["build"]["dockerfile"]).exists()
    assert int(served["stop_grace_period"].removesuffix("s")) > Settings().close_seconds


def test_compose_hands_the_words_on_as_they_are(tmp_path: Path) -> None:
    """Its entry point, run here with a program that shows what it gets."""
    (tmp_path / "database").write_text("a b'c$d\n")
    (tmp_path / "pcqr").write_text('#!/bin/sh\nprintf "%s|" "$PGPASSWORD" "$@"\n')
    (tmp_path / "pcqr").chmod(0o700)
    shell, flag, script, name = COMPOSE["services"]["pcqr"]["entrypoint"]
    script = script.replace("$$", "$").replace("/run/secrets/database", str(tmp_path / "database"))
    said = subprocess.run(  # noqa: S603
        [shutil.which(shell) or shell, flag, script, name, "serve", "a b", "c?ledger=d"],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
    )
    assert said.stdout == "a b'c$d|serve|a b|c?ledger=d|"


def test_every_command_of_the_page_and_of_the_files_exists() -> None:
    found = commands_in(PAGE)
    assert len(found) > 5
    for words in found:
        taken(words)
    for words in re.findall(r"^# .*?: (pcqr .*)$", DOCKERFILE, flags=re.M):
        taken(shlex.split(words)[1:])
    with pytest.raises(Exception, match="no-such-flag"):
        taken(["serve", "x", "--no-such-flag"])


def test_what_to_watch_is_among_the_metrics() -> None:
    shown = Metrics(lambda: [Counts("hospital", Usage(3, 1), Usage(None, 4))]).text().decode()
    named = set(re.findall(r"pcqr_[a-z_]+", PAGE))
    assert len(named) >= 3
    assert {name for name in named if name.removesuffix("_total") not in shown} == set()
