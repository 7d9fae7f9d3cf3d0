"""Every public name is explained as scikit-learn explains its own, and every example in the sources runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

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
    for path in sorted(
        {*SOURCES.glob("*.py"), *SOURCES.rglob("__init__.py"), SOURCES / "hypotheses" / "committees.py"}
    ):
        if not {"audit", "durable", "parted"} & {*path.parts} and "\n__all__ = [" in path.read_text(encoding="utf-8"):
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


def test_the_rooms_that_users_know_are_among_them() -> None:
    rooms = "data.records data.schema datasets hypotheses mechanisms models privacy.accounting progress".split()  # noqa: SIM905
    assert {room.__name__ for room in _rooms()} >= {"pcqr", *(f"pcqr.{room}" for room in rooms)}


def test_the_examples_run() -> None:
    said = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for example in EXAMPLES.values():
        runner.run(example, out=said.write)
    assert not runner.failures, said.getvalue()


def _shown(name: str, value: Any) -> bool:
    """Is there an example that uses `value` and shows what comes of it? Its room's docstring has that of a constant."""
    room, _, plain = name.rpartition(".")
    if name not in DESCRIBED:
        return any(plain in example.source for example in EXAMPLES[room].examples)
    if "Examples" not in sections(vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__):
        return False
    examples = EXAMPLES[f"{value.__module__}.{value.__qualname__}"].examples
    return any(plain in example.source for example in examples) and any(example.want for example in examples)


def test_a_public_name_has_an_example_that_uses_it_and_shows_what_comes_of_it() -> None:
    assert [name for name, value in PUBLIC.items() if not _shown(name, value)] == []


def test_the_parameters_of_a_public_name_are_those_of_its_signature() -> None:
    found = {name: _documented(value.__doc__) ^ _parameters(value) for name, value in DESCRIBED.items()}
    assert {name: names for name, names in found.items() if names} == {}


def _wrong_defaults(value: Any) -> Iterator[str]:
    """The parameters whose default is not the one in the docstring."""
    kinds = entries(sections(value.__doc__).get("Parameters", ""))
    for parameter in inspect.signature(value).parameters.values():
        kind = kinds[parameter.name]
        _, is_said, said = kind.partition("default ")
        if kind.startswith("see ") or parameter.kind is parameter.VAR_POSITIONAL:
            continue
        is_optional = parameter.default is not parameter.empty
        is_written_out = bool(is_said) and said[0] in '("-.0123456789NTF'  # a number, a text, None, a truth, a tuple
        differs = is_written_out and ast.literal_eval(said) != parameter.default
        if differs or is_optional != bool(is_said or kind.endswith("optional")):
            yield parameter.name


def test_the_defaults_of_a_public_name_are_those_of_its_signature() -> None:
    described = {name: value for name, value in DESCRIBED.items() if _parameters(value)}
    assert [f"{name}: {each}" for name, value in described.items() for each in _wrong_defaults(value)] == []


def test_the_attributes_that_a_class_names_are_there() -> None:
    classes = {name: value for name, value in DESCRIBED.items() if inspect.isclass(value)}
    named = {name: entries(sections(value.__doc__).get("Attributes", "")) for name, value in classes.items()}
    assert [f"{name}.{each}" for name in named for each in named[name] if not _is_there(each, classes[name])] == []


def _silence(owner: type, name: str) -> str | None:
    """What the docstring of a method leaves out, or None. What the method overrides may say it for it."""
    value = inspect.getattr_static(owner, name)
    told = [vars(base)[name].__doc__ for base in owner.__mro__ if name in vars(base) and _is_ours(base)]
    if not any(told):
        return "has no docstring"
    if name not in MAIN.split() or isinstance(value, property):
        return None
    is_silent = inspect.signature(getattr(owner, name)).return_annotation in (None, "None")
    if not is_silent and not any("Returns" in sections(text) for text in told):
        return "does not say what it returns"
    left_out = _parameters(getattr(owner, name)) - set().union(*map(_documented, told))
    return f"does not explain {sorted(left_out)}" if left_out else None


def test_a_public_method_says_what_it_does_and_a_main_one_what_it_takes_and_returns() -> None:
    classes = {name: value for name, value in DESCRIBED.items() if inspect.isclass(value)}
    found = {f"{owner}.{name}": _silence(value, name) for owner, value in classes.items() for name in _methods(value)}
    assert len(found) > 500
    assert {name: silence for name, silence in found.items() if silence} == {}


@cache
def _docstrings() -> list[tuple[str, str]]:
    """Every docstring of the sources, with its place."""
    return [
        (f"{path.relative_to(SOURCES)} {getattr(node, 'name', '')}", text)
        for path in sorted(SOURCES.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node))
    ]


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
