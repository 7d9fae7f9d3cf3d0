"""A case: something that claims (ε, δ), where to look for a refutation, and what was found there."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

from pcqr.audit.exact.adversary import Game, Once, Session, conversations
from pcqr.audit.exact.tape import Tape
from pcqr.errors import ParameterError
from pcqr.privacy.accounting.events import Event, Ledger
from pcqr.privacy.accounting.renyi import divergence
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee

ROUNDING = 1e-11
"""What float64 may add to a computed δ, or to an ε at δ = 0: sums of up to 10⁴ positive terms of total mass 1."""

RELATIVE_ROUNDING = 1e-9
"""Of a Rényi divergence, whose logarithms of sums are divided by α − 1."""

MOST_BIAS = 1e-11
"""Of a sampler's law, relative to the float64 figures of `events.py`."""

CURVE_POINTS = 25

ORDERS = (1.5, 2.0, 4.0, 16.0, 64.0)
"""Of the Rényi divergences that are compared with those of an event."""


class Comparison(Protocol):
    """How far apart two laws are to the best adversary: `Game` and `SumGame` say it, each of its own laws."""

    @property
    def truncated(self) -> float: ...

    def delta_at(self, epsilon: float) -> float: ...

    def epsilon_at(self, delta: float, least: float = 0.0) -> float: ...

    def divergence(self, order: float) -> float: ...


@dataclass(frozen=True)
class Case:
    """`claimed` of a release, and a search space: pairs of `neighbours` × all adaptive strategies over a `menu`.

    `start` prepares the shipped code on one input with the given entropy source, its only randomness. `rounds` queries
    are asked, each any of the `menu`, repeats included. Equal inputs, where they can be hashed, are computed once.
    `tape` is not `Tape` itself where a case has a symmetry to make use of. `event` is what an accountant of Rényi
    divergences takes the release to be, if it is one without queries: that is checked too.
    """

    name: str
    claimed: Guarantee
    neighbours: Sequence[tuple[Any, Any]]
    start: Callable[[Any, Entropy], Session[Any]]
    menu: Sequence[Any] = (None,)
    rounds: int = 1
    tape: type[Tape] = Tape
    event: Event | None = None

    def __post_init__(self) -> None:
        if self.event is not None and len(self.menu) > 1:
            raise ParameterError("event", "None where there are queries to choose from", self.event)

    @classmethod
    def once(
        cls,
        name: str,
        claimed: Guarantee,
        neighbours: Sequence[tuple[Any, Any]],
        run: Callable[[Any, Entropy], Hashable],
        event: Event | None = None,
    ) -> Self:
        """The case of a mechanism without queries: `run` returns all that it shows."""
        return cls(name, claimed, neighbours, partial(Once, run), event=event)

    @property
    def bias(self) -> float:
        """How far noise that the case looks into is from the law that all others take it to have."""
        return 0.0

    def law(self, data: Any) -> Any:
        """The law of all that is shown on one input."""
        return conversations(partial(self.start, data), self.menu, self.rounds, self.tape)

    def game(self, first: Any, second: Any) -> Comparison:
        """What an adversary can make of two laws."""
        return Game(first, second)

    def witness_words(self, game: Any, epsilon: float) -> tuple[tuple[Any, ...], tuple[Hashable, ...]]:
        """The queries and the answers that tell most at ε."""
        conversation = game.tell_tale(epsilon)
        return tuple(self.menu[number] for number, _ in conversation), tuple(answer for _, answer in conversation)


@dataclass(frozen=True)
class Witness:
    """The worst place found: two neighbours, the queries of the best adversary and the answers that it hopes for."""

    first: Any
    second: Any
    queries: tuple[Any, ...]
    answers: tuple[Hashable, ...]

    def __str__(self) -> str:
        witness_words = "; ".join(
            ("" if query is None else f"{query} → ") + ("⊥" if answer is None else str(answer))
            for query, answer in zip(self.queries, self.answers, strict=True)
        )
        return f"{self.first} against {self.second}: {witness_words}"


class Divergence(NamedTuple):
    """A Rényi divergence of `order`: the `exact` one, the worst over the search space, and what is `claimed` of it."""

    order: float
    exact: float
    claimed: float

    @property
    def is_kept(self) -> bool:
        return self.exact <= self.claimed * (1.0 + RELATIVE_ROUNDING)


@dataclass(frozen=True)
class Finding:
    """What the search found.

    `epsilon` is the exact ε at the claimed δ and `delta` the exact δ at the claimed ε, each the worst over the search
    space; `curve` holds (ε, δ(ε)) of the worst pair. `truncated` bounds what finite supports left out, and is contained
    in `delta`. `divergences` are those of the case's event, if it has one. `bias` is the largest relative difference
    between the law of a sampler, if the case is about one, and the law that it should have. A finding that fails
    refutes the claim; one that passes proves it for this search space only.
    """

    name: str
    claimed: Guarantee
    epsilon: float
    delta: float
    witness: Witness
    curve: tuple[tuple[float, float], ...]
    truncated: float
    divergences: tuple[Divergence, ...] = ()
    bias: float = 0.0

    @property
    def passed(self) -> bool:
        """No pair of neighbours and no strategy exceeds the claim by more than float64 rounding, and noise is right."""
        if self.bias > MOST_BIAS or not all(divergence.is_kept for divergence in self.divergences):
            return False
        if self.claimed.is_pure:
            return self.epsilon <= self.claimed.epsilon + ROUNDING
        return self.delta <= self.claimed.delta + ROUNDING

    def __str__(self) -> str:
        verdict = "holds" if self.passed else "REFUTED"
        found = f"exact ε = {self.epsilon:.5f} at the claimed δ, exact δ = {self.delta:.3g} at the claimed ε"
        return f"{self.name}: {self.claimed}: {verdict} ({found})"


def verify(case: Case) -> Finding:
    """Search the whole space of `case` and report the worst that it holds."""
    laws: dict[Hashable, Any] = {}

    def law(data: Any) -> Any:
        key = _key(data)
        if key not in laws:
            laws[key] = case.law(data)
        return laws[key]

    claimed, worst = case.claimed, None
    epsilon = delta = 0.0
    divergences: dict[float, float] = {} if case.event is None else dict.fromkeys(ORDERS, 0.0)
    for first, second in case.neighbours:
        game = case.game(law(first), law(second))
        reached = min(1.0, game.delta_at(claimed.epsilon) + game.truncated)
        # A pair that is within the largest ε so far needs no bisection. While all are within δ alone, δ ranks them.
        found = game.epsilon_at(claimed.delta, least=epsilon)
        if worst is None or found > epsilon or (found == 0.0 and reached > delta):
            worst, epsilon = (first, second, game), found
        delta = max(delta, reached)
        divergences = {order: max(most, game.divergence(order)) for order, most in divergences.items()}
    if worst is None:
        raise ParameterError("neighbours", "at least one pair", case.neighbours)
    first, second, game = worst
    return Finding(
        name=case.name,
        claimed=claimed,
        epsilon=epsilon,
        delta=delta,
        witness=Witness(first, second, *case.witness_words(game, min(epsilon, claimed.epsilon))),
        curve=_curve(game, claimed, epsilon),
        truncated=game.truncated,
        divergences=tuple(Divergence(order, most, _claimed(case, order)) for order, most in divergences.items()),
        bias=case.bias,
    )


def _key(data: Any) -> Hashable:
    try:
        hash(data)
    except TypeError:
        return id(data)
    return data  # type: ignore[no-any-return]


def _claimed(case: Case, order: float) -> float:
    releases = Ledger.of(() if case.event is None else (case.event,)).releases
    return math.fsum(count * divergence(release, order) for release, count in releases)


def _curve(game: Comparison, claimed: Guarantee, epsilon: float) -> tuple[tuple[float, float], ...]:
    """δ(ε) from 0 to beyond both the claim and, where it is finite, what was found."""
    end = 1.25 * max(claimed.epsilon, epsilon if math.isfinite(epsilon) else 0.0, 0.1)
    grid = [end * step / (CURVE_POINTS - 1) for step in range(CURVE_POINTS)]
    return tuple((point, game.delta_at(point)) for point in grid)
