"""Votes that were kept: the same decisions again, and arrays of anything else are refused."""

from __future__ import annotations

import numpy as np
import pytest

from pcqr.data.records import InMemory
from pcqr.errors import DataError
from pcqr.hypotheses import Thresholds
from pcqr.hypotheses.committees import Arrays
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.subsample.plan import VoteStage
from pcqr.releases.subsample.run import StableVotes

X = np.linspace(0.0, 1.0, 300)[:, None]
PLAN = VoteStage(300, 300, 31, None, OneSidedSparseVector(5, threshold_scale=2.0, query_scale=0.2, unstable=4))


@pytest.fixture(scope="module")
def arrays() -> Arrays:
    records = InMemory(X, (X[:, 0] > 0.5).astype(np.int8))
    return StableVotes.trained(Thresholds(), records, PLAN, SeededEntropy(0)).arrays()


def test_kept_votes_decide_with_their_thresholds(arrays: Arrays) -> None:
    assert arrays["thresholds"].size == 1, "one threshold for all queries"
    again = StableVotes.from_arrays(arrays, PLAN, SeededEntropy(1))
    assert again.arrays().keys() == arrays.keys()
    assert all((again.arrays()[name] == values).all() for name, values in arrays.items())
    assert again.counts(X[:1]).tolist() == [[31, 0]]
    assert again.decide(again.counts(X[:1])[0]) == 0


@pytest.mark.parametrize("thresholds", [None, np.ones(1), np.ones((1, 1), dtype=np.int64), np.ones(1, dtype=np.int32)])
def test_arrays_without_whole_thresholds_are_refused(arrays: Arrays, thresholds: np.ndarray | None) -> None:
    others = {name: values for name, values in arrays.items() if name != "thresholds"}
    with pytest.raises(DataError, match="those of votes, with their thresholds among them"):
        StableVotes.from_arrays(
            others if thresholds is None else others | {"thresholds": thresholds}, PLAN, SeededEntropy(1)
        )
