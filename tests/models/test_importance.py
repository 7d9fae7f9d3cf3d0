"""Which columns matter, by shuffling public rows: what is asked counts, and only that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.published import MODEL, SCHEMA
from support.published_linear import linear_model, people

from pcqr import Guarantee, ParameterError
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses import DecisionTree
from pcqr.models import Importances, PublishedModel, importances
from pcqr.privacy.entropy import SeededEntropy

PEOPLE = people(600)


def changed(found: Importances) -> dict[str, float]:
    return {each.column: each.changed for each in found}


def test_a_column_that_is_never_asked_has_none_and_the_most_important_comes_first() -> None:
    work = Split(Predicate(2, 0.5), fails=Leaf(0), holds=Leaf(1))
    model = PublishedModel(DecisionTree(work, 7), ("a", "b"), SCHEMA, Guarantee(1.0))
    found = model.importances(PEOPLE)
    assert found.columns[0].column == "work"
    share = np.mean([cell == "Private" for cell in PEOPLE["work"]])
    assert changed(found)["work"] == pytest.approx(2 * share * (1 - share), abs=0.04)
    assert changed(found)["age"] == changed(found)["gain"] == 0.0
    assert {each.moved for each in found} == {None}, "labels alone have no scores"
    assert (found.rows, found.repeats, len(found)) == (600, 5, 3)
    shares = DecisionTree(work, 7).with_shares([(0.25, 0.75), (0.75, 0.25)])
    scored = PublishedModel(shares, ("a", "b"), SCHEMA, Guarantee(1.0)).importances(PEOPLE)
    assert changed(scored) == changed(found)
    assert scored.columns[0].moved == pytest.approx(2 * np.log(3) * found.columns[0].changed), "log-odds"


def test_all_features_of_a_column_are_shuffled_together() -> None:
    """As if the cells of the table itself had been dealt anew: then every row stays one that the schema can encode."""
    model, repeats = linear_model("both", 3), 3
    points = model.points(PEOPLE)
    coins = SeededEntropy(7)
    wanted = {}
    for name in PEOPLE:
        shares, moves = [], []
        for _ in range(repeats):
            order = coins.permutation(600)
            table = PEOPLE | {name: [PEOPLE[name][place] for place in order]}
            shares.append(np.mean(model.predict(table) != model.predict(points)))
            moves.append(np.abs(model.decision_function(table) - model.decision_function(points)).mean())
        wanted[name] = (np.mean(shares), np.mean(moves))
    found = importances(model, PEOPLE, repeats=repeats, seed=7)
    assert {each.column: (each.changed, each.moved) for each in found} == {
        name: pytest.approx(pair) for name, pair in wanted.items()
    }
    assert all(move > 0 for _, move in wanted.values())


def test_many_columns_and_none_that_matters_can_be_drawn(tmp_path: Path) -> None:
    schema = Schema(tuple(Column(f"{'long ' * 20}{place}") for place in range(40)))
    model = PublishedModel(DecisionTree(Leaf(0), 40), ("a", "b"), schema, Guarantee(1.0))
    found = model.importances(np.random.default_rng(0).normal(size=(5, 40)))
    assert set(changed(found).values()) == {0.0}
    found.draw(tmp_path / "many.png")
    assert (tmp_path / "many.png").stat().st_size > 0


@pytest.mark.parametrize(
    ("rows", "repeats", "message"), [(1, 5, "two public rows"), (9, 0, "repeats"), (9, -1, "repeats")]
)
def test_what_is_refused(rows: int, repeats: int, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        MODEL.importances(people(rows), repeats=repeats)
