"""The registry as docs/glossary.md shows it."""

from __future__ import annotations

from collections.abc import Sequence

from pcqr.registry.lookup import algorithms, classes


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
