"""One registry of algorithms and of hypothesis classes: whatever lists, plans, runs or explains them looks here.

An entry says what the papers, Python and the command line call a thing, and where its code and its proof are. Code is
named as "module:attribute", as entry points are, or given itself; it is loaded when it is used, so that `pcqr --help`
waits for nothing. A new peer is a folder and one line in `pcqr.registry.lookup`, or one call of `register`.

docs/glossary.md shows both tables as `algorithm_table` and `class_table` write them.

>>> from pcqr.registry import Entry, algorithm, hypothesis_class
>>> [isinstance(found, Entry) for found in (algorithm("SSPP"), hypothesis_class("trees"))]
[True, True]
"""

from pcqr.registry.entries import Algorithm, Entry, HypothesisFamily, resolve
from pcqr.registry.lookup import (
    algorithm,
    algorithm_table,
    algorithms,
    class_table,
    classes,
    hypothesis_class,
    register,
    unregister,
)

__all__ = [
    "Algorithm",
    "Entry",
    "HypothesisFamily",
    "algorithm",
    "algorithm_table",
    "algorithms",
    "class_table",
    "classes",
    "hypothesis_class",
    "register",
    "resolve",
    "unregister",
]
