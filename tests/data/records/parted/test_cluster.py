"""The engine on a Dask cluster: values stay on workers, nothing of them is told, and a dead worker changes nothing."""

from __future__ import annotations

import os
import signal
import stat
import tempfile
from pathlib import Path

import numpy as np
import pytest
from support import clusters

from pcqr.data.records.parted import cluster as connecting
from pcqr.data.records.parted.cluster import Cluster, ClusterLost, check
from pcqr.errors import DataError, ParameterError

pytest.importorskip("distributed")


def test_values_stay_where_they_are_made_and_answers_come_in_order(cluster: Cluster) -> None:
    handles = cluster.hold(clusters.made, range(10))
    assert list(cluster.each(clusters.number_and, handles, 5)) == list(range(5, 15))
    assert len(set(cluster.each(clusters.process_of, handles)) - {os.getpid()}) == 2
    cluster.discard(handles)


def test_large_arguments_are_sent_once_and_arrive_whole(cluster: Cluster) -> None:
    handles = cluster.hold(clusters.made, range(6))
    weights = np.arange(3 << 20)
    assert list(cluster.each(clusters.number_and, handles, weights)) == [int(weights.sum()) + n for n in range(6)]


def test_a_worker_works_in_one_thread(cluster: Cluster) -> None:
    assert set(cluster.each(clusters.threads_of, cluster.hold(clusters.made, range(4)))) == {1}


def test_keys_are_random_and_logs_say_nothing_of_what_fails(
    cluster: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    """Dask's own keys are hashes of arguments, and its workers print the arguments of what fails."""
    handles = cluster.hold(clusters.made, [100, 100])
    with pytest.raises(DataError, match="NaN or infinity in part 1"):
        list(cluster.each(clusters.refused, handles))
    with pytest.raises(ClusterLost, match="ValueError") as told:
        list(cluster.each(clusters.crashed, handles))
    assert clusters.SECRET not in str(told.value)
    client = cluster.connection.client
    keys = {key for found in client.has_what().values() for key in found}
    assert len(keys) == len(set(keys)) >= 2
    assert all(key.startswith("pcqr-") for key in keys)
    again = cluster.hold(clusters.made, [100])
    assert again[0].future.key not in keys
    logs = str(client.get_worker_logs()) + str(client.get_scheduler_logs()) + "".join(capfd.readouterr())
    assert clusters.SECRET not in logs
    assert "Compute Failed" not in logs


def test_what_cannot_be_made_is_told_before_anything_is_asked(cluster: Cluster) -> None:
    handles = cluster.hold(clusters.made, range(3))
    with pytest.raises(DataError, match="part 0"):
        cluster.hold(clusters.refused, handles)


def test_the_workers_are_their_owners_alone(cluster: Cluster) -> None:
    """Their directory; and whoever would speak to them needs a key that is in no file."""
    directory = Path(cluster.connection.directory or "")
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert all(address.startswith("tls://127.0.0.1:") for address in cluster.connection.addresses())


def test_workers_on_this_machine_write_no_record_to_disk_and_serve_no_page(cluster: Cluster) -> None:
    """Also those that were started in the place of others: a process that is killed outright leaves its files."""
    cluster.hold(clusters.made, range(4))
    for _ in range(2):
        client = cluster.connection.client
        assert set(client.run(clusters.keeper).values()) == {("dict", 0)}  # a SpillBuffer would write
        client.restart_workers(cluster.connection.addresses())
        client.wait_for_workers(2)


def test_all_of_a_cluster_is_in_its_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Cluster(workers=1) as engine:
        assert [str(found) for found in tmp_path.iterdir()] == [engine.connection.directory]
    assert not list(tmp_path.iterdir())


def test_a_worker_that_is_killed_is_replaced_and_its_parts_made_anew(cluster: Cluster) -> None:
    handles = cluster.hold(clusters.made, range(8))
    found = []
    for place, answer in enumerate(cluster.each(clusters.number_and, handles, np.ones(1 << 17))):
        if place == 1:
            os.kill(next(iter(set(cluster.connection.client.run(os.getpid).values()))), signal.SIGKILL)
        found.append(answer)
    assert found == [n + (1 << 17) for n in range(8)]


def test_an_address_where_nobody_is_is_refused_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "ANSWERS_WITHIN", 0.5)
    with pytest.raises(ParameterError, match="scheduler must be the address of a Dask scheduler that answers"):
        Cluster("tcp://127.0.0.1:1")
    with pytest.raises(ParameterError, match="certificates"):
        Cluster("tls://127.0.0.1:1")
    with pytest.raises(ParameterError, match="'local', 'tcp://HOST:PORT' or 'tls://HOST:PORT'"):
        Cluster("http://127.0.0.1:1")
    with pytest.raises(ParameterError, match="workers must be None"):
        Cluster("tcp://127.0.0.1:1", 2)


def test_workers_with_another_program_are_refused(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it is this process that has another one; cloudpickle would send what it cannot find by name."""
    check(cluster.connection, "local")
    monkeypatch.setattr(np, "__version__", "1.0")
    with pytest.raises(ParameterError, match="the same pcqr, Python and numpy"):
        check(cluster.connection, "local")


def test_a_task_that_fails_as_dask_has_it_would_tell_all(cluster: Cluster) -> None:
    """What the logs are searched for above is there, once a task is given to Dask as it is: the search can fail."""
    client = cluster.connection.client
    task = client.submit(clusters.crashed, clusters.Loud(7), pure=False)
    assert isinstance(task.exception(), ValueError)
    assert f"{clusters.SECRET} 7" in str(client.get_worker_logs())
