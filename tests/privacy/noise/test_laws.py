"""The draws: their laws, one path for every entropy, and what becomes of the random words.

Every statistical test raises a false alarm with probability 10⁻⁶ (as good as the χ² approximation is with 40 or more
expected in a bin) and must reject, on as many samples, a law whose scale is 30 % off.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from support.noise import gaussian_law, geometric_law, laplace_law, p_value, sech_squared_law
from support.releases import ScriptedEntropy

from pcqr.errors import ParameterError
from pcqr.privacy import noise
from pcqr.privacy.entropy import Entropy, SeededEntropy, SystemEntropy
from pcqr.privacy.noise import laws
from pcqr.privacy.noise.kernels import MAGNITUDE, SIGNED, WITH_COIN
from pcqr.privacy.noise.laws import GAUSSIAN, GEOMETRIC, blocks

FALSE_ALARM = 1e-6
DRAWS = 20_000
SCALE = 3.0

Many = Callable[[float, int, Entropy], NDArray[np.int64]]
One = Callable[[float, Entropy], int]
Law = Callable[[float, int], float]

LAWS: list[tuple[One, Many, Law]] = [
    (noise.discrete_laplace, noise.discrete_laplaces, laplace_law),
    (noise.geometric, noise.geometrics, geometric_law),
    (noise.discrete_gaussian, noise.discrete_gaussians, gaussian_law),
    (noise.sech_squared, noise.sech_squareds, sech_squared_law),
]
EVERY_LAW = pytest.mark.parametrize(("one", "many", "law"), LAWS, ids=["laplace", "geometric", "gaussian", "sech²"])
EVERY_MANY = pytest.mark.parametrize("many", [many for _, many, _ in LAWS])


@pytest.mark.parametrize("entropy", [SystemEntropy(), SeededEntropy(1)], ids=["system", "seeded"])
@pytest.mark.parametrize("scale", [0.7, SCALE, 90.0])
@EVERY_LAW
def test_many_draws_have_their_law_and_the_test_has_power(
    one: One, many: Many, law: Law, scale: float, entropy: Entropy
) -> None:
    del one
    right, wrong = (many(factor * scale, DRAWS, entropy) for factor in (1.0, 1.3))
    assert right.dtype == np.int64
    assert right.shape == (DRAWS,)
    assert p_value(right, partial(law, scale)) > FALSE_ALARM
    assert p_value(wrong, partial(law, scale)) < FALSE_ALARM
    # Neighbours are independent: centred products of them have mean 0, with the error of a mean.
    products = (right[1:] - right.mean()) * (right[:-1] - right.mean())
    assert abs(products.mean()) < 6 * right.var() / math.sqrt(DRAWS)


@EVERY_LAW
def test_single_draws_have_the_law_too(one: One, many: Many, law: Law) -> None:
    del many
    entropy = SystemEntropy()
    right, wrong = ([one(factor * SCALE, entropy) for _ in range(4000)] for factor in (1.0, 1.3))
    assert all(type(z) is int for z in right)
    assert p_value(right, partial(law, SCALE)) > FALSE_ALARM
    assert p_value(wrong, partial(law, SCALE)) < FALSE_ALARM


@pytest.mark.parametrize("scale", [2.0**20, 2.0**50])
@EVERY_LAW
def test_at_large_scales_the_law_is_that_of_its_limit(one: One, many: Many, law: Law, scale: float) -> None:
    """z/s by Kolmogorov and Smirnov against the continuous law, from which it differs by less than 1/s."""
    del one
    limits: dict[Law, Any] = {
        laplace_law: stats.laplace.cdf,
        geometric_law: stats.expon.cdf,
        gaussian_law: stats.norm.cdf,
    }
    cdf = limits.get(law, lambda x: np.tanh(np.maximum(x, 0.0) / 2) ** 2)
    right, wrong = (many(factor * scale, DRAWS, SystemEntropy()) / scale for factor in (1.0, 1 / 1.3))
    assert stats.kstest(right, cdf).pvalue > FALSE_ALARM
    assert stats.kstest(wrong, cdf).pvalue < FALSE_ALARM


@cache
def opendps(law: str, scale: float) -> Callable[[list[int]], list[int]]:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64"))
    if law == "laplace":
        return dp.m.make_laplace(space, dp.l1_distance(T="i64"), scale=scale)  # type: ignore[no-any-return]
    return dp.m.make_gaussian(space, dp.l2_distance(T="f64"), scale=scale)  # type: ignore[no-any-return]


@pytest.mark.parametrize("scale", [0.6, SCALE, 70.0, 2.0**50])
@pytest.mark.parametrize(
    ("law", "many"), [("laplace", noise.discrete_laplaces), ("gaussian", noise.discrete_gaussians)]
)
def test_an_independent_sampler_draws_alike(law: str, many: Many, scale: float) -> None:
    """OpenDP's, an exact sampler by another method: two samples, compared bin by bin."""
    theirs = np.array(opendps(law, scale)([0] * 4000))
    edges = np.unique(np.quantile(theirs, np.linspace(0.0, 1.0, 20)[1:-1], method="lower"))
    edges = edges[edges < theirs.max()]  # no bin is empty: each ends with a number that was drawn

    def p(ours: NDArray[np.int64]) -> float:
        table = [np.bincount(np.searchsorted(edges, sample), minlength=edges.size + 1) for sample in (theirs, ours)]
        return float(stats.chi2_contingency(table).pvalue)

    assert p(many(scale, 4000, SystemEntropy())) > FALSE_ALARM
    assert p(many(1.3 * scale if scale < 2.0**50 else scale / 1.3, 4000, SystemEntropy())) < FALSE_ALARM


@EVERY_LAW
@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**51])
def test_a_bad_scale_is_named_before_anything_is_drawn(one: One, many: Many, law: Law, scale: float) -> None:
    del law
    with pytest.raises(ParameterError, match="scale"):
        one(scale, ScriptedEntropy())
    with pytest.raises(ParameterError, match="scale"):
        many(scale, 3, ScriptedEntropy())


@EVERY_LAW
def test_tiny_and_huge_scales(one: One, many: Many, law: Law) -> None:
    del law
    for scale in (5e-324, 1e-3):
        assert not many(scale, 1000, SystemEntropy()).any()
        assert one(scale, SystemEntropy()) == 0
    assert len({one(2.0**50, SystemEntropy()) for _ in range(8)}) == 8
    short: Any = np.float32(2.0)
    assert one(short, SeededEntropy(1)) == one(2, SeededEntropy(1)) == one(2.0, SeededEntropy(1))


def test_a_scale_is_judged_as_the_float_that_it_becomes() -> None:
    vanishing: Any = Fraction(1, 10**400)
    with pytest.raises(ParameterError, match="scale must be a number in"):
        noise.discrete_laplace(vanishing, SeededEntropy(0))


# --------------------------------------------------------------------------------------------------------------
# One path from words to draws


class Replayed(Entropy):
    """Words written down beforehand, as a private source or as none. Only `bytes` is its own, as of a user's class."""

    def __init__(self, words: NDArray[np.uint64], is_private: bool) -> None:
        self._left, self.is_private = words.tobytes(), is_private

    def bytes(self, count: int) -> bytes:
        assert count <= len(self._left)
        given, self._left = self._left[:count], self._left[count:]
        return given


@EVERY_MANY
@pytest.mark.parametrize("scale", [0.5, SCALE, 1000.0])
def test_every_entropy_takes_the_same_path(many: Many, scale: float) -> None:
    words = SystemEntropy().words(50_000)
    private, seeded = (many(scale, 500, Replayed(words, is_private)) for is_private in (True, False))
    assert private.tolist() == seeded.tolist()
    assert many(scale, 500, SeededEntropy(3)).tolist() == many(scale, 500, SeededEntropy(3)).tolist()
    assert many(scale, 500, SeededEntropy(3)).tolist() != many(scale, 500, SeededEntropy(4)).tolist()


LAW = st.sampled_from([GEOMETRIC, GAUSSIAN])


@settings(max_examples=80)
@given(LAW, st.sampled_from([0.5, SCALE, 90.0, 1000.0, 2.0**37, 2.0**50]), st.data())
def test_the_fast_path_is_the_exact_path(power: int, scale: float, data: st.DataObject) -> None:
    """The same words through `Blocks.settled` alone, attempt by attempt. Some lie on borders, some past the table."""
    table = blocks(power, scale)
    stride, count = table.words_an_attempt, 6
    edges = [*table.lows[1:5].tolist(), *table.keeps[:4].tolist(), int(table.lows[-2])]
    near = st.tuples(st.sampled_from(edges), st.integers(-(2 ** (table.bits + 4)), 2 ** (table.bits + 4)))
    any_word = st.integers(0, 2**64 - 1)
    first = any_word | near.map(lambda at: 2 * min(max(0, sum(at)), 2**63 - 1)) | st.just(2**64 - 1)
    words = [data.draw(first if place % stride == 0 else any_word) for place in range(stride * count)]
    later = SeededEntropy(data.draw(st.integers(0, 2**20))).words(40).tolist()
    form = data.draw(st.sampled_from([MAGNITUDE, SIGNED, WITH_COIN]))
    drawn, fast = np.zeros(count, dtype=np.int64), ScriptedEntropy(*later)
    filled = laws._use(np.array(words, dtype=np.uint64), table, fast, form, drawn, 0)
    exact, expected = ScriptedEntropy(*later), []
    for attempt in range(0, stride * count, stride):
        magnitude = table.settled(words[attempt : attempt + stride], exact)
        coin = words[attempt] & 1
        if magnitude is None or (form == SIGNED and coin and magnitude == 0):
            continue
        expected.append({MAGNITUDE: magnitude, SIGNED: -magnitude, WITH_COIN: ~magnitude}[form] if coin else magnitude)
    assert drawn[:filled].tolist() == expected
    assert fast.remaining == exact.remaining


def test_a_doubtful_attempt_is_settled_and_not_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """In its own place: neither lost, nor after the ones that follow it, nor twice."""
    table = blocks(GEOMETRIC, SCALE)
    sure, doubt = 10 << 1, int(table.lows[1]) << 1
    drawn = np.full(4, -9)
    words = np.array([sure, doubt, doubt | 1, sure], dtype=np.uint64)
    filled = laws._use(words, table, ScriptedEntropy(0, 2**64 - 1), SIGNED, drawn, 0)
    assert drawn[:filled].tolist() == [0, 0, -1, 0]
    monkeypatch.setattr(type(table), "settled", lambda *_: None)
    assert laws._use(words, table, ScriptedEntropy(), SIGNED, drawn, 0) == 2, "refused"


# --------------------------------------------------------------------------------------------------------------
# The buffer


class Watched(SystemEntropy):
    """Remembers the arrays that it filled, and what it wrote; may break down at the n-th."""

    def __init__(self, breaks_at: int | None = None) -> None:
        self.arrays: list[NDArray[np.uint64]] = []
        self.written: list[int] = []
        self._breaks_at = breaks_at

    def fill(self, words: NDArray[np.uint64]) -> None:
        super().fill(words)
        self.arrays.append(words)
        self.written += words.tolist()
        if len(self.arrays) == self._breaks_at:
            raise RuntimeError("no more")


@EVERY_MANY
@pytest.mark.parametrize("scale", [SCALE, 1000.0])
@pytest.mark.parametrize("count", [1, 20_000])
def test_words_are_overwritten_and_none_is_handed_out_twice(many: Many, scale: float, count: int) -> None:
    entropy = Watched()
    many(scale, count, entropy)
    assert not any(words.any() for words in entropy.arrays)
    assert max(words.size for words in entropy.arrays) <= laws.BUFFER_WORDS
    assert len(set(entropy.written)) == len(entropy.written) >= count


@EVERY_MANY
@pytest.mark.parametrize("breaks_at", [1, 2])
def test_words_are_overwritten_when_an_exception_flies(
    many: Many, breaks_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[NDArray[Any]] = []
    empty = np.empty

    here = threading.get_ident()

    def noted(*args: Any, **options: Any) -> NDArray[Any]:
        array = empty(*args, **options)
        if threading.get_ident() == here:  # a server of an earlier test may still be closing
            made.append(array)
        return array

    monkeypatch.setattr(np, "empty", noted)
    entropy = Watched(breaks_at)
    with pytest.raises(RuntimeError, match="no more"):
        many(1000.0, 20_000, entropy)
    assert any(entropy.written)
    result, *buffers = made
    assert result.size == 20_000
    assert buffers
    assert not any(array.any() for array in buffers), "the words, and what was made of them on the way"


def test_a_word_of_the_exact_path_is_overwritten() -> None:
    entropy = Watched()
    table = blocks(GEOMETRIC, 5e-324)
    table.settled([2**64 - 1], entropy)
    assert any(entropy.written)
    assert not any(words.any() for words in entropy.arrays)


class Forking(SystemEntropy):
    """Forks right after its words have been handed out, as a signal handler might."""

    def __init__(self) -> None:
        self.child: int | None = None

    def fill(self, words: NDArray[np.uint64]) -> None:
        super().fill(words)
        if self.child is None:
            self.child = os.fork()


def drawn_by_child(draw: Callable[[], bytes], is_child: Callable[[], bool]) -> Iterator[bytes]:
    """What `draw` gives here, and what it gives in the process that was forked off."""
    reading, writing = os.pipe()
    try:
        given = draw()
        if is_child():
            os.write(writing, given)
            os._exit(0)
    except BaseException:
        if is_child():
            os._exit(1)
        raise
    os.close(writing)
    yield given
    with os.fdopen(reading, "rb") as pipe:
        yield pipe.read()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@EVERY_MANY
def test_a_process_forked_off_in_the_middle_of_a_draw_does_not_share_it(many: Many) -> None:
    entropy = Forking()
    many(2.0**50, 1, SystemEntropy())
    ours, theirs = drawn_by_child(lambda: many(2.0**50, 100, entropy).tobytes(), lambda: entropy.child == 0)
    os.waitpid(entropy.child or 0, 0)
    assert len(ours) == len(theirs) == 800
    assert not set(np.frombuffer(ours, np.int64)) & set(np.frombuffer(theirs, np.int64))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_process_forked_off_between_draws_shares_no_later_one() -> None:
    entropy = SystemEntropy()
    many = noise.discrete_gaussians
    many(2.0**50, 100, entropy)
    child: list[int] = []

    def draw() -> bytes:
        child.append(os.fork())
        return many(2.0**50, 100, entropy).tobytes()

    ours, theirs = drawn_by_child(draw, lambda: child == [0])
    os.waitpid(child[0], 0)
    assert len(ours) == len(theirs) == 800
    assert not set(np.frombuffer(ours, np.int64)) & set(np.frombuffer(theirs, np.int64))


@EVERY_MANY
def test_threads_share_nothing(many: Many) -> None:
    drawn: list[NDArray[np.int64]] = []
    entropy = SystemEntropy()
    workers = [threading.Thread(target=lambda: drawn.append(many(2.0**50, 5000, entropy))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(drawn) == 4
    # Of 2·10⁴ draws at this scale two agree by chance with a probability of at most 10⁻⁶.
    assert np.unique(np.concatenate(drawn)).size == 20_000


# --------------------------------------------------------------------------------------------------------------
# Many draws in threads

SHARED_OUT = 80_000
IN_THREADS = pytest.mark.parametrize("many", [noise.discrete_laplaces, noise.geometrics, noise.discrete_gaussians])


class Overheard(Watched):
    """Notes who asks as well."""

    is_shared = True

    def __init__(self) -> None:
        super().__init__()
        self.askers: set[int] = set()

    def fill(self, words: NDArray[np.uint64]) -> None:
        self.askers.add(threading.get_ident())
        super().fill(words)


@IN_THREADS
def test_many_draws_are_shared_out_and_no_word_serves_two_threads(many: Many, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    entropy, before = Overheard(), threading.active_count()
    drawn = many(2.0**50, SHARED_OUT, entropy)
    assert 1 <= len(entropy.askers - {threading.get_ident()}) == len(entropy.askers) <= 3
    assert threading.active_count() == before, "they end with the call"
    assert len(set(entropy.written)) == len(entropy.written)
    assert not any(words.any() for words in entropy.arrays)
    # Of so many draws at this scale, two agree by chance with a probability of 10⁻⁵; the same words twice would do it.
    assert np.unique(drawn).size >= SHARED_OUT - 1


@IN_THREADS
def test_what_is_shared_out_has_the_law(many: Many, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    law = next(law for _, found, law in LAWS if found is many)
    right, wrong = (many(scale, SHARED_OUT, SystemEntropy()) for scale in (SCALE, 1.1 * SCALE))
    assert p_value(right, partial(law, SCALE)) > FALSE_ALARM
    assert p_value(wrong, partial(law, SCALE)) < FALSE_ALARM


@IN_THREADS
def test_an_entropy_in_order_is_asked_by_one_thread_and_gives_the_same_whatever_their_number(
    many: Many, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("os.cpu_count", lambda threads=threads: threads)
        given.append(many(1000.0, SHARED_OUT, SeededEntropy(3)).tolist())
    assert given[0] == given[1] == given[2]
    in_order = Overheard()
    in_order.is_shared = False
    many(1000.0, SHARED_OUT, in_order)
    assert in_order.askers == {threading.get_ident()}


class Signalling(SystemEntropy):
    """Sends a signal from the first thread that asks, when all are at work, and leaves its handler time to fork."""

    is_shared = True

    def __init__(self) -> None:
        self._is_sent = False

    def fill(self, words: NDArray[np.uint64]) -> None:
        super().fill(words)
        if not self._is_sent:
            self._is_sent = True
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_process_forked_off_while_threads_draw_draws_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the handler of a signal: the threads stay behind, and nothing waits for them for ever."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    entropy, child = Signalling(), list[int]()
    before = signal.signal(signal.SIGUSR1, lambda *_: child.append(os.fork()))

    def draw() -> bytes:
        drawn = noise.discrete_gaussians(2.0**50, SHARED_OUT, entropy)
        return drawn[::100].tobytes()  # as much as a pipe holds

    try:
        ours, theirs = drawn_by_child(draw, lambda: child == [0])
    finally:
        signal.signal(signal.SIGUSR1, before)
    os.waitpid(child[0], 0)
    assert len(ours) == len(theirs) == 8 * SHARED_OUT // 100
    assert not set(np.frombuffer(ours, np.int64)) & set(np.frombuffer(theirs, np.int64))


@EVERY_MANY
def test_a_bad_count_is_named_before_anything_is_drawn(many: Many) -> None:
    for count in (0, -1, True):
        with pytest.raises(ParameterError, match="count"):
            many(1.0, count, ScriptedEntropy())


@EVERY_MANY
@pytest.mark.parametrize("count", [1, 2, 7, 10_000])
def test_as_many_come_as_were_asked_for(many: Many, count: int) -> None:
    for entropy in (SystemEntropy(), SeededEntropy(0)):
        assert np.unique(many(2.0**50, count, entropy)).size == count
