"""The event is the one that a knowing attacker would pick, and counts what it should."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pcqr.audit.statistical import Event, best_event, least_epsilon


def test_the_telling_outcomes_are_chosen_in_either_direction() -> None:
    first, second = Counter(a=700, b=280, c=20), Counter(a=700, b=20, c=280)
    assert best_event(first, second, 0.0, 1e-3) in (Event(frozenset("b"), False), Event(frozenset("c"), True))
    rare = Counter(a=990, b=10), Counter(a=600, b=400)
    assert best_event(*rare, 0.0, 1e-3) == Event(frozenset("b"), True)
    assert best_event(rare[1], rare[0], 0.0, 1e-3) == Event(frozenset("b"), False)


def test_an_event_counts_on_the_side_where_it_is_likelier_first() -> None:
    first, second = Counter(a=3, b=1), Counter(a=1, c=2)
    assert Event(frozenset("a"), False).hits(first, second) == (3, 1)
    assert Event(frozenset("ac"), True).hits(first, second) == (3, 3)
    assert Event(frozenset({"unseen"}), False).hits(first, second) == (0, 0)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=5), st.sampled_from([0.0, 0.1]))
def test_with_many_runs_no_set_of_outcomes_does_better(counts: list[tuple[int, int]], delta: float) -> None:
    """Against all subsets, in both directions."""
    most = max(sum(p for p, _ in counts), sum(q for _, q in counts), 1)
    rest = (most - sum(p for p, _ in counts), most - sum(q for _, q in counts))
    first, second = (Counter({i: 10**5 * pair[side] for i, pair in enumerate([*counts, rest])}) for side in (0, 1))
    runs = 10**5 * most
    chosen = best_event(first, second, delta, 0.1)
    reached = float(least_epsilon(*chosen.hits(first, second), runs, delta, 0.1))
    for size in range(1, len(first) + 1):
        for subset in itertools.combinations(first, size):
            for swapped in (False, True):
                hits = Event(frozenset(subset), swapped).hits(first, second)
                assert float(least_epsilon(*hits, runs, delta, 0.1)) <= reached + 0.02
