"""Finding, adding and taking back entries."""

from __future__ import annotations

from typing import TypeVar

from pcqr.errors import ParameterError
from pcqr.registry.entries import Algorithm, Entry, HypothesisFamily, resolve
from pcqr.registry.known import ALGORITHMS, CLASSES

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
