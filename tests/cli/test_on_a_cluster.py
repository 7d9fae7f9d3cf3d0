"""`--scheduler` and `--workers`: the same model by workers of a cluster, and refusals before anything is spent."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support import clusters
from support.command_lines import said
from support.publishing import Files

from pcqr.data.records.parted import cluster as connecting
from pcqr.data.records.parted import parquet
from pcqr.data.records.parted.cluster import Cluster

pytest.importorskip("distributed", reason="Dask is not installed: pip install pcqr[dask]")
pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pcqr[data]")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.setattr(parquet, "PART_ROWS", 400)
    files = Files(tmp_path)
    files.write(".parquet", labels=("no", "yes"))
    return files


def test_the_model_is_that_of_one_machine(files: Files) -> None:
    options = ("--labels", "no,yes")
    found = []
    with clusters.scheduler_alone() as address, clusters.workers_of(address, 1):
        for chosen in ((), ("--scheduler", address)):
            result = files.publish(*options, *chosen, suffix=".parquet")
            assert result.exit_code == 0, result.output
            found.append((files.directory / "model" / "model.json").read_bytes())
            shutil.rmtree(files.directory / "model")
    assert found[0] == found[1]


def test_what_workers_need_is_told_beforehand_and_nobody_is_asked(files: Files) -> None:
    options = ("--labels", "no,yes", "--dry-run", "--scheduler", "tcp://127.0.0.1:1")
    result = files.publish(*options, suffix=".parquet")
    assert result.exit_code == 0, result.output
    words = said(result)
    assert "in the memory of all workers together" in words
    assert "until the end of the run" not in words


def test_connections_are_closed_when_the_command_ends(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    class Noted(Cluster):
        def __init__(self, scheduler: str, workers: int | None) -> None:
            events.append(f"{scheduler} {workers}")

        def hold(self, *_: object) -> tuple[()]:
            raise KeyError("made up")

        def close(self) -> None:
            events.append("closed")

    monkeypatch.setattr("pcqr.cli.inputs.Cluster", Noted)
    assert files.publish("--labels", "no,yes", "--workers", "3", suffix=".parquet").exit_code != 0
    assert events == ["local 3", "closed"]


@pytest.mark.parametrize(
    ("options", "described"),
    [
        (("--scheduler", "tcp://127.0.0.1:1"), "--scheduler must be the address of a Dask scheduler that answers"),
        (("--scheduler", "elsewhere"), "--scheduler must be 'local', 'tcp://HOST:PORT' or 'tls://HOST:PORT'"),
        (
            ("--scheduler", "tcp://127.0.0.1:1", "--workers", "2"),
            "--workers must be None but for the scheduler 'local'",
        ),
        (("--workers", "2", "--scratch", "."), "--scratch must be left out for a cluster"),
    ],
)
def test_what_cannot_be_is_refused(
    files: Files, options: tuple[str, ...], described: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "ANSWERS_WITHIN", 0.3)
    result = files.publish("--labels", "no,yes", *options, suffix=".parquet")
    assert result.exit_code == 2
    assert described in said(result)
    assert not (files.directory / "model").exists()


def test_other_files_are_not_for_a_cluster(files: Files) -> None:
    files.write(".csv")
    result = files.publish("--workers", "2")
    assert result.exit_code == 2
    assert "--workers must be left out but for Parquet files" in said(result)


def test_a_network_without_encryption_is_warned_of(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "ANSWERS_WITHIN", 0.3)
    result = files.publish("--labels", "no,yes", "--scheduler", "tcp://192.0.2.1:8786", suffix=".parquet")
    assert result.exit_code == 2
    assert "not encrypted" in result.output
