"""Every public name is explained as scikit-learn explains its own, and every example in the sources runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.docstrings import entries, sections

import pcqr

SOURCES = Path(pcqr.__file__).parent
MAIN = """
    amplify answer below compose draw encode fit from_dict from_json from_public from_toml group learn permutation plan
    predict preview question sample save split start to_dict to_json to_onnx to_toml within without
"""
"""Methods of which a caller must know every argument and what comes back; of others a summary is enough."""


def _rooms() -> Iterator[Any]:
    """pcqr and the rooms in it that say by `__all__` what is public."""
    further = (SOURCES / "hypotheses" / room / "__init__.py" for room in ("committees", "trees"))
    for path in sorted((*SOURCES.glob("*.py"), *SOURCES.glob("*/__init__.py"), *further)):
        if "\n__all__ = [" in path.read_text(encoding="utf-8"):
            yield _imported(path)


def _imported(path: Path) -> Any:
    parts = path.relative_to(SOURCES.parent).with_suffix("").parts
    return importlib.import_module(".".join(parts).removesuffix(".__init__"))


def _is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).split(".")[0] == "pcqr"


def _examples() -> Iterator[doctest.DocTest]:
    for path in sorted(SOURCES.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            yield from (found for found in doctest.DocTestFinder().find(_imported(path)) if found.examples)


def _public() -> Iterator[tuple[str, Any]]:
    """Every public name, once, in the first room that has it."""
    seen: list[Any] = []
    for room in _rooms():
        for name in room.__all__:
            value = getattr(room, name)
            if not any(value is known for known in seen):
                seen.append(value)
                yield f"{room.__name__}.{name}", value


def _methods(owner: type) -> list[str]:
    """The public methods and properties of a class that pcqr itself has written."""
    ours = [base for base in owner.__mro__ if _is_ours(base)]
    kinds = (classmethod, staticmethod, property)
    return sorted(
        {
            name
            for base in ours
            for name, value in vars(base).items()
            if not name.startswith("_") and (isinstance(value, kinds) or inspect.isroutine(value))
        }
    )


def _parameters(value: Any) -> set[str]:
    """What a caller passes to a function, or to the constructor of a class that has one of its own."""
    if inspect.isclass(value) and not _is_ours(value.__init__) and not issubclass(value, tuple):
        return set()
    return {name for name in inspect.signature(value).parameters if name not in ("self", "cls")}


def _documented(docstring: str | None) -> set[str]:
    return set(entries(sections(docstring).get("Parameters", "")))


def _is_there(name: str, owner: type) -> bool:
    """Is `name` an attribute of the class, declared in it, or set by one of its methods?"""
    ours = [base for base in owner.__mro__ if _is_ours(base)]
    return hasattr(owner, name) or any(
        name in vars(base).get("__annotations__", {}) or f"self.{name}" in inspect.getsource(base) for base in ours
    )


EXAMPLES = {example.name: example for example in _examples()}
PUBLIC = dict(_public())
DESCRIBED: dict[str, Any] = {
    name: value for name, value in PUBLIC.items() if inspect.isclass(value) or inspect.isroutine(value)
}
PLAIN = [name for name in PUBLIC if name not in DESCRIBED]
METHODS = [(owner, name) for owner, value in DESCRIBED.items() if inspect.isclass(value) for name in _methods(value)]


def test_the_rooms_that_users_know_are_among_them() -> None:
    rooms = "accounting datasets estimators hypotheses mechanisms models plan planning progress records schema".split()  # noqa: SIM905
    assert {room.__name__ for room in _rooms()} >= {"pcqr", *(f"pcqr.{room}" for room in rooms)}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs(name: str) -> None:
    said = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(EXAMPLES[name], out=said.write)
    assert not runner.failures, said.getvalue()


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_public_name_has_an_example_that_uses_it_and_shows_what_comes_of_it(name: str) -> None:
    value = DESCRIBED[name]
    assert "Examples" in sections(vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__)
    examples = EXAMPLES[f"{value.__module__}.{value.__qualname__}"].examples
    assert any(name.rpartition(".")[2] in example.source for example in examples)
    assert any(example.want for example in examples)


@pytest.mark.parametrize("name", PLAIN)
def test_a_name_without_a_docstring_is_shown_in_an_example_of_its_room(name: str) -> None:
    """Constants and unions of types."""
    room, _, plain = name.rpartition(".")
    assert any(plain in example.source for example in EXAMPLES[room].examples)


@pytest.mark.parametrize("name", DESCRIBED)
def test_the_parameters_of_a_public_name_are_those_of_its_signature(name: str) -> None:
    assert _documented(DESCRIBED[name].__doc__) == _parameters(DESCRIBED[name])


@pytest.mark.parametrize("name", [name for name in DESCRIBED if _parameters(DESCRIBED[name])])
def test_the_defaults_of_a_public_name_are_those_of_its_signature(name: str) -> None:
    kinds = entries(sections(DESCRIBED[name].__doc__)["Parameters"])
    for parameter in inspect.signature(DESCRIBED[name]).parameters.values():
        kind = kinds[parameter.name]
        _, is_said, said = kind.partition("default ")
        if kind.startswith("see ") or parameter.kind is parameter.VAR_POSITIONAL:
            continue
        assert (parameter.default is not parameter.empty) == bool(is_said or kind.endswith("optional"))
        if is_said and said[0] in '("-.0123456789NTF':  # written out: a number, a text, None, True, False or a tuple
            assert ast.literal_eval(said) == parameter.default


@pytest.mark.parametrize("owner", [name for name in DESCRIBED if inspect.isclass(DESCRIBED[name])])
def test_the_attributes_that_a_class_names_are_there(owner: str) -> None:
    named = entries(sections(DESCRIBED[owner].__doc__).get("Attributes", ""))
    assert [name for name in named if not _is_there(name, DESCRIBED[owner])] == []


@pytest.mark.parametrize(("owner", "name"), METHODS)
def test_a_public_method_says_what_it_does_and_a_main_one_what_it_takes_and_returns(owner: str, name: str) -> None:
    """What a method overrides may say it for it."""
    value = inspect.getattr_static(DESCRIBED[owner], name)
    told = [vars(base)[name].__doc__ for base in DESCRIBED[owner].__mro__ if name in vars(base) and _is_ours(base)]
    assert any(told), f"{owner}.{name} has no docstring"
    if name not in MAIN.split() or isinstance(value, property):
        return
    is_silent = inspect.signature(getattr(DESCRIBED[owner], name)).return_annotation in (None, "None")
    assert is_silent or any("Returns" in sections(text) for text in told), (
        f"{owner}.{name} does not say what it returns"
    )
    documented = set().union(*map(_documented, told))
    assert _parameters(getattr(DESCRIBED[owner], name)) <= documented


def _docstrings() -> Iterator[tuple[str, str]]:
    """Every docstring of the sources, with its place."""
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield f"{path.relative_to(SOURCES)} {getattr(node, 'name', '')}", text


def test_titles_are_underlined_and_references_begin_lines_as_sphinx_reads_them() -> None:
    ragged = [
        place
        for place, text in _docstrings()
        if re.search(r"^ *-{4,}.*[^-\n]", text, flags=re.MULTILINE) or re.search(r"\S.*\.\. \[", text)
    ]
    assert not ragged


def test_a_reference_that_is_cited_is_listed() -> None:
    cited = {place: set(re.findall(r"\[(\d+)\]_", text)) for place, text in _docstrings()}
    listed = {place: set(re.findall(r"^\.\. \[(\d+)\] ", text, flags=re.MULTILINE)) for place, text in _docstrings()}
    assert not {place: numbers - listed[place] for place, numbers in cited.items() if not numbers <= listed[place]}
    assert sum(map(len, cited.values())) > 10


def test_sections_and_their_entries_are_read() -> None:
    text = """A summary.

    Parameters
    ----------
    X, y : array
        The records.
    *others : int, default 1
        More: not an entry.

    Returns
    -------
    int
    """
    found = sections(text)
    assert list(found) == ["", "Parameters", "Returns"]
    assert found[""].strip() == "A summary."
    assert entries(found["Parameters"]) == {"X": "array", "y": "array", "others": "int, default 1"}
    assert found["Returns"] == "int"
