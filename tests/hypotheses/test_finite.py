from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from support import brute_force_law, sampler_law
from support.laws import sampler_outcomes

from pcqr.data.records import InMemory
from pcqr.data.records.user_level import GroupedRecords
from pcqr.errors import ParameterError
from pcqr.hypotheses.finite import Finite, Member, Predictor
from pcqr.hypotheses.stumps import Stump
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.run import sspp

X = np.array([[0.0], [1.0], [2.0], [2.0]])


class Answers:
    """A predictor that says what it is told to say."""

    def __init__(self, said: object) -> None:
        self.said = said

    def predict(self, _X: object, /) -> object:
        return self.said


def models() -> list[Predictor]:
    public, labels = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 1, 0])
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(public, labels)
    constant = DummyClassifier(strategy="constant", constant=0).fit(public, labels)
    return [tree, constant, Stump(0, 0.5, True, 1), constant]


@pytest.mark.parametrize("labels", list(product((0, 1), repeat=4)))
@pytest.mark.parametrize("eta", [0.0, 0.8])
def test_the_law_is_over_indices(labels: tuple[int, ...], eta: float) -> None:
    hypotheses = Finite(models())
    law, exact = sampler_law(hypotheses, X, labels, eta), brute_force_law(hypotheses, X, labels, eta)
    assert law.keys() == exact.keys()
    assert all(abs(law[pattern] - exact[pattern]) < 1e-9 for pattern in exact)
    outcomes = sampler_outcomes(hypotheses, X, labels, eta)
    assert [drawn.index for drawn, _ in outcomes if isinstance(drawn, Member)] == [0, 1, 2, 3]
    assert outcomes[1][1] == outcomes[3][1], "a repeated member counts as often as it is listed"


@pytest.mark.parametrize("bad", [1, lambda x: x, DummyClassifier, "model"])
def test_a_member_must_predict(bad: object) -> None:
    with pytest.raises(ParameterError) as caught:
        Finite([Stump(0, 0.5, True, 1), bad])  # type: ignore[list-item]
    assert caught.value.name == "members[1]"


@pytest.mark.parametrize("said", [[0, 2, 2, 0], [0.5] * 4, ["0"] * 4, [0, 1], [math.nan] * 4, None])
def test_a_member_that_says_anything_else_says_zero(said: object) -> None:
    """An error would be an output that depends on the records."""
    drawn = Finite([Answers(said)]).sample(X, [0, 1, 0, 1], 1.0)
    assert drawn.predict(X).tolist() == [0, 0, 0, 0]


def test_a_member_that_fails_on_one_row_loses_only_that_row() -> None:
    class Fragile:
        def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
            if (X > 2.5).any():
                raise OverflowError("3.0 is a private value")
            return np.ones(X.shape[0], dtype=np.int64)

    assert Finite([Fragile()]).learn([[0.0], [1.0], [3.0]], [1, 1, 0]).predict([[0.0], [3.0], [1.0]]).tolist() == [
        1,
        0,
        1,
    ]


def test_a_model_of_other_labels_is_refused_when_it_says_so() -> None:
    model = DummyClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    with pytest.raises(ParameterError, match=r"members\[0\].classes_"):
        Finite([model])


def test_persons_are_refused_where_their_rows_would_be_asked_for_together() -> None:
    """What a member says of a row may depend on how many rows stand beside it, and that number is private."""
    X = np.array([[0.1], [0.7], [0.9]])
    user_level = GroupedRecords(InMemory(X, [0, 1, 1]), np.array([0, 1, 1]))
    members = Finite((Stump(0, 0.5, True, 1), Stump(0, 0.5, False, 1)))
    with pytest.raises(ParameterError, match="one row of each person"):
        sspp(members, user_level, None, DrawStage(1.0), SeededEntropy(0))
    kept = sspp(members, user_level.one_each(SeededEntropy(0)), None, DrawStage(1.0), SeededEntropy(0))
    assert isinstance(kept, Member)
