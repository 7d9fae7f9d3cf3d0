"""A server of pcqr in this process, at a port of its own, for the tests that speak to it."""

from __future__ import annotations

import atexit
import shutil
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import pcqr
from pcqr import Guarantee, Schema
from pcqr.data.schema import Column
from pcqr.hypotheses import Stumps
from pcqr.models import PublishedModel
from pcqr.server.app import make_app
from pcqr.server.run import Server
from pcqr.server.service import Place, Service
from pcqr.server.state import ServerState, Settings
from support.ledgers import new_folder


@contextmanager
def serving(*places: Place, **settings: Any) -> Iterator[str]:
    """The address of a server of these places, which is closed in the end: the whole of it, down to its connections."""
    with served(*places, **settings) as server:
        yield server.address


@contextmanager
def served(*places: Place, **settings: Any) -> Iterator[Running]:
    """A server of these places."""
    state = ServerState(Settings(**settings), Service.open(places))
    with running(make_app(state), state) as server:
        yield server


@dataclass(frozen=True)
class Running:
    """A server that runs in a thread."""

    port: int
    state: ServerState
    server: Server

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def running(app: Any, state: ServerState, context: ssl.SSLContext | None = None) -> Iterator[Running]:
    """A server of any application, behind the limits of `state` on connections."""
    server = Server(app, state, context)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.005)
            yield Running(bound.getsockname()[1], state, server)
        finally:
            server.stop()
            thread.join()


def release_place(folder: Path, name: str = "ages") -> Place:
    """The release that `support.kept.kept(folder)` has made, under a name of its own."""
    return Place(name, folder / "release", anchor=folder / "anchor")


BORDER = np.linspace(0.39, 0.41, 401)[:, None].tolist()
"""Queries to `ages` about its border at 0.4, so many that several are unstable."""
CLINIC = Schema(
    (
        Column("age", bounds=(0, 100)),
        Column("sex", "categorical", ["female", "male"]),
        Column("seen", "date", missing=True),
    )
)
"""Every kind of column. The label goes by age alone: ill from 60 on."""


def clinic(count: int, seed: int = 0) -> dict[str, list[Any]]:
    """Made-up patients, far from the border."""
    random = np.random.default_rng(seed)
    ages = np.where(random.random(count) < 0.5, random.uniform(0, 40, count), random.uniform(80, 100, count))
    return {
        "age": ages.tolist(),
        "sex": random.choice(["female", "male"], count).tolist(),
        "seen": [None if i % 3 else "2020-01-02" for i in range(count)],
    }


def clinic_place(folder: Path, name: str = "clinic") -> Place:
    """A release on made-up patients, with the labels well and ill. Made once, and copied."""
    shutil.copytree(_clinic_template(), folder, dirs_exist_ok=True)
    return release_place(folder, name)


@cache
def _clinic_template() -> Path:
    folder = new_folder()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    table = clinic(3_000)
    labels = ["ill" if age > 60 else "well" for age in table["age"]]
    release = pcqr.SubsampleAggregate(Stumps(), epsilon=4.0, queries=30, vote="stability", classes=("well", "ill"))
    release.fit(table, labels, schema=CLINIC).save(folder / "release", anchor=folder / "anchor").close()
    return folder


def model_place(folder: Path, name: str = "tree") -> Place:
    """A published model with the same columns: ill from 60 on."""
    hypothesis = Stumps().learn(CLINIC.encode(clinic(100)), [int(age > 60) for age in clinic(100)["age"]])
    PublishedModel(hypothesis, ("well", "ill"), CLINIC, Guarantee(1.0)).save(folder / name)
    return Place(name, folder / name)
