"""Main effects: exact where a score is a sum over columns, nothing where columns act together alone."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.published import AGE, GAIN, GAP, PRIVATE, SCHEMA, STATE
from support.published_linear import PREDICATES, people

from pcqr import ParameterError
from pcqr.data.records.predicates import Predicate
from pcqr.data.schema import Column, Schema
from pcqr.models.effects import Effects, made_up_points, main_effects
from pcqr.models.vocabulary import Vocabulary

Points = NDArray[np.float64]
ROWS = SCHEMA.encode(people(200) | {"gain": np.random.default_rng(1).normal(size=200).tolist()})
TWO, THREE = Vocabulary(SCHEMA, ("a", "b")), Vocabulary(SCHEMA, ("a", "b", "c"))


def additive(X: Points) -> Points:
    return np.where(X[:, GAP] > 0, 5.0, 0.1 * X[:, AGE]) + 2.0 * X[:, PRIVATE] - X[:, STATE] + np.sin(X[:, GAIN])


def several(X: Points) -> Points:
    return np.stack([additive(X), X[:, GAIN], X[:, PRIVATE]], axis=1)


class TestMeans:
    def test_a_sum_over_columns_is_found_exactly(self) -> None:
        found = {each.column.name: each for each in main_effects(additive, SCHEMA, ROWS).columns}
        age = found["age"]
        assert age.at == (17.0, 30.5, 30.6, 50.0, 50.25, 60.0, None)
        wanted = np.array([1.7, 3.05, 3.06, 5.0, 5.025, 6.0, 5.0])
        np.testing.assert_allclose(np.array(age.points[0]) - age.points[0][0], wanted - 1.7, atol=1e-12)
        work = dict(zip(found["work"].at, found["work"].points[0], strict=True))
        assert work["work=Private"] - work["work=State"] == pytest.approx(3.0)
        assert work["work is other"] == pytest.approx(work["work is missing"])
        gain = found["gain"]
        values = np.array(gain.at, dtype=np.float64)
        np.testing.assert_allclose(np.diff(gain.points[0]), np.diff(np.sin(values)), atol=1e-12)

    def test_columns_that_act_together_alone_have_none(self) -> None:
        schema = Schema((Column("x"), Column("y")))
        corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 5)
        assert main_effects(lambda X: X[:, 0] * X[:, 1] - X.sum(axis=1) / 2, schema, corners).columns == ()

    def test_with_several_labels_points_are_less_their_mean(self) -> None:
        found = main_effects(several, SCHEMA, ROWS)
        for each in found.columns:
            np.testing.assert_allclose(np.sum(each.points, axis=0), 0.0, atol=1e-12)
        work = next(each for each in found.columns if each.column.name == "work")
        private, state = work.at.index("work=Private"), work.at.index("work=State")
        np.testing.assert_allclose([row[private] - row[state] for row in work.points], [3 - 4 / 3, -4 / 3, 1 - 4 / 3])

    def test_what_matters_to_most_rows_comes_before_what_is_large_for_few(self) -> None:
        schema = Schema((Column("rare"), Column("common")))
        points = np.zeros((100, 2))
        points[0, 0], points[::2, 1] = 1.0, 1.0
        found = main_effects(lambda X: 9.0 * X[:, 0] + X[:, 1], schema, points)
        assert [each.column.name for each in found.columns] == ["common", "rare"]


class TestMadeUpRows:
    def test_they_are_rows_that_the_schema_can_encode(self) -> None:
        points = made_up_points(SCHEMA, PREDICATES)
        assert ((points[:, AGE] >= 17) & (points[:, AGE] <= 90)).all()
        assert (points[:, 2:6].sum(axis=1) == 1.0).all()
        assert set(np.unique(points[:, 1:6])) == {0.0, 1.0}

    def test_every_gap_between_cuts_is_as_likely(self) -> None:
        cuts = (-1.0, 0.0, 0.001, 1000.0)
        points = made_up_points(SCHEMA, [Predicate(GAIN, cut) for cut in cuts])
        counts = np.bincount(np.searchsorted(cuts, points[:, GAIN]), minlength=5)
        assert counts.min() > 0.7 * points.shape[0] / 5


class TestJson:
    @pytest.mark.parametrize(("score", "words"), [(additive, TWO), (several, THREE)])
    def test_what_is_written_comes_back(self, score: Any, words: Vocabulary) -> None:
        found = main_effects(score, SCHEMA, ROWS)
        told = json.loads(json.dumps(found.describe(), allow_nan=False))
        assert Effects.restore(told, "effects", words) == found

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"column": "shoe"}, r"effects.columns\[0\].column must be a column of the schema"),
            ({"at": [1.0, 1.0]}, r"effects.columns\[0\].at must be increasing numbers"),
            ({"at": [None, 1.0]}, r"effects.columns\[0\].at\[0\] must be a number"),
            ({"points": []}, r"effects.columns\[0\].points must be 1 lists, one for each score"),
            ({"points": [[1.0]]}, r"effects.columns\[0\].points\[0\] must be one number for each case"),
            ({"rows": 3}, "also rows"),
        ],
    )
    def test_what_is_refused_and_where(self, change: dict[str, Any], message: str) -> None:
        entry = {"column": "age", "at": [20.0, 30.0, None], "points": [[1.0, 2.0, 3.0]]}
        assert Effects.restore({"rows": 0, "columns": [entry]}, "effects", TWO).columns[0].importance == 2.0
        with pytest.raises(ParameterError, match=message):
            Effects.restore({"rows": 0, "columns": [entry | change]}, "effects", TWO)
