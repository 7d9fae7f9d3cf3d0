"""Tables and labels as estimators read them: each record by itself, in any container, named as it was."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from support.releases import RELEASES, Forbidden, steps
from support.tables import BIG, COLUMNS, TABLES, VALUES, built

from pcqr import DataError, ParameterError, Schema, SemiPrivateLearner, SubsampleAggregate
from pcqr.hypotheses import DecisionTrees, Stumps
from pcqr.releases.base.inputs import (
    LABELS_READ,
    ZERO_AND_ONE,
    encode_labels,
    is_mixed,
    label_cells,
    read_points,
    read_table,
)

pytestmark = pytest.mark.filterwarnings("ignore::pcqr.errors.UnansweredWarning")  # few records

FRAMES = [kind for kind in TABLES if not kind.startswith(("lists", "tuples", "a numpy", "CSV", "Parquet"))]
"""What is taken without a schema, besides arrays and lists of rows."""

ROWS: dict[str, Callable[[list[Any]], Any]] = {
    "lists of rows": lambda values: [[value] for value in values],
    "rows of two": lambda values: [(value, 0.5) for value in values],
    "an object array": lambda values: np.array([[value] for value in values], dtype=object),
} | {kind: lambda values, kind=kind: built(kind, values) for kind in FRAMES}


def points(table: Any) -> NDArray[np.float64] | None:
    try:
        return None if table is None else read_points(SubsampleAggregate(), table, None, reset=True)
    except (ValueError, TypeError):
        return None


@pytest.mark.parametrize("kind", ROWS)
@settings(max_examples=30)
@given(st.data())
def test_replacing_one_record_moves_no_other_point(kind: str, data: st.DataObject) -> None:
    values = data.draw(COLUMNS)
    place = data.draw(st.integers(0, len(values) - 1))
    before = points(ROWS[kind](values))
    after = points(ROWS[kind]([*values[:place], data.draw(VALUES), *values[place + 1 :]]))
    if before is not None and after is not None:
        others = np.arange(len(values)) != place
        assert before[others].tobytes() == after[others].tobytes()


@pytest.mark.parametrize("kind", ROWS)
def test_points_are_read_in_every_kind_of_table(kind: str) -> None:
    read = points(ROWS[kind]([3, 1, BIG]))
    assert read is not None
    assert read[:, 0].tolist() == [3, 1, BIG - 1]


def test_a_number_beside_text_that_spells_one() -> None:
    """numpy would have turned all cells into text, and 0.1 in short floats is another number."""
    short = np.float32(0.1)
    before, after = points([[short], [0.5]]), points([[short], ["0.5"]])
    assert before is not None
    assert after is not None
    assert before.tobytes() == after.tobytes()


@pytest.mark.parametrize(
    "table",
    [
        [[np.datetime64("2020-01-01")], [np.datetime64("2020-01-01T00:00:01")]],
        np.array([["2020-01-01"]], dtype="datetime64[D]"),
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
        [[datetime.date(2020, 1, 1)]],
        [["John Smith"]],
        pl.DataFrame({"a": ["John Smith"]}),
        pa.table({"a": ["John Smith"]}),
        ["John Smith", "0.1"],
        np.array([0.25, 0.631]),
    ],
)
def test_what_is_no_table_of_numbers_is_refused_without_being_quoted(table: Any) -> None:
    with pytest.raises(DataError, match="X must be a table") as caught:
        SubsampleAggregate(entropy=Forbidden()).fit(table, [0, 1])
    assert not any(secret in str(caught.value) for secret in ("Smith", "2020", "631"))


def test_a_masked_cell_is_missing_and_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        SubsampleAggregate(entropy=Forbidden()).fit(
            np.ma.masked_array([[0.2], [999.0]], mask=[[False], [True]]), [0, 1]
        )


WORDS = ["no", "yes"]
IN: dict[str, Callable[[list[Any]], Any]] = {
    "a list": list,
    "numpy": np.array,
    "numpy, object": lambda y: np.array(y, dtype=object),
    "pandas": pd.Series,
    "pandas, object": lambda y: pd.Series(y, dtype=object),
    "pandas, categories": lambda y: pd.Series(y, dtype="category"),
    "Arrow": pa.array,
    "Arrow, in chunks": lambda y: pa.chunked_array([y]),
    "Arrow, a dictionary": lambda y: pa.array(y).dictionary_encode(),
    "Polars": lambda y: pl.Series(y, strict=False),
    "Polars, categories": lambda y: pl.Series(y, dtype=pl.Categorical),
}


@pytest.mark.parametrize("container", IN)
@pytest.mark.parametrize("classes", [None, ("no", "yes"), ("yes", "no")])
def test_word_labels_are_answered_by_their_names(container: str, classes: Any) -> None:
    """`fit` took pandas' words and spent ε; `answer` then failed."""
    X, y = steps(4_000)
    words = IN[container]([WORDS[label] for label in y])
    release = RELEASES[0](epsilon=4.0, queries=5, teachers=51, entropy=0, classes=classes).fit(X, words)
    answer = release.answer([0.99])
    assert answer.label == "yes"
    assert type(answer.label) is str
    assert release.predict([[0.99], [0.01]]).tolist() == ["yes", "no"]
    assert release.classes_.tolist() == list(classes or WORDS)
    assert (LABELS_READ in release.guarantee_.assumptions) == (classes is None)


def labels(y: Any, classes: Any = None, hypotheses: Any = None) -> tuple[list[Any], list[int], tuple[str, ...]]:
    names, codes, assumptions = encode_labels(label_cells(y), classes, hypotheses or Stumps())
    return names.tolist(), codes.tolist(), assumptions


DECLARED = [(0, 1), ("no", "yes"), ("x", 3), (BIG, "2014-05-03"), (True, False, 3), ("0.1", "x", "1")]


@pytest.mark.parametrize("container", IN)
@settings(max_examples=30)
@given(st.data())
def test_replacing_one_label_moves_no_other(container: str, data: st.DataObject) -> None:
    classes = data.draw(st.sampled_from(DECLARED))
    y = data.draw(st.lists(st.sampled_from(classes), min_size=2, max_size=5))
    place = data.draw(st.integers(0, len(y) - 1))
    found = []
    for table in (y, [*y[:place], data.draw(VALUES), *y[place + 1 :]]):
        try:
            found.append(labels(IN[container](table), classes)[1])
        except Exception:  # the container refuses them, or the label is not declared
            return
    others = [row for row in range(len(y)) if row != place]
    assert [found[0][row] for row in others] == [found[1][row] for row in others]


@pytest.mark.parametrize("y", [[0, 1, 1], [False, True, True], [0.0, 1.0, 1.0], [0, True, 1.0], pd.Series([0, 1, 1.0])])
def test_zero_and_one_are_numbers_whatever_type_one_record_has(y: Any) -> None:
    names, codes, assumptions = labels(y)
    assert (names, codes, assumptions) == ([0, 1], [0, 1, 1], (ZERO_AND_ONE,))
    assert all(type(name) is int for name in names)


@pytest.mark.parametrize(
    ("y", "names"),
    [
        (["b", "a", "b"], ["a", "b"]),
        ([-1, 1.0, 1], [-1, 1]),
        (["0", "1", "1"], ["0", "1"]),
        (["02", "03", "03"], ["02", "03"]),
        ([BIG, 3, BIG - 1], [3, BIG - 1]),
    ],
)
def test_other_names_are_read_and_said_to_be(y: Any, names: list[Any]) -> None:
    found, codes, assumptions = labels(y)
    assert found == names
    assert sorted(set(codes)) == [0, 1]
    assert assumptions == (LABELS_READ,)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, None], "a label in every row"),
        ([0, float("nan")], "a label in every row"),
        (["a", 3], "labels of one type"),
        (["1", 1, 2], "labels of one type"),
        (["0", "1", "+1"], "each spelt in one way"),
        (["2.0", "3", "3.0"], "each spelt in one way"),
        ([0.5, 1.5], "Unknown label type: continuous"),
        ([2, 2], "two classes"),
        ([1, 2, 3], "Only binary classification"),
        ([(0, 1), (1, 0)], "numbers, truth values or texts"),
        ("01", "one label for each row"),
        (None, "requires y to be passed"),
    ],
)
def test_labels_that_cannot_be_are_refused(y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        labels(y)


@pytest.mark.parametrize(
    "classes", [("a",), ("3", "3.0"), (1, True), ("a", None), "ab", [["a"], ["b"]], (BIG, BIG - 1)]
)
def test_declared_names_that_could_be_confused_are_refused(classes: Any) -> None:
    with pytest.raises(ParameterError, match="label names that are read as different ones"):
        labels([0, 1], classes)


def test_declared_names_keep_their_types() -> None:
    names, codes, _ = labels(["x", "1", 1], ("x", 1))
    assert names == ["x", 1]
    assert codes == [0, 1, 1]
    with pytest.raises(DataError, match=r"labels among classes=\('x', 1\)"):
        labels(["x", "secret"], ("x", 1))


def test_many_labels_are_refused_before_they_are_counted_out() -> None:
    with pytest.raises(DataError, match="at most 127 classes; received more"):
        labels(list(range(130)), hypotheses=DecisionTrees())


def test_a_polars_or_arrow_frame_needs_no_schema_if_it_is_all_numbers() -> None:
    X, y = steps(500)
    for frame in (pl.DataFrame({"x": X[:, 0]}), pa.table({"x": X[:, 0]}), pd.DataFrame({"x": X[:, 0]})):
        assert not is_mixed(frame)
        learner = SemiPrivateLearner(Stumps(cuts=[0.4]), 4.0, entropy=0).fit(frame, y)
        assert (learner.predict(frame) == y).mean() > 0.9


def test_mixed_public_frames_give_a_schema_by_themselves() -> None:
    X, y = steps(600)
    table = {"x": X[:, 0].tolist(), "job": ["a", "b", None] * 200}
    schema = Schema.from_public(table)
    for frame in (pl.DataFrame(table), pa.table(table), pd.DataFrame(table)):
        assert is_mixed(frame)
        learner = SemiPrivateLearner(DecisionTrees(depth=1), 4.0, entropy=0)
        learner.fit(frame[:300], y[:300], public=frame[300:])
        assert learner.schema_ is not None
        assert learner.schema_.names == schema.names
        row = learner.predict(frame[:1])
        assert learner.predict(table)[0] == row[0]


def test_a_table_of_three_dimensions_is_refused_without_its_cells() -> None:
    for cells in ([[["SECRET"]]], [[np.array(["SECRET"])], [np.array(["1"])]], np.zeros((2, 2, 2))):
        with pytest.raises(DataError, match="two dimensions") as refused:
            SubsampleAggregate(epsilon=4.0).fit(cells, [0, 1])
        assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.uint8, np.int16])
def test_arrays_of_short_numbers_are_fitted_where_they_lie_and_as_float64_would_be(kind: Any) -> None:
    """A float64 copy of a large matrix that an encoder made may not fit into memory."""
    X = np.random.default_rng(0).integers(0, 9, size=(400, 2)).astype(kind)
    y = (X[:, 0] > 4).astype(int)
    learner = SemiPrivateLearner(Stumps(cuts=[2.5, 4.5]), 4.0, entropy=0)
    assert read_table(learner, X, None) is X
    short, long = clone(learner).fit(X, y), clone(learner).fit(X.astype(np.float64), y)
    assert short.hypothesis_ == long.hypothesis_
    assert short.n_features_in_ == 2
    assert (short.predict(X) == long.predict(X.astype(np.float64))).all()


def test_other_arrays_become_float64() -> None:
    for kind in (np.float64, np.int64, np.longdouble):
        read = read_table(SubsampleAggregate(), np.ones((3, 1), dtype=kind), None)
        assert isinstance(read, np.ndarray)
        assert read.dtype == np.float64


def test_a_table_that_the_schema_has_read_before_is_taken_as_it_is() -> None:
    table, labels = {"age": [25, 61, 33, None], "job": ["cook", "nurse", "cook", "cook"]}, [0, 1, 0, 1]
    schema = Schema.from_public(table)
    compact = schema.compact(table)
    learner = SemiPrivateLearner(DecisionTrees(depth=1), entropy=0)
    assert read_table(learner, compact, schema) is compact
    assert read_points(learner, compact, schema, reset=True).tolist() == schema.encode(table).tolist()
    other = Schema.from_public({"age": [25, 62], "job": ["cook", "nurse"]})
    for read in (lambda: read_table(learner, compact, other), lambda: read_points(learner, compact, other, reset=True)):
        with pytest.raises(DataError, match="read by this schema"):
            read()
    with pytest.raises(DataError, match="read by this schema"):
        SemiPrivateLearner(DecisionTrees(depth=1), entropy=Forbidden()).fit(compact, labels, schema=other)
