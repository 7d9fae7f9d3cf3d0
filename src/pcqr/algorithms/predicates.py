"""A schema made of private records: cuts of numbers, counts between them, categories. Proof: proofs/predicates.md."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.mechanisms.halving import cut_at, halved, places
from pcqr.noise import IntegerArray, discrete_gaussians
from pcqr.plan.predicates import PredicatesStage
from pcqr.schema import Column, Schema
from pcqr.schema.raw import Floats, RawColumn, RawTable

MOST_CATEGORIES = 100
"""Of more categories of a column, those with the largest noisy counts are kept."""
MOST_HALVED, LEAST_LOSS = 2.0**22, 2.0**14
"""Of n records about max(2²², 2¹⁴/ε₀) decide where a column is cut, and at most n/256 more. Their quantiles are those
of all records to within .1 % of n."""


def private_schema(table: RawTable, stage: PredicatesStage, entropy: Entropy) -> Schema:
    """Return a schema with private cuts and categories: `PredicatesStage.event` states what it costs.

    Numbers and dates have `cuts`, and `shares` where counts were bought. Any of them may be missing. Texts have the
    categories that were shown, sorted by name, with their `shares`; all others are `other`.

    Raises
    ------
    ParameterError
        When the stage is for another table, or two columns would have features of one name. Nothing was drawn then.
    """
    schema = check_table(table, stage)
    taken = set(schema.feature_names)
    columns = []
    for column, raw in zip(schema.columns, table.columns, strict=True):
        if raw.is_number:
            columns.append(_numeric(column, table, stage, entropy))
        elif raw.kind == "categorical":
            columns.append(_categorical(column.name, table, stage, entropy, taken))
            taken |= set(columns[-1].feature_names)
        else:
            columns.append(column)
    return Schema(tuple(columns))


def check_table(table: RawTable, stage: PredicatesStage) -> Schema:
    """Return what is known of the columns without a look at a record. Raise where the stage is for another table."""
    found = (table.size, len(table.named("numeric", "date")), len(table.named("categorical")))
    planned = (stage.records, stage.numeric, stage.categorical)
    if found != planned:
        raise ParameterError("stage", f"one for n, p, p_c = {found}", planned)
    return check_columns(table.columns)


def check_columns(columns: Iterable[RawColumn]) -> Schema:
    """Return what is known of these columns. Raise where two of them would have features of one name."""
    return Schema(tuple(column.known for column in columns))


def _numeric(column: Column, table: RawTable, stage: PredicatesStage, entropy: Entropy) -> Column:
    name = column.name
    if not stage.levels:
        return column
    drawn = halved(_places(name, table, stage, entropy), stage.levels, stage.selection, entropy)
    cuts = sorted(set(map(cut_at, drawn)))
    if stage.counts is None:
        return Column(name, column.kind, missing=True, cuts=cuts)
    counts = np.zeros(len(cuts) + 1, dtype=np.int64)
    for block in table.numbers([name]):
        counts += np.bincount(np.searchsorted(cuts, _present(block[name])), minlength=counts.size)
    kept, noisy = joined(cuts, noisy_counts(counts, stage.counts, stage.bound, entropy), stage.counts * stage.bound)
    return Column(name, column.kind, missing=True, cuts=kept, shares=shares(noisy, stage))


def _places(name: str, table: RawTable, stage: PredicatesStage, entropy: Entropy) -> IntegerArray:
    """Return where the cells of a column stand, of the rows that decide its cuts. **Private.** Gaps are left out."""
    share, coins = deciding_share(stage.records, stage.selection), _Coins(entropy)
    found = []
    for block in table.numbers([name]):
        cells = block[name]
        if share < 256:
            cells = cells[coins.draw(cells.size) < share]  # a coin for each row, also for a gap
        found.append(places(_present(cells)))
    return np.concatenate(found)


def deciding_share(records: int, selection: float) -> int:
    """Return how many of 256 of n = `records` decide the cuts of a column, on average: all, unless n is very large."""
    deciding = max(MOST_HALVED, min(LEAST_LOSS / selection, records))  # infinite without `min` where ε₀ is tiny
    return min(256, math.ceil(256 * deciding / records))


class _Coins:
    """Uniform bytes, the same for the same rows in whatever blocks they come."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy, self._left = entropy, np.empty(0, dtype=np.uint8)

    def draw(self, count: int) -> NDArray[np.uint8]:
        if count > self._left.size:
            words = self._entropy.words(math.ceil((count - self._left.size) / 8))
            self._left = np.concatenate([self._left, words.view(np.uint8)])
        drawn, self._left = np.split(self._left, [count])
        return drawn


def _present(cells: Floats) -> Floats:
    return cells[~np.isnan(cells)]


def _categorical(name: str, table: RawTable, stage: PredicatesStage, entropy: Entropy, taken: set[str]) -> Column:
    """Return the column with the categories that are shown, but for those whose feature's name is `taken`."""
    shown = shown_categories(_counted(name, table), stage, entropy) if stage.categories is not None else {}
    free = [text for text in shown if f"{name}={text}" not in taken]
    kept = sorted(sorted(free, key=lambda text: (-shown[text], text))[:MOST_CATEGORIES])
    return Column(name, "categorical", kept, other=True, shares=shares([shown[text] for text in kept], stage))


def _counted(name: str, table: RawTable) -> Counter[str]:
    """Return how often each text occurs. **Private.**"""
    counts: Counter[str] = Counter()
    for block in table.texts([name]):
        held = block[name]
        found = np.bincount(held.places, minlength=len(held.texts)).tolist()
        for text, count in zip(held.texts, found, strict=True):
            if text is not None and count:
                counts[text] += count
    return counts


def shown_categories(counts: Mapping[str, int], stage: PredicatesStage, entropy: Entropy) -> dict[str, int]:
    """Return the noisy counts, in M-ths of a record, that reach the threshold. All `counts` are at least 1."""
    if stage.categories is None or not counts:
        return {}
    texts = sorted(counts)
    noisy = noisy_counts(np.array([counts[text] for text in texts]), stage.categories, stage.bound, entropy)
    return {text: count for text, count in zip(texts, noisy, strict=True) if count >= stage.least_count}


def noisy_counts(counts: IntegerArray, scale: float, bound: int, entropy: Entropy) -> list[int]:
    """Return counts of records, in M-ths of one, M = `bound`, with Gaussian noise of σ = `scale` records on each."""
    found: list[int] = (counts * bound + discrete_gaussians(scale * bound, counts.size, entropy)).tolist()
    return found


def joined(cuts: Sequence[float], counts: Sequence[int], least: float) -> tuple[list[float], list[int]]:
    """Return cuts and the counts between them, cells of less than `least` joined to the next one, or to the last.

    Of some cuts one always stays, the middle one if no cell has so many: a column without any would ask nothing.
    """
    kept: list[float] = []
    found: list[int] = []
    open_count = 0
    for place, count in enumerate(counts):
        open_count += count
        if place == len(cuts):
            if open_count < least and len(kept) > 1:
                kept.pop()
                open_count += found.pop()
            found.append(open_count)
        elif open_count >= least:
            kept.append(cuts[place])
            found.append(open_count)
            open_count = 0
    if cuts and not kept:
        middle = len(cuts) // 2
        return [cuts[middle]], [sum(counts[: middle + 1]), sum(counts[middle + 1 :])]
    return kept, found


def shares(counts: Sequence[int], stage: PredicatesStage) -> list[float]:
    """Return the shares of all records that noisy `counts`, in M-ths of a record, speak for."""
    positive = [max(count, 0) for count in counts]
    whole = max(stage.records * stage.bound, sum(positive))
    return [count / whole for count in positive]
