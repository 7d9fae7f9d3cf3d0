"""Where accounts are: by a name, in the user's data directory; by a path; or by the address of a database."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pcqr.addresses import DatabaseAddress, without_password
from pcqr.errors import LedgerUnwritable, ParameterError

SUFFIX = ".account"
_NAME = re.compile(r"[^\W_][\w.-]*")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""What Windows does not take as the name of a file."""
_SQLITE = "sqlite:///"
_LONGEST, _LONGEST_PATH = 100, 1_000


def directory() -> Path:
    """Where accounts with a name are: the user's data directory, or PCQR_DATA_DIR."""
    import platformdirs  # noqa: PLC0415 - whoever keeps nothing does without

    given = os.environ.get("PCQR_DATA_DIR")
    return (Path(given) if given else platformdirs.user_data_path("pcqr")) / "accounts"


def found(place: str | os.PathLike[str]) -> DatabaseAddress | Path:
    """The file, or the address of a database, that a name, a path or an address stands for.

    A path has a separator in it or ends in .account; an address has "://" in it; all else is a name.
    """
    text = os.fspath(place)
    if "\0" in text or len(text) > _LONGEST_PATH:
        raise ParameterError("account", "a name or a path", f"{without_password(text)[:_LONGEST]}…")
    if text.startswith(_SQLITE):
        return Path(text.removeprefix(_SQLITE)).absolute()
    if "://" in text:
        return DatabaseAddress(text)
    if not isinstance(place, Path) and without_password(text) != text:
        allowed = "a name, a path or an address, postgresql://USER@HOST/DATABASE?ledger=NAME"
        raise ParameterError("account", allowed, text)
    is_path = isinstance(place, os.PathLike) or any(mark in text for mark in ("/", os.sep)) or text.endswith(SUFFIX)
    if is_path:
        return Path(text).expanduser().absolute()
    if not _NAME.fullmatch(text) or _RESERVED.fullmatch(text) or len(text) > _LONGEST:
        raise ParameterError("account", "a name (letters, digits, - . _, a letter or digit first) or a path", text)
    return directory() / f"{text}{SUFFIX}"


def make_directory() -> None:
    """Make it, for this user alone, unless it is there."""
    try:
        directory().mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        remedy = "Mend that, or name another one by PCQR_DATA_DIR."
        raise LedgerUnwritable(str(directory()), f"cannot be made ({error.strerror})", remedy) from None


def name_of(place: str | os.PathLike[str]) -> str:
    """What a person calls the account that is there: its name where `found` finds it by that, else the place."""
    where = found(place)
    if isinstance(where, Path) and where.suffix == SUFFIX and where.parent == directory():
        return where.name.removesuffix(SUFFIX)
    return str(where)


def known() -> list[str]:
    """The names of all accounts that have one."""
    return sorted(path.name.removesuffix(SUFFIX) for path in directory().glob(f"*{SUFFIX}"))
