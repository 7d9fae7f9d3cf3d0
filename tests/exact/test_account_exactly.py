"""The account's filters against every adversary who chooses each next release from all outcomes so far.

By the first step of proofs/account.md a release is a randomised response, so trees of these are all that there is. The
best adversary is found by going back through the tree, in rational numbers: every ε is a multiple of 0.05, and e^0.05
is `STEP`, a rational number within 10⁻¹⁶ of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.durable.account.filters import BasicFilter, ConcentratedFilter, Filter, Tally, exact, new_filter
from pcqr.privacy.guarantee import Guarantee

Offer = tuple[float, float]
Fits = Callable[[Tally, Tally], bool]


STEP = Fraction(math.exp(0.05))


def exp(epsilon: float) -> Fraction:
    return STEP ** round(20 * epsilon)


def worst_delta(account: Filter, offers: Sequence[Offer], rounds: int, fits: Fits | None = None) -> Fraction:
    """The largest Σ (P − e^ε·Q)₊ at the account's ε over all adversaries who choose among `offers` for so many rounds.

    The adversary sees every outcome and stops when it likes, or when nothing fits any more. The value of a node is its
    likelihoods (p, q) times a function of their ratio and of what was spent, so a node is known by both.
    """
    factor = exp(account.epsilon)
    passes = fits or (lambda spent, price: (spent + price).within(account.limit))

    @cache
    def value(p: Fraction, q: Fraction, spent: Tally, remaining: int) -> Fraction:
        best = max(Fraction(0), p - factor * q)
        if remaining == 0 or q == 0:
            return max(best, p if q == 0 else best)
        for epsilon, delta in offers:
            price = account.price(Guarantee(epsilon, delta))
            if not passes(spent, price):
                continue
            odds, failed = exp(epsilon), exact(delta)
            likely, unlikely = (1 - failed) * odds / (1 + odds), (1 - failed) / (1 + odds)
            after = spent + price
            total = failed * p  # it has said which table it is
            total += value(p * likely, q * unlikely, after, remaining - 1)
            total += value(p * unlikely, q * likely, after, remaining - 1)
            best = max(best, total)
        return best

    return value(Fraction(1), Fraction(1), Tally(), rounds)


EPSILONS = st.integers(1, 30).map(lambda steps: steps / 20)
OFFERS: Sequence[Offer] = ((0.5, 0.0), (0.25, 0.01), (0.1, 0.02), (1.0, 0.005))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.3])
@pytest.mark.parametrize("delta", [0.0, 0.02, 0.05])
def test_no_adversary_beats_the_basic_filter(epsilon: float, delta: float) -> None:
    assert worst_delta(BasicFilter(epsilon, delta), OFFERS, rounds=5) <= exact(delta)


VARIED: Sequence[Offer] = ((0.05, 0.0), (0.1, 0.004), (0.2, 0.0), (0.35, 0.01), (0.6, 0.0))


@pytest.mark.parametrize(
    ("epsilon", "delta", "offers", "rounds"),
    [
        (0.5, 0.02, VARIED, 6),
        (1.0, 0.05, VARIED, 6),
        (1.3, 0.1, VARIED, 6),
        (2.0, 1e-3, ((0.15, 0.0),), 15),
        (1.0, 1e-2, ((0.05, 0.0), (0.1, 0.0)), 22),
        (1.0, 1e-2, ((0.05, 1e-4), (0.2, 1e-4)), 34),
    ],
)
def test_no_adversary_beats_the_zcdp_filter(epsilon: float, delta: float, offers: Sequence[Offer], rounds: int) -> None:
    account = ConcentratedFilter.calibrated(epsilon, delta)
    assert 0 < worst_delta(account, offers, rounds) <= exact(delta)


@given(
    offers=st.lists(st.tuples(EPSILONS, st.floats(0.0, 0.05)), min_size=1, max_size=3),
    epsilon=EPSILONS,
    delta=st.floats(1e-3, 0.2),
    name=st.sampled_from(["basic", "zcdp"]),
)
def test_whatever_is_on_offer(offers: list[Offer], epsilon: float, delta: float, name: str) -> None:
    assert worst_delta(new_filter(name, epsilon, delta), offers, rounds=3) <= exact(delta)


@pytest.mark.parametrize("offer", [(0.5, 0.0), (0.05, 0.02)])
def test_one_release_too_many_would_be_noticed(offer: Offer) -> None:
    """The same walk with a filter that looks at what was spent, and forgets what is about to be."""
    account = BasicFilter(1.0, 0.05)

    def careless(spent: Tally, _: Tally) -> bool:
        return spent.within(account.limit)

    assert worst_delta(account, [offer], rounds=4, fits=careless) > exact(0.05)


def test_too_large_a_rho_would_be_noticed() -> None:
    account = ConcentratedFilter.calibrated(1.0, 0.05)
    generous = Tally(8 * account.limit.loss, account.limit.delta)
    assert worst_delta(account, [(0.2, 0.0)], rounds=14, fits=lambda s, p: (s + p).within(generous)) > exact(0.05)


# The first step of the proof: an interactive mechanism is one coin that knows the table, and strategies that do not.

History = tuple[int, ...]
QUERIES = ANSWERS = (0, 1)
ENDS = list(itertools.product(QUERIES, ANSWERS, QUERIES, ANSWERS))
Pair = tuple[Fraction, Fraction]


@st.composite
def mechanisms(draw: st.DrawFn) -> dict[History, Fraction]:
    """Two rounds, two queries, two answers: the chance of the answers at each end, as rational numbers."""
    tenths = st.integers(0, 10)
    first = {q: draw(tenths) for q in QUERIES}
    second = {h: draw(tenths) for h in itertools.product(QUERIES, ANSWERS, QUERIES)}

    def chance(ones: int, answer: int) -> Fraction:
        return Fraction(ones if answer else 10 - ones, 10)

    return {(q, a, r, b): chance(first[q], a) * chance(second[q, a, r], b) for q, a, r, b in ENDS}


def total_over_answers(at_end: dict[History, Pair], history: History) -> Iterator[Pair]:
    """For each next query, the sum over its answers of what is known at the end or one round before."""
    for q in QUERIES:
        parts = [corner(at_end, (*history, q, a)) for a in ANSWERS]
        yield sum(x for x, _ in parts), sum(y for _, y in parts)  # type: ignore[misc]


def corner(at_end: dict[History, Pair], history: History) -> Pair:
    """c(h) of the proof."""
    if len(history) == 4:
        return at_end[history]
    sums = list(total_over_answers(at_end, history))
    return min(x for x, _ in sums), min(y for _, y in sums)


def split(point: Pair, parts: Sequence[Pair], growth: Fraction) -> list[Pair]:
    """A point of B(Σ c) as a sum of points of the B(c): the same mean of corners of each."""
    whole = (sum(c[0] for c in parts), sum(c[1] for c in parts))
    weights = weights_of(point, whole, growth)  # type: ignore[arg-type]
    return [
        (sum(w * k[0] for w, k in zip(weights, corners(c, growth), strict=True)),
         sum(w * k[1] for w, k in zip(weights, corners(c, growth), strict=True)))  # type: ignore[misc]
        for c in parts
    ]  # fmt: skip


def corners(c: Pair, growth: Fraction) -> tuple[Pair, Pair, Pair, Pair]:
    return (Fraction(0), Fraction(0)), c, (c[0], c[0] / growth), (c[1] / growth, c[1])


def weights_of(point: Pair, c: Pair, growth: Fraction) -> tuple[Fraction, ...]:
    """λ with Σ λ_j·corner_j(c) = point: in one of the two triangles that c cuts B(c) into."""
    for third in (2, 3):
        chosen = corners(c, growth)[third]
        determinant = c[0] * chosen[1] - c[1] * chosen[0]
        if determinant == 0:
            if c[0] * point[1] == c[1] * point[0]:
                share = point[0] / c[0] if c[0] else Fraction(0)
                if share <= 1:
                    return (1 - share, share, Fraction(0), Fraction(0))
            continue
        along = (point[0] * chosen[1] - point[1] * chosen[0]) / determinant
        beside = (c[0] * point[1] - c[1] * point[0]) / determinant
        if along >= 0 and beside >= 0 and along + beside <= 1:
            found = [1 - along - beside, along, Fraction(0), Fraction(0)]
            found[third] = beside
            return tuple(found)
    raise AssertionError("The point is not in B(c).")


@given(mechanisms(), mechanisms(), st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(3), Fraction(20)]))
def test_an_interactive_mechanism_is_one_coin_and_strategies(
    p: dict[History, Fraction], q: dict[History, Fraction], growth: Fraction
) -> None:
    """With e^ε = `growth` and the least δ, f ≤ P and g ≤ Q are found with mass 1 − δ, and close at every history."""
    at_end: dict[History, Pair] = {h: (min(p[h], growth * q[h]), min(q[h], growth * p[h])) for h in ENDS}
    start = corner(at_end, ())
    excesses = []
    for first in QUERIES:
        for seconds in itertools.product(QUERIES, repeat=2):  # the second query for each first answer
            asked = [(first, a, seconds[a], b) for a in ANSWERS for b in ANSWERS]
            excesses.append(sum(max(Fraction(0), p[h] - growth * q[h]) for h in asked))
    assert 1 - start[0] == max(excesses)  # the best adversary's δ
    kept = min(start)

    def dp_gradient_descent(history: History, point: Pair) -> dict[History, Pair]:
        found = {history: point}
        if len(history) < 4:
            for query in QUERIES:
                parts = [corner(at_end, (*history, query, a)) for a in ANSWERS]
                for a, part in zip(ANSWERS, split(point, parts, growth), strict=True):
                    found |= dp_gradient_descent((*history, query, a), part)
        return found

    f = dp_gradient_descent((), (kept, kept))
    assert all(0 <= x <= growth * y and 0 <= y <= growth * x for x, y in f.values())
    assert all(f[h][0] <= p[h] and f[h][1] <= q[h] for h in ENDS)
    for history in {h for h in f if len(h) < 4}:
        for query in QUERIES:
            parts = [f[(*history, query, a)] for a in ANSWERS]
            assert (sum(x for x, _ in parts), sum(y for _, y in parts)) == f[history]


def test_randomised_response_is_half_of_epsilon_squared_concentrated() -> None:
    epsilons, orders = np.geomspace(1e-4, 20.0, 60)[:, None], 1.0 + np.geomspace(1e-4, 1e4, 80)[None, :]
    upper = (orders - 0.5) * epsilons
    log_cosh = [np.logaddexp(x, -x) - math.log(2.0) for x in (upper, epsilons / 2.0)]
    bound = orders * (orders - 1.0) * epsilons**2 / 2.0
    assert (log_cosh[0] - log_cosh[1] <= bound * (1 + 1e-9) + 1e-12).all()
