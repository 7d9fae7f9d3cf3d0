"""The folder of a model: checked before anything is spent, and filled as soon as there is a model."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcqr import UniversalRelease
from pcqr.errors import OutputExists, ParameterError
from pcqr.files import check_not_input
from pcqr.models import PublishedModel
from pcqr.models.folder import FILES, MODEL, Saved
from pcqr.schema import Schema


def check_folder(folder: Path, inputs: Iterable[Path], *, overwrite: bool, cost: str, option: str = "--out") -> None:
    """Raise unless `folder` is a directory, or can become one, and nothing stands in the way of the files in it."""
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise ParameterError(option, "a directory that can be written to", str(folder))
    sources = tuple(inputs)
    for target in (folder / name for name in FILES):
        check_not_input(target, sources, option=option)
        if os.path.lexists(target) and not (target.is_file() and os.access(target, os.W_OK)):
            raise ParameterError(option, "a directory whose files can be written over", str(target))
    if present := [name for name in FILES if not overwrite and os.path.lexists(folder / name)]:
        holds = "a model that was published before" if present[0] == MODEL else ""
        raise OutputExists(folder / present[0], holds, option=option, cost=cost)


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
    def complaint(self) -> str:
        return f"The model could not be written to {self.folder} ({self.failure}). model.json is printed instead."
