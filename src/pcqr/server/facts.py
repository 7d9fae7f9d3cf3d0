"""Public facts of what is served, as plain values for JSON."""

from __future__ import annotations

import tempfile
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pcqr.errors import LedgerError
from pcqr.guarantee import Guarantee
from pcqr.models.card import guarantee_in_words
from pcqr.plan import BatchCost, Usage
from pcqr.plan.words import plan_facts, promise
from pcqr.schema import Column
from pcqr.server.errors import Refusal
from pcqr.server.served import ServedModel, ServedRelease
from pcqr.server.service import Served
from pcqr.server.settings import Settings

_drawing = threading.Lock()
"""matplotlib's settings are those of the process."""
_pictures: WeakKeyDictionary[Served, bytes] = WeakKeyDictionary()


def counts(usage: Usage) -> dict[str, int | None]:
    labels = {} if usage.labels is None else {"labels": usage.labels}
    return {"queries": usage.queries, "unstable": usage.unstable} | labels


def guarantee_facts(guarantee: Guarantee, words: str) -> dict[str, Any]:
    told = guarantee.facts()
    return told | {"unit": told.pop("adjacency"), "words": words}


def facts(served: Served, settings: Settings, *, for_holder: bool) -> dict[str, Any]:
    """Return what `/v1/releases` says of it. Only the holder sees who adopted a copy, and where."""
    told = {
        "name": served.name,
        "kind": served.kind,
        "columns": None if served.schema is None else [column_facts(column) for column in served.schema.columns],
        "features": served.features,
        "classes": list(served.classes),
        "most_rows": settings.most_rows,
        "most_bytes": settings.most_bytes,
    }
    if isinstance(served, ServedModel):
        return told | _model_facts(served)
    return told | _release_facts(served, for_holder=for_holder)


def detail(served: Served, settings: Settings, *, for_holder: bool) -> dict[str, Any]:
    """The same with its plan and its classifier."""
    told = facts(served, settings, for_holder=for_holder)
    if told["state"] == "failed":
        raise Refusal("ledger_closed", "The log of this release cannot be read or written now.")
    model = served.published
    plan = None if isinstance(served, ServedModel) else served.release.plan_
    expected = None if plan is None or plan.prediction is None else asdict(plan.prediction)
    return told | {
        "plan": None if plan is None else plan_facts(plan),
        "expectation": expected,
        "rules": None if model is None else model.rules(),
        "picture": None if model is None else f"/v1/releases/{served.name}/picture.svg",
    }


def state_of(served: ServedRelease) -> dict[str, Any]:
    """What was spent, what is left, and whether more can be asked, of one moment."""
    now = served.now()
    state = "published" if now.is_published else "halted" if now.left.is_nothing else "open"
    return {"state": state, "spent": counts(now.spent), "left": counts(now.left)}


def _state_if_known(served: ServedRelease, *, for_holder: bool) -> dict[str, Any]:
    """Return state and guarantee, or the state "failed" if the log cannot be read: the others are still listed."""
    with suppress(LedgerError):
        if served.is_ready:
            return state_of(served) | promised(served, for_holder=for_holder)
    release = served.release
    words = promise(release.guarantee_, release.n_records_)
    told = {"guarantee": guarantee_facts(release.guarantee_, words), "adoptions": []}
    return {"state": "failed", "spent": None, "left": None} | told


def promised(served: ServedRelease, *, for_holder: bool) -> dict[str, Any]:
    """Return the guarantee and every adoption of a copy. Only the holder sees who decided it."""
    guarantee = served.guarantee
    return {
        "guarantee": guarantee_facts(guarantee, promise(guarantee, served.release.n_records_)),
        "adoptions": [each.facts(for_holder=for_holder) for each in served.adoptions],
    }


def picture(served: Served) -> bytes:
    """The published classifier as SVG, drawn by us and once: a file that lies there may hold anything."""
    model = served.published
    if model is None:
        raise Refusal("unknown_path", "Nothing is published here yet.")
    with _drawing:
        if served not in _pictures:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "picture.svg"
                model.draw(path)
                _pictures[served] = path.read_bytes()
        return _pictures[served]


def column_facts(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": column.kind,
        "categories": list(column.categories) if column.kind == "categorical" else None,
        "bounds": None if column.bounds is None else list(column.bounds),
        "missing": column.missing,
        "other": column.other,
    }


def cost_facts(cost: BatchCost) -> dict[str, Any]:
    told = asdict(cost)
    marks = {"is_certain": cost.is_certain, "is_refused": cost.is_refused, "is_exhausting": cost.is_exhausting}
    return told | marks | {"words": str(cost)}


def _release_facts(served: ServedRelease, *, for_holder: bool) -> dict[str, Any]:
    release = served.release
    return {
        "algorithm": type(release).__name__,
        "planned_queries": release.plan_.queries,
        "records": release.n_records_,
        "on_unstable": getattr(release, "on_unstable", "abstain"),
        "shows_classifier": served.shows_classifier,
        **_state_if_known(served, for_holder=for_holder),
    }


def _model_facts(served: ServedModel) -> dict[str, Any]:
    model = served.model
    return {
        "algorithm": model.kind.title,
        "guarantee": guarantee_facts(model.guarantee, guarantee_in_words(model.guarantee, model.provenance.records)),
        "adoptions": [],
        "state": "published",
        "spent": None,
        "left": None,
        "planned_queries": None,
        "records": model.provenance.records,
        "on_unstable": None,
        "shows_classifier": True,
    }
