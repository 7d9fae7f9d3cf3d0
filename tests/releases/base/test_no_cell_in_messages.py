"""Whatever a cell is, no exception has it in its text, its arguments, its cause or its context."""

from __future__ import annotations

import datetime
import enum
import tracemalloc
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pcqr import AssumePublic, DataError, Groups, ParameterError, PrivateClassifier, Schema, SubsampleAggregate
from pcqr.client.remote import row_of, rows_of
from pcqr.data.records.arrays import as_labels, as_points
from pcqr.data.schema import Column

DIGITS = "7318529"
WORD = f"zebra{DIGITS}"
ROWS = 12


def _quote(*_: object, **__: object) -> NoReturn:
    raise ValueError(WORD)


HOSTILE = (
    *("__str__", "__repr__", "__float__", "__int__", "__index__", "__eq__", "__ne__", "__lt__", "__gt__", "__bool__"),
    *("__len__", "__iter__", "__array__", "__getattr__", "__format__", "__abs__", "__bytes__"),
)
METHODS = dict.fromkeys(HOSTILE, _quote) | {"__hash__": object.__hash__, "__class__": property(_quote)}


class Zone(datetime.tzinfo):
    utcoffset = dst = tzname = _quote


def subclass(base: type, *arguments: Any) -> Any:
    methods = {name: method for name, method in METHODS.items() if name not in ("__getattr__", "__class__", "__iter__")}
    return type("Hostile", (base,), methods)(*arguments)


class Named(enum.StrEnum):
    A = WORD


CELLS: dict[str, Any] = {
    "a word": WORD,
    "half of a surrogate pair": f"\ud800{WORD}",
    "many digits": DIGITS * 60_000,
    "bytes": b"\xff" + WORD.encode(),
    "a bytearray": bytearray(WORD.encode()),
    "numpy's text": np.str_(WORD),
    "numpy's bytes": np.bytes_(WORD.encode()),
    "a member of an enumeration": Named.A,
    "a decimal": Decimal(f"{DIGITS}.5"),
    "a decimal of many digits": Decimal(f"{DIGITS}e200000000"),
    "a tiny decimal": Decimal(f"{DIGITS}e-200000000"),
    "a signalling NaN": Decimal(f"sNaN{DIGITS}"),
    "a fraction": Fraction(int(DIGITS) ** 900, 3),
    "a tiny fraction": Fraction(3, int(DIGITS) ** 900),
    "a long integer": int(DIGITS) ** 900,
    "an integer beyond int64": int(DIGITS) * 10**20,
    "a complex number": complex(int(DIGITS), 1),
    "NaN": float("nan"),
    "an infinity": float("-inf"),
    "a date": datetime.date(7318, 5, 29),
    "a date beyond 9999": np.datetime64(int(DIGITS), "Y"),
    "a duration": np.timedelta64(int(DIGITS), "s"),
    "a time of day": datetime.time(7, 31, 8, 529),
    "a time whose zone fails": datetime.datetime(2020, 1, 1, tzinfo=Zone()),
    "pandas' time near its limit": pd.Timestamp("1677-09-21T00:12:43.145224193").as_unit("ns").tz_localize("UTC"),
    "pandas' period": pd.Period("7318-05", "M"),
    "pandas' interval": pd.Interval(0, int(DIGITS)),
    "pandas' NaT": pd.NaT,
    "pandas' NA": pd.NA,
    "Arrow's scalar": pa.scalar(WORD),
    "Polars' series": pl.Series([WORD]),
    "a list": [WORD],
    "a nested list": [[WORD], 1],
    "a mapping": {WORD: WORD},
    "a set": {WORD},
    "an array": np.array([int(DIGITS)]),
    "a scalar array": np.array(int(DIGITS)),
    "a record of numpy": np.array([(int(DIGITS), WORD)], dtype="i8,U20")[0],
    "what is masked": np.ma.masked,
    "an object": type("Hostile", (), METHODS)(),
    "a float that objects": subclass(float, 7318529.0),
    "an integer that objects": subclass(int, int(DIGITS)),
    "a text that objects": subclass(str, WORD),
    "a decimal that objects": subclass(Decimal, DIGITS),
    "a fraction that objects": subclass(Fraction, int(DIGITS), 3),
    "a list that objects": type("Hostile", (list,), METHODS | {"__class__": list})([WORD]),
    "a tuple that objects": type("Hostile", (tuple,), METHODS | {"__class__": tuple})([WORD]),
}

SCHEMA = Schema(
    (Column("a"), Column("b", "categorical", ["x", "y"]), Column("c", "date"), Column("d", bounds=(0, 1), missing=True))
)
PLAIN = {"a": 0.5, "b": "x", "c": "2020-01-01", "d": 0.25}


def table(name: str, cell: Any) -> dict[str, list[Any]]:
    return {each: [*[value] * (ROWS - 1), cell if each == name else value] for each, value in PLAIN.items()}


def object_frame(cell: Any) -> pd.DataFrame:
    column = np.empty(ROWS, dtype=object)
    column[:] = 1.0
    column[3] = cell
    return pd.DataFrame({"a": np.arange(float(ROWS)), "b": pd.Series(column, dtype=object)})


def rows(cell: Any) -> list[list[Any]]:
    return [[1.0, 2.0], [cell, 3.0], *[[4.0, 5.0] for _ in range(ROWS - 2)]]


X = np.arange(2.0 * ROWS).reshape(ROWS, 2)
Y = np.arange(ROWS) % 2
PUBLIC = X[:6] + 0.25


@pytest.fixture(scope="module")
def answering() -> SubsampleAggregate:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3_000, 2))
    return SubsampleAggregate(queries=9, entropy=0).fit(X, X[:, 0] > 0.5)


@pytest.fixture(scope="module")
def answering_by_name() -> SubsampleAggregate:
    rng = np.random.default_rng(0)
    drawn = rng.uniform(size=3_000)
    private = {"a": drawn, "b": ["x"] * 3_000, "c": ["2020-01-01"] * 3_000, "d": drawn}
    return SubsampleAggregate(queries=9, entropy=0).fit(private, drawn > 0.5, schema=SCHEMA)


@pytest.fixture(scope="module")
def published() -> PrivateClassifier:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 2))
    return PrivateClassifier(1.0, method="tree", entropy=0).fit(X, X[:, 0] > 0.5, public=rng.uniform(size=(50, 2)))


def chain(error: BaseException | None, seen: list[BaseException]) -> Iterator[BaseException]:
    if error is not None and all(error is not other for other in seen):
        seen.append(error)
        yield error
        yield from chain(error.__cause__, seen)
        yield from chain(error.__context__, seen)


def told(error: BaseException) -> str:
    return " ".join(map(str, (type(error).__name__, error, *error.args, *vars(error).values())))


def check_nothing_is_quoted(call: Callable[[], Any]) -> BaseException | None:
    try:
        call()
    except Exception as error:
        for each in chain(error, []):
            assert not any(mark in told(each) for mark in (DIGITS, "zebra", "7318", "1677", "\ud800")), type(each)
        return error
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CELLS)
def test_no_exception_quotes_a_cell_of_a_fit(name: str) -> None:
    cell = CELLS[name]
    learner = PrivateClassifier(1.0, method="tree", entropy=0)
    release = SubsampleAggregate(entropy=0)
    objects = np.array([[None, 1.0]] * ROWS, dtype=object)
    objects[3, 0] = cell
    labels = [*Y[:-1].tolist(), cell]
    texts = ["no", "yes"] * (ROWS // 2 - 1) + ["no", cell]
    calls: list[Callable[[], Any]] = [
        lambda: release.fit(rows(cell), Y),
        lambda: release.fit([tuple(row) for row in rows(cell)], Y),
        lambda: release.fit(objects, Y),
        lambda: release.fit(object_frame(cell), Y),
        lambda: release.fit(X, labels),
        lambda: release.fit(X, texts),
        lambda: release.fit(X, np.array([*labels[:-1], None], dtype=object)),
        lambda: release.fit(X, Y, groups=[*range(ROWS - 1), cell]),
        lambda: release.fit(X, Y, groups=Groups([*"abcdefghijk", cell])),
        lambda: learner.fit(X, Y, public=rows(cell)),
        lambda: learner.fit(object_frame(1.0), Y, public=object_frame(cell)),
        lambda: learner.fit(object_frame(cell), Y, public=object_frame(1.0)),
        *(lambda column=column: release.fit(table(column, cell), Y, schema=SCHEMA) for column in PLAIN),
        *(lambda column=column: Schema.from_public(table(column, cell)) for column in PLAIN),
        lambda: as_points(rows(cell)),
        lambda: as_labels(labels),
    ]
    for call in calls:
        check_nothing_is_quoted(call)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CELLS)
def test_no_exception_quotes_a_cell_of_a_query(
    name: str, answering: SubsampleAggregate, answering_by_name: SubsampleAggregate, published: PrivateClassifier
) -> None:
    cell = CELLS[name]
    calls: list[Callable[[], Any]] = [
        lambda: answering.preview(rows(cell)),
        lambda: answering.answer([cell, 0.5]),
        lambda: answering.answer({"a": cell, "b": 0.5}),
        lambda: answering.answer(pd.Series([cell, 0.5], dtype=object)),
        lambda: answering.score([[0.5, 0.5]], [cell]),
        lambda: published.predict(rows(cell)),
        lambda: published.predict(object_frame(cell)),
        lambda: published.score(X, [*Y[:-1], cell]),
        lambda: published.score(X, Y, sample_weight=[*Y[:-1], cell]),
        lambda: answering.score([[0.5, 0.5]], [True], sample_weight=[cell]),
        *(lambda column=column: answering_by_name.preview(table(column, cell)) for column in PLAIN),
        *(lambda column=column: answering_by_name.answer(PLAIN | {column: cell}) for column in PLAIN),
        lambda: rows_of(rows(cell), None, 2),
        lambda: row_of([cell, 0.5], None, 2),
        *(lambda column=column: row_of(PLAIN | {column: cell}, SCHEMA, 5) for column in PLAIN),
    ]
    for call in calls:
        check_nothing_is_quoted(call)


def zoned(unit: str = "ns") -> pd.Series:
    near = pd.Series(np.array([-(2**63) + 1, 0] * (ROWS // 2), dtype="datetime64[ns]")).dt.as_unit(unit)
    return near.dt.tz_localize("UTC").dt.tz_convert("America/New_York")


TYPED: dict[str, Any] = {
    "pandas, in a time zone": zoned(),
    "pandas by Arrow, in a time zone": zoned().astype("timestamp[ns, tz=America/New_York][pyarrow]"),
    "pandas by Arrow, dates": pd.Series(
        pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array([2**31 - 1] * ROWS, type=pa.date32())]))
    ),
    "pandas, categories of bytes": pd.Series([b"\xff" + WORD.encode()] * ROWS, dtype="category"),
    "Arrow, text that is not UTF-8": pa.array([b"\xff" + WORD.encode()] * ROWS).cast(pa.string(), safe=False),
    "Arrow, far seconds": pa.array([2**62] * ROWS, type=pa.timestamp("s")),
    "Polars, far years": pl.Series([2**62] * ROWS).cast(pl.Datetime("us")),
    "numpy, masked": np.ma.array(np.array([-(2**63) + 1] * ROWS, dtype="datetime64[ns]"), mask=[True] + [False] * 11),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TYPED)
def test_no_exception_quotes_a_cell_of_a_typed_column(name: str) -> None:
    column = TYPED[name]
    release, schema = SubsampleAggregate(entropy=0), Schema((Column("a", "date", missing=True),))
    names = Schema((Column("a", "categorical", ["x"], other=True),))
    for call in (
        lambda: release.fit({"a": column}, Y, schema=schema),
        lambda: release.fit({"a": column}, Y, schema=names),
        lambda: release.fit(X, column),
        lambda: release.fit(X, Y, groups=column),
        lambda: Schema.from_public({"a": column}),
        lambda: release.fit(pd.DataFrame({"a": X[:, 0]}), Y, public={"a": column}),
    ):
        check_nothing_is_quoted(call)


def test_times_in_a_time_zone_near_the_limits_of_pandas_are_read() -> None:
    found = Schema((Column("a", "date"),)).encode({"a": zoned()})
    assert found[:2, 0].tolist() == [-106752, 0]
    user_level = SubsampleAggregate(entropy=0)
    error = check_nothing_is_quoted(lambda: user_level.fit(X, Y, groups=zoned()))
    assert error is not None
    assert "ids" not in str(error)  # two persons are too few; their ids could be read


def test_masked_nanoseconds_are_instants() -> None:
    column = np.ma.array(np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[ns]"), mask=[False, True])
    assert Schema((Column("a", "date", missing=True),)).encode({"a": column}).tolist() == [[18262, 0], [0, 1]]


def test_one_long_cell_costs_its_neighbours_nothing() -> None:
    """As one array of texts these rows would be 9 GB."""
    table: list[list[Any]] = [[1.5, 2.5] for _ in range(3_000)]
    table[7][1] = "7" * 400_000
    tracemalloc.start()
    try:
        for call in (
            lambda: SubsampleAggregate(entropy=0).fit(table, [0, 1] * 1_500),
            lambda: rows_of(table, None, 2),
        ):
            with pytest.raises(DataError, match="NaN or infinity"):
                call()
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("sign", ["", "-"])
def test_an_id_of_many_digits_is_refused_at_once(sign: str) -> None:
    for cell in (Decimal(f"{sign}1e200000000"), int(f"{sign}1") * 10**2_000, Fraction(int(f"{sign}1") * 10**2_000)):
        with pytest.raises(DataError, match=r"groups must be numbers below 10\^2000"):
            SubsampleAggregate(entropy=0).fit(X, Y, groups=[*range(ROWS - 1), cell])


def test_a_long_label_is_refused_unless_it_is_declared() -> None:
    with pytest.raises(DataError, match="at most 1,000 characters"):
        SubsampleAggregate(entropy=0).fit(X, ["no"] * 11 + ["y" * 1_001])


def test_weights_that_are_no_numbers_are_refused_before_anything_is_asked(answering: SubsampleAggregate) -> None:
    before = answering.queries_answered_
    with pytest.raises(DataError, match="sample_weight must be one number for each row"):
        answering.score([[0.25, 0.75]], [True], sample_weight=[WORD])
    assert answering.queries_answered_ == before


@pytest.mark.parametrize("schema", [WORD, PUBLIC, AssumePublic(PUBLIC)], ids=["a text", "rows", "rows, assumed public"])
def test_what_is_no_schema_is_refused_by_its_type(schema: Any) -> None:
    with pytest.raises(ParameterError, match=r"schema must be a Schema, .*received '(str|ndarray)'"):
        SubsampleAggregate(entropy=0).fit(X, Y, schema=schema)
