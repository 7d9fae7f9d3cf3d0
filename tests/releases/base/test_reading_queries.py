"""Queries are read without scikit-learn where it has nothing to say: as the same points, and refused in its words."""

from __future__ import annotations

import decimal
import fractions
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pcqr import SubsampleAggregate
from pcqr.releases.base import inputs as tables

WIDTH = 3

Outcome = tuple[object, ...]

INTEGERS = st.integers(-(2**70), 2**70) | st.sampled_from([2**53, 2**53 + 1, 2**63, 2**64, 10**400])
PLAIN = st.floats(-1e6, 1e6) | st.integers(-100, 100)
NUMBERS = st.floats() | INTEGERS | st.booleans() | st.sampled_from([-0.0, 5e-324, 1e200, np.nan])
CELLS = (
    NUMBERS
    | st.none()
    | st.text(max_size=3)
    | st.sampled_from(["0.5", "nan", b"1", 1j, decimal.Decimal("0.1"), fractions.Fraction(1, 3), [1.0], (), {}, pd.NA])
    | NUMBERS.filter(lambda value: abs(value) < 2**63).map(np.float64)
    | st.floats(width=32).map(np.float32)
    | st.integers(0, 255).map(np.uint8)
    | st.sampled_from(
        [np.bool_(True), np.datetime64("2020-01-01"), np.timedelta64(1, "s"), np.longdouble("0.1"), np.str_("2")]
    )
)
LENGTHS = st.integers(0, WIDTH + 1)
VECTORS = st.lists(PLAIN, min_size=WIDTH, max_size=WIDTH) | LENGTHS.flatmap(
    lambda length: st.lists(CELLS, min_size=length, max_size=length)
)
ARRAYS = arrays.arrays(
    dtype=arrays.scalar_dtypes() | st.sampled_from(["float64", ">f8", "longdouble", "float16", "int64", "uint64"]),
    shape=st.sampled_from(
        [(WIDTH,), (1, WIDTH), (WIDTH, 1), (2, WIDTH), (1, 1, WIDTH), (WIDTH + 1,), (), (0,), (0, WIDTH)]
    ),
)


class Listed(list[Any]):
    pass


class Labelled(np.ndarray[Any, Any]):
    pass


def _object_array(values: list[Any]) -> Any:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "a list": list,
    "a tuple": tuple,
    "a subclass of list": Listed,
    "a list in a list": lambda values: [values],
    "a tuple of two lists": lambda values: (values, values),
    "a generator": iter,
    "a set": lambda values: {str(value) for value in values},
    "an object array": _object_array,
    "a series": lambda values: pd.Series(values, dtype=object),
    "a frame": lambda values: pd.DataFrame([values]),
    "a mapping": lambda values: dict(enumerate(values)),
    "one value": lambda values: values[0] if values else None,
}
ARRAY_CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "an array": lambda array: array,
    "every other place": lambda array: np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array,
    "in the other order": np.asfortranarray,
    "a subclass of array": lambda array: array.view(Labelled),
    "a masked array": lambda array: np.ma.array(array, mask=np.zeros(array.shape, dtype=bool)),
    "partly masked": lambda array: np.ma.array(array, mask=np.indices(array.shape).sum(axis=0) % 2 == 1),
    "a list of scalars": list,
    "a series": pd.Series,
    "a frame": pd.DataFrame,
    "a memoryview": memoryview,
    "a column of Polars": lambda array: pl.Series(array.ravel().tolist()) if array.dtype.kind in "iuf" else array,
    "sparse": scipy.sparse.csr_array,
}


def release(*, names: bool = False) -> SubsampleAggregate:
    """As `fit` leaves it, as far as reading a query is concerned."""
    fitted = SubsampleAggregate()
    fitted.plan_ = object()  # type: ignore[assignment]
    fitted.schema_, fitted.n_features_in_ = None, WIDTH
    if names:
        fitted.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    return fitted


def outcome(read: Callable[[Any], Any], x: Any) -> Outcome:
    """The bits of the point, or what was raised, and what was warned of."""
    with warnings.catch_warnings(record=True) as warned, np.errstate(all="ignore"):  # as in `answer`
        warnings.simplefilter("always")
        try:
            point = read(x)
            found: Outcome = (type(point), point.dtype.str, point.shape, point.flags.c_contiguous, point.tobytes())
        except Exception as error:  # any: it is compared
            found = (type(error), str(error))
    return (*found, [(warning.category, str(warning.message)) for warning in warned])


def _check(make: Callable[[], Any], *, names: bool) -> None:
    try:
        make()
    except Exception:  # not everything can be put into every container
        reject()
    fitted = release(names=names)
    for read in (fitted._query, lambda X: fitted._table(X, None)):
        quick = outcome(read, make())
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(tables, "_is_as_fitted", lambda *_: False)
            assert quick == outcome(read, make())


@settings(max_examples=300)
@given(values=VECTORS, container=st.sampled_from(sorted(CONTAINERS)), names=st.booleans())
@example(values=[2**53 + 1, 0.5, 0], container="a list", names=False)
@example(values=[10**400, 0.5, 0], container="a tuple", names=False)
@example(values=[2**63, -1, 0], container="a list", names=False)
@example(values=[-0.0, 5e-324, 1], container="a list", names=True)
def test_a_vector_is_read_as_ever(values: list[Any], container: str, names: bool) -> None:
    _check(lambda: CONTAINERS[container](list(values)), names=names)


@given(values=VECTORS, names=st.booleans())
def test_a_list_is_the_point_that_a_tuple_is(values: list[Any], names: bool) -> None:
    """A list of floats, which takes the shortest path, and a tuple, which does not."""
    fitted = release(names=names)
    assert outcome(fitted._query, values) == outcome(fitted._query, tuple(values))


@settings(max_examples=300)
@given(array=ARRAYS, container=st.sampled_from(sorted(ARRAY_CONTAINERS)), names=st.booleans())
def test_an_array_is_read_as_ever(array: Any, container: str, names: bool) -> None:
    _check(lambda: ARRAY_CONTAINERS[container](array.copy()), names=names)


def _quick() -> Iterator[Any]:
    yield [0.5, -0.0, 3]
    yield (1.0, 2.0, np.float64(3.0))
    for dtype in ("float64", "float32", "float16", "int64", "uint8", ">f8"):
        yield np.array([1, 2, 3], dtype=dtype)
        yield np.array([[1, 2, 3]], dtype=dtype)


@pytest.mark.parametrize("x", list(_quick()))
def test_what_is_usual_is_read_without_scikit_learn(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this the tests above would compare the slow way with itself."""

    def validated(*_: object, **__: object) -> None:
        raise AssertionError("scikit-learn was asked")

    monkeypatch.setattr(tables, "validate_data", validated)
    assert release()._query(x).tolist() == np.array(x, dtype=np.float64).reshape(1, WIDTH).tolist()


def test_names_that_fit_has_seen_are_missed() -> None:
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        release(names=True)._query([1.0, 2.0, 3.0])
