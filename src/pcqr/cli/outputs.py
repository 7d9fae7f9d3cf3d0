"""Output files that replace nothing unasked: checked before any work, and written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pcqr.errors import ParameterError


def check_output(out: Path, *, inputs: tuple[Path, ...], overwrite: bool) -> None:
    """Raise unless `out` can be written and is neither one of `inputs` nor, but for `overwrite`, a file already."""
    if not out.parent.is_dir() or out.is_dir() or not os.access(out if out.exists() else out.parent, os.W_OK):
        raise ParameterError("--out", "a file in an existing directory that can be written to", str(out))
    if any(out.exists() and source.exists() and out.samefile(source) for source in inputs):
        raise ParameterError("--out", "another file than those that are read", str(out))
    if out.exists() and not overwrite:
        raise ParameterError("--out", "a new file, or one that --overwrite allows to replace", str(out))


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A name beside `out`, with its suffix, to write to; it becomes `out` when all is written."""
    draft = out.with_name(f".{os.getpid()}.{out.name}")
    try:
        yield draft
        draft.replace(out)
    finally:
        draft.unlink(missing_ok=True)
