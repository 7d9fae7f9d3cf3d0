"""The auditor on mechanisms whose ε is known: it gets near, it does not exceed, it flags what is worse than claimed."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from pcqr.audit.broken.votes import VOTE_BUGS
from pcqr.audit.statistical import (
    Event,
    Subject,
    audit,
    best_event,
    largest_probability,
    least_epsilon,
    least_probability,
    observe,
    processes,
    shipped_subjects,
)
from pcqr.errors import ParameterError
from pcqr.privacy.entropy import Entropy, SystemEntropy
from pcqr.privacy.guarantee import Guarantee

LEVEL = 1e-9
"""Tests must not fail by chance."""


@dataclass(frozen=True)
class RandomisedResponse:
    """The truth with probability 3/4: ln 3, attained by either outcome."""

    def __call__(self, truth: int, entropy: Entropy) -> int:
        return truth if entropy.below(4, 1)[0] else 1 - truth


@dataclass(frozen=True)
class Fails:
    def __call__(self, secret: int, entropy: Entropy) -> int:  # noqa: ARG002
        raise ValueError(f"{secret} is not allowed")


def response(claimed: float, delta: float = 0.0) -> Subject:
    return Subject("randomised response", Guarantee(claimed, delta), RandomisedResponse(), 0, 1)


def test_the_bound_is_near_the_truth_and_below_it() -> None:
    (audited,) = audit([response(math.log(3.0))], runs=20_000, level=LEVEL)
    assert 0.8 < audited.epsilon <= math.log(3.0)
    assert not audited.refutes(Guarantee(math.log(3.0)))
    assert audited.refutes(Guarantee(0.8))
    assert audited.runs == 20_000
    assert audited.hits + audited.others == pytest.approx(10_000, abs=600)


def test_delta_is_granted() -> None:
    (granted,) = audit([response(1.0, delta=0.5)], runs=10_000, level=LEVEL)
    assert granted.epsilon == 0.0, "(3/4 − 1/2) / (1/4) is 1"


def test_neighbours_that_look_the_same_give_nothing() -> None:
    (nothing,) = audit([Subject("same", Guarantee(0.0), RandomisedResponse(), 0, 0)], runs=4000, level=LEVEL)
    assert nothing.epsilon == 0.0


def test_the_choice_of_the_event_and_its_judgement_do_not_share_runs() -> None:
    """Every outcome is new: chosen on the runs that judge it, an event would hold all of one side's outcomes."""
    (audited,) = audit([Subject("noise", Guarantee(0.0), _word, 0, 1)], runs=2000, level=0.5)
    assert (audited.hits, audited.others) == (0, 0)


def _word(_: int, entropy: Entropy) -> Hashable:
    return int(entropy.words(1)[0])


def test_an_exception_is_an_outcome_with_its_text() -> None:
    assert observe(Fails(), 7, SystemEntropy()) == ("raised", "ValueError", "7 is not allowed")
    (audited,) = audit([Subject("fails", Guarantee(1.0), Fails(), 7, 8)], runs=200, level=1e-3)
    assert audited.refutes(Guarantee(1.0))


def test_several_processes_count_every_run_once() -> None:
    subject = VOTE_BUGS[0].broken  # of the library: another process must find its class
    heard: list[int] = []
    with processes(2) as submit:
        first, second = audit([subject, subject], runs=1001, level=LEVEL, submit=submit, advance=heard.append)
    assert first.runs == second.runs == 1000, "two halves of 500"
    assert sum(heard) == 2 * 2 * 1000
    assert first.hits != 0


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match="runs"):
        audit([], runs=1, level=0.1)
    with pytest.raises(ParameterError, match="level"):
        audit([], runs=10, level=0.0)


@pytest.mark.parametrize("subject", shipped_subjects(full=True), ids=lambda subject: subject.name)
def test_shipped_subjects_run_and_leave_something_open(subject: Subject) -> None:
    """Their claims are judged in tests/cli/test_audit.py, which runs the whole audit."""
    for data in (subject.first, subject.second):
        seen: set[object] = set()
        for run in range(3_000):
            seen.add(observe(subject.mechanism, data, SystemEntropy()))
            if run >= 60 and len(seen) > 1:
                break
        assert len(seen) > 1, "an outcome that is certain would be no test"
        assert all(isinstance(outcome, str) for outcome in seen), "nothing was raised"


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


@pytest.mark.parametrize("runs", [10, 300])
@pytest.mark.parametrize("level", [0.05, 1e-6])
def test_the_limits_miss_as_rarely_as_they_say_and_not_much_more_rarely(runs: int, level: float) -> None:
    hits = np.arange(runs + 1)
    low, high = least_probability(hits, runs, level), largest_probability(hits, runs, level)
    for p in (0.001, 0.1, 0.5, 0.97):
        law = binom(runs, p).pmf(hits)
        assert law[low > p].sum() <= level
        assert law[high < p].sum() <= level
    # Clopper and Pearson's definition: at the limit itself, what was seen or more has exactly that chance.
    assert binom(runs, low[1:]).sf(hits[1:] - 1) == pytest.approx(level, rel=1e-6)
    assert binom(runs, high[:-1]).cdf(hits[:-1]) == pytest.approx(level, rel=1e-6)
    assert (low[0], high[-1]) == (0.0, 1.0)


@given(
    p=st.floats(0.01, 0.99),
    q=st.floats(0.01, 0.99),
    delta=st.sampled_from([0.0, 0.01, 0.2]),
    level=st.sampled_from([0.2, 0.01]),
)
def test_a_bound_on_epsilon_is_too_high_no_more_often_than_its_level(
    p: float, q: float, delta: float, level: float
) -> None:
    """The exact chance, over all pairs of counts, that the bound exceeds the true ln((p − δ)/q)."""
    runs = 40
    hits = np.arange(runs + 1)
    bounds = least_epsilon(hits[:, None], hits[None, :], runs, delta, level)
    truth = math.log((p - delta) / q) if p > delta else -math.inf
    chances = binom(runs, p).pmf(hits)[:, None] * binom(runs, q).pmf(hits)[None, :]
    assert chances[(bounds > truth + 1e-12) & (bounds > 0)].sum() <= level
