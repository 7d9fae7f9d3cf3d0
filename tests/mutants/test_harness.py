"""The harness itself: patterns change code, changes apply, a bad one is caught and a harmless one is not."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from mutants import mirror, report
from mutants.patterns import Change, changes
from mutants.selection import ROOMS, ROOT, SHARES, Explanations, by_pattern, named, sample

SOURCE = '''
"""A docstring 1 < 2."""
from math import floor

LEAST = 2


def f(x: int = 1, *, scale: float = 0.5) -> float:
    """Another 3 < 4."""
    check(x)
    if x < 0 and not scale:
        raise ValueError(f"below {1 + 1}")
    with self._lock:
        total += rounded_up(discrete_laplace(scale, entropy) + min(x, 7))
    return total
'''


def test_every_pattern_changes_the_code_and_nothing_but_it() -> None:
    found = changes("pcqr/made_up.py", SOURCE)
    texts = {(change.operator, change.old, change.new) for change in found}
    assert {
        ("comparison", "x < 0", "(x <= 0)"),
        ("logic", "x < 0 and not scale", "(x < 0 or not scale)"),
        ("condition", "x < 0 and not scale", "False"),
        ("sign", "not scale", "(scale)"),
        ("constant", "2", "3"),
        ("constant", "0.5", "1.0"),
        ("statement", "check(x)", "pass"),
        ("twin", "min(x, 7)", "(max(x, 7))"),
        ("noise", "discrete_laplace(scale, entropy)", "(discrete_laplace(scale / 2.0, entropy))"),
        ("noise", "discrete_laplace(scale, entropy)", "(0 * discrete_laplace(scale, entropy))"),
        ("lock", "self._lock", "__import__('contextlib').nullcontext()"),
    } <= texts
    assert {change.operator for change in found} >= {"guard", "term", "arithmetic", "call"}
    assert not [change for change in found if "docstring" in change.old or change.old.startswith("1 + 1")]
    before = ast.dump(ast.parse(SOURCE))
    for change in found:
        assert ast.dump(ast.parse(change.applied_to(SOURCE.encode()))) != before
    assert len({change.name for change in found}) == len(found)
    assert {change.room for change in found} == {"made_up"}


def test_the_sample_is_fixed_and_has_each_rooms_share() -> None:
    candidates = by_pattern(Explanations.read())
    drawn = sample(candidates)
    assert {room: sum(change.room == room for change in drawn) for room in ROOMS} == SHARES
    assert sample(candidates[::-1]) == drawn
    assert len({change.name for change in drawn}) == len(drawn)


def test_every_named_change_fits_the_code() -> None:
    listed = named()
    assert len(listed) >= 30
    assert all(change.why for change in listed)


def test_a_named_change_that_no_longer_fits_is_reported(tmp_path: Path) -> None:
    listing = tmp_path / "named.toml"
    listing.write_text('[[change]]\npath = "pcqr/entropy.py"\nold = "import"\nnew = "x"\nwhy = "y"\n', encoding="utf-8")
    with pytest.raises(ValueError, match="more than once"):
        named(listing)
    with pytest.raises(ValueError, match="moved under"):
        Change("pcqr/entropy.py", "", "named", 1, 0, "old", "new").applied_to(b"not so")


def test_tests_that_judge_exist_and_mirrors_come_first() -> None:
    for path in {change.path for change in by_pattern(Explanations({}, {}, ()))}:
        mirrors, further = mirror.tests_for(path)
        tests = [*mirrors, *further]
        assert tests
        assert "tests/test_proofs.py" not in tests
        assert all((ROOT / test).is_file() for test in tests), path
    assert mirror.tests_for("pcqr/mechanisms/votes.py")[0][0] == "tests/mechanisms/test_votes.py"
    assert set(mirror.FURTHER) == set(ROOMS)
    assert all((ROOT / "src" / path).is_file() for path in mirror.OTHER_NAMES)


JUDGE = """
import sys
from pathlib import Path
from mutants import runner
from mutants.patterns import Change
runner.COPY, runner.SLOW_TO_IMPORT = Path(sys.argv[1]), ("pytest",)
runner.prepare()
path, old = "pcqr/mechanisms/votes.py", "return votes.index(max(votes))"
source = (runner.SOURCES / path).read_bytes()
for new in (old.replace("max", "min"), old.replace("votes.", "+votes.")):
    change = Change(path, "plurality", "", 1, source.index(old.encode()), old, new)
    print(runner.judge(change, ["tests/mechanisms/test_votes.py"]).caught_by)
print((runner.COPY / path).read_bytes() == source)
"""


def test_a_bad_change_is_caught_a_harmless_one_is_not_and_both_are_taken_back(tmp_path: Path) -> None:
    """In a process of its own: a change is seen only by one that has not imported pcqr."""
    command = [sys.executable, "-c", JUDGE, str(tmp_path)]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    bad, harmless, is_back = told.stdout.split("\n")[:3]
    assert bad.startswith("tests/mechanisms/test_votes.py::")
    assert (harmless, is_back) == ("None", "True")


def test_the_table_counts_and_lists_survivors() -> None:
    made = {"place": "a.py", "operator": "sign", "old": "a", "new": "b", "why": ""}
    results = [
        report.Result("1", "noise", caught_by="t", **made),
        report.Result("2", "noise", caught_by=None, **made),
        report.Result("3", "entropy", caught_by=None, **made),
    ]
    text = report.table(results, Explanations({}, {"2": "Harmless."}, ()))
    assert "| noise | 1 | 1 | 0 | 1 |" in text
    assert "| **all** | 2 | 1 | 1 | 1 |" in text
    assert "1 of 2 changes were caught (50.0 %)" in text
    assert "Harmless." in text
    assert text.count("Not explained") == 1


def test_stored_survivors_are_explained() -> None:
    explained = Explanations.read()
    assert [result for result in report.read() if result.caught_by is None and not explained.of(result.name)] == []
