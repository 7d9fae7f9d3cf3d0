"""`fit` on a table in files gives what it gives on the same table in memory, to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pcqr import AgnosticRelease, AssumePublic, PrivateClassifier, Schema, SubsampleAggregate, UniversalRelease
from pcqr.data.records import ParquetTable
from pcqr.data.records.parted import parquet
from pcqr.data.records.parted.engine import Spool
from pcqr.data.records.parted.source import Parted
from pcqr.data.schema import Column
from pcqr.datasets import write_table
from pcqr.errors import DataError, ParameterError, PublicRowsCoincide
from pcqr.hypotheses import DecisionTrees, Stumps
from pcqr.releases.base.inputs import ZERO_AND_ONE

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pcqr[data]")

SCHEMA = Schema((Column("x", bounds=(-3, 3)), Column("kind", "categorical", ["a", "b"], other=True)))
ROWS = 3000


def columns(seed: int = 0, count: int = ROWS) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    x, kind = generator.normal(size=count), generator.choice(["a", "b", "c"], size=count)
    return {"x": x, "kind": kind.tolist(), "y": np.where((x > 0.3) & (kind != "b"), "yes", "no").tolist()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(parquet, "PART_ROWS", 500)
    made = columns()
    for number, (low, high) in enumerate(((0, 1234), (1234, 1300), (1300, ROWS))):
        write_table(tmp_path / f"{number}.parquet", {name: cells[low:high] for name, cells in made.items()})
    return tmp_path


def in_memory() -> tuple[dict[str, Any], list[str]]:
    made = columns()
    return {name: made[name] for name in ("x", "kind")}, made["y"]


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateClassifier(1.0, method="tree", classes=("no", "yes"), entropy=3),
        PrivateClassifier(20.0, method="linear", classes=("no", "yes"), entropy=3),
        PrivateClassifier(4.0, classes=("no", "yes"), entropy=3),
        PrivateClassifier(100.0, classes=("no", "yes"), entropy=3),
        SubsampleAggregate(Stumps(), epsilon=2.0, delta=1e-6, queries=20, classes=("no", "yes"), entropy=3),
        AgnosticRelease(Stumps(cuts=(0.0, 0.3)), epsilon=8.0, delta=1e-6, queries=5, classes=("no", "yes"), entropy=3),
        UniversalRelease(Stumps(cuts=(0.0, 0.3)), epsilon=8.0, delta=1e-6, queries=5, classes=("no", "yes"), entropy=3),
    ],
    ids=lambda estimator: f"{type(estimator).__name__} {getattr(estimator, 'method', '')}",
)
@pytest.mark.filterwarnings("ignore::pcqr.errors.UnansweredWarning", "ignore::pcqr.errors.Exhausted")
def test_the_release_is_the_same_to_the_last_bit(folder: Path, estimator: Any) -> None:
    asked = {"x": np.linspace(-2, 2, 15), "kind": ["a", "b", "c"] * 5}
    found = []
    for table, labels in (in_memory(), (ParquetTable(folder, label="y"), None)):
        estimator.fit(table, labels, schema=SCHEMA)
        assert estimator.n_records_ == ROWS
        document = estimator.hypothesis_.to_json() if isinstance(estimator, PrivateClassifier) else None
        found.append((document, estimator.predict(asked).tolist(), estimator.guarantee_, estimator.plan_))
    assert found[0] == found[1]


def test_public_rows_may_give_the_schema(folder: Path) -> None:
    shown = columns(seed=1, count=200)
    rows = pytest.importorskip("pandas").DataFrame({name: shown[name] for name in ("x", "kind")})
    public = AssumePublic(rows)  # beyond their bounds all rows are alike
    learner = PrivateClassifier(1.0, method="tree", classes=("no", "yes"), entropy=0)
    found = learner.fit(ParquetTable(folder, label="y"), public=public).hypothesis_
    pandas_table = pytest.importorskip("pandas").DataFrame(in_memory()[0])
    assert found == learner.fit(pandas_table, in_memory()[1], public=public).hypothesis_


def test_a_table_that_was_read_before_is_taken_as_it_is(folder: Path) -> None:
    records = ParquetTable(folder, label="y").read(SCHEMA, ("no", "yes"))
    assert isinstance(records, Parted)
    learner = PrivateClassifier(1.0, method="tree", classes=("no", "yes"), entropy=0)
    found = learner.fit(records, schema=SCHEMA).hypothesis_
    assert found == learner.fit(*in_memory(), schema=SCHEMA).hypothesis_
    with pytest.raises(DataError, match="a table that was read by this schema"):
        learner.fit(records, schema=Schema((Column("x"),)))
    with pytest.raises(DataError, match="as many labels as there are classes"):
        learner.set_params(classes=("no", "yes", "perhaps")).fit(records, schema=SCHEMA)


def test_labels_without_names_are_assumed_to_be_0_and_1(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=500)
    write_table(tmp_path / "t.parquet", {"x": x.tolist(), "y": (x > 0).astype(int).tolist()})
    table = ParquetTable(tmp_path, label="y", schema=Schema((Column("x", bounds=(-3, 3)),)))
    learner = PrivateClassifier(1.0, method="tree", entropy=0).fit(table)
    assert learner.classes_.tolist() == [0, 1]
    assert ZERO_AND_ONE in learner.guarantee_.assumptions


def test_public_rows_that_are_records_are_noticed(folder: Path) -> None:
    table = ParquetTable(folder, label="y", schema=SCHEMA)
    learner = PrivateClassifier(1.0, method="tree", classes=("no", "yes"), entropy=0)
    private, public = columns(), columns(seed=1, count=10)
    few = {name: [*public[name], private[name][5]] for name in ("x", "kind")}
    with pytest.warns(PublicRowsCoincide):
        learner.fit(table, public=few)
    with pytest.raises(DataError, match="more than half are rows of X"):
        learner.fit(table, public={name: private[name][7:20] for name in ("x", "kind")})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"y": [0, 1]}, "None for a table in files"),
        ({"groups": [0, 1]}, "None for a table in parts; read it into memory"),
        ({"schema": Schema((Column("x", bounds=(0, 1)),))}, "also 'kind'"),
    ],
)
def test_what_does_not_go_together_is_refused(folder: Path, given: dict[str, Any], told: str) -> None:
    learner = PrivateClassifier(1.0, method="tree", classes=("no", "yes"), entropy=0)
    with pytest.raises(DataError, match=told):
        learner.fit(ParquetTable(folder, label="y"), **{"schema": SCHEMA} | given)
    assert not hasattr(learner, "plan_")


def test_a_table_has_one_schema(folder: Path) -> None:
    with pytest.raises(DataError, match="that of the table, or None"):
        PrivateClassifier().fit(ParquetTable(folder, label="y", schema=SCHEMA), schema=Schema((Column("x"),)))


def test_a_head_that_does_not_fit_on_the_disk_is_refused_before_it_is_paid_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table itself fits: the charge would come next."""
    learner = PrivateClassifier(20.0, method="linear", classes=("no", "yes"))
    charged = []
    monkeypatch.setattr(PrivateClassifier, "_charge", lambda *_: charged.append(1))
    asked: list[int] = []

    def check_room(_: Spool, size: int) -> None:
        asked.append(size)
        if len(asked) == 2:
            raise ParameterError("scratch", "a directory with more", "less")

    monkeypatch.setattr(Spool, "check_room", check_room)
    with pytest.raises(ParameterError, match="scratch"):
        learner.fit(ParquetTable(folder, label="y"), schema=SCHEMA)
    assert not charged
    assert asked[0] == ROWS * (8 + 1 + 1)
    assert asked[1] > ROWS * 2 * 10


def test_trees_need_no_more_than_the_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(Spool, "check_room", lambda _, size: asked.append(size))
    learner = PrivateClassifier(1.0, method="tree", trees=DecisionTrees(depth=1), classes=("no", "yes"), entropy=0)
    learner.fit(ParquetTable(folder, label="y"), schema=SCHEMA)
    assert asked == [ROWS * 10, 0]
