"""Every method of the comparison: what it is, whom its ε protects, and where it runs. Imports no library.

A user's own method is a class, named as `package.module:Class`:

    class Mine:
        asks = False        # True: `predict` gets the queries alone, as a method that answers one at a time would

        def fit(self, X, y, *, public, schema, epsilon, delta, seed): ...

        def predict(self, X): ...       # a label 0, 1, … for each row; None, or −1, where there is none

`X`, `public` and what `predict` gets are encoded rows (float64), `y` labels 0, 1, …; `schema` is the `pcqr.Schema` that
encoded them. Neither labels of public rows nor those of test rows are given. With nothing public, `public` and `schema`
are None and rows are dicts of columns: float64 with NaN for gaps, texts with None. The class is called without
arguments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pcqr.errors import ParameterError

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
    Method(
        "linear",
        "ours",
        "published",
        '`PrivateClassifier(method="linear")`: DP gradient descent over predicates',
    ),
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
        Method(
            *(name, "outside", "published", words),
            environment=environment,
            module=f"with_{environment}",
        )
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
