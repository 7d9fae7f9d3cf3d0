"""Which columns matter to a published model: what becomes of its labels when one column is shuffled among public rows.

A function of the model, of public rows and of public coins, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pcqr.checks import check_integer
from pcqr.data.records.arrays import Points
from pcqr.errors import ParameterError
from pcqr.models.effects import chosen_rows, columns_of
from pcqr.models.kind import ScoredKind
from pcqr.models.pictures import Block, Caption, stacked, text_block, write, write_page
from pcqr.models.vocabulary import printable
from pcqr.plotting.axes import BODY, INK, LINE, MUTED, PUBLISHED, TINY, fitted
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.protocol.answers import counted

if TYPE_CHECKING:
    from pcqr.models.published import PublishedModel

REPEATS = 5
MOST_ROWS = 1_000
MOST_EVALUATIONS = 300_000
"""Rows that a model is asked about when its folder is written: some seconds for a large one."""
_BARS_DRAWN = 25

# Lengths in points; one unit of the axes is one point.
_NAMES, _BARS, _BAR, _FIGURES = 170.0, 300.0, 16.0, 90.0


@dataclass(frozen=True)
class Importance:
    """How much a model relies on one column.

    Parameters
    ----------
    column : str
        The column of the schema; all features of a category are shuffled together.
    changed : float
        The share of rows that get another label when the column is shuffled among them.
    moved : float or None
        The mean distance by which the score moves, over the labels too where each has one; None for a model without
        scores.

    Examples
    --------
    >>> from pcqr.models import Importance
    >>> Importance("age", changed=0.12, moved=0.4).column
    'age'
    """

    column: str
    changed: float
    moved: float | None


@dataclass(frozen=True)
class Importances:
    """The importance of every column, the largest first. `str` gives a table.

    Parameters
    ----------
    columns : tuple of Importance
        One for each column of the schema.
    rows : int
        How many public rows were asked about.
    repeats : int
        How often each column was shuffled.

    Examples
    --------
    >>> from pcqr.models import Importance, Importances
    >>> print(Importances((Importance("age", 0.12, 0.4), Importance("sex", 0.01, None)), rows=100, repeats=5))
    100 public rows, each column shuffled 5 times by public coins.
    labels changed  score moved  column
            12.0 %         0.40  age
             1.0 %               sex
    """

    columns: tuple[Importance, ...]
    rows: int
    repeats: int

    def __iter__(self) -> Iterator[Importance]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __str__(self) -> str:
        lines = [self.origin, "labels changed  score moved  column"]
        lines += [f"{_percent(each):>14}  {_score(each):>11}  {printable(each.column)}" for each in self]
        return "\n".join(lines)

    @property
    def origin(self) -> str:
        """What they were computed from."""
        times = counted(self.repeats, "time")
        return f"{counted(self.rows, 'public row')}, each column shuffled {times} by public coins."

    def draw(self, path: str | Path, caption: Caption | None = None) -> None:
        """Write a picture: one bar a column. Needs the extra `plot`.

        Parameters
        ----------
        path : str or Path
            Where to: .svg, .png or .pdf.
        caption : Caption or None, default None
            What stands above it.
        """
        above = caption or Caption("Which columns matter", ())
        write_page(Path(path), above, lambda: _picture(self))


def importances(model: PublishedModel, X: Any, *, repeats: int = REPEATS, seed: int = 0) -> Importances:
    """How much a model relies on each column, by shuffling the column among public rows. Costs nothing.

    For each column of the schema, its cells are dealt anew to the rows, `repeats` times, and the model is asked again.
    Whatever the column had to do with the label, and with the other columns, is then lost. A column that the model
    never asks about has 0. Two columns that say the same share their importance; what is shuffled may be a row that
    nobody could have. It says what the model uses, not what causes what.

    Parameters
    ----------
    model : PublishedModel
        Any kind.
    X : table or array-like of shape (rows, p)
        PUBLIC rows, as `PublishedModel.predict` takes them. With private ones the result would be a release that nobody
        has paid for.
    repeats : int, default 5
        How often each column is shuffled; the mean is taken.
    seed : int, default 0
        Of the public coins.

    Returns
    -------
    Importances
        The largest share of changed labels first.

    Raises
    ------
    ParameterError
        When there are fewer than two rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import Guarantee, Schema
    >>> from pcqr.hypotheses import Stumps
    >>> from pcqr.models import PublishedModel, importances
    >>> from pcqr.data.schema import Column
    >>> stump = Stumps().learn([[38.5, 1], [39.1, 0], [36.6, 1], [36.9, 0]], [1, 1, 0, 0])
    >>> schema = Schema((Column("temperature"), Column("smoker")))
    >>> model = PublishedModel(stump, ("well", "ill"), schema, Guarantee(1.0))
    >>> rows = {"temperature": [36.5, 37.0, 38.5, 40.0] * 50, "smoker": [0, 1] * 100}
    >>> [(each.column, round(each.changed, 1)) for each in importances(model, rows)]
    [('temperature', 0.5), ('smoker', 0.0)]
    """
    check_integer("repeats", repeats, least=1)
    check_integer("seed", seed, least=0)
    points = model.points(X)
    if points.shape[0] < 2:
        raise ParameterError("X", "at least two public rows", f"{points.shape[0]} rows")
    coins = SeededEntropy(seed)
    labels, scores = _asked(model, points)
    found = []
    for column, features in columns_of(model.schema):
        changed, moved = [], []
        for _ in range(repeats):
            shuffled = points.copy()
            shuffled[:, features] = points[coins.permutation(points.shape[0]), features]
            new_labels, new_scores = _asked(model, shuffled)
            changed.append(float(np.mean(new_labels != labels)))
            moved.append(0.0 if scores is None else float(np.mean(np.abs(new_scores - scores))))
        mean_move = None if scores is None else float(np.mean(moved))
        found.append(Importance(column.name, float(np.mean(changed)), mean_move))
    found.sort(key=lambda each: (-each.changed, -(each.moved or 0.0)))
    return Importances(tuple(found), points.shape[0], repeats)


def some_rows(model: PublishedModel, points: Points) -> Points:
    """As many of the public `points` as can be asked about in some seconds, drawn by public coins."""
    return chosen_rows(points, min(MOST_ROWS, max(50, MOST_EVALUATIONS // (REPEATS * len(model.schema.columns)))))


def _asked(model: PublishedModel, points: Points) -> tuple[Any, Any]:
    """Labels, and scores where there are any."""
    kind = model.kind
    scores = kind.scores(model.hypothesis, points) if isinstance(kind, ScoredKind) else None
    return model.hypothesis.predict(points), scores


def _percent(each: Importance) -> str:
    return f"{100 * each.changed:.1f} %"


def _score(each: Importance) -> str:
    return "" if each.moved is None else f"{each.moved:.2f}"


def _picture(found: Importances) -> Block:
    words = [
        f"How many of the labels change when one column is shuffled: {found.origin}",
        "What the model uses, not what causes what; columns that say the same share their importance.",
    ]
    if (rest := len(found) - _BARS_DRAWN) > 0:
        words.append(f"The {_BARS_DRAWN} columns that matter most; {rest} more are in the table.")
    return stacked([text_block(words, size=TINY), _bars(found.columns[:_BARS_DRAWN])], 10.0)


def _bars(shown: tuple[Importance, ...]) -> Block:
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    largest = max((each.changed for each in shown), default=0.0) or 1.0

    def draw(axes: Any, x: float, y: float) -> None:
        zero = x + _NAMES + 8.0
        axes.plot((zero, zero), (y, y + _BAR * len(shown)), color=LINE, linewidth=0.8, zorder=1)
        for place, each in enumerate(shown):
            middle, width = y + _BAR * (place + 0.5), _BARS * each.changed / largest
            name = fitted(printable(each.column), BODY, _NAMES)
            write(axes, x + _NAMES, middle, name, size=BODY, color=INK, ha="right", va="center_baseline")
            bar = Rectangle((zero, middle - 0.34 * _BAR), width, 0.68 * _BAR, facecolor=PUBLISHED, edgecolor="none")
            axes.add_patch(bar)
            told = _percent(each) + (f"   score {_score(each)}" if each.moved is not None else "")
            write(axes, zero + width + 6.0, middle, told, size=TINY, color=MUTED, va="center_baseline")

    return Block(_NAMES + 8.0 + _BARS + _FIGURES, _BAR * len(shown), draw)
