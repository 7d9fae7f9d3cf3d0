"""One thing that is served: a release that answers through its desk, or a published model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr import release as releases
from pcqr.algorithms.asking import Asked, Told
from pcqr.algorithms.preview import batch_cost
from pcqr.errors import LedgerError, ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Points
from pcqr.models import PublishedModel
from pcqr.models.kind import ScoredKind
from pcqr.plan import BatchCost, ClassifierPlan, UniversalPlan, Usage
from pcqr.release.durable.entries import State
from pcqr.release.durable.history import History, Moment
from pcqr.release.ledger.adoptions import Adoption
from pcqr.schema import Schema
from pcqr.server.askers import Asker
from pcqr.server.desk import Desk
from pcqr.server.inference import Output
from pcqr.server.looking import Look
from pcqr.server.rows import Table, checked
from pcqr.server.tensors import BOOL, BYTES, FP64, INT64

Metadata = list[dict[str, Any]]


class ServedRelease:
    """A durable release. `release` is the estimator; new answers come from `ask` alone."""

    kind = "release"
    platform = "pcqr_release"

    def __init__(self, name: str, desk: Desk, *, is_shared: bool = False) -> None:
        self.name = name
        self.desk = desk
        self.is_shared = is_shared
        """Is what one key has asked repeated, and free, for all others?"""
        self.schema: Schema | None = desk.release.schema_
        self.features = int(desk.release.n_features_in_)
        self.classes: tuple[Any, ...] = tuple(desk.release.classes_.tolist())
        self.label_type = label_type(self.classes)
        self._history = History()
        self._look = Look(self.now)
        self._published: PublishedModel | None = None

    @classmethod
    def open(
        cls, name: str, path: Path, *, ledger: str | None, anchor: Path | None, key: str | None, is_shared: bool = False
    ) -> ServedRelease:
        desk = Desk(lambda: releases.open(path, ledger=ledger, anchor=anchor, key=key))
        served = cls(name, desk, is_shared=is_shared)
        served.release.warm_up()  # before anybody waits
        return served

    @property
    def release(self) -> Any:
        """The estimator as it is now: another one after the ledger was opened anew."""
        return self.desk.release

    @property
    def is_ready(self) -> bool:
        return self.desk.is_open

    async def failure(self) -> LedgerError | None:
        """Return why nothing can be asked now, None if the ledger answers."""
        if not self.is_ready:
            return self.desk.failure
        found = await self._look.failure(self.release.book().ledger.place)
        return found if self.is_ready else self.desk.failure

    @cached_property
    def inputs(self) -> Metadata:
        return input_metadata(self.schema, self.features)

    @cached_property
    def outputs(self) -> Metadata:
        told = {"label": self.label_type, "kind": BYTES, "is_answer": BOOL}
        return [{"name": name, "datatype": datatype, "shape": [-1]} for name, datatype in told.items()]

    def now(self) -> State:
        """What is spent and left, read beside the desk."""
        return State.read(self.release.book().ledger.state)

    @property
    def adoptions(self) -> tuple[Adoption, ...]:
        """Every adoption of a copy of its log."""
        found: tuple[Adoption, ...] = self.desk.release.book().ledger.adoptions
        return found

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee, with an assumption for each adopted copy."""
        guarantee: Guarantee = self.desk.release.guarantee_
        return guarantee.assuming(*(each.assumption for each in self.adoptions))

    @property
    def shows_classifier(self) -> bool:
        """May the classifier be shown, once there is one? Not with shows="answers", nor one drawn in place of votes."""
        return hasattr(type(self.release), "hypothesis_") and getattr(self.release, "shows", "") != "answers"

    @property
    def published(self) -> PublishedModel | None:
        """The classifier, once it is public: it stays what it is."""
        if self._published is None and getattr(self.release, "is_published_", False):
            self._published = PublishedModel.from_learner(self.release)
        return self._published

    def history(self, moments: int) -> tuple[Usage, list[Moment]]:
        """What nobody timed, and what was spent by when."""
        return self._history.look(self.release.book(), moments)

    def points(self, table: Table) -> Points:
        """The rows, read by the schema. Nothing is asked."""
        return checked(table, self.schema, self.release.points)

    async def ask(self, points: Points, asker: Asker, token: bytes | None) -> Told[Any]:
        """The replies of the release, on disk by then. A token stands for these points: others are refused."""
        return await self.desk.ask(self._asked(points, asker, token))

    def cost(self, points: Points, asker: Asker) -> tuple[BatchCost, NDArray[np.bool_]]:
        """Return what the rows would cost the asker, and which of them it has asked before. Asks nothing."""
        release = self.release
        found: tuple[BatchCost, NDArray[np.bool_]] = release.cost(self._asked(points, asker), release.book())
        return found

    def exhausting(self, points: Points, asker: Asker, token: bytes | None = None) -> BatchCost | None:
        """Return the cost of rows that are expected to exhaust the release, None for all others. Asks nothing.

        A request that was answered before, under the same `token`, gets the same response and uses up nothing.
        """
        plan, rows = self.release.plan_, points.shape[0]
        share = None if plan.prediction is None else plan.prediction.unstable_share
        if isinstance(plan, UniversalPlan | ClassifierPlan):  # it publishes
            return None
        at_most = batch_cost(np.ones(rows, dtype=np.bool_), left=self.now().left, planned=0, unstable_share=share)
        if not at_most.is_exhausting:  # though all rows were new: the log need not be looked at
            return None
        cost, _ = self.cost(points, asker)
        is_replay = cost.is_exhausting and self.release.book().has_answered(self._asked(points, asker, token))
        return cost if cost.is_exhausting and not is_replay else None

    def _asked(self, points: Points, asker: Asker, token: bytes | None = None) -> Asked:
        """Return the request for the release. For a holder, who may see all answers, every logged row is repeated."""
        return Asked(points, asker.name, asker.allowance, token, self.is_shared or asker.is_holder)

    def close(self) -> None:
        self.desk.close()


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
        if self.has_probabilities:
            told.append({"name": "probability", "datatype": FP64, "shape": [-1, len(self.classes)]})
        return told

    async def failure(self) -> None:
        """Return None: nothing can fail."""

    @property
    def published(self) -> PublishedModel:
        return self.model

    @property
    def has_scores(self) -> bool:
        return isinstance(self.model.kind, ScoredKind)

    @property
    def has_probabilities(self) -> bool:
        return isinstance(self.model.kind, ScoredKind)

    def points(self, table: Table) -> Points:
        """The rows, read by the schema."""
        return checked(table, self.schema, self._encoded)

    @np.errstate(all="ignore")
    def predict(self, points: Points, also: Collection[str] = ()) -> dict[str, Output]:
        """Return the labels, and those of the outputs named in `also` that the model has."""
        labels = self.model.predict(points).tolist()
        outputs = {"label": Output(self.label_type, as_cells(labels, self.label_type))}
        if self.has_scores and "score" in also:
            scores = self.model.decision_function(points)
            outputs["score"] = Output(FP64, scores.ravel().tolist(), scores.shape[1:])
        if self.has_probabilities and "probability" in also:
            found = self.model.predict_proba(points)
            outputs["probability"] = Output(FP64, found.ravel().tolist(), found.shape[1:])
        return outputs

    def close(self) -> None:
        """Nothing is open."""

    def _encoded(self, table: Any) -> Points:
        return self.schema.encode(table)


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
