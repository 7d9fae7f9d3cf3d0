"""A record is encoded by itself: whatever another one is, and whatever table they come in."""

from __future__ import annotations

import datetime
import io
import traceback
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.tables import BIG, COLUMNS, NAME, TABLES, VALUES, built

from pcqr.data.schema import Column, Schema
from pcqr.data.schema.cells import categories, category, cells, days, distinct, numbers, read, text_of
from pcqr.errors import DataError, ParameterError

NAMES = ("0", "1", "3", "0.1", "x", str(BIG), str(2**63), "2014-05-03", "2014-05-03T12:30:00")
SCHEMAS = {
    "numeric": Schema((Column(NAME, missing=True),)),
    "date": Schema((Column(NAME, "date", missing=True),)),
    "categorical": Schema((Column(NAME, "categorical", NAMES, other=True),)),
}


def encoded(kind: str, schema: Schema, values: Sequence[Any]) -> NDArray[np.float64] | None:
    """The matrix, or None where the table or the schema refuses the values."""
    table = built(kind, values)
    try:
        return None if table is None else schema.encode(table, drop=("row",))
    except DataError:
        return None


def check_others_stay(kind: str, values: list[Any], place: int, replacement: Any) -> int:
    """The number of schemas that take the values with and without the `replacement`."""
    taken = 0
    for schema in SCHEMAS.values():
        before = encoded(kind, schema, values)
        after = encoded(kind, schema, [*values[:place], replacement, *values[place + 1 :]])
        if before is not None and after is not None:
            taken += 1
            others = np.arange(len(values)) != place
            assert before[others].tobytes() == after[others].tobytes()
    return taken


@pytest.mark.parametrize("kind", TABLES)
@settings(max_examples=25)
@given(st.data())
def test_replacing_one_record_moves_no_other(kind: str, data: st.DataObject) -> None:
    values = data.draw(COLUMNS)
    place = data.draw(st.integers(0, len(values) - 1))
    check_others_stay(kind, values, place, data.draw(VALUES))


DAY = datetime.date(2014, 5, 3)
REPLACED: dict[str, tuple[list[Any], Any]] = {
    "a gap among large integers": ([BIG, BIG, 1], None),
    "a fraction among large integers": ([BIG, BIG, 1], 0.5),
    "NaN among truth values": ([True, False, True], float("nan")),
    "a gap among dates": ([DAY, DAY, DAY], None),
    "a time among dates": ([pd.Timestamp(DAY)] * 3, pd.Timestamp("2014-05-03 12:30")),
    "text among dates": ([pd.Timestamp(DAY)] * 3, "x"),
    "text among numbers": ([3, 3.0, 0.1], "x"),
    "a negative beside an unsigned": ([2**63, 2**63, 1], -1),
    "a decimal with more digits": ([Decimal("0.1")] * 3, Decimal("0.123456")),
}


@pytest.mark.parametrize("case", REPLACED)
def test_what_made_others_move_is_taken_and_moves_none(case: str) -> None:
    """Not vacuous: of the kinds of tables at least eight hold both columns, and are encoded."""
    values, replacement = REPLACED[case]
    taken = sum(check_others_stay(kind, values, 2, replacement) > 0 for kind in TABLES)
    assert taken >= 8


@pytest.mark.parametrize("kind", TABLES)
@settings(max_examples=25)
@given(st.data())
def test_equal_rows_are_encoded_alike_in_every_table(kind: str, data: st.DataObject) -> None:
    values = data.draw(COLUMNS)
    for schema in SCHEMAS.values():
        listed, other = encoded("lists", schema, values), encoded(kind, schema, values)
        if listed is not None and other is not None:
            assert listed.tobytes() == other.tobytes()


DTYPES = ["int8", "int64", "uint64", "float16", "float32", "float64", "longdouble", "bool"]
UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"]


@given(st.sampled_from(DTYPES), st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1, max_size=5), st.booleans())
def test_whole_columns_of_numbers_are_read_like_single_cells(dtype: str, bits: list[int], gap: bool) -> None:
    with np.errstate(over="ignore"):
        column = np.array([value % 2**63 for value in bits], dtype=np.uint64).astype(dtype)
    if gap and column.dtype.kind == "f":
        column[0] = np.nan
    assert numbers(cells(column)).tobytes() == numbers(list(column)).tobytes()
    assert categories(cells(column)) == categories(list(column))


@given(st.sampled_from(UNITS), st.lists(st.integers(-(10**5), 10**5), min_size=1, max_size=5), st.booleans())
def test_whole_columns_of_dates_are_read_like_single_cells(unit: str, counts: list[int], gap: bool) -> None:
    column = np.array(counts, dtype=f"datetime64[{unit}]")
    if gap:
        column[0] = "NaT"
    assert outcome(lambda: days(cells(column)).tobytes()) == outcome(lambda: days(list(column)).tobytes())
    assert outcome(lambda: categories(cells(column))) == outcome(lambda: categories(list(column)))


def outcome(made: Callable[[], Any]) -> Any:
    try:
        return made()
    except TypeError:  # a date beyond the years 1 to 9999
        return "refused"


EDGES = ("0001-01-01", "9999-12-31", "0000-12-31", "10000-01-01", "-0001-03-01", "0001-01-01T00:00+05:00")


@pytest.mark.parametrize("text", EDGES)
def test_a_text_and_a_date_never_share_a_category(text: str) -> None:
    """Beyond the years 1 to 9999 a text is a text. A date there used to have that very text, and is refused now."""
    instants: list[Any] = [np.datetime64(text.partition("+")[0])]
    if "+" in text:
        instants = [datetime.datetime.fromisoformat(text)]
    elif not text.startswith("-"):
        instants += [np.datetime64(text, unit) for unit in ("s", "us")] + [np.datetime64(text[:-6], "Y")]
    for instant in instants:
        try:
            reading = read(instant)
        except TypeError:
            assert isinstance(read(text), str)
            with pytest.raises(TypeError):
                days(np.array([instant], dtype="datetime64") if "+" not in text else [instant])
            continue
        assert read(text_of(reading)) == reading


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "s", "ns", "25s", "3Y"])
def test_dates_that_numpy_would_wrap_around_are_refused(unit: str) -> None:
    for count in (-(2**63) + 1, -(2**62), 2**62, 2**63 - 1):
        column = np.array([count], dtype=f"datetime64[{unit}]")
        years = {"Y": 1, "3Y": 3, "M": 1 / 12, "W": 1 / 52, "D": 1 / 365}.get(unit, 0)
        if unit == "ns":
            assert len(text_of(read(column[0])) or "") >= 10  # 1677 to 2262
            continue
        assert years == 0 or abs(count) * years > 9999
        with pytest.raises(TypeError):
            days(column)
        with pytest.raises(TypeError):
            read(column[0])


@given(st.sampled_from(UNITS), st.integers(-(2**63) + 1, 2**63 - 1))
def test_the_text_of_any_instant_reads_as_that_instant(unit: str, count: int) -> None:
    reading = outcome(lambda: read(np.array([count], dtype=f"datetime64[{unit}]")[0]))
    if reading != "refused":
        assert read(text_of(reading)) == reading


@pytest.mark.parametrize("names", [("3", "3.0"), (1, True), (BIG, BIG - 1), (DAY, "2014-05-03 00:00"), ("x", "x")])
def test_declared_categories_that_a_table_may_confuse_are_refused(names: tuple[Any, ...]) -> None:
    with pytest.raises(ParameterError, match="names that are read as different ones"):
        Column(NAME, "categorical", names)


@pytest.mark.parametrize("value", [(1, 2), {"a": 1}, b"x", 1j, datetime.timedelta(1), np.timedelta64(1, "D"), object()])
def test_values_of_other_types_are_refused_and_not_spelt_out(value: Any) -> None:
    for schema in SCHEMAS.values():
        with pytest.raises(DataError, match=r"column 'c' of the table must be (numbers|dates)") as caught:
            schema.encode({NAME: [1, value]})
        assert caught.value.__suppress_context__


@pytest.mark.parametrize("text", ["NA", "N/A", "null", "None", "#N/A", "-nan", "1.#IND"])
def test_what_other_readers_may_take_for_a_gap_is_one(text: str) -> None:
    """Arrow keeps "NA" as text in a column with a word and takes it for a gap in one of numbers."""
    schema = Schema((Column("a", "categorical", ["3", "word"], other=True),))
    file = "a,b\n{},1\n{},1\n"
    rows = [
        schema.encode(pyarrow.csv.read_csv(io.BytesIO(file.format(text, last).encode())), drop=("b",))[0].tolist()
        for last in ("3", "word")
    ]
    assert rows[0] == rows[1] == schema.encode({"a": [None]})[0].tolist()
    with pytest.raises(ParameterError, match="categories"):
        Column("a", "categorical", [text])


@settings(max_examples=200)
@given(st.lists(VALUES, min_size=1, max_size=8).flatmap(lambda few: st.lists(st.sampled_from(few), max_size=30)))
def test_equal_values_are_read_once_and_as_each_would_be_alone(values: list[Any]) -> None:
    kept, places = distinct(values)
    assert [
        kept[place] is value or (type(kept[place]), kept[place]) == (type(value), value)
        for place, value in zip(places, values, strict=True)
    ] == [True] * len(values)
    assert [category(kept[place]) for place in places] == [category(value) for value in values]


def test_a_message_lists_no_hundred_columns() -> None:
    names = [f"c{place}" for place in range(120)]
    with pytest.raises(DataError) as refused:
        Schema(tuple(map(Column, names))).encode({"other": [1.0]})
    assert "'c18', 'c19' and 100 more" in str(refused.value)
    assert "'c20'" not in str(refused.value)


@pytest.mark.parametrize("as_frame", [False, True], ids=["Arrow", "pandas"])
def test_text_that_is_no_text_is_refused_without_it(as_frame: bool) -> None:
    ends = pa.py_buffer(np.array([0, 6, 7], np.int32).tobytes())
    broken = pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"SECR\xffTx")])
    column = pd.Series(pd.arrays.ArrowStringArray(pa.chunked_array([broken]))) if as_frame else broken
    with pytest.raises(DataError) as caught:
        SCHEMAS["categorical"].compact({NAME: column})
    assert caught.value.__context__ is None, "what the library said may quote the cell"
    assert "SECR" not in "".join(traceback.format_exception(caught.value))
