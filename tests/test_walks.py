"""The tracer counts a call tree of known size rightly."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from support.walks import WALKS, Tracer, size

TREE = {
    "house/__init__.py": "",
    "house/top.py": """
from house.middle import twice

def start():
    return [twice(number) for number in range(3)] + list(later())

def later():
    yield twice(1)
    yield twice(2)

def lazily():
    from house.lazy import made
    return made

def written():
    from house.papers.codec import write
    return write(start)

def fails():
    raise ValueError("by itself")
""",
    "house/middle.py": """
from house.bottom import plain

def twice(number):
    return plain(plain(number))

def never():
    return plain(0)
""",
    "house/bottom.py": "def plain(number):\n    return abs(number)\n",
    "house/lazy.py": "from house.middle import twice\n\nmade = [twice(1)]\n",
    "house/papers/__init__.py": "",
    "house/papers/codec.py": "def write(act):\n    return act()\n",
}
"""Text by file. `start` calls `later`, both call `twice`, which calls `plain`."""


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module at the top of a package that is imported from a folder of its own."""
    for name, text in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("house.top")
    for name in [name for name in sys.modules if name.split(".")[0] == "house"]:
        del sys.modules[name]


@pytest.fixture
def tracer(tmp_path: Path) -> Tracer:
    return Tracer(tmp_path / "house", (tmp_path / "house" / "papers",))


def names(tracer: Tracer, act: Callable[[], object]) -> set[str]:
    return {name for _, name, _ in tracer.walk(act).functions}


def test_files_functions_and_depth(house: Any, tracer: Tracer) -> None:
    """The comprehension is no level of its own, and a generator is as deep as whoever goes on with it."""
    found = tracer.walk(house.start)
    assert found.figures == (3, 4, 4)
    assert {Path(file).name for file in found.files} == {"top.py", "middle.py", "bottom.py"}
    assert {name for _, name, _ in found.functions} == {"start", "later", "twice", "plain"}
    assert tracer.walk(lambda: abs(-1)).figures == (0, 0, 0)


def test_what_runs_during_an_import_is_not_counted(house: Any, tracer: Tracer) -> None:
    assert "house.lazy" not in sys.modules
    assert names(tracer, house.lazily) == {"lazily"}
    assert "house.lazy" in sys.modules


def test_serialization_and_what_it_calls_is_not_counted(house: Any, tracer: Tracer, tmp_path: Path) -> None:
    assert names(tracer, house.written) == {"written"}
    assert names(Tracer(tmp_path / "house", ()), house.written) == {
        "written",
        "write",
        "start",
        "later",
        "twice",
        "plain",
    }


def test_a_folder_whose_name_begins_alike_is_another(house: Any, tmp_path: Path) -> None:
    assert Tracer(tmp_path / "hou", ()).walk(house.start).figures == (0, 0, 0)


def test_threads_that_start_while_it_watches_are_counted(house: Any, tracer: Tracer) -> None:
    def in_a_thread(walk: Tracer) -> set[str]:
        go, done = threading.Event(), threading.Event()

        def work() -> None:
            go.wait()
            house.later().__next__()
            done.set()

        thread = threading.Thread(target=work)
        thread.start()

        def wake() -> None:
            go.set()
            done.wait()

        found = names(walk, wake)
        thread.join()
        return found

    assert in_a_thread(tracer) == set()
    with tracer.watching():
        assert in_a_thread(tracer) == {"later", "twice", "plain"}


def test_it_puts_back_what_it_found_also_after_an_error(house: Any, tracer: Tracer) -> None:
    before = sys.getprofile()
    with pytest.raises(ValueError, match=r"^by itself$"):
        tracer.walk(house.fails)
    assert sys.getprofile() is before


def test_a_walk_can_be_taken() -> None:
    """The figures are those of today; that an answer comes out, and calls something, is what lasts."""
    files, functions, depth = WALKS["one answer by votes, in memory"](Tracer()).figures
    assert 1 < depth <= functions
    assert 1 < files <= functions


def test_the_house_has_a_size() -> None:
    found = size()
    assert 0 <= found.short_with_one_importer <= found.with_one_importer < found.files
    assert found.lines > found.files
