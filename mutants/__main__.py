"""python -m mutants [--only ROOM] [--survivors] [--missing] [--all] [--list] [--jobs N]: what does no test notice?

Results of the sample and of named changes are kept in mutants/results.json, where a later run of some of them replaces
theirs, and shown in docs/mutants.md. Fails when a survivor is not explained.
"""

from __future__ import annotations

import argparse
import sys

from mutants import report
from mutants.judging import judged
from mutants.selection import Explanations, by_pattern, in_order, named, sample


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--only", action="append", metavar="ROOM", help="a room, or a file below src; may be repeated")
    parser.add_argument("--all", action="store_true", help="every change by pattern, not a sample")
    parser.add_argument("--survivors", action="store_true", help="only what the stored results call survivors")
    parser.add_argument("--missing", action="store_true", help="only what has no result of the code as it stands")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many processes judge at once (default 1)")
    parser.add_argument("--list", action="store_true", help="name the changes and run nothing")
    options = parser.parse_args(arguments)

    explanations = Explanations.read()
    candidates = by_pattern(explanations)
    selection = in_order([*sample(candidates), *named()])
    chosen = in_order([*candidates, *named()]) if options.all else selection
    if options.only:
        chosen = [change for change in chosen if {change.room, change.path} & set(options.only)]
    stored = report.read()
    if options.survivors:
        chosen = [change for change in chosen if change.name in stored and stored[change.name].caught_by is None]
    if options.missing:
        has_one = {change.name for change in report.current(chosen, stored)}
        chosen = [change for change in chosen if change.name not in has_one]
    if options.list:
        print("\n".join(report.line(change) for change in chosen))
        return 0

    report.write(selection, stored, explanations)  # what is no longer in the sample goes
    for place, (change, verdict) in enumerate(judged(chosen, options.jobs), 1):
        outcome = "SURVIVED" if verdict.caught_by is None else "caught"
        print(f"{place}/{len(chosen)} {outcome} {verdict.seconds:.0f} s  {report.line(change)}", flush=True)
        stored[change.name] = report.Result.of(
            change, verdict
        )  # written at once: a run takes an hour and may be broken off
        report.write(selection, stored, explanations)
    print(report.table(chosen, stored, explanations))
    unexplained = [each for each in chosen if stored[each.name].caught_by is None and not explanations.of(each.name)]
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
