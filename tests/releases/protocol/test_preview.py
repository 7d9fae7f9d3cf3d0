"""Previews are counting: they agree with what happens, and their model with the sum over all outcomes."""

from __future__ import annotations

import ast
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.releases.protocol import answers as preview
from pcqr.releases.protocol.answers import BatchCost, Usage, batch_cost, new_rows, with_range


def cost(
    marks: str,
    *,
    unstable: int,
    queries: int | None = None,
    share: float | None = None,
    votes: int | None = None,
    quota: Usage | None = None,
) -> BatchCost:
    """The cost of a batch written as n for a new row and r for a repeated one."""
    is_new = np.array([mark == "n" for mark in marks], dtype=np.bool_)
    remaining = Usage(queries, unstable)
    return batch_cost(is_new, remaining=remaining, planned=3, unstable_share=share, votes_remaining=votes, quota=quota)


def test_nothing_secret_is_within_reach() -> None:
    """Neither a labeller nor an entropy nor a random number can be named in the module."""
    tree = ast.parse(Path(str(preview.__file__)).read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {
        *("__future__", "collections.abc", "dataclasses", "typing", "numpy.typing", "scipy.special"),
        *("pcqr.hypotheses.base", "pcqr.serialization", "pcqr.serialization.codec"),
    }


def test_rows_are_new_once() -> None:
    X = np.array([[1.0], [2.0], [1.0], [0.0], [-0.0], [3.0]])
    log = {preview.key(np.array([3.0])): None}
    assert new_rows(X, log).tolist() == [True, True, False, True, False, False]


@pytest.mark.parametrize(
    ("marks", "unstable", "queries", "certain", "chance"),
    [
        ("nnn", 3, None, 3, 0.0),
        ("nrnrn", 2, None, 4, None),
        ("rrnn", 0, None, 2, 1.0),
        ("nnnn", 9, 3, 3, 1.0),
        ("nnnn", 2, 3, 2, 1.0),
        ("nnn", 2, 3, 2, None),
        ("rr", 0, 0, 2, 0.0),
        ("", 0, None, 0, 0.0),
    ],
)
def test_what_is_certain(marks: str, unstable: int, queries: int | None, certain: int, chance: float | None) -> None:
    told = cost(marks, unstable=unstable, queries=queries)
    assert (told.certain, told.chance_of_halting) == (certain, chance)
    assert told.is_certain == (chance == 0.0)
    assert told.is_refused == (chance == 1.0)
    assert told.expected_unstable is None
    assert (told.epsilon, told.delta) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("marks", "votes", "new", "repeated", "published"),
    [("nnrnr", 2, 2, 0, 3), ("nrnnr", 2, 2, 1, 2), ("nrnnr", 9, 3, 2, 0), ("nrr", 0, 0, 0, 3)],
)
def test_rows_after_publication_are_free(marks: str, votes: int, new: int, repeated: int, published: int) -> None:
    told = cost(marks, unstable=1, votes=votes)
    assert (told.new, told.repeated, told.published) == (new, repeated, published)
    assert told.is_certain
    assert told.chance_of_halting == 0.0


QUOTAS = st.none() | st.builds(Usage, st.none() | st.integers(0, 9), st.none() | st.integers(0, 4))


@given(
    marks=st.text("nr", max_size=9),
    unstable=st.integers(0, 4),
    queries=st.none() | st.integers(0, 9),
    share=st.floats(0.0, 1.0),
    quota=QUOTAS,
)
def test_the_model_is_the_sum_over_all_outcomes(
    marks: str, unstable: int, queries: int | None, share: float, quota: Usage | None
) -> None:
    """Every pattern of stable and unstable answers, each weighed by its chance, played to the end."""
    told = cost(marks, unstable=unstable, queries=queries, share=share, quota=quota)
    halting = expected = exhausting = 0.0
    fewest = len(marks)
    for pattern in itertools.product((False, True), repeat=marks.count("n")):
        chance = float(np.prod([share if flop else 1.0 - share for flop in pattern]))
        flops, remaining, own, answered = iter(pattern), Usage(queries, unstable), quota or Usage(None, None), 0
        for mark in marks:
            if mark == "n":
                if remaining.is_nothing or own.is_nothing:
                    exhausting += chance * remaining.is_nothing
                    break
                flop = next(flops)
                remaining, own = (_after(each, flop) for each in (remaining, own))
            answered += 1
        halting += chance * (answered < len(marks))
        expected += chance * (unstable - (remaining.unstable or 0))
        fewest = min(fewest, answered)
    assert told.certain == fewest
    assert told.chance_of_halting == pytest.approx(halting, abs=1e-12)
    assert told.chance_of_exhausting == pytest.approx(exhausting, abs=1e-12)
    assert told.expected_unstable == pytest.approx(expected, abs=1e-12)
    assert told.requested == told.new + told.repeated + told.published
    assert told.beyond_plan == max(0, marks.count("n") - 3)


def _after(remaining: Usage, flop: bool) -> Usage:
    queries = None if remaining.queries is None else remaining.queries - 1
    return Usage(queries, None if remaining.unstable is None else remaining.unstable - flop)


def test_a_batch_that_probably_uses_up_the_release_says_so() -> None:
    assert not cost("n" * 9, unstable=5, share=0.5).is_exhausting
    assert cost("n" * 20, unstable=5, share=0.5).is_exhausting
    assert not cost("n" * 20, unstable=5, share=0.01).is_exhausting
    assert cost("nnn", unstable=9, queries=2).is_exhausting
    assert not cost("nnn", unstable=9, queries=3).is_exhausting, "all of it, and every row is answered"
    assert not cost("n" * 20, unstable=0, share=0.5).is_exhausting, "it is used up already"
    assert not cost("n" * 20, unstable=5, share=0.5, votes=4).is_exhausting, "it publishes"
    assert cost("n" * 20, unstable=5, share=None).is_exhausting, "nobody knows, and it is more than was planned"
    assert not cost("nnn", unstable=2, share=None).is_exhausting
    assert not cost("n" * 20, unstable=20, share=None).is_exhausting
    for quota in (Usage(4, None), Usage(None, 4), Usage(0, None)):
        assert not cost("n" * 20, unstable=5, share=0.5, quota=quota).is_exhausting, "the quota ends before"
    assert cost("n" * 20, unstable=5, share=0.5, quota=Usage(None, 5)).is_exhausting


def test_a_release_that_publishes_is_within_the_quota_of_a_key_all_the_same() -> None:
    told = cost("nnnrn", unstable=9, votes=3, quota=Usage(2, None))
    assert (told.certain, told.chance_of_halting, told.is_refused) == (2, 1.0, True)
    assert "The key's quota will end before the last row" in str(told)
    assert cost("nnnrn", unstable=9, votes=3, quota=Usage(3, None)).is_certain


@given(
    marks=st.text("nr", max_size=9),
    unstable=st.integers(0, 4),
    queries=st.none() | st.integers(0, 9),
    shares=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)).map(lambda pair: (min(pair), max(pair))),
)
def test_a_range_is_what_either_share_lets_one_expect(
    marks: str, unstable: int, queries: int | None, shares: tuple[float, float]
) -> None:
    least, most = (cost(marks, unstable=unstable, queries=queries, share=share) for share in shares)
    told = with_range(cost(marks, unstable=unstable, queries=queries, share=shares[0]), shares)
    assert told.unstable_range == (least.expected_unstable, most.expected_unstable)
    assert with_range(least, None) == least


def test_it_reads_well() -> None:
    assert str(cost("nrn", unstable=5)) == (
        "3 rows: 2 new queries; 1 repeated, from the log at no cost.\n"
        "The batch adds nothing to ε and δ: all of it is charged once, at fit.\n"
        "Remaining: 5 unstable answers and any number of stable ones. Every row will be answered."
    )
    risky = str(cost("nnnn", unstable=1, share=0.25))
    assert "certain to be answered: the first row." in risky
    assert "an estimate and not a bound, expects about 0.7 unstable answers, and a chance of 0.58 that" in risky
    ranged = str(with_range(cost("nnnn", unstable=1, share=0.25), (0.0, 0.5)))
    assert "about 0.7 unstable answers (0.0 to 0.9, as far off as it was on real tables), and a chance of" in ranged
    assert risky.endswith("Beyond the number for which accuracy was planned: 1 of the new queries.")
    quota = str(cost("nn", unstable=5, share=0.5, quota=Usage(0, None)))
    assert "and any number of stable ones. Remaining of this key's quota: 0 queries. The key's " in quota
    assert "quota will end before the last row; certain to be answered: no row." in quota
    refused = str(cost("nn", unstable=1, queries=0, share=0.5))
    assert "Remaining: 0 queries and 1 unstable answer. The release will be exhausted before the last row" in refused
    assert "certain to be answered: no row." in refused
    assert "model" not in refused
    assert "a chance below 0.001" in str(cost("nnn", unstable=2, share=1e-9))
    assert "a chance above 0.999" in str(cost("n" * 99, unstable=2, share=0.9))
    assert "2 for the published classifier, at no cost" in str(cost("nnn", unstable=2, votes=1))


@pytest.mark.parametrize("labels", [1, 2, 4])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_limits_of_labels_agree_with_all_patterns_of_answers(labels: int, share: float) -> None:
    """Six new rows; a label takes one of the labels, ⊥ none, and whatever comes after the last label is not asked."""
    told = batch_cost(
        np.ones(6, dtype=np.bool_),
        remaining=Usage(9, None, labels),
        planned=9,
        unstable_share=share,
        votes_remaining=None,
    )
    assert (told.certain, told.is_refused) == (labels, False)
    halted = unstable = 0.0
    for pattern in itertools.product((False, True), repeat=6):  # is the answer ⊥?
        chance = math.prod(share if is_bottom else 1.0 - share for is_bottom in pattern)
        given = 0
        for is_bottom in pattern:
            if given == labels:
                halted += chance
                break
            given += not is_bottom
            unstable += chance * is_bottom
    assert told.chance_of_halting == pytest.approx(halted, abs=1e-12)
    assert told.expected_unstable == pytest.approx(unstable, abs=1e-12)


def test_no_labels_left_is_a_halt() -> None:
    told = batch_cost(
        np.ones(2, dtype=np.bool_), remaining=Usage(9, None, 0), planned=9, unstable_share=None, votes_remaining=None
    )
    assert (told.certain, told.chance_of_halting, told.is_refused) == (0, 1.0, True)
    assert Usage(9, None, 0).is_nothing
    assert str(Usage(1, 2, 3)) == "1 query, 2 unstable answers and 3 labels"
