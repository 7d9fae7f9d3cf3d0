"""Near records that vote, on MNIST: how many queries get a label, and how many of these the right one.

    python -m benchmarks.neighbours mnist.parquet [--features FILE.npz] [--epsilons 1] [--queries 1000,10000]

58,000 private images, 2,000 public ones without their labels, the first m test images as queries; δ = 10⁻⁵, records
that are replaced, and for `IndividualKNN` records that are removed as well. Raw pixels, or the array `features` of an
.npz file, such as the scattering features that examples/mnist.py keeps. Seeds make a run repeatable (NOT PRIVATE).
Results are stored after every cell; a later run replaces the lines that it makes anew. Writes a table of
docs/choosing.md.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import markdown, read_cases, write_json
from benchmarks.pages import put_between
from pcqr import IndividualKNN, PrivateKNN

DELTA = 1e-5
PUBLIC = 2_000
RESULTS = Path("benchmarks/results/neighbours.json")
PAGE = Path("docs/choosing.md")
HEADER = (
    "features",
    "estimator",
    "ε for",
    "ε",
    "m",
    "records as near as voters",
    "answered",
    "of these right",
    "ms a query",
)


@dataclass(frozen=True)
class Case:
    """One release: about how many of all records are as near as those who vote, and what became of m queries."""

    features: str
    estimator: str
    adjacency: str
    epsilon: float
    queries: int
    voting: int
    answered: float
    right: float
    fit_seconds: float
    query_milliseconds: float

    @property
    def key(self) -> tuple[str, str, str, float, int]:
        return self.features, self.estimator, self.adjacency, self.epsilon, self.queries


def read(path: Path) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Pixels and labels, the training part first, and how many are in it."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pq.read_table(path)
    is_test = np.asarray(table["split"].to_pylist()) == "test"
    order = np.argsort(is_test, kind="stable")
    pixels = np.stack([table[f"pixel{place}"].to_numpy() for place in range(784)], axis=1)
    return pixels[order], table["label"].to_numpy()[order], int((~is_test).sum())


def measured(X: NDArray[Any], y: NDArray[Any], training: int, features: str, release: Any, adjacency: str) -> Case:
    m = release.queries
    began = time.perf_counter()
    release.fit(X[PUBLIC:training], y[PUBLIC:training], public=X[:PUBLIC])
    fitted = time.perf_counter()
    answers = [answer.label for answer in release.answers(X[training : training + m])]
    ended = time.perf_counter()
    vote, n = release.plan_.vote, training - PUBLIC
    voting = n * vote.reach / PUBLIC if isinstance(release, IndividualKNN) else vote.neighbours / vote.rate
    said = [(label, truth) for label, truth in zip(answers, y[training:], strict=False) if label is not None]
    return Case(
        features=features,
        estimator=type(release).__name__,
        adjacency=adjacency,
        epsilon=release.epsilon,
        queries=m,
        voting=round(voting),
        answered=len(said) / m,
        right=sum(label == truth for label, truth in said) / len(said),
        fit_seconds=fitted - began,
        query_milliseconds=1e3 * (ended - fitted) / m,
    )


def row(case: Case) -> tuple[str, ...]:
    return (
        case.features,
        f"`{case.estimator}`",
        case.adjacency,
        f"{case.epsilon:g}",
        f"{case.queries:,}",
        f"{case.voting:,}",
        f"{case.answered:.1%}",
        f"{case.right:.1%}",
        f"{case.query_milliseconds:.0f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="MNIST as a Parquet file")
    parser.add_argument("--features", type=Path, help="an .npz file with the array `features`, training part first")
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--queries", default="1000")
    parser.add_argument("--estimators", default="individual,removed,sampled")
    options = parser.parse_args()
    X, y, training = read(options.file)
    name = "pixels"
    if options.features is not None:
        with np.load(options.features) as kept:
            X, name = kept["features"], options.features.stem.removeprefix("mnist-")
    cases = read_cases(RESULTS, Case)
    for epsilon in map(float, options.epsilons.split(",")):
        for m in map(int, options.queries.split(",")):
            settings: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "queries": m, "entropy": 1}
            settings["classes"] = tuple(range(10))
            releases = {
                "individual": (IndividualKNN(**settings), "replacing"),
                "removed": (IndividualKNN(**settings, adjacency="remove"), "removing"),
                "sampled": (PrivateKNN(**settings), "replacing"),
            }
            for which in options.estimators.split(","):
                found = measured(X, y, training, name, *releases[which])
                print(*row(found), sep="  ", flush=True)
                cases = sorted([*(case for case in cases if case.key != found.key), found], key=lambda case: case.key)
                write_json(RESULTS, {"delta": DELTA, "public": PUBLIC}, list(map(asdict, cases)))
    put_between(PAGE, "neighbours", markdown(HEADER, list(map(row, cases))))


if __name__ == "__main__":
    main()
