"""Public frames give a schema by themselves: all frames alike, by name and with gaps, whether or not they have text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pcqr import DataError, InfeasiblePlan, ParameterError, PrivateClassifier, SemiPrivateLearner
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.release import Account
from pcqr.releases.base.inputs import is_mixed

RNG = np.random.default_rng(0)
DRAWN = RNG.uniform(size=(600, 2))
Y = (DRAWN[:, 0] > 0.5).astype(int)
NUMBERS = {"age": DRAWN[:, 0], "height": DRAWN[:, 1]}
WORDS = NUMBERS | {"job": ["nurse", "cook", "pilot"] * 200}
FRAMES = {"pandas": pd.DataFrame, "Polars": pl.DataFrame, "Arrow": pa.table, "a dict": dict}


def cut(table: dict[str, Any], rows: slice, *order: str) -> dict[str, Any]:
    return {name: table[name][rows] for name in order or table}


PRIVATE, PUBLIC = slice(400), slice(400, 600)


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("table", [NUMBERS, WORDS], ids=["numbers", "with words"])
def test_gaps_and_other_orders_are_taken_in_every_frame(kind: str, table: dict[str, Any]) -> None:
    """Public rows without a gap; private ones with one, and in another order."""
    private = cut(table, PRIVATE, *reversed(table))
    with_gap = private | {"age": [None, *private["age"][1:].tolist()]}
    learner = SemiPrivateLearner(DecisionTrees(depth=1), 4.0, entropy=0)
    made = FRAMES[kind]
    learner.fit(made(with_gap), Y[PRIVATE], public=made(cut(table, PUBLIC)))
    assert learner.schema_ is not None
    assert learner.schema_.names == tuple(table)
    for rows in (cut(table, PUBLIC), cut(table, PUBLIC, *reversed(table))):
        assert (learner.predict(made(rows)) == Y[PUBLIC]).mean() > 0.9


def test_a_class_of_one_column_takes_a_frame_of_one() -> None:
    """A gap would need a second column. Names are compared all the same, and nothing is clipped."""
    frame = pd.DataFrame({"age": DRAWN[:, 0]})
    learner = SemiPrivateLearner(Thresholds(), 4.0, entropy=0).fit(frame[:400] * 9, Y[PRIVATE], public=frame[400:])
    assert learner.n_features_in_ == 1
    with pytest.raises(DataError, match="without gaps"):
        learner.fit(frame[:400].where(frame > 0.1), Y[PRIVATE], public=frame[400:])
    with pytest.raises(DataError, match="also 'age': leave out the label"):
        learner.fit(frame[:400].rename(columns={"age": "AGE"}), Y[PRIVATE], public=frame[400:])


def test_the_label_left_in_the_public_rows_is_called_by_its_name() -> None:
    private, public = pd.DataFrame(cut(WORDS, PRIVATE)), pd.DataFrame(cut(WORDS | {"ill": Y}, PUBLIC))
    for columns in (["age", "height"], list(WORDS)):
        with pytest.raises(
            DataError, match="rows with the columns of X alone; received also 'ill': leave out the label"
        ):
            PrivateClassifier().fit(private[columns], Y[PRIVATE], public=public[[*columns, "ill"]])
    with pytest.raises(DataError, match="the 2 columns of X; received 3 columns, the label perhaps among them"):
        PrivateClassifier().fit(DRAWN, Y, public=np.column_stack([DRAWN, Y]))


def test_a_column_that_public_rows_lack_is_called_by_its_name() -> None:
    private, public = pd.DataFrame(cut(WORDS, PRIVATE)), pd.DataFrame(cut(NUMBERS, PUBLIC))
    with pytest.raises(DataError, match="received rows without 'job': add that to public, or leave it out of X"):
        PrivateClassifier().fit(private, Y[PRIVATE], public=public)
    with pytest.raises(DataError, match="a table with the column names of `public`"):
        PrivateClassifier().fit(DRAWN, Y, public=public)


def test_gaps_in_an_array_are_refused_with_the_remedy() -> None:
    gaps = DRAWN.copy()
    gaps[0, 0] = np.nan
    with pytest.raises(DataError, match="give X and `public` as frames"):
        PrivateClassifier(entropy=0).fit(gaps, Y, public=DRAWN[:50] + 0.1)


@pytest.mark.parametrize("method", ["auto", "tree", "linear"])
def test_few_records_or_one_class_end_before_anything_is_charged(method: Any, tmp_path: Any) -> None:
    account = Account.create(tmp_path / "account", 9.0, 1e-3)
    classifier = PrivateClassifier(1.0, method=method, account=account)
    with pytest.raises(InfeasiblePlan, match=r"n ≥ 10 at this ε, or ε ≥ 2 at this n"):
        classifier.fit(DRAWN[:5], [0, 1, 0, 1, 0], public=DRAWN[400:])
    for label in (0, 1, "no"):
        with pytest.raises(DataError, match=r"received one class\. Give classes="):
            classifier.fit(DRAWN, [label] * 600, public=DRAWN[400:] + 1)
    assert account.charges == ()


def test_one_class_is_taken_where_both_are_declared() -> None:
    classifier = PrivateClassifier(1.0, method="tree", classes=(0, 1), entropy=0)
    assert set(classifier.fit(DRAWN, [0] * 600, public=DRAWN + 1).predict(DRAWN)) == {0}


def test_one_tree_needs_no_delta() -> None:
    classifier = PrivateClassifier(1.0, 0, method="tree", entropy=0).fit(DRAWN, Y, public=DRAWN + 1)
    assert classifier.guarantee_.is_pure
    for method in ("auto", "linear"):
        with pytest.raises(ParameterError, match="0 with method='tree'"):
            PrivateClassifier(1.0, 0, method=method, entropy=0).fit(DRAWN, Y, public=DRAWN + 1)


@pytest.mark.parametrize(
    ("frame", "mixed"),
    [
        (pd.DataFrame({"a": [1.0, 2.0], "b": [1, 2]}), False),
        (pd.DataFrame({"a": [1.0, np.nan], "b": [1, 2]}), True),
        (pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), True),
        (np.array([[1.0], [np.nan]]), False),
        ({"a": [1, 2.5]}, False),
        ({"a": [1, None]}, True),
    ],
    ids=["numbers", "one missing", "words", "no frame", "a dict", "a gap in a dict"],
)
def test_a_frame_is_mixed_by_words_or_by_a_single_missing_number(frame: object, mixed: bool) -> None:
    assert is_mixed(frame) is mixed
