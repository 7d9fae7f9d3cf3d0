"""How many files and functions of pcqr a call runs through, and how deep: what a reader has to follow, traced.

    PYTHONPATH=tests python -m support.walks

prints five walks on tables of two columns, each in a process of its own, and the size of the code base. Not counted:
libraries, serialization and what it calls, what runs while a module is imported, and comprehensions, which no reader
takes for functions.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import grimp
import numpy as np

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "pcqr"
SERIALIZATION = (PACKAGE / "serialization",)
SHORT = 100
"""A module with one importer and fewer lines could be part of its importer."""
_IMPORTING = "<frozen importlib"
_COMPREHENSIONS = {"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"}


@dataclass(frozen=True)
class Walk:
    """The numbers of distinct files and functions, and the most frames of the package on the stack of one thread."""

    files: frozenset[str]
    functions: frozenset[tuple[str, str, int]]
    """(file, qualified name, first line)."""
    depth: int

    @property
    def figures(self) -> tuple[int, int, int]:
        return len(self.files), len(self.functions), self.depth


class Tracer:
    """Counts the calls below a folder, in this thread and in those that start while it watches.

    Frames below a folder of `without` are not counted, nor is whatever they call.
    """

    def __init__(self, folder: Path = PACKAGE, without: tuple[Path, ...] = SERIALIZATION) -> None:
        self._counted, self._without = f"{folder}/", tuple(f"{each}/" for each in without)
        self._is_on = False
        self._depths: dict[CodeType, int] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Threads that are started in this block are traced too, while `walk` runs."""
        threading.setprofile(self._called)
        try:
            yield
        finally:
            threading.setprofile(None)

    def walk(self, act: Callable[[], object]) -> Walk:
        """What `act` runs through."""
        self._depths.clear()
        before = sys.getprofile()
        sys.setprofile(self._called)
        self._is_on = True
        try:
            act()
        finally:
            self._is_on = False
            sys.setprofile(before)
        found = [(code.co_filename, code.co_qualname, code.co_firstlineno) for code in self._depths]
        return Walk(frozenset(file for file, _, _ in found), frozenset(found), max(self._depths.values(), default=0))

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        if not self._is_on or event != "call" or not self._is_counted(frame.f_code):
            return
        depth, above = 0, frame
        while above is not None and above.f_code is not Tracer.walk.__code__:
            file = above.f_code.co_filename
            if file.startswith((_IMPORTING, *self._without)):
                return
            depth, above = depth + self._is_counted(above.f_code), above.f_back  # type: ignore[assignment]
        self._depths[frame.f_code] = max(depth, self._depths.get(frame.f_code, 0))

    def _is_counted(self, code: CodeType) -> bool:
        return code.co_filename.startswith(self._counted) and code.co_name not in _COMPREHENSIONS


def table(rows: int, seed: int = 0) -> tuple[Any, Any]:
    """Two columns, and labels that the first decides."""
    X = np.random.default_rng(seed).random((rows, 2))
    return X, (X[:, 0] > 0.4).astype(np.int64)


def _release(**parameters: Any) -> Any:
    from pcqr import AgnosticRelease

    return AgnosticRelease(epsilon=4.0, queries=30, vote="stability", entropy=0, **parameters).fit(*table(3_000))


def answer(tracer: Tracer) -> Walk:
    """One answer by votes, of a release in memory."""
    release = _release()
    release.answer([0.1, 0.5])
    return tracer.walk(lambda: release.answer([0.9, 0.5]))


def classifier(tracer: Tracer) -> Walk:
    """A fit that publishes a linear classifier with a tree beside it, with public rows."""
    from pcqr import PrivateClassifier

    public, _ = table(200, seed=1)
    return tracer.walk(lambda: PrivateClassifier(epsilon=1.0, entropy=0).fit(*table(10_000), public=public))


def agnostic(tracer: Tracer) -> Walk:
    """A fit that relabels and trains teachers."""
    return tracer.walk(_release)


def _kept(folder: Path) -> Path:
    _release().save(folder / "release", anchor=folder / "anchor").close()
    return folder / "release"


def command(tracer: Tracer) -> Walk:
    """`pcqr ask` of one query, on a release in a directory."""
    from typer.main import get_command

    from pcqr.cli.main import app

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        queries, out, anchor = (folder / each for each in ("queries.csv", "answers.csv", "anchor"))
        options = ["--queries", str(queries), "--out", str(out), "--anchor", str(anchor)]
        words = ["ask", str(_kept(folder)), *options]
        queries.write_text("x0,x1\n0.9,0.5\n")

        def run() -> None:
            with redirect_stdout(StringIO()):
                get_command(app).main(words, standalone_mode=False)
            assert out.read_text().count("\n") == 2, "a head and an answer"

        return tracer.walk(run)


def inference(tracer: Tracer) -> Walk:
    """One `POST /v2/models/ages/infer`, through the application and the thread that answers for the release."""
    from pcqr.server.app import make_app
    from pcqr.server.service import Place, Service
    from pcqr.server.state import ServerState, Settings
    from support.asgi import HOST, asked, scope

    tensor = {"name": "x", "shape": [1, 2], "datatype": "FP64", "data": [0.9, 0.5]}
    body = json.dumps({"inputs": [tensor]}).encode()
    headers = (HOST, (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)))
    of = scope("POST", "/v2/models/ages/infer", headers)
    with tempfile.TemporaryDirectory() as name, tracer.watching():
        folder = Path(name)
        service = Service.open([Place("ages", _kept(folder), anchor=folder / "anchor")])
        app = make_app(ServerState(Settings(), service))

        def ask() -> None:
            reply = asyncio.run(asked(app, of, [body]))
            assert reply is not None
            assert reply.status == 200, reply.body

        try:
            return tracer.walk(ask)
        finally:
            service.close()


WALKS: dict[str, Callable[[Tracer], Walk]] = {
    "one answer by votes, in memory": answer,
    "PrivateClassifier.fit, stacked": classifier,
    "AgnosticRelease.fit, stability": agnostic,
    "pcqr ask, one query": command,
    "HTTP inference, one row": inference,
}


@dataclass(frozen=True)
class Size:
    """The size of the code base: Python files and lines, and modules that only one other module imports."""

    files: int
    lines: int
    test_lines: int
    with_one_importer: int
    short_with_one_importer: int


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def size() -> Size:
    """Return the size of src and tests on disk. Imports only for type checkers do not count."""
    source, tests = (sorted((ROOT / name).rglob("*.py")) for name in ("src", "tests"))
    graph = grimp.build_graph("pcqr", cache_dir=None, exclude_type_checking_imports=True)
    modules = {".".join(path.relative_to(ROOT / "src").with_suffix("").parts): path for path in source}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    single = [modules[name] for name in graph.modules if len(graph.find_modules_that_directly_import(name)) == 1]
    return Size(
        len(source),
        sum(map(_lines, source)),
        sum(map(_lines, tests)),
        len(single),
        sum(_lines(path) < SHORT for path in single),
    )


def first_and_again(name: str) -> list[list[int]]:
    """Return the figures of a walk in a new process: of the first run, and of a second one with warm caches."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT / "tests"), str(ROOT / "src")))}
    command = [sys.executable, "-m", "support.walks", name]
    told = subprocess.run(command, capture_output=True, check=True, text=True, env=env)  # noqa: S603
    found: list[list[int]] = json.loads(told.stdout)
    return found


def main() -> None:
    """Print the figures of all walks, or of the one that is named."""
    if names := sys.argv[1:]:
        print(json.dumps([WALKS[names[0]](Tracer()).figures for _ in range(2)]))
        return
    print("| | files / functions / depth | once more |\n|---|---|---|")
    for name in WALKS:
        first, again = (" / ".join(map(str, figures)) for figures in first_and_again(name))
        print(f"| {name} | {first} | {again} |")
    found = size()
    print(f"| Python files in src | {found.files:,} | |\n| lines in src | {found.lines:,} | |")
    print(f"| lines of tests | {found.test_lines:,} | |\n| modules with one importer | {found.with_one_importer} | |")
    print(f"| of these below {SHORT} lines | {found.short_with_one_importer} | |")


if __name__ == "__main__":
    main()
