"""Syntax trees without what may change freely: docstrings, comments, layout."""

from __future__ import annotations

import ast


def shape(node: object) -> object:
    """A node as nested tuples. Docstrings and empty fields are left out: the latter differ between Pythons."""
    if isinstance(node, list):
        return tuple(shape(item) for item in node if not _is_docstring(item))
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if value is not None and value != [])
        return (type(node).__name__, *((name, shape(value)) for name, value in fields))
    return node


def _is_docstring(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
