"""Virtual environments for libraries that do not go together with pcqr or with each other; versions are pinned."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import platformdirs

from pcqr.errors import ParameterError, PcqrError

ENVIRONMENTS: Mapping[str, Sequence[str]] = {
    "opacus": ("opacus==1.6.0", "torch==2.13.0", "numpy==2.4.6", "scipy==1.17.1"),
    "interpret": ("interpret-core==0.7.8", "scikit-learn==1.9.1", "numpy==2.4.6", "pandas==3.1.1"),
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn==1.7.2", "numpy==2.4.6"),
    "dpmm": ("dpmm==0.1.9", "scikit-learn==1.5.0", "numpy==1.26.4", "pandas==2.1.0", "opendp==0.12.1"),
}
_DONE = "installed.txt"


class NotInstalled(PcqrError, RuntimeError):
    """An environment could not be made; what pip says is on standard error."""

    def __init__(self, name: str, status: int) -> None:
        self.name = name
        self.status = status
        super().__init__(f"The environment {name} was not made: pip ended with status {status}; see above.")


def default_folder() -> Path:
    """Where environments are kept unless told otherwise: the user's cache directory."""
    return Path(platformdirs.user_cache_dir("pcqr")) / "bench"


def install(name: str, folder: Path) -> Path:
    """Make the environment `name`, from the start; its interpreter."""
    if name not in ENVIRONMENTS:
        raise ParameterError("--install", f"one of {', '.join(ENVIRONMENTS)}", name)
    place = folder / name
    shutil.rmtree(place, ignore_errors=True)
    venv.create(place, with_pip=True)
    line = [str(_python(place)), "-m", "pip", "install", "--disable-pip-version-check", *ENVIRONMENTS[name]]
    made = subprocess.run(line, stdout=sys.stderr, check=False)  # noqa: S603
    if made.returncode != 0:
        raise NotInstalled(name, made.returncode)
    (place / _DONE).write_text("\n".join(ENVIRONMENTS[name]) + "\n", encoding="utf-8")
    return _python(place)


def python_of(name: str | None, folder: Path) -> Path | None:
    """The interpreter of an environment, None: pcqr's own. None where it was not made, or with other versions.

    pcqr's own will do as well where it has just these versions, as the extra `bench` may give it.
    """
    if name is None or _are_here(ENVIRONMENTS[name]):
        return Path(sys.executable)
    done = folder / name / _DONE
    if not done.is_file() or tuple(done.read_text(encoding="utf-8").split()) != tuple(ENVIRONMENTS[name]):
        return None
    return _python(folder / name)


def _are_here(pins: Sequence[str]) -> bool:
    try:
        return all(version(library).split("+")[0] == pin for library, pin in (each.split("==") for each in pins))
    except PackageNotFoundError:
        return False


def _python(place: Path) -> Path:
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
