"""`fit` on a Dask cluster: the same release; and where every worker dies nothing is released."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import clusters

from pcqr import PrivateClassifier, Schema, SubsampleAggregate
from pcqr.data.records import Cluster, ParquetTable
from pcqr.data.records.parted import parquet
from pcqr.data.records.parted.cluster import ClusterLost
from pcqr.data.schema import Column
from pcqr.datasets import write_table
from pcqr.hypotheses import DecisionTrees, Stumps
from pcqr.release import Account

pytest.importorskip("distributed", reason="Dask is not installed: pip install pcqr[dask]")
pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pcqr[data]")

SCHEMA = Schema((Column("x", bounds=(-3, 3)), Column("kind", "categorical", ["a", "b"], other=True)))
ROWS = 3000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(parquet, "PART_ROWS", 500)
    generator = np.random.default_rng(0)
    x, kind = generator.normal(size=ROWS), generator.choice(["a", "b", "c"], size=ROWS)
    y = ((x > 0.3) & (kind != "b")).astype(int)
    place = tmp_path / "private"
    place.mkdir()
    for number in range(6):
        rows = slice(500 * number, 500 * (number + 1))
        write_table(
            place / f"{number}.parquet", {"x": x[rows].tolist(), "kind": kind[rows].tolist(), "y": y[rows].tolist()}
        )
    return place


def fitted(estimator: Any, folder: Path, engine: Cluster | None) -> Any:
    return estimator.fit(ParquetTable(folder, label="y", schema=SCHEMA, engine=engine))


def test_the_same_classifier_is_published(folder: Path, cluster: Cluster) -> None:
    found = [
        fitted(PrivateClassifier(1.0, method="tree", entropy=3), folder, engine).hypothesis_
        for engine in (None, cluster)
    ]
    assert found[0] == found[1]


def test_the_same_answers_are_given(folder: Path, cluster: Cluster) -> None:
    asked = {"x": np.linspace(-2, 2, 9), "kind": ["a", "b", "c"] * 3}
    found = []
    for engine in (None, cluster):
        release = SubsampleAggregate(Stumps(), epsilon=2.0, delta=1e-6, queries=9, entropy=3)
        found.append(list(fitted(release, folder, engine).predict(asked)))
    assert found[0] == found[1]


def test_where_all_workers_die_nothing_is_released(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the charge nothing is spent; after it the charge stays, as after every fit that breaks off."""
    account = Account.create(home / "account", epsilon=10.0, delta=1e-5)
    charged = PrivateClassifier._charge
    with (
        clusters.scheduler_alone() as address,
        clusters.workers_of(address, 1) as workers,
        Cluster(address, patience=0.5) as engine,
    ):

        def then_killed(*given: Any) -> None:
            charged(*given)
            workers[0].kill()

        monkeypatch.setattr(PrivateClassifier, "_charge", then_killed)
        classifier = PrivateClassifier(1.0, method="tree", trees=DecisionTrees(depth=2), account=account)
        with pytest.raises(ClusterLost, match="Nothing was released; an account that was charged for it stays charged"):
            fitted(classifier, folder, engine)
        assert not hasattr(classifier, "hypothesis_")
        assert not hasattr(classifier, "plan_")
        assert len(account.charges) == 1
        with pytest.raises(ClusterLost):  # there is nobody to read the files
            fitted(classifier, folder, engine)
        assert len(account.charges) == 1
