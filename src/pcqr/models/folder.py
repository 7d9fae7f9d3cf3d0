"""A model as a folder of files: the model itself, then what people read and other programs run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pcqr.errors import PcqrError
from pcqr.files import replacing, write_whole

if TYPE_CHECKING:
    from pcqr.models.published import PublishedModel

MODEL, RULES, CARD, PICTURE, ONNX = "model.json", "rules.txt", "card.md", "picture.svg", "model.onnx"
_EARLIER = "tree.svg"
"""What an earlier pcqr called the picture of a tree."""
FILES = (MODEL, RULES, CARD, PICTURE, _EARLIER, ONNX)
"""All names of files that `save` may write, replace or remove."""


@dataclass(frozen=True)
class Saved:
    """What `save` wrote, and why the other files (names to reasons) were left out."""

    written: tuple[Path, ...]
    left_out: dict[str, str]


def write_folder(model: PublishedModel, home: Path) -> Saved:
    """Write the files of `model` to the folder `home`; see `PublishedModel.save`."""
    texts = model.texts()
    home.mkdir(parents=True, exist_ok=True)
    for name in FILES[1:]:
        with suppress(OSError):
            (home / name).unlink(missing_ok=True)
    write_whole(home / MODEL, texts.pop(MODEL))
    makers: dict[str, Callable[[Path], object]] = {
        name: partial(write_whole, content=text) for name, text in texts.items()
    } | {PICTURE: model.draw, ONNX: model.to_onnx}
    written, left_out = [home / MODEL], {}
    for name, make in makers.items():
        try:
            with replacing(home / name) as draft:
                make(draft)
        except Exception as error:  # whatever a disk, a drawing or an ONNX library raises
            left_out[name] = str(error) if isinstance(error, PcqrError) else f"{type(error).__name__}: {error}"
        else:
            written.append(home / name)
    return Saved(tuple(written), left_out)
