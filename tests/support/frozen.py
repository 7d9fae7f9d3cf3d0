"""What every estimator promises, plans and answers on small seeded tables, and what the exact verifier finds.

    PYTHONPATH=tests python -m support.frozen --write

writes tests/frozen.json, which tests/test_frozen.py compares with the code as it is. Code may move and names may
change. These numbers may not, unless CHANGELOG.md names the privacy figure that has changed.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import pcqr
from pcqr.audit.exact import Finding
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses import (
    DecisionTrees,
    Finite,
    Halfspaces,
    HypothesisClass,
    Intervals,
    LogisticTeachers,
    Rectangles,
    Stumps,
    Thresholds,
    TreeTeachers,
    UnionsOfIntervals,
)

FILE = Path(__file__).parents[1] / "frozen.json"
RENAMED: dict[str, str] = {}
"""Today's names of fields that have other names in the file."""
Record = dict[str, Any]
"""Numbers and texts by name."""
Run = Callable[[], Record]
IN_CLEAR = 20
DIGITS = 9
NEGLIGIBLE = 1e-12
"""A smaller δ is float64 rounding in sums of probabilities that add up to 1."""

CLINIC = Schema(
    (
        Column("age", bounds=(0, 100)),
        Column("job", "categorical", ["cook", "nurse", "smith"], other=True),
        Column("seen", "date", missing=True),
    )
)
NAMES = np.array(["low", "middle", "high"])


def line(n: int, seed: int = 0) -> tuple[Any, Any]:
    """One column; labels change at 0.4, one in twenty is wrong."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 1))
    return X, (X[:, 0] > 0.4).astype(np.int64) ^ (rng.random(n) < 0.05)


def plane(n: int, seed: int = 0, columns: int = 2) -> tuple[Any, Any]:
    """Several columns; the first two decide, one label in twenty is wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    return X, ((X[:, 0] + 0.5 * X[:, 1] > 0.3) ^ (rng.random(n) < 0.05)).astype(np.int64)


def thirds(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Two columns and three names of labels."""
    X, _ = plane(n, seed)
    return X, NAMES[np.digitize(X[:, 0], [-0.5, 0.5])]


def clinic(n: int, seed: int = 0) -> tuple[dict[str, Any], Any]:
    """Numbers, texts and dates."""
    rng = np.random.default_rng(seed)
    age, job = rng.integers(0, 100, n), rng.choice(["cook", "nurse", "smith", "baker"], n)
    seen = [None if i % 7 == 0 else f"20{10 + i % 10}-03-0{1 + i % 9}" for i in range(n)]
    return {"age": age, "job": job, "seen": seen}, ((age > 60) ^ (job == "nurse")).astype(np.int64)


def figures(value: Any, name: str = "") -> Iterator[tuple[str, float | int | bool]]:
    """Return every number in a value made of frozen dataclasses and tuples, by the names of the fields that lead to it.

    Names no class, and leaves out the guarantee, which has a record of its own.
    """
    if isinstance(value, bool | int | float):
        yield name, value
    elif isinstance(value, tuple):
        for place, each in enumerate(value):
            yield from figures(each, f"{name}.{place}")
    elif is_dataclass(value) and not isinstance(value, pcqr.Guarantee):
        for field in fields(value):
            if not field.name.startswith("_"):
                found = RENAMED.get(field.name, field.name)
                yield from figures(getattr(value, field.name), f"{name}.{found}".lstrip("."))


def digest(values: Any) -> str:
    """A short hash of values that JSON can hold."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def promised(guarantee: pcqr.Guarantee) -> Record:
    return {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "rho": guarantee.rho}


def planned(plan: pcqr.Plan) -> Record:
    """(ε, δ), ρ and all numbers of a plan."""
    return {"guarantee": promised(plan.guarantee), "plan": dict(sorted(figures(plan)))}


def said(labels: list[str]) -> Record:
    return {"first": " ".join(labels[:IN_CLEAR]), "all": digest(labels)}


def chances(values: Any) -> Record:
    """Probabilities, rounded: the first three rows in clear. What rounds to −0 is 0."""
    rounded = (np.round(np.asarray(values, dtype=np.float64), DIGITS) + 0.0).tolist()
    return {"first": [each for row in rounded[:3] for each in row], "all": digest(rounded)}


def answered(release: Any, X: Any) -> Record:
    """Labels and kinds, as far as the release answers."""
    labels, kinds = [], []
    try:
        for answer in release.answers(X):
            labels.append("⊥" if answer.label is None else str(answer.label))
            kinds.append(answer.kind)
    except pcqr.BudgetExhausted:
        kinds.append("exhausted")
    return {"labels": said(labels), "kinds": {"count": dict(sorted(Counter(kinds).items())), "all": digest(kinds)}}


def fitted(estimator: Any, table: tuple[Any, Any], queries: Any, **public: Any) -> Record:
    """Return everything that a seeded fit shows, and its answers to the queries."""
    estimator.fit(*table, **public)
    found = {"guarantee": promised(estimator.guarantee_), "plan": dict(sorted(figures(estimator.plan_)))}
    if hasattr(estimator, "answers"):
        return found | answered(estimator, queries)
    found["labels"] = said([str(label) for label in estimator.predict(queries)])
    for method in ("predict_proba", "decision_function"):
        if hasattr(estimator, method):
            values = np.asarray(getattr(estimator, method)(queries))
            found[method] = chances(values.reshape(len(values), -1))
    return found


def in_parts(estimator: Any, queries: Any) -> Record:
    """A fit on a folder of two files."""
    import pandas as pd

    from pcqr.data.records import ParquetTable

    table, labels = clinic(4_000)
    frame = pd.DataFrame(table | {"ill": labels})
    with tempfile.TemporaryDirectory() as folder:
        for number, rows in enumerate((frame[:1_500], frame[1_500:])):
            rows.to_parquet(Path(folder) / f"{number}.parquet")
        return fitted(estimator, (ParquetTable(folder, label="ill"), None), queries, schema=CLINIC)


def drawn(hypotheses: HypothesisClass, table: tuple[Any, Any], queries: Any, public: Any = None) -> Record:
    """A seeded draw, its log-probability, and what the class learns by itself."""
    found = hypotheses.draw(*table, 0.1, public=public, entropy=0)
    learned = hypotheses.learn(*table)
    return {
        "log_probability": found.log_probability,
        "drawn": said([str(label) for label in found.hypothesis.predict(queries)]),
        "learned": said([str(label) for label in learned.predict(queries)]),
    }


def scored() -> Record:
    """A private score of a published tree."""
    public, _ = plane(200, 1)
    tree = pcqr.PrivateClassifier(method="tree", entropy=0).fit(*plane(3_000), public=public)
    found = pcqr.private_score(tree, *plane(2_000, 2), epsilon=0.5, entropy=0)
    return {
        "guarantee": promised(found.guarantee),
        "histogram": digest(list(found.histogram)),
        "accuracy": dict(figures(found.accuracy)),
        "auc": None if found.auc is None else dict(figures(found.auc)),
    }


def bought() -> Record:
    """A private schema: cuts and shares of numbers, categories of texts."""
    table, _ = clinic(5_000)
    schema = Schema.private({name: table[name] for name in ("age", "job")}, epsilon=1.0, entropy=0)
    assert schema.guarantee is not None
    return {
        "guarantee": promised(schema.guarantee),
        "columns": digest([[repr(each.cuts), repr(each.shares), repr(each.categories)] for each in schema.columns]),
        "cuts": {str(place): cut for place, cut in enumerate(schema.columns[0].cuts or ())},
    }


def taught() -> Record:
    """A student of the answers of a release."""
    release = pcqr.NoisyMaxAggregate(Thresholds(), epsilon=4.0, queries=50, entropy=0).fit(*line(3_000))
    release.predict(ASKED)
    student = pcqr.transfer(release, DecisionTreeClassifier(max_depth=1))
    assert isinstance(student, pcqr.Student)
    labels = said([str(label) for label in student.predict(ASKED)])
    return {"guarantee": promised(student.guarantee_), "used": student.n_queries_used_, "labels": labels}


ASKED = np.random.default_rng(4).permutation(np.linspace(0.2, 0.6, 50))[:, None]
POINTS, (PUBLIC, _) = plane(50, 3)[0], plane(200, 1)
ROWS, _ = clinic(50, 3)
DEEP = DecisionTrees(depth=2)
TEACHERS = LogisticTeachers()


def release(kind: Any, *given: Any, **parameters: Any) -> Run:
    """Fifty queries around the cut of a line."""
    return lambda: fitted(kind(*given, entropy=0, **parameters), line(3_000), ASKED)


def of_plane(kind: Any, *given: Any, rows: int = 3_000, public: Any = None, **parameters: Any) -> Run:
    with_public = {} if public is None else {"public": public}
    return lambda: fitted(kind(*given, entropy=0, **parameters), plane(rows), POINTS, **with_public)


def of_thirds(kind: Any, *given: Any, rows: int = 3_000, public: Any = None, **parameters: Any) -> Run:
    with_public = {} if public is None else {"public": public}
    parameters |= {"classes": NAMES.tolist(), "entropy": 0}
    return lambda: fitted(kind(*given, **parameters), thirds(rows), POINTS, **with_public)


def classifier(table: Callable[[int], tuple[Any, Any]], rows: int, queries: Any, given: Any = None, **how: Any) -> Run:
    """`given` are the arguments of `fit`, and `how` those of the estimator."""
    return lambda: fitted(pcqr.PrivateClassifier(entropy=0, **how), table(rows), queries, **(given or {}))


def user_level(n: int) -> Any:
    """Return the person of each row; persons have up to a few rows."""
    return np.random.default_rng(5).integers(0, n // 2, n)


SHOWN = {"public": PUBLIC}
TYPES = {"age": "numeric", "job": "categorical", "seen": "date"}
RUNS: dict[str, Run] = {
    "PrivateClassifier: few records": classifier(plane, 400, POINTS, SHOWN),
    "PrivateClassifier: a tree": classifier(plane, 2_500, POINTS, SHOWN),
    "PrivateClassifier: a tree, pure": classifier(plane, 2_500, POINTS, SHOWN, method="tree", delta=0.0),
    "PrivateClassifier: trees of three labels": classifier(
        thirds, 2_500, POINTS, SHOWN, trees=DEEP, method="tree", classes=NAMES.tolist()
    ),
    "PrivateClassifier: empirical Bayes beside a tree": classifier(plane, 5_000, POINTS, SHOWN),
    "PrivateClassifier: descent beside a tree": classifier(plane, 9_000, POINTS, SHOWN),
    "PrivateClassifier: linear alone": classifier(plane, 9_000, POINTS, SHOWN, method="linear"),
    "PrivateClassifier: three labels": classifier(thirds, 9_000, POINTS, SHOWN, classes=NAMES.tolist()),
    "PrivateClassifier: ferns": classifier(plane, 4_000, POINTS, SHOWN, epsilon=8.0),
    "PrivateClassifier: pilots": classifier(plane, 16_000, POINTS, SHOWN, epsilon=9.5),
    "PrivateClassifier: nothing public": classifier(plane, 4_000, POINTS),
    "PrivateClassifier: nothing public, a grid": classifier(plane, 300, POINTS),
    "PrivateClassifier: nothing public, kinds": classifier(clinic, 4_000, ROWS, types=TYPES),
    "PrivateClassifier: a schema": classifier(clinic, 4_000, ROWS, {"schema": CLINIC}),
    "PrivateClassifier: a schema, in parts": lambda: in_parts(pcqr.PrivateClassifier(entropy=0), ROWS),
    "PrivateClassifier: persons": classifier(plane, 4_000, POINTS, SHOWN | {"groups": user_level(4_000)}),
    "PrivateClassifier: persons of three rows": classifier(
        plane, 9_000, POINTS, SHOWN | {"groups": pcqr.Groups(user_level(9_000), rows=3)}
    ),
    "PrivateClassifier: weights of rows": classifier(
        plane, 4_000, POINTS, SHOWN | {"sample_weight": np.linspace(0.0, 1.5, 4_000)}
    ),
    "PrivateClassifier: weights of labels": classifier(plane, 4_000, POINTS, SHOWN, class_weight={0: 1.0, 1: 0.3}),
    "PrivateClassifier: balanced": classifier(plane, 4_000, POINTS, SHOWN, class_weight="balanced"),
    "PrivateClassifier: dense": classifier(
        lambda n: plane(n, columns=101), 3_000, plane(50, 3, 101)[0], {"public": plane(500, 1, 101)[0]}
    ),
    "SemiPrivateLearner: a threshold": lambda: fitted(
        pcqr.SemiPrivateLearner(Thresholds(), epsilon=0.3, entropy=0), line(3_000), ASKED, public=line(100, 1)[0]
    ),
    "SemiPrivateLearner: declared stumps": of_plane(pcqr.SemiPrivateLearner, Stumps(cuts=[[0.0, 0.5]] * 2)),
    "SemiPrivateLearner: trees of three labels": of_thirds(pcqr.SemiPrivateLearner, DEEP, public=PUBLIC),
    "UniversalRelease: nothing public": of_plane(pcqr.UniversalRelease),
    "UniversalRelease: public rows": of_plane(pcqr.UniversalRelease, public=PUBLIC),
    "UniversalRelease: shows answers": of_plane(pcqr.UniversalRelease, public=PUBLIC, shows="answers"),
    "UniversalRelease: three labels": of_thirds(pcqr.UniversalRelease, public=PUBLIC),
    "UniversalRelease: votes first": release(pcqr.UniversalRelease, Thresholds(), epsilon=4.0, queries=30),
    "UniversalRelease: votes first, public rows": of_plane(
        pcqr.UniversalRelease, epsilon=4.0, queries=30, vote="stability", public=PUBLIC
    ),
    "AgnosticRelease: stability": release(
        pcqr.AgnosticRelease, Thresholds(), epsilon=4.0, queries=50, vote="stability"
    ),
    "AgnosticRelease: stability, coins": release(
        pcqr.AgnosticRelease, Intervals(), epsilon=4.0, queries=50, vote="stability", on_unstable="random"
    ),
    "AgnosticRelease: noisy max": release(
        pcqr.AgnosticRelease, Thresholds(), epsilon=4.0, queries=50, vote="noisy max"
    ),
    "AgnosticRelease: by itself": of_plane(pcqr.AgnosticRelease, epsilon=4.0, queries=50),
    "AgnosticRelease: one draw answers": of_plane(pcqr.AgnosticRelease, DEEP, public=PUBLIC),
    "AgnosticRelease: persons": lambda: fitted(
        pcqr.AgnosticRelease(Thresholds(), epsilon=4.0, queries=50, vote="stability", entropy=0),
        line(4_000),
        ASKED,
        groups=user_level(4_000),
    ),
    "SubsampleAggregate: by itself": of_plane(pcqr.SubsampleAggregate, epsilon=4.0, queries=50),
    "SubsampleAggregate: stability": release(
        pcqr.SubsampleAggregate, Thresholds(), epsilon=4.0, queries=50, vote="stability"
    ),
    "SubsampleAggregate: pinned": release(
        pcqr.SubsampleAggregate, Thresholds(), epsilon=4.0, queries=50, teachers=99, unstable=4, sampling_rate=0.5
    ),
    "SubsampleAggregate: logistic teachers": of_plane(pcqr.SubsampleAggregate, TEACHERS, epsilon=2.0, queries=50),
    "SubsampleAggregate: trees, three labels": of_thirds(
        pcqr.SubsampleAggregate, TreeTeachers(depth=2), epsilon=4.0, queries=50
    ),
    "SubsampleAggregate: teachers of scikit-learn": of_plane(
        pcqr.SubsampleAggregate, GaussianNB(), epsilon=4.0, queries=50, teachers=49, vote="stability"
    ),
    "SubsampleAggregate: persons": lambda: fitted(
        pcqr.SubsampleAggregate(epsilon=4.0, queries=50, entropy=0), plane(4_000), POINTS, groups=user_level(4_000)
    ),
    "SubsampleAggregate: a schema": lambda: fitted(
        pcqr.SubsampleAggregate(epsilon=4.0, queries=50, entropy=0), clinic(3_000), ROWS, schema=CLINIC
    ),
    "NoisyMaxAggregate: by itself": of_plane(pcqr.NoisyMaxAggregate, epsilon=2.0, queries=50),
    "NoisyMaxAggregate: Gaussian, three labels": of_thirds(
        pcqr.NoisyMaxAggregate, TEACHERS, epsilon=4.0, queries=50, noise="gaussian"
    ),
    "NoisyMaxAggregate: exponential": release(
        pcqr.NoisyMaxAggregate, Thresholds(), epsilon=2.0, queries=50, noise="exponential"
    ),
    "NoisyMaxAggregate: Laplace": release(
        pcqr.NoisyMaxAggregate, Thresholds(), epsilon=2.0, queries=40, noise="laplace"
    ),
    "ConfidentMaxAggregate: by itself": release(pcqr.ConfidentMaxAggregate, Thresholds(), epsilon=4.0, queries=50),
    "ConfidentMaxAggregate: three labels": of_thirds(
        pcqr.ConfidentMaxAggregate, TEACHERS, epsilon=8.0, queries=50, most_labels=40
    ),
    "InteractiveMaxAggregate": release(
        pcqr.InteractiveMaxAggregate,
        Thresholds(),
        epsilon=8.0,
        queries=50,
        refresh=10,
        student=DecisionTreeClassifier(max_depth=1),
    ),
    "GibbsPrediction: thresholds": release(pcqr.GibbsPrediction, Thresholds(), epsilon=4.0, queries=5),
    "GibbsPrediction: public rows": of_plane(pcqr.GibbsPrediction, Stumps(), epsilon=2.0, queries=5, public=PUBLIC),
    "IndividualKNN: replace": of_thirds(pcqr.IndividualKNN, rows=6_000, queries=50, epsilon=4.0, public=PUBLIC),
    "IndividualKNN: remove": of_plane(
        pcqr.IndividualKNN, rows=6_000, queries=50, adjacency="remove", neighbours=60, public=PUBLIC
    ),
    "PrivateKNN": of_thirds(pcqr.PrivateKNN, rows=6_000, queries=50, epsilon=4.0, public=PUBLIC),
    "MultipartyClassifier": of_plane(pcqr.MultipartyClassifier, public=PUBLIC),
    "MultipartyClassifier: three labels": of_thirds(pcqr.MultipartyClassifier, parties=60, public=PUBLIC),
    "transfer": taught,
    "private_score": scored,
    "Schema.private": bought,
    "draw: Thresholds": lambda: drawn(Thresholds(), line(200), ASKED),
    "draw: Thresholds among public points": lambda: drawn(
        Thresholds(direction="both"), line(200), ASKED, line(30, 1)[0]
    ),
    "draw: Intervals": lambda: drawn(Intervals(), line(100), ASKED),
    "draw: UnionsOfIntervals": lambda: drawn(UnionsOfIntervals(2), line(100), ASKED),
    "draw: Stumps": lambda: drawn(Stumps(), plane(200), POINTS),
    "draw: Rectangles": lambda: drawn(Rectangles(), plane(40), POINTS),
    "draw: Halfspaces": lambda: drawn(Halfspaces(), plane(40), POINTS),
    "draw: Finite": lambda: drawn(
        Finite([Thresholds().learn([c - 0.1, c + 0.1], [0, 1]) for c in (0.2, 0.4, 0.6)]), line(200), ASKED
    ),
    "draw: DecisionTrees": lambda: drawn(DEEP, plane(500), POINTS, PUBLIC),
    "plan: SubsampleAggregate, paper": lambda: planned(
        pcqr.SubsampleAggregate(Thresholds(), epsilon=0.9, queries=50, mode="paper").plan(10**9, 1)
    ),
    "plan: AgnosticRelease, paper": lambda: planned(
        pcqr.AgnosticRelease(Thresholds(), epsilon=0.5, queries=100, mode="paper").plan(10**12, 1)
    ),
    "plan: UniversalRelease, paper": lambda: planned(
        pcqr.UniversalRelease(Thresholds(), epsilon=0.9, queries=50, mode="paper").plan(10**13, 1)
    ),
    "plan: AgnosticRelease, proved": lambda: planned(
        pcqr.AgnosticRelease(Thresholds(), queries=50, vote="stability").plan(10**7, 1)
    ),
    "plan: UniversalRelease, public rows": lambda: planned(
        pcqr.UniversalRelease(Stumps(), queries=100).plan(10**6, public=PUBLIC)
    ),
    "plan: PrivateClassifier, a million": lambda: planned(pcqr.PrivateClassifier().plan(10**6, public=PUBLIC)),
}


def run(name: str) -> Record:
    """Return what a run records, without warnings about few records."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RUNS[name]()


def audited(finding: Finding) -> Record:
    """Return what the exact verifier finds about a case, and the claim."""
    return {
        "epsilon": finding.epsilon if math.isfinite(finding.epsilon) else None,
        "delta": finding.delta,
        "claimed": promised(finding.claimed),
    }


def flat(record: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    """Nested names as one, with dots."""
    found: dict[str, Any] = {}
    for key, value in record.items():
        path = f"{name}.{key}".lstrip(".")
        if isinstance(value, Mapping):
            found |= flat(value, path)
        elif isinstance(value, list):
            found |= {f"{path}.{place}": each for place, each in enumerate(value)}
        else:
            found[path] = value
    return found


def is_same(was: Any, now: Any) -> bool:
    """Are two texts equal, or two numbers up to the last digits? Logarithms of two machines may differ there."""
    if isinstance(was, float) and isinstance(now, float):
        return math.isclose(was, now, rel_tol=10.0**-DIGITS, abs_tol=NEGLIGIBLE)
    return type(was) is type(now) and bool(was == now)


def differences(was: Record, now: Record) -> list[str]:
    """Return the changes, one line each, by name."""
    before, after = flat(was), flat(now)
    gone = [f"{name}: was {before[name]!r}, is gone" for name in before if name not in after]
    new = [f"{name}: is new, {after[name]!r}" for name in after if name not in before]
    both = [name for name in before if name in after and not is_same(before[name], after[name])]
    return gone + new + [f"{name}: was {before[name]!r}, is {after[name]!r}" for name in both]


def frozen() -> dict[str, dict[str, Record]]:
    """What is in the file."""
    found: dict[str, dict[str, Record]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Print what has changed, and with --write write the file."""
    from pcqr.audit.exact import shipped_cases, verify

    found = {"runs": {name: run(name) for name in RUNS}}
    found["audit"] = {case.name: audited(verify(case)) for case in shipped_cases()}
    before = frozen() if FILE.exists() else {"runs": {}, "audit": {}}
    for part, records in found.items():
        for name in [*before[part], *(records.keys() - before[part].keys())]:
            both = name in records and name in before[part]
            for each in differences(before[part][name], records[name]) if both else ["is new, or is gone"]:
                print(f"{name}: {each}")
    if "--write" in sys.argv[1:]:
        text = json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False)
        FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
