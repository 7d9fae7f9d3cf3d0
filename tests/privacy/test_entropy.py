"""The door to randomness: uniform, unbiased, reproducible only when seeded. False alarms at most 10⁻⁶ each."""

from __future__ import annotations

import ast
import ctypes
import errno
import os
import random
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from support.releases import ScriptedEntropy

from pcqr.errors import ParameterError
from pcqr.privacy import entropy as entropy_module
from pcqr.privacy.entropy import Entropy, SeededEntropy, SystemEntropy, resolve_entropy, seeded_generators

FALSE_ALARM = 1e-6
BOTH = pytest.mark.parametrize("entropy", [SystemEntropy(), SeededEntropy(1)], ids=["system", "seeded"])


@BOTH
def test_words_have_fair_and_independent_bits(entropy: Entropy) -> None:
    words = entropy.words(4000)
    bits = np.unpackbits(words.view(np.uint8)).reshape(4000, 64)
    for column in (*bits.T, bits[1:, 0] ^ bits[:-1, 0]):
        assert stats.binomtest(int(column.sum()), column.size).pvalue > FALSE_ALARM / 65
    assert words.dtype == np.uint64


@BOTH
@pytest.mark.parametrize("bound", [1, 2, 3, 10])
def test_integers_below_a_bound_are_uniform(entropy: Entropy, bound: int) -> None:
    drawn = entropy.below(bound, 5000)
    counts = np.bincount(drawn, minlength=bound)
    assert counts.size == bound
    if bound > 1:
        assert stats.chisquare(counts).pvalue > FALSE_ALARM


@BOTH
def test_a_bound_near_the_largest_is_not_biased(entropy: Entropy) -> None:
    """2⁶⁴ = 5·bound + bound/3: without the redraw the lowest third of the range would come 6/5 as often."""
    bound = (1 << 61) + (1 << 60)
    low = int((entropy.below(bound, 20_000) < bound // 3).sum())
    assert stats.binomtest(low, 20_000, (bound // 3) / bound).pvalue > FALSE_ALARM
    modulo = int((entropy.words(20_000) % np.uint64(bound) < bound // 3).sum())
    assert stats.binomtest(modulo, 20_000, (bound // 3) / bound).pvalue < FALSE_ALARM, "the test must have power"


@pytest.mark.parametrize("bound", [3, 10, (1 << 62) - 1])
def test_the_first_word_that_would_bias_is_redrawn_and_the_last_that_would_not_is_kept(bound: int) -> None:
    limit = 2**64 - 2**64 % bound
    assert ScriptedEntropy(limit - 1).below(bound, 1)[0] == bound - 1
    assert ScriptedEntropy(limit, 5).below(bound, 1)[0] == 5 % bound
    assert ScriptedEntropy(2**64 - 1).below(1 << 61, 1)[0] == 2**61 - 1, "a power of two needs no redraw"


def test_tied_keys_are_drawn_again_all_of_them() -> None:
    """Keys in the order of their positions would be a bias: the earlier one would come first."""
    entropy = ScriptedEntropy(5, 9, 5, 3, 2, 1)
    assert entropy.permutation(3).tolist() == [2, 1, 0]
    assert not entropy.remaining
    assert ScriptedEntropy(5, 9, 9, 3, 2, 1).permutation(3).tolist() == [2, 1, 0], "a tie of others than the least"
    for tied in ((4, 4), (7, 7)):
        assert ScriptedEntropy(*tied, 1, 0).permutation(2).tolist() == [1, 0]


def test_system_entropy_is_the_operating_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics cannot tell a good generator with a known seed from the real one: the bytes must be the OS's own."""
    asked: list[int] = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return bytes(range(count))

    monkeypatch.setattr(os, "urandom", urandom)
    assert SystemEntropy().bytes(5) == bytes(range(5))
    assert SystemEntropy().words(2).tobytes() == bytes(range(16))
    assert asked == [5, 16]


def test_the_system_writes_into_the_array_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """In several goes where it gives less than asked for or is interrupted; and no copy is made on the way."""
    asked: list[int] = []
    answers = iter([3, -1, 0, 40])  # bytes given, or an interruption

    def getrandom(address: int, size: int, flags: int) -> int:
        assert flags == 0
        asked.append(size)
        given = min(next(answers), size)
        if given < 0:
            ctypes.set_errno(errno.EINTR)
            return -1
        ctypes.memset(address, len(asked), given)
        return given

    def no_copy(count: int) -> bytes:
        raise AssertionError(f"{count} bytes by way of a copy")

    monkeypatch.setattr(entropy_module, "_getrandom", getrandom)
    monkeypatch.setattr(os, "urandom", no_copy)
    words = np.zeros(3, dtype=np.uint64)
    SystemEntropy().fill(words)
    assert asked == [24, 21, 21, 21]
    assert words.tobytes() == bytes([1] * 3 + [4] * 21)


def test_a_system_that_will_not_is_asked_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """No such call, or a sandbox that forbids it: by `os.urandom`, and never with what was in the array."""

    def forbidden(address: int, size: int, flags: int) -> int:
        del address, size, flags
        ctypes.set_errno(errno.EPERM)
        return -1

    monkeypatch.setattr(os, "urandom", lambda count: bytes(range(count)))
    for getrandom in (None, forbidden):
        monkeypatch.setattr(entropy_module, "_getrandom", getrandom)
        words = np.zeros(2, dtype=np.uint64)
        SystemEntropy().fill(words)
        assert words.tobytes() == bytes(range(16))


def test_the_c_library_is_used_where_it_has_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform == "linux":
        assert entropy_module._libc_getrandom() is not None

    class Missing:
        def __init__(self, name: None, use_errno: bool) -> None:
            raise OSError(f"no library {name}, {use_errno}")

    monkeypatch.setattr(ctypes, "CDLL", Missing)
    assert entropy_module._libc_getrandom() is None


def test_all_of_an_array_is_filled_and_anew_each_time() -> None:
    """65 words of 64 bits: one that stayed 0, or came twice, has a chance of 2⁻⁵⁷."""
    first, second = np.zeros(65, dtype=np.uint64), np.zeros(65, dtype=np.uint64)
    SystemEntropy().fill(first)
    SystemEntropy().fill(second)
    assert len({0, *first.tolist(), *second.tolist()}) == 131
    SystemEntropy().fill(first[:0])
    with pytest.raises((TypeError, ValueError, BufferError)):
        SystemEntropy().fill(first[::2])


@pytest.mark.parametrize("bound", [0, -1, 1 << 62])
def test_a_bad_bound_is_refused(bound: int) -> None:
    with pytest.raises(ParameterError, match="bound"):
        SystemEntropy().below(bound, 1)


@BOTH
def test_permutations_are_uniform(entropy: Entropy) -> None:
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(3000):
        order = tuple(map(int, entropy.permutation(3)))
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 6
    assert stats.chisquare(list(seen.values())).pvalue > FALSE_ALARM


def test_a_seed_repeats_and_the_system_does_not() -> None:
    assert SeededEntropy(7).bytes(32) == SeededEntropy(7).bytes(32)
    assert SeededEntropy(7).bytes(32) != SeededEntropy(8).bytes(32)
    assert SystemEntropy().bytes(32) != SystemEntropy().bytes(32)
    source = SeededEntropy(7)
    assert source.bytes(32) != source.bytes(32)


def test_resolving_an_entropy_parameter() -> None:
    assert isinstance(resolve_entropy(None), SystemEntropy)
    assert resolve_entropy(None).is_private
    source = SeededEntropy(3)
    assert resolve_entropy(source) is source
    seeded = resolve_entropy(np.int64(3))  # type: ignore[arg-type]
    assert isinstance(seeded, SeededEntropy)
    assert not seeded.is_private
    assert seeded.bytes(8) == source.bytes(8)


def test_that_threads_may_share_a_source_is_its_own_promise() -> None:
    """A class that makes words in another way, with a state perhaps, does not inherit it."""

    class Counting(SystemEntropy):
        given = 0

        def bytes(self, count: int) -> bytes:
            self.given += count
            return super().bytes(count)

    class Locked(Counting):
        is_shared = True

    assert SystemEntropy().is_shared
    assert Locked().is_shared
    assert not any(source.is_shared for source in (Counting(), SeededEntropy(1), ScriptedEntropy()))


SOURCES = Path(resolve_entropy.__code__.co_filename).parents[1]
GENERATORS = {"random", "secrets", "urandom", "getrandom", "uuid4"}


def sources_of_randomness(path: Path) -> set[str]:
    """Names of generators that a module mentions in its code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {part for alias in node.names for part in alias.name.split(".")}
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("pcqr."):
            names |= set((node.module or "").split("."))  # of ours, `release.secrets` is no generator
    return names & GENERATORS


def test_there_is_one_door_to_randomness() -> None:
    """No module but entropy names a generator, and entropy names NumPy's only for the seeded twin.

    Comparisons split tables by NumPy's, and hand a seed to other libraries: nothing of that is a release.
    """
    modules = {path.relative_to(SOURCES).as_posix(): path for path in SOURCES.rglob("*.py")}
    found = {name: names for name, path in modules.items() if (names := sources_of_randomness(path))}
    assert {name for name in found if name.startswith("bench/")} == {"bench/tables.py", "bench/outside/with_dpmm.py"}
    found = {name: names for name, names in found.items() if not name.startswith("bench/")}
    assert found == {"privacy/entropy.py": {"urandom", "getrandom", "random"}}
    assert "random" not in SystemEntropy.bytes.__code__.co_names
    assert "random" not in Entropy.below.__code__.co_names + Entropy.permutation.__code__.co_names


def test_a_source_that_gives_too_little_is_an_error() -> None:
    """One word would be copied into every place of an array: the same noise everywhere."""

    class Short(Entropy):
        is_private = True

        def bytes(self, count: int) -> bytes:
            return bytes(min(count, 8))

    with pytest.raises(ValueError, match="smaller than requested"):
        Short().fill(np.zeros(4, dtype=np.uint64))
    with pytest.raises(ValueError, match="smaller than requested"):
        Short().permutation(3)
    assert Short().words(0).size == 0


def of_global_generators() -> tuple[float, float]:
    """The next number of Python's generator and of NumPy's."""
    return random.random(), float(np.random.random_sample())  # noqa: NPY002, S311


def test_global_generators_go_on_as_if_a_seeded_block_had_not_been() -> None:
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        expected = [of_global_generators() for _ in range(3)]
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        found = [of_global_generators()]
        with seeded_generators(7):
            inside = of_global_generators()
        found.append(of_global_generators())
        with suppress(KeyError), seeded_generators(7):
            again = of_global_generators()
            raise KeyError("code of others fails")
        assert again == inside
        found.append(of_global_generators())
        assert found == expected
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
