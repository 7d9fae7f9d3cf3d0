"""The bundled Adult: the published counts, the published categories, no optional dependency."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest

from pcqr.datasets import adult_table, load_adult


def test_counts_are_the_published_ones() -> None:
    adult = load_adult()
    assert adult.X_train.shape == (32_561, len(adult.feature_names))
    assert adult.X_test.shape == (16_281, len(adult.feature_names))
    assert (adult.y_train.sum(), adult.y_test.sum()) == (7_841, 3_846)
    assert adult.label_names == ("<=50K", ">50K")


def test_rows_without_unknowns_are_the_published_ones() -> None:
    table = adult_table("train")
    complete = sum(None not in row for row in zip(*table.values(), strict=True))
    assert complete == 30_162
    assert set(table["income"]) == {"<=50K", ">50K"}


def test_the_first_record_is_encoded_as_published() -> None:
    adult = load_adult()
    first = dict(zip(adult.feature_names, adult.X_train[0], strict=True))
    present = {name for name, value in first.items() if value}
    assert present == {
        *("age", "education-num", "capital-gain", "hours-per-week", "workclass=State-gov", "sex=Male", "race=White"),
        *("marital-status=Never-married", "occupation=Adm-clerical", "relationship=Not-in-family"),
        "native-country=United-States",
    }
    assert [first[name] for name in ("age", "education-num", "capital-gain", "hours-per-week")] == [39, 13, 2174, 40]
    assert adult.y_train[0] == 0


def test_the_default_leaves_out_the_weight_and_the_repeated_schooling() -> None:
    adult = load_adult()
    everything = load_adult(drop=())
    assert len(everything.schema.columns) == 14
    assert set(everything.schema.names) - set(adult.schema.names) == {"fnlwgt", "education"}
    assert everything.X_test.shape[1] == len(everything.feature_names) == adult.X_test.shape[1] + 1 + 16 + 1


def test_no_declared_bound_cuts_a_published_value() -> None:
    ranges = {"age": (17, 90), "hours-per-week": (1, 99), "capital-gain": (0, 99_999), "capital-loss": (0, 4_356)}
    adult = load_adult()
    bounds = {column.name: column.limits for column in adult.schema.columns}
    for name, (low, high) in ranges.items():
        encoded = np.concatenate([X[:, adult.feature_names.index(name)] for X in (adult.X_train, adult.X_test)])
        declared = bounds[name]
        assert declared is not None
        assert declared[0] <= low < high <= declared[1]
        assert (encoded.min(), encoded.max()) == (low, high)


def test_attribution_lies_beside_the_data() -> None:
    text = (files("pcqr.datasets") / "adult.ATTRIBUTION.md").read_text(encoding="utf-8")
    for needed in ("Becker", "Kohavi", "10.24432/C5XW20", "CC BY 4.0", "What was changed"):
        assert needed in text


@pytest.mark.parametrize("absent", ["pandas", "pyarrow"])
def test_loading_needs_no_optional_dependency(absent: str) -> None:
    code = f"import sys; sys.modules[{absent!r}] = None; from pcqr.datasets import load_adult; load_adult()"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
