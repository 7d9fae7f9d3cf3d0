"""Records on the workers of a cluster: the same counts, sums, trees, linear classifiers and teachers, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from support import clusters

from pcqr.data.records import Encoded, Records
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.parted import parquet
from pcqr.data.records.parted.cluster import Cluster, ClusterLost
from pcqr.data.records.parted.parquet import ParquetParts, Reading
from pcqr.data.records.parted.source import Parted
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.vectors import PredicateVectors
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.labels import LabelColumn
from pcqr.errors import DataError
from pcqr.hypotheses import DecisionTrees, Estimators, HypothesisClass, Stumps
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.mechanisms.exponential import exponential_mechanism
from pcqr.privacy.composition import Branch, Sequence
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.noise import discrete_gaussians
from pcqr.releases.classifier.descent import dp_gradient_descent, shape_of
from pcqr.releases.classifier.plan import ComparisonStage, LinearStage
from pcqr.releases.classifier.run import publish
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.run import Teachers

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pcqr[data]")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 1200
SCHEMA = Schema((Column("a", bounds=(-4, 4)), Column("b", "categorical", ["x", "y"]), Column("c", bounds=(-4, 4))))
LABEL = LabelColumn("ill", ("no", "yes"))
QUESTIONS = (*(Predicate(column, cut) for column in (0, 4) for cut in (-0.5, 0.0, 0.7)), Predicate(1, 0.5))
WIDTH = 5


def columns() -> dict[str, Any]:
    generator = np.random.default_rng(3)
    a, c = generator.normal(size=(2, ROWS))
    b = generator.integers(0, 2, ROWS)
    ill = (a + b > generator.normal(size=ROWS)).astype(int)
    return {"a": a, "b": np.array(["x", "y"])[b], "c": c, "ill": np.array(["no", "yes"])[ill]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, table = tmp_path_factory.mktemp("private"), pa.table(columns())
    for number, start in enumerate((0, 500)):
        pq.write_table(
            table.slice(start, 500 if number == 0 else ROWS), place / f"{number}.parquet", row_group_size=200
        )
    return place


@pytest.fixture(scope="module")
def here() -> Encoded:
    table = columns()
    return Encoded(SCHEMA.compact(table, drop=["ill"]), (table["ill"] == "yes").astype(int))


def read(engine: Cluster, place: Path) -> Parted:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "PART_ROWS", 200)
        parts = ParquetParts.of(place)
    assert len(parts.parts) == 7
    return Parted.read(engine, parts, Reading(str(place), SCHEMA.columns, LABEL))


@pytest.fixture(scope="module")
def there(cluster: Cluster, folder: Path) -> Parted:
    return read(cluster, folder)


def check_same(found: Records, expected: Records) -> None:
    assert (found.size, found.width, found.labels) == (expected.size, expected.width, expected.labels)
    assert found.gathered().X.tobytes() == expected.gathered().X.tobytes()
    assert found.gathered().y.tobytes() == expected.gathered().y.tobytes()
    assert found.label_counts().tolist() == expected.label_counts().tolist()
    assert found.conjunctions(QUESTIONS, 3).table.tobytes() == expected.conjunctions(QUESTIONS, 3).table.tobytes()
    trees = [drawn(expected, seed) for seed in (1, 2)]
    assert found.error_counts(trees).tolist() == expected.error_counts(trees).tolist()
    assert found.leaf_counts(trees[0].root).tolist() == expected.leaf_counts(trees[0].root).tolist()
    assert [y.tolist() for y in found.all_labels(333)] == [y.tolist() for y in expected.all_labels(333)]
    assert [X.tobytes() for X, _ in found.blocks(333)] == [X.tobytes() for X, _ in expected.blocks(333)]


def drawn(records: Records, seed: int) -> Any:
    trees = DecisionTrees(predicates=QUESTIONS, depth=2)
    return exponential_mechanism(trees, records, 0.05, public=None, entropy=SeededEntropy(seed)).hypothesis


def test_every_question_has_the_same_answer(there: Parted, here: Encoded) -> None:
    check_same(there, here)
    positions = SeededEntropy(5).permutation(ROWS)[:700]
    again = SeededEntropy(6).below(700, 50)
    check_same(there.rows(positions).rows(again), here.rows(positions).rows(again))
    tree = drawn(here, 4)
    check_same(there.rows(positions).relabelled(tree), here.rows(positions).relabelled(tree))


@pytest.mark.parametrize("lead", [-ROWS, ROWS], ids=["the second option", "the first option"])
def test_the_same_coins_make_the_same_tree_pilots_and_linear_classifier(
    there: Parted, here: Encoded, lead: int
) -> None:
    """Their comparison counts errors where the records are."""
    trees = DecisionTrees(predicates=QUESTIONS, depth=2)
    plain = FeatureMap(PredicateVectors.of(QUESTIONS, WIDTH), None, 256)
    ferned = FeatureMap(plain.dense, Ferns(QUESTIONS[:6], 3, WIDTH), 100)
    first = LinearStage(ROWS, plain.size + 1, 0, 0, 256, 4, 1 << 16, 2.0**19, 0.5, 0.05, whitening=0.5)
    second = LinearStage(
        ROWS, plain.size + 1, *shape_of(ferned)[1:], 3, 1 << 16, 2.0**19, 0.5, 0.05, features="some ferns"
    )
    comparison = ComparisonStage(ROWS, 1 << 16, 2.0**19, lead)
    stage = Sequence((DrawStage(0.05), first, second, comparison, Branch((first, second))))
    found = [
        publish(stage, trees, records, SeededEntropy(9), maps={"plain": plain, "some ferns": ferned})
        for records in (there, here)
    ]
    assert found[0] == found[1]
    assert isinstance(found[0], LinearClassifier)
    assert found[0].feature_map.tree is not None
    assert (found[0].feature_map.ferns is None) is (lead > 0)


CLASSES = [
    Stumps(),
    DecisionTrees(predicates=QUESTIONS, depth=2),
    Estimators(DecisionTreeClassifier(max_depth=3, max_features=1)),  # draws, by its own seed
    clusters.OneByOne(),
]


@pytest.mark.parametrize("hypotheses", CLASSES, ids=lambda each: type(each).__name__)
def test_teachers_learn_where_the_records_are_and_are_the_same(
    there: Parted, here: Encoded, hypotheses: HypothesisClass, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = np.random.default_rng(2).normal(size=(200, WIDTH))

    def counts(records: Records) -> Any:
        entropy = SeededEntropy(8)
        chosen = records.rows(entropy.permutation(ROWS)[:1100])
        return Teachers(hypotheses, chosen, 21, entropy).counts(queries)

    expected = counts(here)
    for name in ("brought", "gathered", "blocks"):
        monkeypatch.delattr(Parted, name)  # no record comes here
    assert counts(there).tolist() == expected.tolist()


def test_positions_that_are_secret_are_in_no_key(there: Parted, cluster: Cluster) -> None:
    """Twice the same teachers, on the same positions: no key twice."""
    seen: list[set[str]] = []
    for _ in range(2):
        Teachers(Stumps(), there, 5, SeededEntropy(1))
        seen.append({event[0] for event in cluster.connection.client.run_on_scheduler(clusters.keys_seen)})
        assert all(key.startswith("pcqr-") for key in seen[-1])
    assert len(seen[1]) > len(seen[0])
    asked = [key for key in seen[1] if key.startswith(("pcqr-take", "pcqr-join"))]
    assert len(asked) == len(set(asked)) >= 2


@pytest.mark.parametrize("backend", ["threading", "dask"])
def test_any_backend_of_joblib_trains_the_same_teachers(cluster: Cluster, here: Encoded, backend: str) -> None:
    import joblib

    hypotheses = Estimators(DecisionTreeClassifier(max_depth=3, max_features=1))
    queries = np.random.default_rng(2).normal(size=(100, WIDTH))
    expected = Teachers(hypotheses, here, 11, SeededEntropy(3)).counts(queries)
    with cluster.connection.client.as_current(), joblib.parallel_config(backend=backend, n_jobs=2):
        assert Teachers(hypotheses, here, 11, SeededEntropy(3)).counts(queries).tolist() == expected.tolist()


def test_what_is_not_as_declared_is_refused_without_a_cell(cluster: Cluster, tmp_path: Path) -> None:
    table = columns() | {"a": np.where(np.arange(ROWS) == 1000, 987_654.0, 0.0)}
    table["ill"][1100] = "perhaps"
    pq.write_table(pa.table(table), tmp_path / "t.parquet", row_group_size=172)
    with pytest.raises(DataError) as told:
        read(cluster, tmp_path)
    assert "perhaps" not in str(told.value)
    assert "987" not in str(told.value)


def test_files_that_workers_do_not_see_are_refused_with_the_remedy(cluster: Cluster, tmp_path: Path) -> None:
    pq.write_table(pa.table(columns()), tmp_path / "t.parquet", row_group_size=172)
    real = ParquetParts.of

    def gone(path: Path) -> ParquetParts:
        found = real(path)
        (tmp_path / "t.parquet").unlink()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ParquetParts, "of", gone)
        with pytest.raises(DataError, match="every worker of a cluster sees by the same path"):
            read(cluster, tmp_path)


def test_a_fit_goes_on_when_a_worker_is_killed(folder: Path, here: Encoded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two workers whom nobody starts again one is killed between two steps, in the middle of a descent."""
    features = FeatureMap(None, Ferns(QUESTIONS[:6], 3, WIDTH), 0)
    plan = LinearStage(ROWS, *shape_of(features), 4, 1 << 16, 2.0**19, momentum=0.5, step_size=0.05)
    expected = dp_gradient_descent(features, here, plan, SeededEntropy(9))
    tree = drawn(here, 5)
    with (
        clusters.scheduler_alone() as address,
        clusters.workers_of(address, 2) as workers,
        Cluster(address, patience=0.5) as engine,
    ):
        engine.connection.client.wait_for_workers(2)
        records = read(engine, folder)
        steps = iter(range(plan.steps))

        def noise(*given: Any) -> Any:
            if next(steps) == 1:
                workers[0].kill()
                workers[0].wait()
            return discrete_gaussians(*given)

        monkeypatch.setattr("pcqr.releases.classifier.descent.discrete_gaussians", noise)
        assert dp_gradient_descent(features, records, plan, SeededEntropy(9)) == expected
        assert next(steps, None) is None
        assert len(engine.connection.addresses()) == 1
        assert drawn(records, 5) == tree
        workers[1].kill()
        with pytest.raises(ClusterLost, match=r"no worker left.*Nothing was released"):
            drawn(records, 6)
