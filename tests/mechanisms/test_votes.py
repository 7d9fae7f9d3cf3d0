"""The distance to instability is the number of votes short of a change, counted by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.errors import DataError
from pcqr.mechanisms.stability import distance_to_instability, plurality

Counts = tuple[int, ...]
SMALL = [(2, 7), (3, 6), (4, 5), (5, 4)]


def tables(classes: int, votes: int) -> Iterator[Counts]:
    for bars in itertools.combinations(range(votes + classes - 1), classes - 1):
        edges = (-1, *bars, votes + classes - 1)
        yield tuple(high - low - 1 for low, high in itertools.pairwise(edges))


def one_vote_changed(counts: Counts) -> Iterator[Counts]:
    for giver, taker in itertools.permutations(range(len(counts)), 2):
        if counts[giver]:
            changed = list(counts)
            changed[giver] -= 1
            changed[taker] += 1
            yield tuple(changed)


def changes_that_are_harmless(counts: Counts) -> int:
    """By breadth-first search: how many arbitrary changes can never alter the plurality."""
    label, reached, steps = plurality(counts), {counts}, 0
    while True:
        reached |= {changed for table in reached for changed in one_vote_changed(table)}
        if any(plurality(table) != label for table in reached):
            return steps
        steps += 1


@pytest.mark.parametrize(("classes", "votes"), SMALL)
def test_it_is_the_number_of_harmless_changes(classes: int, votes: int) -> None:
    for k in range(1, votes + 1):
        for counts in tables(classes, k):
            assert distance_to_instability(counts) == changes_that_are_harmless(counts)


@pytest.mark.parametrize(("classes", "votes"), [(2, 15), (3, 10), (4, 8), (5, 7)])
def test_what_the_privacy_proof_needs(classes: int, votes: int) -> None:
    """≥ 0, moves by at most 1, and is 0 on both sides of every flip."""
    for k in range(1, votes + 1):
        for counts in tables(classes, k):
            d = distance_to_instability(counts)
            assert d >= 0
            for changed in one_vote_changed(counts):
                other = distance_to_instability(changed)
                assert abs(d - other) <= 1
                assert plurality(counts) == plurality(changed) or d == other == 0


def test_the_gap_of_the_paper_moves_by_two() -> None:
    """Top count − second count is no distance to instability: one teacher takes it from 3 to 1."""
    before, after = (4, 1), (3, 2)
    assert after in one_vote_changed(before)
    assert max(before) - min(before) - (max(after) - min(after)) == 2
    assert distance_to_instability(before) - distance_to_instability(after) == 1


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=8))
def test_more_votes_for_the_winner_never_bring_it_nearer_to_a_change(counts: list[int]) -> None:
    stronger = [c + 2 * (i == plurality(counts)) for i, c in enumerate(counts)]
    assert distance_to_instability(stronger) == distance_to_instability(counts) + 1


@pytest.mark.parametrize("counts", [[], [3], [[1, 2]], [1.0, 2.0]])
def test_bad_counts_are_refused_without_showing_them(counts: object) -> None:
    with pytest.raises(DataError, match="at least two labels"):
        distance_to_instability(counts)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="at least two labels"):
        plurality(counts)  # type: ignore[arg-type]
