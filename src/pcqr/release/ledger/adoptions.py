"""Adoptions: decisions of a person to go on with a copy of a ledger."""

from __future__ import annotations

import getpass
import json
import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pcqr.guarantee import COPY
from pcqr.release.ledger.chain import Entry, Link


@dataclass(frozen=True)
class Adoption:
    """One adoption, as the entry in the ledger has it."""

    time: str
    """When, in UTC, by the clock of that machine."""
    entries: int
    """How many entries the copy had."""
    lost: int | None
    """How many more the anchor had known, which the copy lacks. None: there was no anchor to say."""
    is_written_off: bool
    """Was everything that may have been used since the copy was made counted as used?"""
    user: str | None
    host: str | None
    """Who, and on which machine: for the data holder. None where the system did not say."""

    @property
    def assumption(self) -> str:
        """The assumption on which the guarantee rests after this adoption."""
        if self.is_written_off:
            return (
                f"{COPY}{self.when}, with all that it lacks written off, was an older one, not one that went on apart"
            )
        return f"{COPY}{self.when}, without its anchor, was the newest one"

    @property
    def when(self) -> str:
        return f"{self.time.removesuffix('+00:00').replace('T', ' ')} UTC"

    def __str__(self) -> str:
        by = f" by {self.user or 'somebody'} on {self.host or 'some machine'}"
        lost = "what it lacks is not known" if self.lost is None else f"it lacks {self.lost:,} that were replied"
        what = "all that may have been used since is written off" if self.is_written_off else "taken as the newest copy"
        return f"{self.when}{by}, at entry {self.entries:,} ({lost}): {what}"

    def facts(self, *, for_holder: bool) -> dict[str, Any]:
        """Return the adoption for JSON. Without `for_holder` it has the time and the kind alone."""
        told: dict[str, Any] = {"time": self.time, "written_off": self.is_written_off}
        own = {"entries": self.entries, "lost": self.lost, "user": self.user, "host": self.host}
        return told | (own if for_holder else {})


def adoption_body(known: Link | None, *, is_written_off: bool) -> bytes:
    """Return the body of an adoption's entry: time, user, machine, and the position of the anchor."""
    facts = {
        "adopted": datetime.now(UTC).isoformat(timespec="seconds"),
        "user": _user(),
        "host": socket.gethostname() or None,
        "known": None if known is None else known.seq,
        "written_off": is_written_off,
    }
    return json.dumps(facts).encode()


def read_adoption(entry: Entry) -> Adoption:
    """Return the adoption in an entry. Earlier versions of pcqr wrote the time alone."""
    facts = json.loads(entry.body)
    known, before = facts.get("known"), entry.before
    return Adoption(
        time=facts["adopted"],
        entries=before,
        lost=None if known is None else max(0, known - before),
        is_written_off=facts.get("written_off", False),
        user=facts.get("user"),
        host=facts.get("host"),
    )


def _user() -> str | None:
    """Return the name of this process's user, from the system and not from a variable of the environment."""
    with suppress(ImportError, KeyError):
        import pwd  # noqa: PLC0415 - not on Windows

        return pwd.getpwuid(os.getuid()).pw_name
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return None
