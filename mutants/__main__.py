"""python -m mutants [--only ROOM] [--survivors] [--missing] [--all] [--list]: which changes does no test notice?

Results of the sample and of named changes are kept in mutants/results.json, where a later run of some of them replaces
theirs, and shown in docs/mutants.md. Fails when a survivor is not explained.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from mutants import report
from mutants.mirror import tests_for
from mutants.patterns import Change
from mutants.runner import Verdict, judge, prepare
from mutants.selection import Explanations, by_pattern, in_order, named, sample


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--only", action="append", metavar="ROOM", help="a room, or a file below src; may be repeated")
    parser.add_argument("--all", action="store_true", help="every change by pattern, not a sample")
    parser.add_argument("--survivors", action="store_true", help="only what the stored results call survivors")
    parser.add_argument("--missing", action="store_true", help="only what the stored results do not have")
    parser.add_argument("--list", action="store_true", help="name the changes and run nothing")
    options = parser.parse_args(arguments)

    explanations = Explanations.read()
    candidates = by_pattern(explanations)
    selection = in_order([*sample(candidates), *named()])
    chosen = in_order([*candidates, *named()]) if options.all else selection
    if options.only:
        chosen = [change for change in chosen if {change.room, change.path} & set(options.only)]
    stored = {result.name: result for result in report.read()}
    if options.survivors:
        chosen = [change for change in chosen if change.name in stored and stored[change.name].caught_by is None]
    if options.missing:
        chosen = [change for change in chosen if change.name not in stored]
    if options.list:
        print("\n".join(report.line(change) for change in chosen))
        return 0

    prepare()
    results: list[report.Result] = []
    for result in _run(chosen):
        results.append(result)
        stored[result.name] = result  # written at once: a run takes an hour and may be broken off
        report.write([stored[change.name] for change in selection if change.name in stored], explanations)
    print(report.table(results, explanations))
    unexplained = [result for result in results if result.caught_by is None and not explanations.of(result.name)]
    return 1 if unexplained else 0


def _run(chosen: list[Change]) -> Iterator[report.Result]:
    """Judge the changes one by one, file by file."""
    judged = Judge()
    for place, change in enumerate(chosen, 1):
        verdict = judged(change)
        outcome = "SURVIVED" if verdict.caught_by is None else "caught"
        print(f"{place}/{len(chosen)} {outcome} {verdict.seconds:.0f} s  {report.line(change)}", flush=True)
        yield report.Result.of(change, verdict)


class Judge:
    """The verdict on a change: by the mirrors of its file first, by further tests only where those notice nothing.

    A test judges nothing before it has passed on the code as it is.
    """

    def __init__(self) -> None:
        self._durations: dict[str, float] = {}
        self._sound: set[str] = set()

    def __call__(self, change: Change) -> Verdict:
        verdict = Verdict(None, 0.0)
        for tests in filter(None, tests_for(change.path)):
            self._prove(tests)
            verdict = judge(change, tests, self._durations)
            if verdict.caught_by is not None:
                break
        return verdict

    def _prove(self, tests: list[str]) -> None:
        if unproved := [test for test in tests if test not in self._sound]:
            verdict = judge(None, unproved)
            if verdict.caught_by is not None:
                sys.exit(f"fails without any change: {verdict.caught_by}")
            self._sound.update(unproved)
            self._durations |= verdict.durations


if __name__ == "__main__":
    sys.exit(main())
