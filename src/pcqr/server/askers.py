"""Who asks: found by the door (its key), read by the endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pcqr.algorithms.asking import UNLIMITED
from pcqr.plan import Usage
from pcqr.server.errors import Refusal

ASKER = "pcqr.asker"
"""Where the door leaves it in the scope of a request."""

Role = Literal["asker", "holder"]


@dataclass(frozen=True)
class Asker:
    """The name of a key, what it may see, and the new queries and unstable answers that it may have in all."""

    name: str | None
    role: Role
    allowance: Usage = UNLIMITED

    @property
    def is_holder(self) -> bool:
        return self.role == "holder"


NOBODY = Asker(None, "holder")
"""Without keys everybody on this machine is the holder, and no limit but the release's own applies."""


def asker_of(scope: Mapping[str, Any]) -> Asker:
    """Who sent the request with this scope."""
    found: Asker = scope.get(ASKER, NOBODY)
    return found


def check_holder(scope: Mapping[str, Any]) -> None:
    """Refuse whoever is not the holder."""
    if not asker_of(scope).is_holder:
        raise Refusal("not_allowed", "Only a key with the role holder may see this.")
