"""The directory of a release: release.json (public), secret.pcqr (0600), and the ledger, or where that is.

The order in which it is made, opened and, after publication, emptied: proofs/release.md.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from pcqr.durable.facts import Facts, State
from pcqr.durable.ledger import Entry, Ledger, create_ledger, open_ledger
from pcqr.durable.ledger.anchor import default_path, remove_unused
from pcqr.durable.ledger.opening import dry_run_ledger, is_address, written_place
from pcqr.durable.ledger.store import reached
from pcqr.durable.log import LedgerLog, move
from pcqr.durable.secrets import read_key, read_secret, write_secret
from pcqr.errors import LedgerError, NotALedger, ParameterError, ReleaseError, UnfinishedSave
from pcqr.files import RELEASE_FILES, InUse, own_directory, real, sync_directory, write_whole
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import MemoryLog

(FACTS, SECRET), LEDGER = RELEASE_FILES, "ledger.sqlite"
UNFINISHED = "unfinished.json"
"""There from before the first file is written until the ledger holds the release: what to remove if that is not so."""
_FILES = (SECRET, FACTS, LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm", f"{LEDGER}.lock", UNFINISHED)
RELEASE = "release"
_MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class Secret:
    """What must never be shown, and never changes: plain facts and arrays."""

    document: dict[str, Any] = field(repr=False)
    arrays: dict[str, NDArray[Any]] = field(repr=False)


@dataclass(frozen=True)
class Kept:
    """A release as it was found: public facts, the log, and the secret where it is needed and may be read."""

    facts: Facts
    log: LedgerLog
    secret: Secret | None = field(repr=False)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee, with an assumption for each adopted copy."""
        return self.facts.plan.guarantee.assuming(*(each.assumption for each in self.log.ledger.adoptions))


def keep(
    place: str | os.PathLike[str],
    facts: Facts,
    secret: Secret | None,
    log: MemoryLog,
    remaining: Usage,
    *,
    ledger: str | os.PathLike[str] | None = None,
    anchor: str | os.PathLike[str] | None = None,
    key: str | None = None,
    cautious: bool = False,
) -> LedgerLog:
    """Move a release out of memory into a new directory. `log` gives up before the ledger may hold it.

    `key` says where the key is that encrypts the secret (`read_key`). Whatever is refused before that leaves nothing
    behind, and the release in memory as it was.
    """
    _check_cautious(ledger, cautious)
    found_key = None if key is None else read_key(key)
    with _claimed(place, ledger, anchor) as directory:
        kept: Ledger | None = None
        try:
            _mark(directory, ledger, anchor)
            checksum = (
                None if secret is None else write_secret(directory / SECRET, secret.document, secret.arrays, found_key)
            )
            reached("secret written")
            kept = create_ledger(_ledger_place(directory, ledger), RELEASE, None if anchor is None else Path(anchor))
            told = LEDGER if ledger is None else written_place(os.fspath(ledger))
            text = replace(facts, ledger=told, identity=kept.identity).to_json()
            write_whole(directory / FACTS, text)
            reached("facts written")
        except BaseException:
            if kept is not None:
                with suppress(LedgerError, OSError):
                    kept.discard()
                kept.close()
            _remove_files(directory)
            raise
        log.give_up()
        try:
            with kept.transaction() as transaction:
                names = {"secret": checksum, "facts": sha256(text.encode()).hexdigest()}
                transaction.append(RELEASE, json.dumps(names, sort_keys=True).encode())
                move(log, remaining, transaction, is_cautious=cautious)
        except BaseException:
            kept.close()
            if _was_surely_empty(_ledger_place(directory, ledger), anchor):
                _remove_files(directory)
                log.take_back()
            raise
        reached("release recorded")
        _unmark(directory)
        return LedgerLog(kept, forget=_Forget(directory))


def dry_run_release(
    place: str | os.PathLike[str],
    *,
    ledger: str | os.PathLike[str] | None = None,
    anchor: str | os.PathLike[str] | None = None,
    key: str | None = None,
    cautious: bool = False,
) -> None:
    """Refuse now what `keep` would refuse once a release has been paid for. Nothing is left behind."""
    _check_cautious(ledger, cautious)
    found_key = None if key is None else read_key(key)
    with _claimed(place, ledger, anchor) as directory:
        try:
            _mark(directory, ledger, anchor)
            write_secret(directory / SECRET, {}, {}, found_key)
            dry_run_ledger(_ledger_place(directory, ledger), RELEASE, None if anchor is None else Path(anchor))
        finally:
            _remove_files(directory)


def find(
    place: str | os.PathLike[str],
    *,
    ledger: str | os.PathLike[str] | None = None,
    anchor: str | os.PathLike[str] | None = None,
    key: str | None = None,
    adopt: bool = False,
    write_off: bool = False,
    read_only: bool = False,
) -> Kept:
    """The release in a directory, if all of it is there and is what was written. To read, no secret is touched."""
    directory = _directory(place)
    if write_off and not adopt:
        raise ParameterError("write_off", "False without adopt", write_off)
    if adopt:
        _check_apart(directory, anchor)
    text = _read_facts(directory)
    facts = _facts(directory, text)
    where = _ledger_place(directory, ledger if ledger is not None or facts.ledger == LEDGER else facts.ledger)
    try:
        kept = open_ledger(
            where,
            RELEASE,
            None if anchor is None else Path(anchor),
            adopt=adopt,
            read_only=read_only,
            write_off=_written_off if write_off else None,
        )
    except NotALedger as error:  # to make another one would be to count anew
        remedy = "Bring back the newest copy of the release's ledger; if it was moved, name it (--ledger, ledger=)."
        raise NotALedger(error.place, error.reason, remedy) from None
    try:
        names = _names(directory, kept)
        if kept.identity != facts.identity or names["facts"] != sha256(text).hexdigest():
            raise ReleaseError(
                str(directory),
                f"is not the one that its ledger knows: {FACTS} was edited, or the ledger is another one's",
                "Bring back the files that belong together.",
            )
        log = LedgerLog(kept, forget=_Forget(directory))
        if not read_only:
            _unmark(directory)  # killed when all was done but this
        secret = None
        if log.state.is_published:
            if not read_only:
                _Forget(directory)()  # killed before it was removed
        elif not read_only and not log.state.is_written_off:  # which decides nothing, and needs no secret
            secret = _secret(directory, key, names["secret"], log)
        return Kept(facts, log, secret)
    except BaseException:
        kept.close()
        raise


def checked_place(place: str | os.PathLike[str]) -> Path:
    """Return the path, which must be free, an empty directory, or one with the remains of a save that was killed."""
    directory = _directory(place)
    if not (directory / UNFINISHED).exists():
        _check_free(directory)
    return directory


def holds_release(directory: Path) -> bool:
    """Is a release there, whole or not?"""
    return any((directory / name).exists() for name in (FACTS, SECRET, UNFINISHED))


def _check_free(directory: Path) -> None:
    if not os.path.lexists(directory) or (directory.is_dir() and not any(directory.iterdir())):
        return
    if (directory / FACTS).exists():
        raise ReleaseError(str(directory), "cannot be made: there is a release already", "Name another directory.")
    if (directory / SECRET).exists():
        raise _left_over(directory)
    raise ReleaseError(str(directory), "cannot be made: other files are there", "Name another directory.")


@dataclass(frozen=True)
class _Forget:
    """Remove the secret: once a classifier is published, nobody needs the teachers or the records."""

    directory: Path

    def __call__(self) -> None:
        reached("published")
        try:
            (self.directory / SECRET).unlink(missing_ok=True)
            sync_directory(self.directory)
        except OSError:
            return  # the next opening tries again


def _written_off(state: bytes, _: Iterator[Entry]) -> bytes:
    """Return the state of a release with everything counted as used: nothing is decided or published any more."""
    return State.read(state).written_off().written()


def _directory(place: str | os.PathLike[str]) -> Path:
    if "\0" in os.fspath(place):
        raise ParameterError("path", "the path of a directory", "one with a zero byte in it")
    return real(Path(place))


def _secret(directory: Path, key: str | None, checksum: str | None, log: LedgerLog) -> Secret | None:
    found_key = None if key is None else read_key(key)
    try:
        return Secret(*read_secret(directory / SECRET, found_key, checksum))
    except Exception:
        if log.state.is_published:  # by another process, a moment ago
            return None
        raise


def _ledger_place(directory: Path, ledger: str | os.PathLike[str] | None) -> str | Path:
    return directory / LEDGER if ledger is None else os.fspath(ledger)


def _read_facts(directory: Path) -> bytes:
    try:
        with (directory / FACTS).open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if (directory / UNFINISHED).exists():
            raise _unfinished(directory) from None
        if not any((directory / name).exists() for name in (SECRET, LEDGER)):
            raise ReleaseError(str(directory), "does not exist", "Look for a misspelt path.") from None
        raise ReleaseError(
            str(directory),
            f"has no {FACTS}: it was lost, or the release was broken off while it was being made. {SECRET} there may "
            "hold private records, in plain text unless a key was given",
            "Bring it back. If it never was there, remove the directory, and make the release anew.",
        ) from None
    except OSError as error:
        raise ReleaseError(str(directory), f"cannot be read ({error.strerror})", "Mend that first.") from None
    return text


def _facts(directory: Path, text: bytes) -> Facts:
    try:
        return Facts.from_json(text.decode())
    except ParameterError as error:
        if error.name.endswith(".version"):
            raise ReleaseError(
                str(directory), "was written by another version of pcqr", f"Install that one. {error}"
            ) from None
        raise ReleaseError(str(directory), f"has a damaged {FACTS} ({error})", "Bring back a good copy.") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ReleaseError(str(directory), f"has a damaged {FACTS}", "Bring back a good copy.") from None


def _names(directory: Path, ledger: Ledger) -> dict[str, Any]:
    """What the ledger says of the files: its first entry."""
    first = next(ledger.entries(limit=1), None)
    if first is None or first.kind != RELEASE:
        raise _unfinished(directory)
    names: dict[str, Any] = json.loads(first.body)
    return names


def _was_surely_empty(place: str | Path, anchor: str | os.PathLike[str] | None) -> bool:
    """Was nothing recorded? Whoever opens a ledger after a failure can read that; where nobody can, it is not known.

    An empty one is removed.
    """
    try:
        with open_ledger(place, RELEASE, None if anchor is None else Path(anchor)) as ledger:
            return ledger.discard()
    except LedgerError:
        return False


@contextmanager
def _claimed(
    place: str | os.PathLike[str], ledger: str | os.PathLike[str] | None, anchor: str | os.PathLike[str] | None
) -> Iterator[Path]:
    """The directory, made, empty, and this process's alone: what a failed attempt removes must be its own."""
    directory = checked_place(place)
    _check_apart(directory, anchor)
    try:
        with own_directory(directory, mode=0o700):
            if (directory / UNFINISHED).exists():
                _clean_up(directory, ledger)
            _check_free(directory)  # another process may have had it until now
            yield directory
    except InUse:
        raise ReleaseError(str(directory), "is being made by another process", "Name another directory.") from None
    except OSError as error:
        raise ReleaseError(
            str(directory), f"cannot be made ({error.strerror})", "Mend that; nothing was left behind."
        ) from None


def _check_apart(directory: Path, anchor: str | os.PathLike[str] | None) -> None:
    """Raise if the anchor would be in the directory: restored with it, it could not detect that both are old."""
    path = real(default_path("") if anchor is None else Path(anchor))
    if path.is_relative_to(directory):
        raise ParameterError("anchor", "a path outside the directory of the release, and not copied with it", str(path))


def _check_cautious(ledger: str | os.PathLike[str] | None, cautious: bool) -> None:
    """Only where one process writes is what was announced, and is not decided, surely broken off."""
    if cautious and ledger is not None and is_address(os.fspath(ledger)):
        raise ParameterError("cautious", "False for a ledger in a database, which several processes write", cautious)


def _mark(directory: Path, ledger: str | os.PathLike[str] | None, anchor: str | os.PathLike[str] | None) -> None:
    """Write on disk, before any other file, where a save puts its ledger and its anchor."""
    marked = {
        "unfinished": f"This release was not finished. {SECRET}, if it is there, may hold private records. Nothing was "
        "answered.",
        "remedy": "Save to this place again, which removes these files, or remove the directory.",
        "ledger": None if ledger is None else written_place(ledger),
        "anchor": None if anchor is None else str(real(Path(anchor))),
    }
    write_whole(directory / UNFINISHED, json.dumps(marked, indent=2) + "\n")


def _unmark(directory: Path) -> None:
    with suppress(OSError):  # the next opening tries again
        (directory / UNFINISHED).unlink(missing_ok=True)


def _left_over(directory: Path) -> ReleaseError:
    found = f"an unfinished save, or a release whose {FACTS} was lost"
    return ReleaseError(
        str(directory),
        f"cannot be made: there is {found}. {SECRET} there may hold private records",
        "Remove the directory, or name another one.",
    )


def _unfinished(directory: Path) -> ReleaseError:
    secret = f". {SECRET} there may hold private records, in plain text unless a key was given"
    return ReleaseError(
        str(directory),
        f"was not finished: the process that made it was stopped{secret if _has_secret(directory) else ''}",
        "Nothing was answered from it. Run the same command again, which removes these files, or remove the directory.",
    )


def _clean_up(directory: Path, ledger: str | os.PathLike[str] | None) -> None:
    """Remove the files of a save that was killed, secrets included, if its ledger surely has no entry.

    Its files are written before the first entry, and `release.json` last of them: without that there is none.
    """
    try:
        marked = json.loads((directory / UNFINISHED).read_text(encoding="utf-8"))
        where, anchor = marked["ledger"], None if marked["anchor"] is None else Path(marked["anchor"])
    except (ValueError, KeyError, TypeError):
        raise _left_over(directory) from None
    given = ledger if ledger is not None and written_place(ledger) == where else where  # it may have a password
    place = _ledger_place(directory, given)
    try:
        with open_ledger(place, RELEASE, anchor) as found:
            is_empty = found.discard()
    except NotALedger:
        is_empty = True
    except LedgerError:
        is_empty = not (directory / FACTS).exists()
    if not is_empty:
        raise ReleaseError(str(directory), "cannot be made: there is a release already", "Name another directory.")
    if where is not None and not is_address(where):
        _remove_drafts(Path(where))
    if anchor is not None:
        remove_unused(anchor)
    secret = f", {SECRET} among them" if _has_secret(directory) else ""
    _remove_files(directory)
    warnings.warn(
        f"{directory} had the files of a save that was stopped{secret}. They were removed.",
        UnfinishedSave,
        stacklevel=2,
    )


def _has_secret(directory: Path) -> bool:
    """Is a secret there, or a part of one? A release that publishes at `fit` has none."""
    return (directory / SECRET).exists() or any(directory.glob(f".{SECRET}.*"))


def _remove_files(directory: Path) -> None:
    """What a failed attempt has left: nobody can have been told of it."""
    with suppress(OSError):
        for name in _FILES:
            _remove_drafts(directory / name)
            (directory / name).unlink(missing_ok=True)


def _remove_drafts(path: Path) -> None:
    """Remove drafts of the file at `path`, and an empty file that was reserved for a ledger there.

    A folder that holds anything else is somebody else's, and stays.
    """
    for draft in path.parent.glob(f".{glob.escape(path.name)}.????????"):  # as `tempfile` names them
        with suppress(OSError):
            if all(each.name.startswith(path.name) and each.is_file() for each in draft.iterdir()):
                shutil.rmtree(draft)
    with suppress(OSError):
        if path.stat().st_size == 0:
            path.unlink()
