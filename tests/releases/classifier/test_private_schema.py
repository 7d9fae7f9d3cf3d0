"""A schema made of private records: what is in it, whichever blocks the records come in."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pcqr import SeededEntropy
from pcqr.audit.exact.events import NoiseLaw
from pcqr.audit.exact.sums import Announced, NoisySum
from pcqr.audit.exact.tape import intercepted
from pcqr.data.schema import Column
from pcqr.data.schema.raw import Floats, RawInMemory, RawTable, Texts
from pcqr.errors import ParameterError
from pcqr.mechanisms.halving import places
from pcqr.privacy.entropy import Entropy
from pcqr.releases.classifier import predicates
from pcqr.releases.classifier.plan import PredicatesStage
from pcqr.releases.classifier.predicates import (
    MOST_CATEGORIES,
    joined,
    noisy_counts,
    private_schema,
    shares,
    shown_categories,
)

N = 4_000
JOBS = ["cook", "nurse", "pilot", None, "3.0"]
GENERATOR = np.random.default_rng(0)
CELLS: dict[str, Any] = {
    "age": GENERATOR.integers(18, 90, N).astype(float),
    "job": [JOBS[place] for place in GENERATOR.choice(5, N, p=[0.5, 0.3, 0.0, 0.1, 0.1])],
    "member": GENERATOR.integers(0, 2, N).astype(bool),
    "born": np.datetime64("1950-01-01") + GENERATOR.integers(0, 20_000, N),
    "gain": np.where(GENERATOR.random(N) < 0.2, np.nan, GENERATOR.lognormal(3, 2, N)),
    "empty": np.full(N, np.nan),
}
CELLS["job"][0] = "pilot"
TABLE = RawInMemory(CELLS, {"job": "categorical"})
STAGE = PredicatesStage(N, 4, 1, 3, 1.0, counts=2.0, categories=2.0, threshold=20.0)


class InBlocks(RawTable):
    """The same records, some at a time."""

    def __init__(self, whole: RawInMemory, size: int) -> None:
        self.columns, self.size, self.assumptions = whole.columns, whole.size, whole.assumptions
        self._parts = [whole.rows(part) for part in np.split(np.arange(N), range(size, N, size))]

    def numbers(self, names: Sequence[str]) -> Iterator[Mapping[str, Floats]]:
        return (block for part in self._parts for block in part.numbers(names))

    def texts(self, names: Sequence[str]) -> Iterator[Mapping[str, Texts]]:
        return (block for part in self._parts for block in part.texts(names))

    def check(self) -> None:
        pass


def test_every_column_becomes_what_its_kind_allows() -> None:
    schema = private_schema(TABLE, STAGE, SeededEntropy(0))
    by_name = {column.name: column for column in schema.columns}
    assert schema.names == tuple(CELLS)
    assert by_name["job"].categories == ("3", "cook", "nurse")
    assert by_name["job"].other
    assert by_name["job"].shares == pytest.approx((0.1, 0.5, 0.3), abs=0.03)
    assert by_name["member"] == Column("member", "categorical", ("False", "True"), other=True)
    assert by_name["born"].kind == "date"
    for name in ("age", "born", "gain", "empty"):
        column, cells = by_name[name], next(iter(TABLE.numbers([name])))[name]
        assert column.missing
        places = np.searchsorted(column.cuts, cells[~np.isnan(cells)])
        exact = np.bincount(places, minlength=len(column.cuts) + 1) / N
        assert column.shares == pytest.approx(exact, abs=8 * 2.0 / N), name  # 8 σ of joined cells
        if name != "empty":
            assert len(column.cuts) >= 5
            assert max(exact) < 0.2


def test_counts_are_those_of_the_predicates_x_above_cut() -> None:
    schema = private_schema(TABLE, STAGE, SeededEntropy(3))
    age = next(column for column in schema.columns if column.name == "age")
    above = [float((CELLS["age"] > cut).mean()) for cut in age.cuts]
    below = np.cumsum(age.shares)[:-1]
    assert [1 - each for each in above] == pytest.approx(below, abs=0.01)


def test_every_record_that_is_no_gap_is_counted_once() -> None:
    """With noise of which all is 0, shares are those of the records."""
    stage = PredicatesStage(N, 4, 1, 3, 1.0, counts=1e-3, categories=1e-3, threshold=20.0, bound=1)
    for column in private_schema(TABLE, stage, SeededEntropy(0)).columns:
        if column.kind != "categorical":
            cells = next(iter(TABLE.numbers([column.name])))[column.name]
            known = cells[~np.isnan(cells)]
            exact = np.bincount(np.searchsorted(column.cuts, known), minlength=len(column.cuts) + 1) / N
            assert column.shares == pytest.approx(exact, abs=1e-12), column.name


@pytest.mark.parametrize(
    ("counts", "least", "expected"),
    [
        ([1, 2, 3, 4, 5], 100, ([3.0], [6, 9])),  # none has so many: the middle cut stays
        ([1, 2, 3, 4, 5], 3, ([2.0, 3.0, 4.0], [3, 3, 4, 5])),
        ([5, 5, 5, 5, 1], 3, ([1.0, 2.0, 3.0], [5, 5, 5, 6])),
        ([9, 0, 0, 0, 0], 3, ([1.0], [9, 0])),
        ([1, 2, 3, 4, 5], 0, ([1.0, 2.0, 3.0, 4.0], [1, 2, 3, 4, 5])),
    ],
)
def test_cells_of_few_records_are_joined(counts: list[int], least: float, expected: Any) -> None:
    assert joined([1.0, 2.0, 3.0, 4.0], counts, least) == expected
    assert sum(expected[1]) == sum(counts)


@pytest.mark.parametrize("size", [1_000, 999])
def test_it_does_not_depend_on_the_blocks(size: int) -> None:
    whole, parted = (private_schema(table, STAGE, SeededEntropy(5)) for table in (TABLE, InBlocks(TABLE, size)))
    assert whole == parted


def test_without_counts_there_are_no_shares_of_cells_and_without_a_budget_nothing_is_looked_at() -> None:
    cuts_alone = PredicatesStage(N, 4, 1, 2, 1.0, None, None, None)
    schema = private_schema(TABLE, cuts_alone, SeededEntropy(0))
    assert [len(column.cuts) for column in schema.columns if column.kind != "categorical"] == [3, 3, 3, 3]
    assert all(column.shares == () for column in schema.columns)
    assert all(column.missing for column in schema.columns if column.kind != "categorical"), "gaps must not be refused"
    assert next(column.categories for column in schema.columns if column.name == "job") == ()
    nothing = private_schema(TABLE, PredicatesStage(N, 4, 1, 0, 0.0, None, None, None), SeededEntropy(0))
    assert all(column.cuts == () for column in nothing.columns)


def test_a_category_below_the_threshold_is_not_shown_and_of_many_the_most_common_are() -> None:
    texts = [f"t{place:03}" for place in range(150) for _ in range(place)]
    table = RawInMemory({"t": texts}, {"t": "categorical"})
    stage = PredicatesStage(len(texts), 0, 1, 0, 0.0, None, 1e-3, 20.5)
    (column,) = private_schema(table, stage, SeededEntropy(0)).columns
    assert column.categories == tuple(f"t{place:03}" for place in range(50, 150))
    assert len(column.categories) == MOST_CATEGORIES
    (few,) = private_schema(
        table, PredicatesStage(len(texts), 0, 1, 0, 0.0, None, 1e-3, 140.5), SeededEntropy(0)
    ).columns
    assert few.categories == tuple(f"t{place}" for place in range(141, 150))


def test_a_column_of_gaps_alone_has_no_category_and_is_no_error() -> None:
    table = RawInMemory({"t": [None] * 60}, {"t": "categorical"})
    stage = PredicatesStage(60, 0, 1, 0, 0.0, None, 1.0, 20.0)
    (column,) = private_schema(table, stage, SeededEntropy(0)).columns
    assert (column.categories, column.other) == ((), True)


def test_the_threshold_itself_is_enough_and_the_order_of_texts_counts_for_nothing() -> None:
    exactly = PredicatesStage(60, 0, 1, 0, 0.0, None, 0.01, 30.0, bound=1)  # noise of which all is 0
    assert shown_categories({"a": 30, "b": 29}, exactly, SeededEntropy(0)) == {"a": 30}
    noisy = PredicatesStage(60, 0, 1, 0, 0.0, None, 2.0, 20.0)
    texts = {"a": 30, "b": 40, "c": 25}
    again = dict(reversed(texts.items()))
    assert shown_categories(texts, noisy, SeededEntropy(0)) == shown_categories(again, noisy, SeededEntropy(0))


def test_categories_whose_features_would_have_the_name_of_another_are_left_out() -> None:
    """They must not be refused: an error after noise was drawn would tell of records."""
    cells = {"a": ["b=c"] * 60, "a=b": ["c"] * 60, "x": ["y"] * 30 + ["z"] * 30, "x=y": [0.5] * 60}
    kinds = dict.fromkeys(("a", "a=b", "x"), "categorical")
    table = RawInMemory(cells, kinds | {"x=y": "numeric"})  # type: ignore[arg-type]
    stage = PredicatesStage(60, 1, 3, 0, 0.0, None, 1e-3, 20.0)
    schema = private_schema(table, stage, SeededEntropy(0))
    assert [column.categories for column in schema.columns] == [("b=c",), (), ("z",), ()]
    kinds = {"y": "categorical", "y is missing": "numeric"}
    clash = RawInMemory({"y": ["k"] * 60, "y is missing": [1.0] * 60}, kinds)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="one name"):
        private_schema(clash, PredicatesStage(60, 1, 1, 0, 0.0, None, 1e-3, 20.0), SeededEntropy(0))


def test_a_stage_for_another_table_is_refused() -> None:
    for stage in (
        PredicatesStage(N + 1, 4, 1, 3, 1.0, None, None, None),
        PredicatesStage(N, 5, 1, 3, 1.0, None, None, None),
        PredicatesStage(N, 4, 2, 3, 1.0, None, None, None),
    ):
        with pytest.raises(ParameterError, match="stage"):
            private_schema(TABLE, stage, SeededEntropy(0))


def test_counts_have_the_noise_that_is_paid_for() -> None:
    tape = Announced()
    with intercepted():
        noisy_counts(np.array([3, 5]), 2.0, 4, tape)
    assert tape.sums == [NoisySum((12, 20), NoiseLaw("discrete_gaussian", 8.0))]


def test_small_cells_are_joined() -> None:
    assert joined([1.0, 2.0, 3.0], [5, 1, 1, 9], 3) == ([1.0], [5, 11])
    assert joined([1.0, 2.0, 3.0], [-2, 5, 6, 1], 3) == ([2.0], [3, 7])
    assert joined([1.0, 2.0], [5, 1, 1], 3) == ([1.0], [5, 2]), "one cut stays"
    assert joined([1.0, 2.0, 3.0], [1, -1, 0, 2], 3) == ([2.0], [0, 2]), "one cut stays"
    assert joined([1.0], [3, 3], 3) == ([1.0], [3, 3])
    assert joined([], [7], 3) == ([], [7])


def test_shares_are_of_all_records_or_of_what_is_more() -> None:
    stage = PredicatesStage(10, 1, 0, 1, 1.0, 1.0, None, None, bound=4)
    assert shares([20, -3, 12], stage) == [0.5, 0.0, 0.3]
    assert math.fsum(shares([40, 30, 30], stage)) == pytest.approx(1.0)


def test_cuts_of_very_many_records_are_decided_by_some_of_them_whatever_the_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A quarter decides here. The kept number is off by 6 standard deviations with a chance below 10⁻⁸ a column."""
    monkeypatch.setattr(predicates, "MOST_HALVED", N / 4)
    stage = replace(STAGE, selection=100.0)
    assert predicates.deciding_share(N, 100.0) == 64
    kept = deciding(TABLE, stage)
    for name, found in kept.items():
        present = int((~np.isnan(next(iter(TABLE.numbers([name])))[name])).sum())
        assert abs(found.size - present / 4) <= 6 * (present * 3 / 16) ** 0.5, name
    for size in (1, 7, 1_000):
        split = deciding(InBlocks(TABLE, size), stage)
        assert {name: found.tolist() for name, found in split.items()} == {
            name: found.tolist() for name, found in kept.items()
        }


@pytest.mark.parametrize("cell", [5.0, math.nan])
def test_which_records_decide_does_not_depend_on_a_cell(monkeypatch: pytest.MonkeyPatch, cell: float) -> None:
    """A record that is replaced, also by one with a gap, takes no other record in or out."""
    monkeypatch.setattr(predicates, "MOST_HALVED", N / 4)
    stage = replace(STAGE, selection=100.0)
    before = deciding(TABLE, stage)["age"]
    ages = CELLS["age"].copy()
    ages[0] = cell
    after = deciding(RawInMemory(CELLS | {"age": ages}, {"job": "categorical"}), stage)["age"]
    changed = (Counter(before.tolist()) - Counter(after.tolist())) + (
        Counter(after.tolist()) - Counter(before.tolist())
    )
    assert changed.total() <= 2


def test_all_records_decide_unless_they_are_very_many() -> None:
    assert predicates.deciding_share(4_194_304, 0.1) == 256
    assert predicates.deciding_share(10_000_000, 0.05) == 108
    assert predicates.deciding_share(10_000_000, 0.001) == 256
    assert predicates.deciding_share(1_000_000_000, 0.05) == 2
    assert predicates.deciding_share(10**12, 0.05) == 1, "never none"
    assert predicates.deciding_share(10_000_000, 5e-324) == 256, "2¹⁴/ε₀ is infinite"


class Coins(Entropy):
    """These bytes, and no more."""

    is_private = False

    def __init__(self, coins: Sequence[int]) -> None:
        self.remaining = bytes(coins)

    def bytes(self, count: int) -> bytes:
        assert count <= len(self.remaining)
        drawn, self.remaining = self.remaining[:count], self.remaining[count:]
        return drawn


class OneColumn(InBlocks):
    """These cells, cut before these rows."""

    def __init__(self, cells: Sequence[float], before: Sequence[int]) -> None:
        self.size, self._blocks = len(cells), np.split(np.array(cells), before)

    def numbers(self, names: Sequence[str]) -> Iterator[Mapping[str, Floats]]:
        return (dict.fromkeys(names, block) for block in self._blocks)


@pytest.mark.parametrize("share", [1, 64, 255])
def test_every_row_has_one_coin_whatever_the_cells_and_the_blocks(monkeypatch: pytest.MonkeyPatch, share: int) -> None:
    """All columns of three rows, and all coins: the last that keeps a row, and the first that does not."""
    monkeypatch.setattr(predicates, "MOST_HALVED", 3 * share / 256)
    monkeypatch.setattr(predicates, "LEAST_LOSS", 0.0)
    stage = PredicatesStage(3, 1, 0, 1, 1.0, None, None, None)
    assert predicates.deciding_share(3, 1.0) == share
    for cells in itertools.product([-1.0, 0.0, 2.0, math.nan], repeat=3):
        for are_kept in itertools.product([False, True], repeat=3):
            expected = [cell for cell, is_kept in zip(cells, are_kept, strict=True) if is_kept and not math.isnan(cell)]
            for before in ([], [1], [0, 1, 1, 2], [3]):
                coins = Coins([share - is_kept for is_kept in are_kept] + [0] * 5)
                found = predicates._places("x", OneColumn(cells, before), stage, coins)
                assert found.tolist() == places(np.array(expected)).tolist()
                assert coins.remaining == b"", "one word, however the rows are split"


def deciding(table: RawTable, stage: PredicatesStage) -> dict[str, NDArray[np.int64]]:
    """Return the places that decide the cuts of each column, by one seed for all columns."""
    names = table.named("numeric", "date")
    return {name: predicates._places(name, table, stage, SeededEntropy(4)) for name in names}
