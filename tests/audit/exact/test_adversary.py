"""Laws of conversations, and the best adversary: against all adaptive strategies, one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import sampler_law
from support.exact import Profile, mixture
from support.sparse_vector_law import SparseVectorLaw

from pcqr.audit.exact import Game, Session, conversations, hockey_stick, law_of
from pcqr.audit.exact.adversary import Conversations, History
from pcqr.audit.exact.cases.mechanisms import ONE_SIDED, QUERIES, VotesSession
from pcqr.audit.exact.cases.tables import Table
from pcqr.audit.exact.tape import OneOrder
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.mechanisms.stability import distance_to_instability, plurality
from pcqr.privacy import noise
from pcqr.privacy.entropy import Entropy
from pcqr.releases.agnostic.run import ag_priv_cl
from pcqr.releases.subsample.plan import VoteStage


class Urn(Session[int]):
    """A secret ball, then noisy hints about it: choices, noise that stays and fresh noise, and a round that halts."""

    def __init__(self, balls: int, entropy: Entropy) -> None:
        self._entropy = entropy
        self._ball = int(entropy.below(balls, 1)[0])
        self._offset = noise.discrete_laplace(1.0, entropy)
        self._halted = False

    def ask(self, query: int) -> Hashable:
        if self._halted:
            return "halted"
        high = self._ball + noise.geometric(0.5, self._entropy) > self._offset + query
        coin = int(self._entropy.below(2, 1)[0])
        self._halted = not high and coin == 0
        return high


class MergedUrn(Urn):
    def secret(self) -> Hashable:
        return self._ball, self._halted


def play(balls: int, strategy: Mapping[tuple[Hashable, ...], int], entropy: Entropy) -> History:
    """Two rounds against an urn."""
    urn = Urn(balls, entropy)
    said: tuple[Hashable, ...] = ()
    asked: History = ()
    for _ in range(2):
        query = strategy[said]
        answer = urn.ask(query)
        said, asked = (*said, answer), (*asked, (query, answer))
    return asked


def strategies(rounds: int) -> Iterator[dict[tuple[Hashable, ...], int]]:
    """All ways to choose query 0 or 1 from the answers so far."""
    pasts = [past for length in range(rounds) for past in itertools.product((True, False, "halted"), repeat=length)]
    for choices in itertools.product((0, 1), repeat=len(pasts)):
        yield dict(zip(pasts, choices, strict=True))


@pytest.mark.parametrize("start", [Urn, MergedUrn])
def test_the_masses_are_those_of_every_single_strategy(start: type[Urn]) -> None:
    found = conversations(partial(start, 2), (0, 1), 2)
    for strategy in itertools.islice(strategies(2), 0, None, 3):
        law = law_of(partial(play, 2, strategy))
        assert {past: found.masses[past] for past in law} == pytest.approx(law, abs=1e-15)
    for asked in itertools.product((0, 1), repeat=2):
        total = math.fsum(m for past, m in found.masses.items() if tuple(query for query, _ in past) == asked)
        assert total == pytest.approx(1.0, abs=1e-12)
    assert 0 < found.truncated < 1e-80


def test_the_best_adversary_is_the_best_of_all_strategies() -> None:
    game = Game(conversations(partial(Urn, 2), (0, 1), 2), conversations(partial(Urn, 4), (0, 1), 2))
    for epsilon in (0.0, 0.1, 0.4):
        reached = 0.0
        for strategy in strategies(2):
            p, q = (law_of(partial(play, balls, strategy)) for balls in (2, 4))
            reached = max(reached, hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
        assert game.delta_at(epsilon) == pytest.approx(reached, abs=1e-14)


# --------------------------------------------------------------------------------------------------------------
# Games made up of numbers

ANSWERS = ("yes", "no")


@st.composite
def laws(draw: st.DrawFn, rounds: int = 2) -> Conversations:
    """Any law of yes and no to two queries, each answer with its own chance given what came before."""
    chances = st.floats(0.0, 1.0)
    masses: dict[History, float] = {(): 1.0}
    for _ in range(rounds):
        grown: dict[History, float] = {}
        for past, mass in masses.items():
            for query in (0, 1):
                yes = draw(chances)
                grown[*past, (query, "yes")] = mass * yes
                grown[*past, (query, "no")] = mass * (1 - yes)
        masses = grown
    return Conversations(masses, rounds, 0.0)


def value_by_recursion(p: Conversations, q: Conversations, epsilon: float, past: History = ()) -> float:
    if len(past) == p.rounds:
        return max(0.0, p.masses[past] - math.exp(epsilon) * q.masses[past])
    return max(
        sum(value_by_recursion(p, q, epsilon, (*past, (query, answer))) for answer in ANSWERS) for query in (0, 1)
    )


@settings(max_examples=60)
@given(laws(), laws(), st.floats(0.0, 1.5))
def test_backward_induction(first: Conversations, second: Conversations, epsilon: float) -> None:
    game = Game(first, second)
    expected = max(value_by_recursion(first, second, epsilon), value_by_recursion(second, first, epsilon))
    assert game.delta_at(epsilon) == pytest.approx(expected, abs=1e-15)
    past = game.tell_tale(epsilon)
    gain = max(p.masses[past] - math.exp(epsilon) * q.masses[past] for p, q in ((first, second), (second, first)))
    assert expected <= 0.0 or gain >= expected / 4 - 1e-15, "the largest of two answers in each of two rounds"


@settings(max_examples=60)
@given(laws(), laws(), st.floats(0.001, 0.5))
def test_epsilon_at_a_delta(first: Conversations, second: Conversations, delta: float) -> None:
    game = Game(first, second)
    epsilon = game.epsilon_at(delta)
    if math.isinf(epsilon):
        assert game.delta_at(600.0) > delta
        return
    assert game.delta_at(epsilon) <= delta
    assert epsilon == 0.0 or game.delta_at(max(0.0, epsilon - 1e-9)) > delta - 1e-8
    assert game.epsilon_at(delta, least=epsilon + 1.0) == epsilon + 1.0
    assert epsilon <= game.epsilon_at(0.0) + 1e-9


# --------------------------------------------------------------------------------------------------------------
# A whole release: the walk through the shipped code against a law put together by hand

TABLE = Table(((1.0, 0), (1.0, 1), (0.0, 1)))
PLAN = VoteStage(3, 3, 3, 0.5, ONE_SIDED)


def started(entropy: Entropy) -> VotesSession:
    return VotesSession(ag_priv_cl(Thresholds(), TABLE.source(), None, PLAN, entropy), QUERIES, None, entropy)


class Unmerged(VotesSession):
    def secret(self) -> None:
        return None


def started_unmerged(entropy: Entropy) -> VotesSession:
    return Unmerged(ag_priv_cl(Thresholds(), TABLE.source(), None, PLAN, entropy), QUERIES, None, entropy)


def test_merging_changes_nothing_and_neither_does_the_order_of_one_record_teachers() -> None:
    merged = conversations(started, QUERIES[:2], 2).masses
    assert conversations(started_unmerged, QUERIES[:2], 2).masses == pytest.approx(merged, abs=1e-15)
    assert conversations(started, QUERIES[:2], 2, OneOrder).masses == pytest.approx(merged, abs=1e-15)


def test_a_release_put_together_by_hand() -> None:
    """ĥ from the sampler's law, one teacher a record, the sparse vector's law: P(answer) to the first query."""
    profiles: dict[Profile, float] = {}
    parts = []
    for labels, log_mass in sampler_law(Thresholds(), TABLE.points, TABLE.labels, 0.5).items():
        teachers = [Thresholds().learn(TABLE.points[[i]], [label]) for i, label in enumerate(labels)]
        said = np.array([teacher.predict([[query] for query in QUERIES]) for teacher in teachers])
        counts = [np.bincount(votes, minlength=2) for votes in said.T]
        profile = tuple((distance_to_instability(count), plurality(count)) for count in counts)
        parts.append((math.exp(log_mass), {profile: 1.0}))
    profiles = mixture(parts)
    law = SparseVectorLaw(ONE_SIDED)
    walked = conversations(started, QUERIES, 1).masses
    for number in range(len(QUERIES)):
        expected: dict[int | None, float] = dict.fromkeys((0, 1, None), 0.0)
        for profile, mass in profiles.items():
            distance, label = profile[number]
            expected[label] += mass * law.transcript([distance], [True])
            expected[None] += mass * law.transcript([distance], [False])
        found: dict[int | None, float] = dict.fromkeys((0, 1, None), 0.0)
        for ((asked, witness_words),), mass in walked.items():
            if asked == number:
                found[witness_words.answer.label] += mass  # type: ignore[attr-defined]
        assert found == pytest.approx(expected, abs=1e-14)
