"""The entries themselves. A new peer is one line here, or one call of `pcqr.registry.register`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pcqr.errors import ParameterError
from pcqr.registry.entries import Algorithm, Entry, HypothesisFamily, Reference, resolve

ALGORITHMS: list[Reference] = [
    "pcqr.releases.classifier:PRIVATE_CLASSIFIER",
    "pcqr.releases.semi_private:SSPP",
    "pcqr.releases.universal:UNV_PRIV_CL",
    "pcqr.releases.agnostic:AG_PRIV_CL",
    "pcqr.releases.multiparty:PARTIES",
    "pcqr.releases.noisy_max:NOISY_MAX",
    "pcqr.releases.knn:INDIVIDUAL_KNN",
    "pcqr.releases.knn:PRIVATE_KNN",
    "pcqr.releases.gibbs:GIBBS",
    "pcqr.releases.confident:CONFIDENT_MAX",
    "pcqr.releases.interactive:INTERACTIVE_MAX",
    "pcqr.releases.subsample:SUB_SAMP",
]
"""In the order in which near ties between them are decided: what is published at once, published later, abstains."""

CLASSES: list[Reference] = [
    HypothesisFamily(name="Thresholds", make="pcqr.hypotheses:Thresholds", proof="thresholds", option="thresholds"),
    HypothesisFamily(name="Intervals", make="pcqr.hypotheses:Intervals", proof="intervals", option="intervals"),
    HypothesisFamily(
        name="UnionsOfIntervals",
        make="pcqr.hypotheses:UnionsOfIntervals",
        proof="unions",
        option="unions",
        parameters={"intervals": "r"},
    ),
    HypothesisFamily(name="Stumps", make="pcqr.hypotheses:Stumps", proof="stumps", option="stumps"),
    HypothesisFamily(name="Rectangles", make="pcqr.hypotheses:Rectangles", proof="rectangles", option="rectangles"),
    HypothesisFamily(name="Halfspaces", make="pcqr.hypotheses:Halfspaces", proof="halfspaces", option="halfspaces"),
    HypothesisFamily(
        name="DecisionTrees",
        make="pcqr.hypotheses:DecisionTrees",
        proof="trees",
        option="trees",
        parameters={"depth": "depth"},
        needs_public=True,
    ),
    HypothesisFamily(name="Finite", make="pcqr.hypotheses:Finite", proof="finite"),
    HypothesisFamily(name="Estimators", make="pcqr.hypotheses:Estimators", proof="ensemble"),
    HypothesisFamily(name="LogisticTeachers", make="pcqr.hypotheses:LogisticTeachers", proof="ensemble"),
    HypothesisFamily(name="TreeTeachers", make="pcqr.hypotheses:TreeTeachers", proof="ensemble"),
]


# ---------------------------------------------------------------------------------------------------------------------
# Finding, adding and taking back entries.


E = TypeVar("E", Algorithm, HypothesisFamily)


def algorithms() -> tuple[Algorithm, ...]:
    """All algorithms, in the order in which near ties between them are decided.

    Returns
    -------
    tuple of Algorithm

    Examples
    --------
    >>> from pcqr.registry import algorithms
    >>> [entry.name for entry in algorithms()][:4]
    ['PrivateClassifier', 'SSPP', 'UnvPrivCl', 'AgPrivCl']
    """
    return tuple(map(resolve, ALGORITHMS))


def classes() -> tuple[HypothesisFamily, ...]:
    """All hypothesis classes.

    Returns
    -------
    tuple of HypothesisFamily

    Examples
    --------
    >>> from pcqr.registry import classes
    >>> [entry.option for entry in classes()][:3]
    ['thresholds', 'intervals', 'unions']
    """
    return tuple(map(resolve, CLASSES))


def algorithm(text: str) -> Algorithm:
    """The algorithm of a name.

    Parameters
    ----------
    text : str
        Any of its names, in any case.

    Returns
    -------
    Algorithm

    Raises
    ------
    ParameterError
        Where nothing is called so.

    Examples
    --------
    >>> from pcqr.registry import algorithm
    >>> algorithm("agprivcl").estimator_name
    'AgnosticRelease'
    """
    found = _find(text, algorithms())
    if found is None:
        raise ParameterError("algorithm", f"one of {', '.join(entry.name for entry in algorithms())}", text)
    return found


def hypothesis_class(text: str) -> HypothesisFamily:
    """The hypothesis class of a name.

    Parameters
    ----------
    text : str
        Any of its names, in any case.

    Returns
    -------
    HypothesisFamily

    Raises
    ------
    ParameterError
        Where nothing is called so.

    Examples
    --------
    >>> from pcqr.registry import hypothesis_class
    >>> hypothesis_class("trees").proof
    'trees'
    """
    found = _find(text, classes())
    if found is None:
        raise ParameterError("class", f"one of {', '.join(entry.name for entry in classes())}", text)
    return found


def _find(text: str, entries: tuple[E, ...]) -> E | None:
    wanted = text.casefold()
    return next((entry for entry in entries if wanted in (name.casefold() for name in entry.names)), None)


def register(entry: Entry) -> None:
    """Add an entry, which comes last. From then on plans, commands and the glossary have it.

    Parameters
    ----------
    entry : Algorithm or HypothesisFamily

    Raises
    ------
    ParameterError
        Where one of its names is another's.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from pcqr.registry import classes, hypothesis_class, register, unregister
    >>> mine = replace(hypothesis_class("stumps"), name="MyStumps", option="my-stumps")
    >>> register(mine)
    >>> classes()[-1].name
    'MyStumps'
    >>> unregister(mine)
    """
    known: tuple[Entry, ...] = algorithms() if isinstance(entry, Algorithm) else classes()
    taken = {name.casefold() for other in known for name in other.names}
    for name in entry.names:
        if name.casefold() in taken:
            raise ParameterError("name", "one that nothing else is called", name)
    (ALGORITHMS if isinstance(entry, Algorithm) else CLASSES).append(entry)


def unregister(entry: Entry) -> None:
    """Take back what `register` added.

    Parameters
    ----------
    entry : Algorithm or HypothesisFamily

    Examples
    --------
    >>> from dataclasses import replace
    >>> from pcqr.registry import classes, hypothesis_class, register, unregister
    >>> mine = replace(hypothesis_class("stumps"), name="MyStumps", option="my-stumps")
    >>> register(mine)
    >>> unregister(mine)
    >>> mine in classes()
    False
    """
    (ALGORITHMS if isinstance(entry, Algorithm) else CLASSES).remove(entry)


# ---------------------------------------------------------------------------------------------------------------------
# The registry as docs/glossary.md shows it.


def algorithm_table() -> str:
    """The algorithms as docs/glossary.md shows them.

    Returns
    -------
    str
        A table in Markdown.

    Examples
    --------
    >>> from pcqr.registry import algorithm_table
    >>> algorithm_table().splitlines()[0]
    '| in Python | in the papers | on the command line | what it does | proof |'
    """
    rows = []
    for entry in algorithms():
        paper = (
            "–" if entry.name == entry.estimator_name else " ".join((entry.name, *(f"({a})" for a in entry.aliases)))
        )
        command = "–" if entry.command_line is None else f"`{entry.command_line}`"
        rows.append((f"`{entry.estimator_name}`", paper, command, entry.words, _notes(entry.proof, *entry.further)))
    return _table(("in Python", "in the papers", "on the command line", "what it does", "proof"), rows)


def class_table() -> str:
    """The hypothesis classes as docs/glossary.md shows them.

    Returns
    -------
    str
        A table in Markdown.

    Examples
    --------
    >>> from pcqr.registry import class_table
    >>> class_table().splitlines()[2]
    '| `Thresholds` | `thresholds` | [thresholds](../proofs/thresholds.md) |'
    """
    rows = []
    for entry in classes():
        options = "".join(f" --{option} …" for option in entry.parameters)
        rows.append(
            (f"`{entry.name}`", "–" if entry.option is None else f"`{entry.option}{options}`", _notes(entry.proof))
        )
    return _table(("in Python", "`--class`", "proof"), rows)


def _notes(*names: str) -> str:
    return ", ".join(f"[{name}](../proofs/{name}.md)" for name in names)


def _table(top: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" if row else "|---" * len(top) + "|" for row in (top, (), *rows))
