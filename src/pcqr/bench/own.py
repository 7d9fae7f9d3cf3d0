"""A method of a user's own: the class that a task names as package.module:Class (`pcqr.bench.methods`)."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from pcqr.bench.outside.task import NOT_ASKED, UNANSWERED, Labels, Task
from pcqr.errors import ParameterError
from pcqr.schema import Schema


def run(task: Task) -> Labels:
    """The labels that its object gives."""
    method, schema = _made(task.method), None if task.schema is None else Schema.from_dict(task.schema)
    options = {"epsilon": task.epsilon, "delta": task.delta, "seed": task.seed}
    X_test: Any = task.X_test
    if task.raw is None:
        method.fit(task.X, task.y, public=task.public, schema=schema, **options)
    else:
        X_test = task.raw_test
        method.fit(task.raw, task.y, public=None, schema=None, **options)
    task.fitted()
    if getattr(method, "asks", False):
        return task.among_asked(_plain(method.predict(task.queries)))
    return _plain(method.predict(X_test))


def _made(name: str) -> Any:
    module, _, kind = name.partition(":")
    try:
        return getattr(importlib.import_module(module), kind)()
    except (ImportError, AttributeError) as error:
        raise ParameterError("--method", "package.module:Class of a class that can be imported", str(error)) from None


def _plain(labels: Any) -> Labels:
    found = [UNANSWERED if label is None else int(label) for label in labels]
    if min(found, default=0) <= NOT_ASKED:
        raise ParameterError("labels of a method", "0, 1, …, or −1 or None where there is none", min(found))
    return np.array(found, dtype=np.int64)
