"""A model as a folder of files: the model itself, then what people read and other programs run."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pcqr.errors import PcqrError
from pcqr.files import replacing, write_whole
from pcqr.models.document import FORMAT
from pcqr.models.importance import Importances, some_rows
from pcqr.models.promise import caption
from pcqr.records.arrays import Points

if TYPE_CHECKING:
    from pcqr.models.published import PublishedModel

MODEL, RULES, CARD, PICTURE, ONNX = "model.json", "rules.txt", "card.md", "picture.svg", "model.onnx"
IMPORTANCES = ("importance.txt", "importance.svg")
_EARLIER = "tree.svg"
"""What an earlier pcqr called the picture of a tree."""
FILES = (MODEL, RULES, CARD, PICTURE, _EARLIER, ONNX, *IMPORTANCES)
"""All names of files that `save` may write, replace or remove."""


@dataclass(frozen=True)
class Saved:
    """What `save` wrote, what it did not (names to reasons), and the model with its effects.

    `left_out` are files that this installation or this kind of model cannot have. `failed` are files that should be
    there: a full disk, a library that raised an error.
    """

    written: tuple[Path, ...]
    left_out: dict[str, str]
    failed: dict[str, str]
    model: PublishedModel


def holds_model(folder: Path) -> bool:
    """Does `folder` hold a model that `save` wrote?"""
    try:
        document = json.loads((folder / MODEL).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("format") == FORMAT


def write_folder(model: PublishedModel, home: Path, public: Points | None) -> Saved:
    """Write the files of `model` to the folder `home`; see `PublishedModel.save`.

    model.json comes first, as soon as there is a model, and is written again once its effects are known.
    """
    text = model.to_json()
    home.mkdir(parents=True, exist_ok=True)
    for name in FILES[1:] if holds_model(home) else ():  # other people's files are not removed
        with suppress(OSError):
            (home / name).unlink(missing_ok=True)
    write_whole(home / MODEL, text)
    written: list[Path] = [home / MODEL]
    left_out: dict[str, str] = {}
    failed: dict[str, str] = {}
    try:
        explained = model if model.effects is not None and public is None else model.explained(public)
        if explained is not model:
            write_whole(home / MODEL, explained.to_json())
            model = explained
    except Exception as error:  # a model that cannot be explained is a model
        failed["effects"] = _reason(error)
    for name, make in _makers(model, public).items():
        try:
            with replacing(home / name) as draft:
                make(draft)
        except PcqrError as error:
            left_out[name] = str(error)
        except Exception as error:  # whatever a disk, a drawing or an ONNX library raises
            failed[name] = _reason(error)
        else:
            written.append(home / name)
    return Saved(tuple(written), left_out, failed, model)


def rules_text(model: PublishedModel) -> str:
    """The rules both ways, and what missing numbers count as."""
    read_aloud = (model.rules(), model.rules(flat=True), "\n".join(model.vocabulary.gaps()))
    return "\n\n".join(dict.fromkeys(filter(None, read_aloud))) + "\n"


def _makers(model: PublishedModel, public: Points | None) -> dict[str, Callable[[Path], object]]:
    """What writes each of the files but model.json."""
    makers: dict[str, Callable[[Path], object]] = {
        RULES: lambda path: write_whole(path, rules_text(model)),
        CARD: lambda path: write_whole(path, model.card()),
        PICTURE: model.draw,
        ONNX: model.to_onnx,
    }
    if public is None or public.shape[0] < 2:
        return makers
    table, picture = IMPORTANCES

    @cache
    def found() -> Importances:
        return model.importances(some_rows(model, public))

    promised = caption("Which columns matter", model.guarantee)
    return makers | {
        table: lambda path: write_whole(path, f"{found()}\n"),
        picture: lambda path: found().draw(path, promised),
    }


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, PcqrError) else f"{type(error).__name__}: {error}"
