"""Virtual environments for libraries that do not go together with pcqr or with each other; versions are pinned."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import platformdirs

from pcqr.bench.outside.task import NOT_ASKED, UNANSWERED, Labels, Task
from pcqr.data.schema import Schema
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


# ---------------------------------------------------------------------------------------------------------------------
# A method of a user's own: the class that a task names as package.module:Class (`pcqr.bench.methods`).


def run(task: Task) -> Labels:
    """The labels that its object gives."""
    method, schema = _made(task.method), None if task.schema is None else Schema.from_dict(task.schema)
    options = {"epsilon": task.epsilon, "delta": task.delta, "seed": task.seed}
    X_test: Any = task.X_test
    if task.raw is None:
        method.fit(task.X, task.y, public=task.public, schema=schema, **options)
    else:
        X_test = task.raw_test
        method.fit(task.raw, task.y, public=None, schema=None, **options)
    task.fitted()
    if getattr(method, "asks", False):
        return task.among_asked(_plain(method.predict(task.queries)))
    return _plain(method.predict(X_test))


def _made(name: str) -> Any:
    module, _, kind = name.partition(":")
    try:
        return getattr(importlib.import_module(module), kind)()
    except (ImportError, AttributeError) as error:
        raise ParameterError("--method", "package.module:Class of a class that can be imported", str(error)) from None


def _plain(labels: Any) -> Labels:
    found = [UNANSWERED if label is None else int(label) for label in labels]
    if min(found, default=0) <= NOT_ASKED:
        raise ParameterError("labels of a method", "0, 1, …, or −1 or None where there is none", min(found))
    return np.array(found, dtype=np.int64)


# ---------------------------------------------------------------------------------------------------------------------
# Every method of the comparison: what it is, whom its ε protects, and where it runs. Imports no library.
#
# A user's own method is a class, named as `package.module:Class`:
#
#     class Mine:
#         asks = False        # True: `predict` gets the queries alone, as a method that answers one at a time would
#
#         def fit(self, X, y, *, public, schema, epsilon, delta, seed): ...
#
#         def predict(self, X): ...       # a label 0, 1, … for each row; None, or −1, where there is none
#
# `X`, `public` and what `predict` gets are encoded rows (float64), `y` labels 0, 1, …; `schema` is the `pcqr.Schema`
# that encoded them. Neither labels of public rows nor those of test rows are given. With nothing public, `public` and
# `schema` are None and rows are dicts of columns: float64 with NaN for gaps, texts with None. The class is called
# without arguments.


Family = Literal["ours", "peer", "outside", "reference", "own"]
Kind = Literal["published", "one at a time", "student"]

REPLACE = "replace one record"
NOT_PRIVATE = "not private"
SAID = "as its author says"

BUYING = ("auto", "tree", "linear", "universal")
"""Of our methods those that buy their predicates where nothing is public."""
NEEDED: Mapping[str | None, str] = {
    None: "public rows",
    "opacus": "public bounds and categories",
    "interpret": "public bounds and categories",
    "diffprivlib": "public bounds and categories",
    "dpmm": "public categories",
}
"""What all other methods need besides columns and kinds, by their environments. Without it, these libraries take it
from the records outside ε, or leave it to their users."""

_OWN = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


@dataclass(frozen=True)
class Method:
    """One way to make labels.

    `words` say what it is and how it is set; `unit` whom ε protects. `environment` is where it runs, None: here, by the
    function of `pcqr.bench.inside` that has its name; else by the module `module` of `pcqr.bench.outside`.
    """

    name: str
    family: Family
    kind: Kind
    words: str
    unit: str = REPLACE
    environment: str | None = None
    module: str | None = None

    @property
    def uses_epsilon(self) -> bool:
        """Not so: it is run once for all ε."""
        return self.unit != NOT_PRIVATE

    @property
    def needs(self) -> str | None:
        """What has to be public besides the columns and their kinds; None: nothing."""
        if self.name in BUYING or self.family in ("reference", "own"):
            return None
        return NEEDED[self.environment]


_LEARNS = "labels public rows, logistic regression learns them"
_KNOWN = (
    Method(
        "auto",
        "ours",
        "published",
        "`PrivateClassifier()`: a tree, or a linear classifier with a tree beside it; n·ε decides",
    ),
    Method(
        "tree",
        "ours",
        "published",
        '`PrivateClassifier(method="tree")`: one exact draw; pure ε unless nothing is public',
    ),
    Method("linear", "ours", "published", '`PrivateClassifier(method="linear")`: DP gradient descent over predicates'),
    Method(
        "agnostic",
        "ours",
        "one at a time",
        "`AgnosticRelease`: one exact draw of a tree answers, as public rows fix the class",
    ),
    Method(
        *("subsamp", "ours", "one at a time"),
        "`SubsampleAggregate` (Bassily, Thakkar, Thakurta 2018): votes, by a test of stability or with noise on each",
    ),
    Method("universal", "ours", "one at a time", "`UniversalRelease()`: the classifier of `auto` answers"),
    Method("gnmax", "peer", "one at a time", "PATE's GNMax (2018): Gaussian noise on the votes"),
    Method("lnmax", "peer", "one at a time", "PATE's LNMax (2017): Laplace noise on the votes"),
    Method("exponential-max", "peer", "one at a time", "Dwork and Feldman (2018): exponential mechanism on the votes"),
    Method("confident", "peer", "one at a time", "PATE's Confident-GNMax (2018): labels where teachers agree"),
    Method(
        "gibbs",
        "peer",
        "one at a time",
        "Gibbs prediction (Dagan and Feldman 2020): a fresh draw of a tree for a query",
    ),
    Method(
        "individual-knn", "peer", "one at a time", "Ind-kNN (Zhu et al. 2023), every record with a budget of its own"
    ),
    Method(
        *("individual-knn-removed", "peer", "one at a time", "Ind-kNN with the papers' own promise"),
        unit="remove one record, which is weaker",
    ),
    Method("private-knn", "peer", "one at a time", "Private-kNN (Zhu et al. 2020): the nearest in a secret sample"),
    Method("parties", "peer", "published", "Hamm, Cao and Belkin (2016): soft votes of parties, a student with noise"),
    Method("subsamp-student", "peer", "student", f"Knowledge transfer: `subsamp` {_LEARNS}"),
    Method("gnmax-student", "peer", "student", f"Knowledge transfer: `gnmax` {_LEARNS}"),
    Method("confident-student", "peer", "student", f"PATE (2018), whole: `confident` {_LEARNS}"),
    *(
        Method(*(name, "outside", "published", words), environment=environment, module=f"with_{environment}")
        for name, environment, words in (
            ("dp-sgd-logistic", "opacus", "Opacus: logistic regression by DP-SGD on public predicates, noise doubled"),
            ("dp-sgd-network", "opacus", "Opacus: two hidden layers of 128 by DP-SGD, noise for replacing by PLD"),
            (
                "dp-ebm",
                "interpret",
                "interpret's DP-EBM, at half the μ; public rows beside the records have all categories",
            ),
            (
                "diffprivlib-logistic",
                "diffprivlib",
                "diffprivlib: objective perturbation on public predicates; pure ε, if its solver were exact",
            ),
            ("diffprivlib-forest", "diffprivlib", "diffprivlib: a random forest, at half of ε; pure ε"),
            ("mst", "dpmm", "dpmm: synthetic records by MST at a quarter of ρ, 16 public bins, then boosting"),
            ("aim", "dpmm", "dpmm: synthetic records by AIM (4 MB) at a quarter of ρ, 16 public bins, then boosting"),
        )
    ),
    Method("majority", "reference", "published", "The most common label of the records: the floor", NOT_PRIVATE),
    Method("boosting", "reference", "published", "Gradient boosting of scikit-learn: the ceiling", NOT_PRIVATE),
)

KNOWN: Mapping[str, Method] = {method.name: method for method in _KNOWN}


def named(text: str) -> Method:
    """The method that is called so: a name of `KNOWN`, or a class of a user's own."""
    if text in KNOWN:
        return KNOWN[text]
    if not _OWN.fullmatch(text):
        raise ParameterError("--methods", f"of {', '.join(KNOWN)}, or package.module:Class", text)
    return Method(text, "own", "published", "A method of the user's own", SAID)


def chosen(names: Sequence[str], own: Sequence[str]) -> list[Method]:
    """The methods of a comparison: all where none is named, each once, in order."""
    return [named(text) for text in dict.fromkeys((*(names or KNOWN), *own))]
