"""Noisy majorities: the exact law of their answers on neighbours, against the claims, for the best adaptive adversary.

An answer's law is read off the code itself: every value of its noise is put in (Gaussian), or the weights that it draws
from are caught (exponential).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

import numpy as np
import pytest
from numpy.typing import NDArray
from support.exact import mixture

from pcqr.audit.exact import hockey_stick, largest_log_ratio, law_of
from pcqr.audit.exact.cases.peers import neighbouring_votes as neighbouring_votes_of
from pcqr.hypotheses import Thresholds
from pcqr.mechanisms import noisy_max as mechanism
from pcqr.mechanisms.noisy_max import ExponentialMax, GaussianMax, LaplaceMax, NoisyMax
from pcqr.privacy.accounting import BoundedRangeEvent, ConcentratedEvent, Event, PureEvent, Repeated, compose
from pcqr.privacy.accounting.gaussian import unit_steps_epsilon
from pcqr.privacy.accounting.renyi import divergence
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.noisy_max.run import noisy_max_guarantee

Chance = Callable[[int], float]
"""P(label 1) at so many votes for 1."""

Votes = tuple[int, ...]
"""For each query that may be asked: the votes for 1."""

Record = tuple[float, int]

UNUSED = SeededEntropy(0)
TEACHERS = 9
DELTAS = (1e-6, 1e-3, 0.1)
NOISES: list[NoisyMax] = [
    GaussianMax(0.7),
    GaussianMax(3.0),
    ExponentialMax(0.15),
    ExponentialMax(0.5),
    ExponentialMax(2.0),
]


def chance_of_one(noise: NoisyMax, teachers: int) -> Chance:
    law = _drawn_law if isinstance(noise, ExponentialMax) else _noised_law
    return cache(lambda ones: law(noise, ones, teachers))


def _drawn_law(noise: NoisyMax, ones: int, teachers: int) -> float:
    caught: list[NDArray[np.float64]] = []

    def catch(log_weights: NDArray[np.float64], _: object) -> int:
        caught.append(np.exp(log_weights))
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanism, "weighted_choice", catch)
        noise.decide(np.array([teachers - ones, ones]), UNUSED)
    return float(caught[0][1] / caught[0].sum())


def _noised_law(noise: NoisyMax, ones: int, teachers: int) -> float:
    assert isinstance(noise, GaussianMax)
    reach = math.ceil(12.0 * noise.scale) + teachers
    mass = {z: math.exp(-0.5 * (z / noise.scale) ** 2) for z in range(-reach, reach + 1)}
    said = []
    with pytest.MonkeyPatch.context() as patch:
        for z, weight in mass.items():
            patch.setattr(mechanism, "discrete_gaussian", lambda _scale, _entropy, z=z: z)
            said.append(weight * noise.decide(np.array([teachers - ones, ones]), UNUSED))
    return math.fsum(said) / math.fsum(mass.values())


def neighbouring_votes(teachers: int, change: int = 1) -> list[tuple[int, int]]:
    """The votes for 1 at a query, on one table and on its neighbour, where up to `change` teachers differ."""
    pairs = itertools.product(range(teachers + 1), repeat=2)
    return [(first, second) for first, second in pairs if abs(first - second) <= change]


def best_adversary(chance: Chance, menu: Sequence[tuple[int, int]], epsilon: float, rounds: int) -> float:
    """The largest hockey-stick divergence of `rounds` answers, each query chosen from `menu` by the answers so far."""
    laws = [((chance(a), 1.0 - chance(a)), (chance(b), 1.0 - chance(b))) for a, b in menu]

    def value(p: float, q: float, remaining: int) -> float:
        if remaining == 0:
            return max(0.0, p - math.exp(epsilon) * q)
        return max(
            value(p * first[0], q * second[0], remaining - 1) + value(p * first[1], q * second[1], remaining - 1)
            for first, second in laws
        )

    return value(1.0, 1.0, rounds)


def is_refuted(noise: NoisyMax, event: Event, rounds: int, *, change: int = 1) -> bool:
    """Does an adversary reach more than δ at the ε that `rounds` times `event` would have, for any δ tried?"""
    chance, menu = chance_of_one(noise, TEACHERS), neighbouring_votes(TEACHERS, change)
    claims = (compose([Repeated(event, rounds)], delta, accountant="Rényi") for delta in DELTAS)
    return any(best_adversary(chance, menu, claim.epsilon, rounds) > claim.delta for claim in claims)


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_answers_to_adaptive_queries_are_as_private_as_claimed(noise: NoisyMax, rounds: int) -> None:
    chance, menu = chance_of_one(noise, TEACHERS), neighbouring_votes(TEACHERS)
    for delta in DELTAS:
        claimed = noisy_max_guarantee(NoisyMaxStage(100, TEACHERS, rounds, noise), delta)
        assert claimed.delta <= delta
        assert best_adversary(chance, menu, claimed.epsilon, rounds) <= claimed.delta + 1e-15
    assert best_adversary(chance, menu, 0.0, rounds) > 0.05, "neighbours differ at all"
    assert not is_refuted(noise, noise.event(TEACHERS, 2), rounds)


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_without_the_half_the_exponential_form_is_refuted(epsilon: float, rounds: int) -> None:
    """Weights e^{ε·count} sold as ε a query, as a public implementation does: nearly 2ε."""
    forgetful, proper = ExponentialMax(epsilon), ExponentialMax(epsilon / 2.0)
    assert is_refuted(forgetful, BoundedRangeEvent(epsilon), rounds)
    assert not is_refuted(proper, BoundedRangeEvent(epsilon), rounds)
    menu = neighbouring_votes(TEACHERS)
    pure = rounds * epsilon * (1.0 + 1e-12)
    assert best_adversary(chance_of_one(forgetful, TEACHERS), menu, pure, rounds) > 0.01
    assert best_adversary(chance_of_one(proper, TEACHERS), menu, pure, rounds) <= 1e-15


def log_law(noise: NoisyMax, ones: int, teachers: int) -> tuple[float, float]:
    """(ln P(label 1), ln P(label 0)), each with all its digits: for an odd number of teachers labels are alike."""
    chance = chance_of_one(noise, teachers)
    return math.log(chance(ones)), math.log(chance(teachers - ones))


def test_the_range_of_an_exponential_answer_is_attained() -> None:
    eta, teachers = 0.5, 41
    noise = ExponentialMax(eta)
    ranges = []
    for a, b in neighbouring_votes(teachers):
        (p1, p0), (q1, q0) = log_law(noise, a, teachers), log_law(noise, b, teachers)
        assert max(p1 - q1, p0 - q0) <= 2 * eta
        ranges.append(abs((p1 - q1) - (p0 - q0)))
    assert max(ranges) == pytest.approx(2 * eta, rel=1e-12)
    far = log_law(noise, 1, teachers)[0] - log_law(noise, 0, teachers)[0]
    assert far == pytest.approx(2 * eta, rel=1e-6), "far from a tie one answer's loss is all of the range"


@pytest.mark.parametrize("noise", NOISES[:2], ids=str)
def test_half_of_the_gaussian_forms_cost_would_be_refuted(noise: GaussianMax) -> None:
    """As would be claimed, for instance, for noise on the gap between the counts, which moves by 2."""
    rho = 0.5 / noise.scale**2
    assert not is_refuted(noise, ConcentratedEvent(rho), 2)
    assert is_refuted(noise, ConcentratedEvent(rho / 2.0), 2)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_a_record_that_two_teachers_share_breaks_the_claim(noise: NoisyMax) -> None:
    assert is_refuted(noise, noise.event(TEACHERS, 2), 3, change=2)


@pytest.mark.parametrize("scale", [0.7, 2.0, 5.0])
def test_gaussian_answers_keep_their_renyi_divergence_at_every_order(scale: float) -> None:
    teachers = 31
    laws = [log_law(GaussianMax(scale), ones, teachers) for ones in range(teachers + 1)]
    for order in (1.1, 1.5, 2.0, 4.0, 8.0, 16.0):
        moments = [
            sum(math.exp(order * p - (order - 1) * q) for p, q in zip(laws[a], laws[b], strict=True))
            for a, b in neighbouring_votes(teachers)
        ]
        largest = math.log(max(moments)) / (order - 1)
        assert 0.4 * order / (2 * scale**2) < largest <= order / (2 * scale**2)


def several_labels_law(noise: NoisyMax, votes: Sequence[int]) -> dict[int, float]:
    """Of one answer, summed over every value of the noise on every count, or read off the weights."""
    if isinstance(noise, ExponentialMax):
        weights = [math.exp(noise.inverse_temperature * count) for count in votes]
        return {label: weight / math.fsum(weights) for label, weight in enumerate(weights)}
    reach = math.ceil(noise.scale * (11.0 if isinstance(noise, GaussianMax) else 60.0))
    z = np.arange(-reach, reach + 1)
    mass = np.exp(-0.5 * (z / noise.scale) ** 2) if isinstance(noise, GaussianMax) else np.exp(-np.abs(z) / noise.scale)
    mass /= mass.sum()
    law = {}
    for label, count in enumerate(votes):
        chance = mass.copy()
        for other, rival in enumerate(votes):
            if other != label:  # a rival that comes first must be beaten, one that comes later may be level
                most = count + z - rival - (other < label)
                chance *= np.append(0.0, mass.cumsum())[np.clip(most + reach + 1, 0, mass.size)]
        law[label] = math.fsum(chance)
    return law


SEVERAL = [
    GaussianMax(0.7),
    GaussianMax(3.0),
    LaplaceMax(0.5),
    LaplaceMax(3.0),
    ExponentialMax(0.15),
    ExponentialMax(2.0),
]


@pytest.mark.parametrize("noise", SEVERAL, ids=str)
def test_the_code_has_the_law_of_the_note_for_three_labels(noise: NoisyMax) -> None:
    for votes in ((2, 1, 1), (0, 0, 4), (3, 4, 3)):
        witness_words = law_of(partial(noise.decide, np.array(votes)))
        expected = several_labels_law(noise, votes)
        assert [witness_words[label] for label in range(3)] == pytest.approx(
            [expected[label] for label in range(3)], rel=1e-9
        )


@pytest.mark.parametrize("noise", SEVERAL, ids=str)
@pytest.mark.parametrize("labels", [3, 4])
def test_answers_among_several_labels_are_as_private_as_claimed(noise: NoisyMax, labels: int) -> None:
    """One answer, its Rényi divergences and its (ε, δ), whichever vote moves; half of the cost would be refuted."""
    event = noise.event(6, labels)
    pairs = [
        (several_labels_law(noise, first), several_labels_law(noise, second))
        for first, second in neighbouring_votes_of(6, labels)
    ]
    reached = {order: max(renyi(p, q, order) for p, q in pairs) for order in (1.5, 2.0, 8.0)}
    for order, found in reached.items():
        assert found <= divergence(event, order) * (1 + 1e-9)
    claimed = noisy_max_guarantee(NoisyMaxStage(100, 6, 1, noise, labels), 1e-3)
    assert max(hockey_stick(p, q, claimed.epsilon) for p, q in pairs) <= claimed.delta + 1e-12
    if isinstance(event, PureEvent | BoundedRangeEvent):
        ratio = max(largest_log_ratio(p, q) for p, q in pairs)
        assert 0.5 * event.epsilon < ratio <= event.epsilon + 1e-9, (
            "what one count's sensitivity would allow is exceeded"
        )
    else:
        assert max(reached[order] / divergence(event, order) for order in reached) > 0.55


def best_adversary_among_several(pairs: Sequence[tuple[Votes, Votes]], noise: NoisyMax, epsilon: float) -> float:
    """The largest hockey-stick divergence of two answers, the second query chosen by the first answer."""
    first, second = (
        np.array([list(several_labels_law(noise, votes).values()) for votes in side])
        for side in zip(*pairs, strict=True)
    )

    def best(p: float, q: float) -> float:
        return float(np.maximum(0.0, p * first - math.exp(epsilon) * q * second).sum(axis=1).max())

    return max(sum(best(p, q) for p, q in zip(*rows, strict=True)) for rows in zip(first, second, strict=True))


@pytest.mark.parametrize("scale", [2.0, 4.0])
def test_two_adaptive_answers_among_three_labels_are_as_private_as_unit_steps_say(scale: float) -> None:
    """Four counts move, two at each answer; the claim for one at each is refuted."""
    pairs, noise = neighbouring_votes_of(7, 3), GaussianMax(scale)
    reached = partial(best_adversary_among_several, pairs, noise)
    for delta in DELTAS:
        claimed = noisy_max_guarantee(NoisyMaxStage(100, 7, 2, noise, 3), delta)
        assert claimed.epsilon == unit_steps_epsilon(scale, 4, delta), "less than Rényi's figure"
        assert reached(claimed.epsilon) <= claimed.delta
    assert reached(unit_steps_epsilon(scale, 2, 1e-3)) > 4e-3


def renyi(p: Mapping[int, float], q: Mapping[int, float], order: float) -> float:
    return math.log(math.fsum(p[label] ** order * q[label] ** (1 - order) for label in p)) / (order - 1)


def partitions(count: int, parts: int) -> list[tuple[tuple[int, ...], ...]]:
    """Every split of `count` positions that a uniform permutation can lead to, each equally likely."""
    splits = (np.array_split(order, parts) for order in itertools.permutations(range(count)))
    return sorted({tuple(tuple(sorted(map(int, part))) for part in split) for split in splits})


def votes_law(records: Sequence[Record], queries: Sequence[float], teachers: int) -> dict[Votes, float]:
    """The law of the votes for 1 at each query, over the partition."""
    x, y = (np.array(column) for column in zip(*records, strict=True))
    splits = partitions(len(records), teachers)
    grid = np.array(queries)[:, None]

    def votes(split: Sequence[Sequence[int]]) -> Votes:
        said = [Thresholds().learn(x[list(part)], y[list(part)]).predict(grid) for part in split]
        return tuple(map(int, np.sum(said, axis=0)))

    return mixture((1.0 / len(splits), {votes(split): 1.0}) for split in splits)


def best_adversary_on_votes(
    chance: Chance, first: Mapping[Votes, float], second: Mapping[Votes, float], epsilon: float, rounds: int
) -> float:
    """As `best_adversary`, where the votes are random, and the same for all rounds of a run."""
    queries = range(len(next(iter(first))))

    def laws(tables: Mapping[Votes, float]) -> list[NDArray[np.float64]]:
        return [np.array([chance(votes[i]) for votes in tables]) for i in queries]

    ones_p, ones_q = laws(first), laws(second)

    def value(p: NDArray[np.float64], q: NDArray[np.float64], remaining: int) -> float:
        if remaining == 0:
            return max(0.0, float(p.sum()) - math.exp(epsilon) * float(q.sum()))
        return max(
            value(p * ones_p[i], q * ones_q[i], remaining - 1)
            + value(p * (1.0 - ones_p[i]), q * (1.0 - ones_q[i]), remaining - 1)
            for i in queries
        )

    return value(np.array(list(first.values())), np.array(list(second.values())), rounds)


@pytest.mark.parametrize("noise", [GaussianMax(0.8), ExponentialMax(0.5)], ids=str)
@pytest.mark.parametrize("common", [[(1.0, 0)] * 4, [(0.0, 0), (1.0, 0), (1.0, 1), (2.0, 1), (3.0, 0)]])
def test_partition_teachers_and_noise_together(noise: NoisyMax, common: list[Record]) -> None:
    """Five or six records, three teachers, every pair of neighbours among three that differ the most."""
    chance, queries, rounds = chance_of_one(noise, 3), (0.0, 1.0, 2.0), 3
    laws = [votes_law([*common, last], queries, 3) for last in [(0.0, 1), (2.0, 0), (1.0, 1)]]
    reached = []
    for first, second in itertools.permutations(laws, 2):
        for delta in DELTAS:
            claimed = noisy_max_guarantee(NoisyMaxStage(len(common) + 1, 3, rounds, noise), delta)
            found = best_adversary_on_votes(chance, first, second, claimed.epsilon, rounds)
            assert found <= claimed.delta + 1e-15
        reached.append(best_adversary_on_votes(chance, first, second, 0.0, rounds))
    assert max(reached) > 0.05, "neighbours differ at all"
