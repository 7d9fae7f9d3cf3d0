"""The harness itself: patterns change code, changes apply, a bad one is caught and a harmless one is not."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mutants import code, mirror, report
from mutants.patterns import Change, changes
from mutants.runner import Verdict
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


@pytest.fixture(scope="module")
def candidates() -> list[Change]:
    return by_pattern(Explanations.read())


def test_the_sample_is_fixed_and_has_each_rooms_share(candidates: list[Change]) -> None:
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
    listing.write_text(
        '[[change]]\npath = "pcqr/privacy/entropy.py"\nold = "import"\nnew = "x"\nwhy = "y"\n', encoding="utf-8"
    )
    with pytest.raises(ValueError, match="more than once"):
        named(listing)
    with pytest.raises(ValueError, match="moved under"):
        Change("pcqr/privacy/entropy.py", "", "named", 1, 0, "old", "new").applied_to(b"not so")


def test_tests_that_judge_exist_and_mirrors_come_first(candidates: list[Change]) -> None:
    for path in {change.path for change in candidates}:
        mirrors, further = mirror.tests_for(path)
        tests = [*mirrors, *further]
        assert tests
        assert "tests/test_proofs.py" not in tests
        assert all((ROOT / test).is_file() for test in tests), path
    assert mirror.tests_for("pcqr/mechanisms/stability.py")[0][0] == "tests/mechanisms/test_stability.py"
    assert set(mirror.FURTHER) == set(ROOMS)
    assert all((ROOT / "src" / path).is_file() for path in mirror.OTHER_NAMES)


JUDGE = """
import sys
from pathlib import Path
from mutants import judging, runner
from mutants.patterns import Change
runner.SLOW_TO_IMPORT = ("pytest",)
judging.COPIES = Path(sys.argv[1])
judging.tests_for = lambda path: (
    ["tests/mechanisms/test_votes.py" if "stability" in path else "tests/privacy/test_unit.py"],
    [],
)
sources = {
    path: (runner.SOURCES / path).read_bytes() for path in ("pcqr/mechanisms/stability.py", "pcqr/privacy/unit.py")
}
votes, unit = sources
changes = [
    Change(path, "", "", 1, sources[path].index(old.encode()), old, new)
    for path, old, new in (
        (votes, "return votes.index(max(votes))", "return votes.index(min(votes))"),
        (votes, "return votes.index(max(votes))", "return votes.index(+max(votes))"),
        (unit, "RECORD = Unit(", "RECORD = Unit(1, "),
    )
]
for chosen, jobs in ((changes, 2), (changes[:1], 1)):
    told = dict(judging.judged(chosen, jobs))
    print(*(told[change].caught_by for change in chosen))
bad = judging.COPIES / "test_bad.py"
bad.write_text("import not_installed")
copy = runner.Copy(judging.COPIES / "0")
proof = copy.prove([str(bad), "tests/mechanisms/test_votes.py"])
print(len(proof.failed), len(proof.durations) > 3)
unable = runner.Proof({}, frozenset(proof.durations))
print(copy.judge(changes[0], ["tests/mechanisms/test_votes.py"], unable).caught_by)
for copy in ("0", "1"):
    print(all((judging.COPIES / copy / "src" / path).read_bytes() == source for path, source in sources.items()))
"""


@pytest.mark.slow
def test_a_bad_change_is_caught_a_harmless_one_is_not_and_both_are_taken_back(tmp_path: Path) -> None:
    """In a process of its own: a change is seen only by one that has not imported pcqr. By two jobs, then by one."""
    command = [sys.executable, "-c", JUDGE, str(tmp_path)]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    by_two, by_one, proved, by_none, *are_back = told.stdout.splitlines()
    bad, harmless, other = by_two.split()
    assert bad.startswith("tests/mechanisms/test_votes.py::")
    assert harmless == "None"
    assert other == "collection"
    assert by_one.startswith("tests/mechanisms/test_votes.py::")
    assert proved == "1 True"
    assert by_none == "None", "what fails without any change judges nothing"
    assert are_back == ["True", "True"]


def test_the_table_counts_and_lists_survivors() -> None:
    made = [Change(f"pcqr/{room}/a.py", "", "sign", 1, 0, "a", "b") for room in ("privacy", "data", "mechanisms")]
    caught, harmless, alive = (replace(each, new=new) for each, new in zip([made[0], *made[:2]], "cde", strict=True))
    stored = {each.name: report.Result("t" if each == caught else None, None) for each in (caught, harmless, alive)}
    explanations = Explanations({}, {harmless.name: "Harmless."}, ())
    text = report.table([caught, harmless, alive, made[2]], stored, explanations)
    assert "| privacy | 1 | 1 | 0 | 1 |" in text
    assert "| **all** | 2 | 1 | 1 | 1 |" in text
    assert "1 of 2 changes were caught (50.0 %)" in text
    assert "Harmless." in text
    assert text.count("Not explained") == 1


def test_stored_survivors_are_explained() -> None:
    explained = Explanations.read()
    assert [name for name, result in report.read().items() if result.caught_by is None and not explained.of(name)] == []


CODE = '''
"""What it is."""
LEAST = 2


class Vote:
    """A vote."""

    most = 3

    def count(self, x):
        """Count."""
        return x + LEAST

    def other(self, x):
        return x
'''
TEST = """
def test_count():
    assert count(1) == 3


def test_other():
    assert other(1) == 1
"""


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str | None]]:
    """The fingerprint of a change of `Vote.count`, caught by `test_count`, with this code and these tests."""
    monkeypatch.setattr(code, "ROOT", tmp_path)
    (tmp_path / "src" / "pcqr").mkdir(parents=True)

    def fingerprint(source: str, tests: str, caught_by: str | None = "test_x.py::test_count[1]") -> str | None:
        (tmp_path / "src" / "pcqr" / "x.py").write_text(source, encoding="utf-8")
        (tmp_path / "test_x.py").write_text(tests, encoding="utf-8")
        code._parsed.cache_clear()
        (change,) = (each for each in changes("pcqr/x.py", source) if each.new == "(x - LEAST)")
        return code.fingerprint(change, caught_by)

    yield fingerprint
    code._parsed.cache_clear()


def test_a_verdict_rests_on_its_function_and_its_test_alone(written: Callable[..., str | None]) -> None:
    before = written(CODE, TEST)
    assert before is not None
    elsewhere = CODE.replace("return x\n", "return x + 1\n").replace("LEAST = 2", "LEAST = 5").replace("most = 3", "")
    assert written(elsewhere.replace("Count.", "Counts."), TEST.replace("other(1) == 1", "other(2) == 2")) == before
    assert written(CODE.replace("x + LEAST", "x + LEAST * 2").replace("LEAST * 2", "LEAST  # new"), TEST) == before
    assert written(CODE.replace("return x + LEAST", "x = 2 * x\n        return x + LEAST"), TEST) != before
    assert written(CODE, TEST.replace("count(1) == 3", "count(1)")) != before
    assert written(CODE, TEST.replace("test_count", "test_counted")) is None
    survivor = written(CODE, TEST, None)
    assert survivor == written(CODE, "", None) != before


def test_a_change_outside_functions_rests_on_its_statement(tmp_path: Path, written: Callable[..., str | None]) -> None:
    written(CODE, TEST)
    for new, same, other in (("4", "return x\n", "most = 3"), ("3", "most = 3", "LEAST = 2")):
        change = next(each for each in changes("pcqr/x.py", CODE) if (each.operator, each.new) == ("constant", new))
        before = code.fingerprint(change, None)
        for text, is_same in ((same, True), (other, False)):
            source = CODE.replace(text, text.replace("x\n", "x + 7\n").replace("= ", "= 7 + "))
            (tmp_path / "src" / "pcqr" / "x.py").write_text(source, encoding="utf-8")
            code._parsed.cache_clear()
            assert (code.fingerprint(change, None) == before) is is_same
        written(CODE, TEST)


def test_missing_are_those_without_a_result_of_the_code_as_it_stands(written: Callable[..., str | None]) -> None:
    rests_on = written(CODE, TEST)
    found = changes("pcqr/x.py", CODE)
    (change,) = (each for each in found if each.new == "(x - LEAST)")
    result = report.Result.of(change, Verdict("test_x.py::test_count[1]", 0.0))
    assert result.rests_on == rests_on
    assert report.current(found, {change.name: result}) == [change]
    written(CODE, TEST.replace("== 3", "> 0"))
    assert report.current(found, {change.name: result}) == []
    assert report.current(found, {}) == []


def test_nine_results_of_ten_are_of_the_code_as_it_stands(candidates: list[Change]) -> None:
    """Else run `python -m mutants --missing`: the page would speak of code that is gone."""
    selection = [*sample(candidates), *named()]
    fresh = report.current(selection, report.read())
    assert len(fresh) >= 0.9 * len(selection), f"{len(fresh)} of {len(selection)}: run python -m mutants --missing"
    page = report.PAGE.read_text(encoding="utf-8")
    assert re.search(r"At commit [0-9a-f]{10}, \d+ of \d+ changes have a result of the code as it stands\.", page)
