"""What a worker says of an order: whatever goes wrong, no exception leaves it, whose log would quote the records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pcqr.data.records.parted.engine import Failure, Sealed, obey, obey_all

pytest.importorskip("cloudpickle", reason="Dask is not installed: pip install pcqr[dask]")


def itself(value: Any) -> tuple[Any]:
    return (value,)


def refused(value: Any) -> None:
    raise ValueError(f"SECRET {value}")


def test_a_failure_has_the_name_of_its_type_alone() -> None:
    found = obey(Sealed.of((refused, ())), 987_654_321)
    assert isinstance(found, Failure)
    assert found.error == "ValueError"
    assert "987654321" not in repr(found)


def test_sums_are_added_up() -> None:
    (found,) = obey_all(Sealed.of((itself, ())), None, np.array([1, 2]), np.array([3, 4]))
    assert found.tolist() == [4, 6]


@pytest.mark.parametrize(
    ("own", "values"),
    [(None, (np.zeros(2), np.zeros(3))), (Sealed(b"no pickle"), (np.zeros(2),))],
    ids=["no sum", "no order"],
)
def test_a_sum_that_cannot_be_made_is_a_failure_too(own: Sealed | None, values: tuple[Any, ...]) -> None:
    found = obey_all(Sealed.of((itself, ())), own, *values)
    assert isinstance(found, Failure)
    assert found.error in {"ValueError", "UnpicklingError"}
