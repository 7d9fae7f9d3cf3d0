"""Predicates bought of tables in parts are those of the table in memory, to the last bit."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support import clusters
from support.releases import Forbidden

from pcqr import PrivateClassifier, Schema, SemiPrivateLearner
from pcqr.data.records import Cluster, ParquetTable
from pcqr.data.records.parted import parquet
from pcqr.data.records.parted.engine import Spool
from pcqr.data.records.parted.source import Parted
from pcqr.data.schema import Column
from pcqr.data.schema.raw import MOST_CHARACTERS
from pcqr.errors import DataError, NothingPublic, ParameterError
from pcqr.hypotheses import DecisionTrees
from pcqr.privacy.composition import parts_of
from pcqr.releases.classifier.plan import PredicatesStage

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pcqr[data]")

ROWS = 6_000
BORDERS = (0, 1, 2, 1_900, 1_900, 4_000, ROWS)
"""Parts of one row, a file without rows, and files of several parts."""
BIG = 2**53


def people() -> pd.DataFrame:
    """Ties, gaps, both zeros, integers that no float64 is, and texts of which some are in one part alone."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 90, ROWS).astype(float)
    job = rng.choice(["cook", "nurse", "pilot"], ROWS, p=[0.5, 0.4, 0.1]).astype(object)
    ill = ((age > 50) ^ (job == "nurse")).astype(int)
    job[2_000:3_000] = "only here"
    job[:4] = ["x" * (MOST_CHARACTERS + 1), "a\0", "a", "3.0"]
    frame = pd.DataFrame(
        {
            "age": age,
            "job": pd.Series(job, dtype="string"),
            "zero": rng.choice([0.0, -0.0, 1.0, -1.0], ROWS),
            "number": BIG + rng.integers(0, 3, ROWS),
            "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20_000, ROWS), unit="D"),
            "smokes": rng.random(ROWS) < 0.3,
            "same": np.full(ROWS, 7.0),
            "empty": np.full(ROWS, np.nan),
            "ill": ill,
        }
    )
    for name in ("age", "job", "born"):
        frame.loc[rng.random(ROWS) < 0.05, name] = None
    return frame


FRAME = people()
X, Y = FRAME.drop(columns="ill"), FRAME["ill"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(parquet, "PART_ROWS", 500)
    monkeypatch.setattr(parquet, "_BATCH_ROWS", 300)
    for number, (low, high) in enumerate(pairwise(BORDERS)):
        FRAME[low:high].to_parquet(tmp_path / f"{number}.parquet", row_group_size=700)
    return tmp_path


def fitted(classifier: PrivateClassifier, *given: Any) -> tuple[Any, ...]:
    """All that a fit shows."""
    classifier.fit(*given)
    schema = classifier.schema_
    assert schema is not None
    return (
        classifier.hypothesis_.to_json(),
        classifier.guarantee_,
        classifier.plan_,
        schema,
        classifier.n_features_in_,
        classifier.predict(X[list(schema.names)][:50]).tolist(),
    )


def column(classifier: PrivateClassifier, name: str) -> Column:
    assert classifier.schema_ is not None
    return next(each for each in classifier.schema_.columns if each.name == name)


@pytest.mark.filterwarnings("ignore::pcqr.errors.NothingPublic")
@pytest.mark.parametrize(
    ("epsilon", "method"), [(0.1, "auto"), (0.3, "auto"), (1.0, "auto"), (6.0, "auto"), (6.0, "linear"), (6.0, "tree")]
)
def test_the_classifier_is_that_of_the_table_in_memory(folder: Path, epsilon: float, method: Any) -> None:
    classifier = PrivateClassifier(epsilon, method=method, classes=(0, 1), entropy=0)
    expected = fitted(classifier, X, Y)
    assert fitted(classifier, ParquetTable(folder, label="ill")) == expected
    assert bool(parts_of(classifier.plan_.stage, PredicatesStage)) == (epsilon > 0.1)


def test_numbers_alone_are_read_by_their_declared_kinds(folder: Path) -> None:
    numbers = ["age", "zero", "number", "same", "empty"]
    classifier = PrivateClassifier(2.0, types=dict.fromkeys(numbers, "numeric"), classes=(0, 1), entropy=0)
    expected = fitted(classifier, X[numbers], Y)
    others = [name for name in X if name not in numbers]
    assert fitted(classifier, ParquetTable(folder, label="ill", drop=others)) == expected


def test_so_it_is_on_a_cluster(folder: Path, cluster: Cluster) -> None:
    classifier = PrivateClassifier(6.0, method="tree", classes=(0, 1), entropy=0)
    expected = fitted(classifier, X, Y)
    assert fitted(classifier, ParquetTable(folder, label="ill", engine=cluster)) == expected
    assert "only here" in column(classifier, "job").categories, "a text that is in one part alone"


def test_a_worker_that_dies_after_the_purchase_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it held was read by the categories that were bought, of texts that nobody keeps any more."""
    classifier = PrivateClassifier(6.0, method="tree", classes=(0, 1), entropy=0)
    expected = fitted(classifier, X, Y)
    shipped = Parted.read_by
    with (
        clusters.scheduler_alone() as address,
        clusters.workers_of(address, 2) as workers,
        Cluster(address, patience=5.0) as engine,
    ):
        engine.connection.client.wait_for_workers(2)

        def read_by(records: Parted, schema: Schema) -> Parted:
            found = shipped(records, schema)
            workers[0].kill()
            workers[0].wait()
            return found

        monkeypatch.setattr(Parted, "read_by", read_by)
        assert fitted(classifier, ParquetTable(folder, label="ill", engine=engine)) == expected
        assert len(engine.connection.addresses()) == 1


def test_kinds_may_be_declared_and_columns_left_out(folder: Path) -> None:
    classifier = PrivateClassifier(2.0, types={"smokes": "categorical", "number": "categorical"}, entropy=0)
    classifier.fit(ParquetTable(folder, label="ill", drop=["empty", "same"]))
    assert isinstance(classifier.schema_, Schema)
    assert classifier.schema_.names == ("age", "job", "zero", "number", "born", "smokes")
    assert column(classifier, "number").kind == "categorical"
    with pytest.raises(ParameterError, match="for columns of"):
        PrivateClassifier(2.0, types={"ill": "numeric"}, entropy=Forbidden()).fit(ParquetTable(folder, label="ill"))


def test_what_cannot_be_read_is_refused_before_anything_is_spent(folder: Path) -> None:
    for types, label, words in (
        ({"job": "numeric"}, "ill", "column 'job'"),
        ({"job": "date"}, "ill", "column 'job'"),
        ({}, "age", "label column 'age'"),
        ({}, "no such", "a column for the labels"),
    ):
        classifier = PrivateClassifier(2.0, types=types, entropy=Forbidden())  # type: ignore[arg-type]
        with pytest.raises(DataError, match=words) as refused:
            classifier.fit(ParquetTable(folder, label=label))
        assert "nurse" not in str(refused.value)
        assert classifier.has_spent is False


def test_no_file_is_read_and_room_is_there_after_the_charge(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped: Callable[..., Any] = PrivateClassifier._charge
    rooms: list[int] = []
    monkeypatch.setattr(Spool, "check_room", lambda _, size: rooms.append(size))

    def charged(*given: Any) -> None:
        shipped(*given)
        rooms.append(0)
        shutil.rmtree(folder)

    monkeypatch.setattr(PrivateClassifier, "_charge", charged)
    PrivateClassifier(6.0, method="tree", entropy=0).fit(ParquetTable(folder, label="ill"))
    record = 1 + 6 * 8 + 2  # a label, numbers and dates, codes of a text and of a truth value
    assert rooms == [ROWS * (record + 4), ROWS * record, 0]


def test_nothing_is_kept_of_texts_that_are_not_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rooms: list[int] = []
    monkeypatch.setattr(Spool, "check_room", lambda _, size: rooms.append(size))
    with pytest.warns(NothingPublic, match="powers of √2"):
        PrivateClassifier(0.1, method="tree", entropy=0).fit(ParquetTable(folder, label="ill"))
    assert rooms == [ROWS * (1 + 6 * 8 + 2), 0]


def test_who_needs_a_schema_is_told_where_to_get_one(folder: Path) -> None:
    learner = SemiPrivateLearner(DecisionTrees(depth=1), entropy=Forbidden())
    with pytest.raises(DataError, match=r"Schema\.private\(table, …\)"):
        learner.fit(ParquetTable(folder, label="ill"))
