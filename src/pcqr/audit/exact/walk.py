"""The shipped code, run once for every way in which its random choices can turn out.

`walk` runs a step again and again with scripts that lead through every branch. The noise functions of `pcqr.noise`
are intercepted wherever they have been imported to, so that the law of the noise is that of the scale which the
*code* asked for. Towards every other entropy source they behave as ever.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar

from numpy.typing import NDArray

from pcqr import noise
from pcqr.audit.exact.integers import LAWS, NoiseLaw
from pcqr.audit.exact.tape import Tape
from pcqr.entropy import Entropy

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
