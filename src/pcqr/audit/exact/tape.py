"""An entropy source that decides by a script and knows how likely each decision was.

What can only take a few values (an index, a permutation, a weighted choice) is a *choice*: the tape notes how many
options there were and how likely the one taken was. Noise is not chosen at all: the code gets a `NoisyInteger`, adds to
it, compares it, and only the outcome of each comparison is a choice, whose probability is worked out at the end
(events.py), and leads a program through every branch.
"""

from __future__ import annotations

import copy
import math
import operator
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.audit.exact.events import LAWS, Above, Measure, NoiseLaw, Terms, Unverifiable, measure, probability
from pcqr.privacy import noise
from pcqr.privacy.entropy import Entropy

_MOST_ORDERS = 5040
_MOST_CHOICES = 10_000


class Tape(Entropy):
    """Follows a script of choices, then takes the first option each time; remembers what the run depended on."""

    is_private = False

    def __init__(self) -> None:
        self.weight = 1.0
        """The probability of the choices of this step, comparisons of noise left out."""
        self.laws: list[NoiseLaw] = []
        """Of all noise drawn so far, in order."""
        self.events: list[Above] = []
        """What the comparisons made so far have revealed of the noise."""
        self._script: Sequence[int] = ()
        self._taken: list[int] = []
        self._options: list[int] = []
        self._refusal: Unverifiable | None = None

    def __deepcopy__(self, memo: dict[int, object]) -> Tape:
        """Lists of its own: what they hold never changes. A walk copies its tape before every question."""
        twin = copy.copy(self)
        memo[id(self)] = twin
        twin.laws, twin.events = list(self.laws), list(self.events)
        twin._taken, twin._options = list(self._taken), list(self._options)
        return twin

    def follow(self, script: Sequence[int]) -> None:
        """Begin a step of the walk: the next choices are those of `script`."""
        self.weight = 1.0
        self._script, self._taken, self._options = script, [], []

    def next_script(self) -> list[int] | None:
        """The script of the branch after the one just taken, depth first; None after the last."""
        if self._refusal is not None:  # again, should the code have caught it
            raise self._refusal
        for last in reversed(range(len(self._taken))):
            if self._taken[last] + 1 < self._options[last]:
                return [*self._taken[:last], self._taken[last] + 1]
        return None

    @property
    def mass(self) -> float:
        """`weight` times the probability that all noise so far compared as it did."""
        return self.weight * probability(tuple(self.laws), self.events)

    def measure(self, value: int | NoisyInteger) -> Measure:
        """The law of `value` on this branch: the branch's probability spread over its values."""
        constant, terms = _parts(value)
        law = measure(tuple(self.laws), self.events, constant, terms)
        return Measure(law.low, self.weight * law.weights)

    @property
    def truncated(self) -> float:
        """A bound on the probability that a noise of this run lies outside of the support that was kept."""
        return math.fsum(law.truncated for law in self.laws)

    # Choices --------------------------------------------------------------------------------------------------------

    def choose(self, probabilities: Sequence[float]) -> int:
        """One of the options with a positive probability."""
        possible = [index for index, chance in enumerate(probabilities) if chance > 0.0]
        index = possible[self._take(len(possible))]
        self.weight *= probabilities[index]
        return index

    def _take(self, options: int) -> int:
        step = len(self._taken)
        if step >= _MOST_CHOICES:
            self._refuse(Unverifiable("A run without end: code that draws until something holds has no last branch."))
        index = self._script[step] if step < len(self._script) else 0
        self._taken.append(index)
        self._options.append(options)
        return index

    def _refuse(self, refusal: Unverifiable) -> NoReturn:
        self._refusal = refusal
        raise refusal

    def bytes(self, count: int) -> bytes:
        self._refuse(Unverifiable(f"{count} raw random bytes were asked for: their values cannot be enumerated."))

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        drawn = [self.choose([1.0 / bound] * bound) for _ in range(size)]
        return np.array(drawn, dtype=np.int64)

    def permutation(self, count: int) -> NDArray[np.int64]:
        orders = math.factorial(count)
        if orders > _MOST_ORDERS:
            self._refuse(Unverifiable(f"A permutation of {count} has too many orders to enumerate."))
        self.weight /= orders
        return np.array(_order(count, self._take(orders)), dtype=np.int64)

    def weighted_choice(self, levels: NDArray[np.float64]) -> int:
        """Index i with probability ∝ exp(ℓᵢ), ℓ = `levels`, whose maximum is 0."""
        weights = np.exp(levels)
        return self.choose((weights / math.fsum(weights)).tolist())

    # Noise ----------------------------------------------------------------------------------------------------------

    def draw(self, law: NoiseLaw) -> NoisyInteger:
        self.laws.append(law)
        return NoisyInteger(self, 0, ((len(self.laws) - 1, 1),))

    def draw_vector(self, law: NoiseLaw, count: int) -> Any:
        """`count` independent draws at once, as an array of `NoisyInteger`."""
        return np.array([self.draw(law) for _ in range(count)], dtype=object)

    def is_positive(self, constant: int, terms: Terms) -> bool:
        """Take either side of the comparison `constant` + Σ terms > 0."""
        if not terms:
            return constant > 0
        positive = self._take(2) == 0
        self.events.append(
            Above(constant, terms) if positive else Above(1 - constant, tuple((noise, -c) for noise, c in terms))
        )
        return positive

    def settle(self, constant: int, terms: Terms) -> int:
        """Take one of the values of `constant` + Σ terms, where code needs a number and not a comparison."""
        try:
            law = measure(tuple(self.laws), self.events, constant, terms)
        except Unverifiable as refusal:
            self._refuse(refusal)
        possible = law.support[law.weights > 0]
        value = int(possible[self._take(possible.size)])
        self.events.append(Above(constant - value + 1, terms))
        self.events.append(Above(value + 1 - constant, tuple((noise, -c) for noise, c in terms)))
        return value


class OneOrder(Tape):
    """Takes every permutation to be the identity.

    Only for cases in which the order of the records cannot matter: the whole table is used and every teacher has one
    record, so that each order gives the same teachers in another order.
    """

    def permutation(self, count: int) -> NDArray[np.int64]:
        return np.arange(count)


class NoisyInteger:
    """An integer that is not known yet: a constant plus multiples of noises. Whoever compares it takes a branch.

    It adds, subtracts and multiplies like the integer it stands for. Used as a plain number (an index, an entry of an
    array of integers) it takes one of its values, each in its own branch: right, but slow.
    """

    __array_ufunc__ = None  # NumPy's own integers leave the arithmetic to this class

    def __init__(self, tape: Tape, constant: int, terms: Terms) -> None:
        self._tape, self._constant, self._terms = tape, constant, terms

    def __deepcopy__(self, memo: dict[int, object]) -> NoisyInteger:
        return NoisyInteger(copy.deepcopy(self._tape, memo), self._constant, self._terms)

    def __add__(self, other: object) -> NoisyInteger:
        constant, terms = _parts(other)
        total = dict(self._terms)
        for drawn, coefficient in terms:
            total[drawn] = total.get(drawn, 0) + coefficient
        kept = tuple(sorted((noise, coefficient) for noise, coefficient in total.items() if coefficient))
        return NoisyInteger(self._tape, self._constant + constant, kept)

    def __mul__(self, factor: object) -> NoisyInteger:
        by = operator.index(factor)  # type: ignore[arg-type]
        terms = tuple((noise, by * coefficient) for noise, coefficient in self._terms if by)
        return NoisyInteger(self._tape, by * self._constant, terms)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> NoisyInteger:
        return self * -1

    def __sub__(self, other: object) -> NoisyInteger:
        constant, terms = _parts(other)
        return self + -NoisyInteger(self._tape, constant, terms)

    def __rsub__(self, other: object) -> NoisyInteger:
        return -self + other

    def __gt__(self, other: object) -> bool:
        difference = self - other
        return self._tape.is_positive(difference._constant, difference._terms)

    def __lt__(self, other: object) -> bool:
        difference = self - other
        return self._tape.is_positive(-difference._constant, (-difference)._terms)

    def __ge__(self, other: object) -> bool:
        return self + 1 > other

    def __le__(self, other: object) -> bool:
        return self - 1 < other

    def __eq__(self, other: object) -> bool:
        return self >= other and self <= other

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return self != 0

    def __abs__(self) -> NoisyInteger:
        return self if self >= 0 else -self

    def __index__(self) -> int:
        if not self._terms:
            return self._constant
        return self._tape.settle(self._constant, self._terms)

    __int__ = __index__

    def __repr__(self) -> str:
        return repr(int(self))  # what is printed is shown

    def __format__(self, how: str) -> str:
        return format(int(self), how)


def _parts(value: object) -> tuple[int, Terms]:
    if isinstance(value, NoisyInteger):
        return value._constant, value._terms
    return operator.index(value), ()  # type: ignore[arg-type]


def _order(count: int, index: int) -> list[int]:
    """Permutation number `index` of {0, …, count−1}."""
    left = list(range(count))
    return [left.pop(index // math.factorial(size) % (size + 1)) for size in reversed(range(count))]


# ---------------------------------------------------------------------------------------------------------------------
# The shipped code, run once for every way in which its random choices can turn out.
#
# `walk` runs a step again and again with scripts that lead through every branch. The noise functions of
# `pcqr.privacy.noise` are intercepted wherever they have been imported to, so that the law of the noise is that of the
# scale which the
# *code* asked for. Towards every other entropy source they behave as ever.


S = TypeVar("S")
T = TypeVar("T", bound=Tape)
K = TypeVar("K", bound=Hashable)


def law_of(program: Callable[[Entropy], K]) -> dict[K, float]:
    """The exact law of what `program` returns, its only randomness being the entropy source that it is given."""
    law: defaultdict[K, float] = defaultdict(float)
    with intercepted():
        for tape, _ in walk(lambda: (Tape(), None)):
            outcome = program(tape)
            law[outcome] += tape.mass
    return dict(law)


def walk(fork: Callable[[], tuple[T, S]]) -> Iterator[tuple[T, S]]:
    """Every branch of a step: `fork` gives a tape, and what the step runs on, as they were before the step.

    Whoever iterates makes the step before asking for the next branch, drawing from the tape alone. The walk itself
    intercepts nothing: see `intercepted`.
    """
    script: Sequence[int] | None = ()
    while script is not None:
        tape, state = fork()
        tape.follow(script)
        yield tape, state
        script = tape.next_script()


@contextmanager
def intercepted() -> Iterator[None]:
    """While it lasts, noise asked of a `Tape` is symbolic, wherever the noise functions were imported to."""
    modules = [vars(module) for module in list(sys.modules.values()) if isinstance(module, ModuleType)]
    changed = [
        (names, name, names[name])
        for names in modules
        for name in _REPLACEMENTS.keys() & names.keys()
        if names[name] is getattr(noise, name)
    ]
    for names, name, _ in changed:
        names[name] = _REPLACEMENTS[name]
    try:
        yield
    finally:
        for names, name, original in changed:
            names[name] = original


def _one(name: str) -> Callable[[float, Entropy], Any]:
    original: Callable[[float, Entropy], int] = getattr(noise, name)

    def draw(scale: float, entropy: Entropy) -> Any:
        if not isinstance(entropy, Tape):
            return original(scale, entropy)
        noise.check_scale("scale", scale)
        return entropy.draw(NoiseLaw(name, float(scale)))

    return draw


def _many(name: str) -> Callable[[float, int, Entropy], Any]:
    original: Callable[[float, int, Entropy], noise.IntegerArray] = getattr(noise, f"{name}s")

    def draw(scale: float, count: int, entropy: Entropy) -> Any:
        if not isinstance(entropy, Tape):
            return original(scale, count, entropy)
        noise.check_scale("scale", scale)
        return entropy.draw_vector(NoiseLaw(name, float(scale)), count)

    return draw


def _weighted_choice(log_weights: NDArray[Any], entropy: Entropy) -> int:
    if not isinstance(entropy, Tape):
        return _original_choice(log_weights, entropy)
    return entropy.weighted_choice(noise.shifted(log_weights))


_original_choice = noise.weighted_choice
_REPLACEMENTS: dict[str, Callable[..., Any]] = {
    **{name: _one(name) for name in LAWS},
    **{f"{name}s": _many(name) for name in LAWS},
    "weighted_choice": _weighted_choice,
}
