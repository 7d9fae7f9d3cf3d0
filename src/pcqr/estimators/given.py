"""What an estimator is given: private records, and what is public of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pcqr.checks import check_integer
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Points
from pcqr.plan.linear import MapName
from pcqr.planning.predicates import PredicatesRecipe, Purchase
from pcqr.records import Records
from pcqr.records.feature_map import FeatureMap
from pcqr.schema import Schema
from pcqr.schema.raw import RawColumn, RawTable


@dataclass(frozen=True)
class Known:
    """What is public of a private table: its size once it is encoded, public points of its kind, its schema.

    `maps` are the public feature maps that an estimator makes of these, by name. `stand_in` are rows that stand in for
    public points where there is a schema with cuts alone: no class is made of them. `has_row_weights`: does each row
    have a private weight of its own?

    `columns` are those of which nothing is public but their kinds. The schema is then the public grid or, where
    `recipe` says what to buy, the widest that may come of it.
    """

    records: int
    features: int
    points: Points | None
    schema: Schema | None
    maps: Mapping[MapName, FeatureMap] = field(default_factory=dict)
    stand_in: Points | None = None
    has_row_weights: bool = False
    columns: tuple[RawColumn, ...] = ()
    recipe: PredicatesRecipe | None = None

    def of(self, columns: tuple[RawColumn, ...]) -> Known:
        """Return this of a table of these columns, of which nothing is public but their kinds."""
        return replace(self, columns=columns)

    @property
    def bought(self) -> Purchase | None:
        """What is bought, if anything is."""
        return None if self.recipe is None else Purchase(self.recipe, self.columns)

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the names of the text columns whose categories are bought."""
        names = (column.name for column in self.columns if column.kind == "categorical")
        return () if self.recipe is None else tuple(names)

    @property
    def is_nothing(self) -> bool:
        return self.points is None and self.schema is None

    @property
    def rows(self) -> Points | None:
        """Public points, or rows that stand in for them: how often a predicate holds, and where numbers lie."""
        return self.stand_in if self.points is None else self.points


@dataclass(frozen=True)
class Given:
    """What `fit` was given, checked: the private records, and what is public of them.

    `public` are the points that a draw makes its class of, None where the class is fixed; `known.points` are all. `raw`
    is the table of the records as columns of kinds, where nothing is public and its columns have names.
    """

    records: Records
    public: Points | None
    known: Known
    gpu: str | None = None
    raw: RawTable | None = None


@dataclass(frozen=True)
class AssumePublic:
    """Public rows that are public although they are rows of the private table, too: few different ones are possible.

    `fit` refuses public rows of which more than half are rows of the private table, and a schema that was made of the
    rows of the private table. It takes these as they are, without a warning: whoever writes this has seen to it.

    Parameters
    ----------
    rows : table, array-like of shape (rows, columns) or Schema
        The rows, as `public` takes them, or what `schema` takes.

    Examples
    --------
    Records of one truth value: each public row is bound to be a row of the private table.

    >>> import numpy as np
    >>> from pcqr import AssumePublic, SemiPrivateLearner
    >>> X = np.random.default_rng(0).integers(0, 2, size=(1_000, 1))
    >>> public = np.array([[0], [1]])
    >>> learner = SemiPrivateLearner(entropy=0).fit(X, X[:, 0], public=AssumePublic(public))  # seeded: NOT PRIVATE
    >>> learner.predict(public)
    array([0, 1])
    """

    rows: Any


def width_of(features: int | None, shown: Points | None, schema: Schema | None) -> int:
    """The columns of the encoded table; `features` counts those of the table itself."""
    if schema is not None:
        columns, width = len(schema.columns), len(schema.features)
    elif shown is not None:
        columns = width = shown.shape[1]
    else:
        check_integer("features", features, least=1)
        columns = width = int(features or 0)
    if features not in (None, columns):
        raise ParameterError("features", f"{columns}, as the public rows or the schema say, or None", features)
    return width
