"""What is served: releases, each behind its batcher, and published models, by their names; and their public facts."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pcqr import release as releases
from pcqr.data.schema import Column, Schema
from pcqr.durable.directory import find, holds_release
from pcqr.durable.facts import State
from pcqr.durable.ledger.chain import Adoption
from pcqr.durable.quotas import History, Moment
from pcqr.errors import LedgerError, ParameterError
from pcqr.hypotheses.base import Points
from pcqr.models import PublishedModel
from pcqr.models.card import guarantee_in_words
from pcqr.models.kind import ScoredKind
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.protocol.answers import BatchCost, Usage, batch_cost
from pcqr.releases.protocol.log import Answered, Asked
from pcqr.releases.universal.plan import ClassifierPlan, UniversalPlan
from pcqr.releases.words import plan_facts, promise
from pcqr.server.batcher import Batcher, Look
from pcqr.server.bodies import BOOL, BYTES, FP64, INT64, Output, Table, checked
from pcqr.server.errors import Refusal
from pcqr.server.keys import Asker
from pcqr.server.logs import Counts

if TYPE_CHECKING:
    from pcqr.server.state import Settings

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
    state = "published" if now.is_published else "exhausted" if now.remaining.is_nothing else "open"
    return {"state": state, "spent": counts(now.spent), "remaining": counts(now.remaining)}


def _state_if_known(served: ServedRelease, *, for_holder: bool) -> dict[str, Any]:
    """Return state and guarantee, or the state "failed" if the log cannot be read: the others are still listed."""
    with suppress(LedgerError):
        if served.is_ready:
            return state_of(served) | promised(served, for_holder=for_holder)
    release = served.release
    words = promise(release.guarantee_, release.n_records_)
    told = {"guarantee": guarantee_facts(release.guarantee_, words), "adoptions": []}
    return {"state": "failed", "spent": None, "remaining": None} | told


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
        "remaining": None,
        "planned_queries": None,
        "records": model.provenance.records,
        "on_unstable": None,
        "shows_classifier": True,
    }


# ---------------------------------------------------------------------------------------------------------------------
# One thing that is served: a release that answers through its batcher, or a published model.


Metadata = list[dict[str, Any]]


class ServedRelease:
    """A durable release. `release` is the estimator; new answers come from `ask` alone."""

    kind = "release"
    platform = "pcqr_release"

    def __init__(self, name: str, batcher: Batcher, *, is_shared: bool = False) -> None:
        self.name = name
        self.batcher = batcher
        self.is_shared = is_shared
        """Is what one key has asked repeated, and free, for all others?"""
        self.schema: Schema | None = batcher.release.schema_
        self.features = int(batcher.release.n_features_in_)
        self.classes: tuple[Any, ...] = tuple(batcher.release.classes_.tolist())
        self.label_type = label_type(self.classes)
        self._history = History()
        self._look = Look(self.now)
        self._published: PublishedModel | None = None

    @classmethod
    def open(
        cls, name: str, path: Path, *, ledger: str | None, anchor: Path | None, key: str | None, is_shared: bool = False
    ) -> ServedRelease:
        batcher = Batcher(lambda: releases.open(path, ledger=ledger, anchor=anchor, key=key))
        served = cls(name, batcher, is_shared=is_shared)
        served.release.warm_up()  # before anybody waits
        return served

    @property
    def release(self) -> Any:
        """The estimator as it is now: another one after the ledger was opened anew."""
        return self.batcher.release

    @property
    def is_ready(self) -> bool:
        return self.batcher.is_open

    async def failure(self) -> LedgerError | None:
        """Return why nothing can be asked now, None if the ledger answers."""
        if not self.is_ready:
            return self.batcher.failure
        found = await self._look.failure(self.release.quota_table().ledger.place)
        return found if self.is_ready else self.batcher.failure

    @cached_property
    def inputs(self) -> Metadata:
        return input_metadata(self.schema, self.features)

    @cached_property
    def outputs(self) -> Metadata:
        told = {"label": self.label_type, "kind": BYTES, "is_answer": BOOL}
        return [{"name": name, "datatype": datatype, "shape": [-1]} for name, datatype in told.items()]

    def now(self) -> State:
        """What is spent and left, read beside the batcher."""
        return State.read(self.release.quota_table().ledger.state)

    @property
    def adoptions(self) -> tuple[Adoption, ...]:
        """Every adoption of a copy of its log."""
        found: tuple[Adoption, ...] = self.batcher.release.quota_table().ledger.adoptions
        return found

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee, with an assumption for each adopted copy."""
        guarantee: Guarantee = self.batcher.release.guarantee_
        return guarantee.assuming(*(each.assumption for each in self.adoptions))

    @property
    def shows_classifier(self) -> bool:
        """May the classifier be shown, once there is one?

        It may not with shows="answers", nor where one drawn classifier answers in place of votes.
        """
        return hasattr(type(self.release), "hypothesis_") and getattr(self.release, "shows", "") != "answers"

    @property
    def published(self) -> PublishedModel | None:
        """The classifier, once it is public: it stays what it is."""
        if self._published is None and getattr(self.release, "is_published_", False):
            self._published = PublishedModel.from_learner(self.release)
        return self._published

    def history(self, moments: int) -> tuple[Usage, list[Moment]]:
        """What nobody timed, and what was spent by when."""
        return self._history.look(self.release.quota_table(), moments)

    def points(self, table: Table) -> Points:
        """The rows, read by the schema. Nothing is asked."""
        return checked(table, self.schema, self.release.points)

    async def ask(self, points: Points, asker: Asker, token: bytes | None) -> Answered[Any]:
        """The replies of the release, on disk by then. A token stands for these points: others are refused."""
        return await self.batcher.ask(self._asked(points, asker, token))

    def cost(self, points: Points, asker: Asker) -> tuple[BatchCost, NDArray[np.bool_]]:
        """Return what the rows would cost the asker, and which of them it has asked before. Asks nothing."""
        release = self.release
        found: tuple[BatchCost, NDArray[np.bool_]] = release.cost(self._asked(points, asker), release.quota_table())
        return found

    def exhausting(self, points: Points, asker: Asker, token: bytes | None = None) -> BatchCost | None:
        """Return the cost of rows that are expected to exhaust the release, None for all others. Asks nothing.

        A request that was answered before, under the same `token`, gets the same response and uses up nothing.
        """
        plan, rows = self.release.plan_, points.shape[0]
        share = None if plan.prediction is None else plan.prediction.unstable_share
        if isinstance(plan, UniversalPlan | ClassifierPlan):  # it publishes
            return None
        at_most = batch_cost(
            np.ones(rows, dtype=np.bool_), remaining=self.now().remaining, planned=0, unstable_share=share
        )
        if not at_most.is_exhausting:  # though all rows were new: the log need not be looked at
            return None
        cost, _ = self.cost(points, asker)
        is_replay = cost.is_exhausting and self.release.quota_table().has_answered(self._asked(points, asker, token))
        return cost if cost.is_exhausting and not is_replay else None

    def _asked(self, points: Points, asker: Asker, token: bytes | None = None) -> Asked:
        """Return the request for the release. For a holder, who may see all answers, every logged row is repeated."""
        return Asked(points, asker.name, asker.allowance, token, self.is_shared or asker.is_holder)

    def close(self) -> None:
        self.batcher.close()


class ServedModel:
    """A published classifier: asking it costs nothing, and nothing is kept."""

    kind = "model"
    platform = "pcqr_model"
    is_ready = True

    def __init__(self, name: str, model: PublishedModel, folder: Path) -> None:
        self.name = name
        self.model = model
        self.folder = folder
        self.schema: Schema = model.schema
        self.features = len(model.schema.columns)
        self.classes: tuple[Any, ...] = model.classes
        self.label_type = label_type(self.classes)

    @classmethod
    def load(cls, name: str, path: Path) -> ServedModel:
        try:
            return cls(name, PublishedModel.load(path), path if path.is_dir() else path.parent)
        except ParameterError as error:
            if error.name != "path":
                raise
            allowed = "the directory of a release (pcqr fit), or of a published model (pcqr publish)"
            found = str(path) if path.exists() else f"{path}, where there is nothing"
            raise ParameterError("RELEASE or MODEL", allowed, found) from None

    @cached_property
    def inputs(self) -> Metadata:
        return input_metadata(self.schema, self.features)

    @cached_property
    def outputs(self) -> Metadata:
        told: Metadata = [{"name": "label", "datatype": self.label_type, "shape": [-1]}]
        if self.has_scores:
            width = [] if len(self.classes) == 2 else [len(self.classes)]
            told.append({"name": "score", "datatype": FP64, "shape": [-1, *width]})
            told.append({"name": "probability", "datatype": FP64, "shape": [-1, len(self.classes)]})
        return told

    async def failure(self) -> None:
        """Return None: nothing can fail."""

    @property
    def published(self) -> PublishedModel:
        return self.model

    @property
    def has_scores(self) -> bool:
        """Has it scores, and probabilities?"""
        return isinstance(self.model.kind, ScoredKind)

    def points(self, table: Table) -> Points:
        """The rows, read by the schema."""
        return checked(table, self.schema, self._encoded)

    @np.errstate(all="ignore")
    def _encoded(self, table: Any) -> Points:
        return self.schema.encode(table)

    @np.errstate(all="ignore")
    def predict(self, points: Points, also: Collection[str] = ()) -> dict[str, Output]:
        """Return the labels, and those of the outputs named in `also` that the model has."""
        labels = self.model.predict(points).tolist()
        outputs = {"label": Output(self.label_type, as_cells(labels, self.label_type))}
        if self.has_scores and "score" in also:
            scores = self.model.decision_function(points)
            outputs["score"] = Output(FP64, scores.ravel().tolist(), scores.shape[1:])
        if self.has_scores and "probability" in also:
            found = self.model.predict_proba(points)
            outputs["probability"] = Output(FP64, found.ravel().tolist(), found.shape[1:])
        return outputs

    def close(self) -> None:
        """Nothing is open."""


def label_type(classes: Sequence[Any]) -> str:
    """The datatype of labels with these names."""
    kinds = {type(name) for name in classes}
    if kinds == {bool}:
        return BOOL
    if kinds == {int}:
        return INT64
    return FP64 if kinds <= {int, float} else BYTES


def as_cells(labels: Sequence[Any], datatype: str) -> Sequence[Any]:
    """Labels as the cells of a tensor."""
    return list(map(str, labels)) if datatype == BYTES else labels


def input_metadata(schema: Schema | None, features: int) -> Metadata:
    """The tensors that are taken: one a column, or the matrix x."""
    if schema is None:
        return [{"name": "x", "datatype": FP64, "shape": [-1, features]}]
    kinds: Mapping[str, str] = {"numeric": FP64}
    return [
        {"name": column.name, "datatype": kinds.get(column.kind, BYTES), "shape": [-1]} for column in schema.columns
    ]


# ---------------------------------------------------------------------------------------------------------------------
# What is served, by name: releases, each behind its batcher, and published models.


Served = ServedRelease | ServedModel
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True)
class Place:
    """Where something to be served is: a name, a directory and, for a release, what `pcqr.release.open` takes."""

    name: str
    path: Path
    ledger: str | None = field(default=None, repr=False)
    """The address of a database may have a password in it."""
    anchor: Path | None = None
    key: str | None = None
    adopt: bool = False
    """Is its anchor missing, and is it to be the newest copy all the same?"""
    write_off: bool = False
    """Is an older copy to be adopted, with everything counted as used?"""
    is_shared: bool = False
    """Do all keys share what was asked?"""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ParameterError("NAME", "1 to 64 letters, digits, dots, dashes and underscores (NAME=PATH)", self.name)

    def adopted(self) -> Place:
        """Return this place; with `adopt`, make its anchor first, so that no later process has to."""
        if self.adopt:
            how: dict[str, Any] = {"ledger": self.ledger, "anchor": self.anchor, "key": self.key}
            find(self.path, **how, adopt=True, write_off=self.write_off).log.close()
        return replace(self, adopt=False, write_off=False)

    def open(self) -> Served:
        """A release to be asked, or a published model."""
        if holds_release(self.path):
            how: dict[str, Any] = {"ledger": self.ledger, "anchor": self.anchor, "key": self.key}
            return ServedRelease.open(self.name, self.path, **how, is_shared=self.is_shared)
        return ServedModel.load(self.name, self.path)


class Service:
    """Everything that one process serves."""

    def __init__(self, served: Iterable[Served]) -> None:
        self._served: Mapping[str, Served] = {each.name: each for each in served}

    @classmethod
    def open(cls, places: Iterable[Place]) -> Service:
        """Open all of them, or none."""
        opened: list[Served] = []
        try:
            for place in places:
                if place.name in (each.name for each in opened):
                    raise ParameterError("NAME", "a name of its own for each (NAME=PATH)", place.name)
                opened.append(place.open())
        except BaseException:
            cls(opened).close()
            raise
        return cls(opened)

    @property
    def all(self) -> tuple[Served, ...]:
        return tuple(self._served.values())

    def named(self, name: str) -> Served:
        found = self._served.get(name)
        if found is None:
            raise Refusal("unknown_model", "Nothing of this name is served here: GET /v1/releases lists all names.")
        return found

    def usages(self) -> Iterator[Counts]:
        """What each release has spent, and what remains of it, on disk."""
        for each in self.all:
            if isinstance(each, ServedRelease) and each.is_ready:
                found = each.release
                spent = Usage(found.queries_answered_, found.unstable_answers_)
                yield Counts(each.name, spent, Usage(None, found.unstable_remaining_))

    def release(self, name: str) -> ServedRelease:
        """The release called so; a model has no budget and no answers of its own."""
        found = self.named(name)
        if isinstance(found, ServedRelease):
            return found
        raise Refusal("unknown_model", "This is a published model: it has no budget, and keeps no answers.")

    def close(self) -> None:
        """Answer what waits, then let go of all releases."""
        for each in self._served.values():
            each.close()
