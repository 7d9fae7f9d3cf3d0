"""The folder of a model: checked before anything is spent, filled as soon as there is a model, and read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcqr import UniversalRelease
from pcqr.data.schema import Schema
from pcqr.errors import OutputExists, ParameterError
from pcqr.files import check_not_input, check_outside_releases
from pcqr.models import PublishedModel
from pcqr.models.published import FILES, MODEL, Saved, holds_model


def check_folder(folder: Path, inputs: Iterable[Path], *, overwrite: bool, cost: str, option: str = "--out") -> None:
    """Raise unless `folder` can be made, is empty, or, with `overwrite`, holds an earlier model that can be replaced.

    Files of others beside an earlier model stay as they are.
    """
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise ParameterError(option, "a directory that can be written to", str(folder))
    check_outside_releases(folder, option=option)
    sources = tuple(inputs)
    for target in (folder / name for name in FILES):
        check_not_input(target, sources, option=option)
        if os.path.lexists(target) and not (target.is_file() and os.access(target, os.W_OK)):
            raise ParameterError(option, "a directory whose files can be written over", str(target))
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not holds_model(folder):
        raise ParameterError(
            option,
            "a new or empty directory, or, with --overwrite, that of an earlier model",
            f"{folder}, which has other files",
        )
    if not overwrite:
        raise OutputExists(folder / MODEL, "a model that was published before", option=option, cost=cost)


def loaded(path: Path) -> PublishedModel:
    """Return the model that the argument MODEL names."""
    try:
        return PublishedModel.load(path)
    except ParameterError as error:
        if error.name != "path":
            raise
        raise ParameterError("MODEL", "a folder with a published model, or its model.json", error.received) from None


def not_written(saved: Saved, folder: Path) -> str:
    """Return the message about files beside a model that could not be written."""
    return (
        f"These files could not be written to {folder}: {', '.join(saved.failed)}. The model itself is in "
        f"{folder / MODEL}. To write them again, at no cost: pcqr.models.PublishedModel.load(…).save(…) in Python."
    )


@dataclass
class Publication:
    """What becomes of the classifier that a universal release publishes."""

    folder: Path
    schema: Schema
    names: Sequence[Any]
    model: PublishedModel | None = None
    saved: Saved | None = None
    failure: str = ""

    def keep(self, release: object) -> None:
        """Write the model once it is there. A disk that is full does not stop the answers: it is tried again later."""
        if self.saved is not None or not isinstance(release, UniversalRelease) or not release.is_published_:
            return
        if self.model is None:
            self.model = PublishedModel.from_learner(release, schema=self.schema, classes=self.names)
        try:
            self.saved = self.model.save(self.folder)
        except OSError as error:
            self.failure = error.strerror or type(error).__name__

    @property
    def unsaved(self) -> dict[str, Any] | None:
        """The document of a model that was paid for and could not be written: it must not be lost."""
        return None if self.model is None or self.saved is not None else json.loads(self.model.to_json())

    @property
    def missing(self) -> str:
        """Which files beside the model could not be written."""
        return "" if self.saved is None else not_written(self.saved, self.folder)

    @property
    def complaint(self) -> str:
        return f"The model could not be written to {self.folder} ({self.failure}). model.json is printed instead."
