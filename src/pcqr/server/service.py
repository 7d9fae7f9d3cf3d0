"""What is served, by name: releases, each behind its desk, and published models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pcqr.errors import ParameterError
from pcqr.release.durable.directory import find, holds_release
from pcqr.server.errors import Refusal
from pcqr.server.served import ServedModel, ServedRelease

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
