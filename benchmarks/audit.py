"""Does the audit catch every broken mechanism, every time, and how often does it cry wolf?

    python -m benchmarks.audit [--repeats 20] [--audits 200] [--json FILE]
    python -m benchmarks.audit --picture [--redraw]

Each bug that only runs can show is audited `repeats` times as `pcqr audit --fast` would, with fresh randomness from the
operating system (there is no seed to set: the real code path has none). Bugs with an exact law are computed once: the
verifier draws nothing, so that every repetition would give the same figure.

False alarms are counted over `audits` audits of correct mechanisms, the correct twins and the shipped subjects in turn,
and over as many of one whose ε is attained by likely events, so that nothing but the level keeps it from being flagged.
The level is high enough for some to be expected; the count is compared with the binomial 99 % limit.

`--picture` makes the audit of `pcqr audit --fast` once, keeps the rows of its picture in a file and draws them;
`--redraw` draws what is in that file.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scipy.stats import binom

from benchmarks.accuracy import show, wide_console, write_json
from pcqr.audit.broken import BROKEN, Bug, exact_case
from pcqr.audit.exact import verify
from pcqr.audit.report import FAST, LEVEL, make_report
from pcqr.audit.statistical import Subject, Submit, audit, processes, shipped_subjects
from pcqr.plotting.pictures import Line, lines_of
from pcqr.plotting.pictures import draw_audit as draw

RESULTS = Path("benchmarks/results/audit.json")
LINES = Path("benchmarks/results/audit_picture.json")
PICTURE = Path("docs/images/audit.png")
REPEATS, AUDITS = 20, 200
ALARM_LEVEL, ALARM_RUNS = 0.05, 600
ROWS = 30
"""No more rows than that are audited by runs in a fast table: each has at least a share 1/ROWS of its level."""


@dataclass(frozen=True)
class Caught:
    """How often a bug was caught, and by how much: the exact ε (∞ as a string), or the least of the lower bounds.

    One repeat stands for any number where the law was computed.
    """

    bug: str
    caught_by: str
    claimed: float
    found: float | str
    caught: int
    repeats: int
    twin_passes: bool


def catch(bug: Bug, repeats: int, submit: Submit) -> Caught:
    claim = bug.broken.claim
    if bug.caught_by == "exact":
        broken, correct = (verify(exact_case(subject)) for subject in (bug.broken, bug.correct))
        found = "infinity" if math.isinf(broken.epsilon) else broken.epsilon
        return Caught(bug.name, bug.caught_by, claim.epsilon, found, int(not broken.passed), 1, correct.passed)
    level = LEVEL / ROWS
    results = audit([bug.broken] * repeats, runs=FAST.runs, level=level, submit=submit)
    (twin,) = audit([bug.correct], runs=FAST.runs, level=level, submit=submit)
    least, caught = min(result.epsilon for result in results), sum(result.refutes(claim) for result in results)
    return Caught(bug.name, bug.caught_by, claim.epsilon, least, caught, repeats, not twin.refutes(claim))


@dataclass(frozen=True)
class Alarms:
    """False alarms among audits of correct mechanisms, in all and by mechanism, and the binomial 99 % limit."""

    audits: int
    runs: int
    level: float
    alarms: int
    limit: int
    by_mechanism: dict[str, int]


def cry_wolf(correct: Sequence[Subject], audits: int, submit: Submit) -> Alarms:
    """Audit the `correct` mechanisms in turn."""
    subjects = list(itertools.islice(itertools.cycle(correct), audits))
    results = audit(subjects, runs=ALARM_RUNS, level=ALARM_LEVEL, submit=submit)
    false = Counter(s.name for s, result in zip(subjects, results, strict=True) if result.refutes(s.claim))
    limit = int(binom.ppf(0.99, audits, ALARM_LEVEL))
    return Alarms(audits, ALARM_RUNS, ALARM_LEVEL, false.total(), limit, dict(false))


def keep_lines() -> None:
    """The rows of the picture, ∞ as a string."""
    with processes(2) as submit:
        lines = lines_of(make_report(FAST, submit=submit))
    kept = [asdict(line) | {"exact": "infinity"} if line.exact == math.inf else asdict(line) for line in lines]
    write_json(LINES, {"effort": FAST.name, "level": LEVEL}, kept)


def kept_lines(root: Path = Path()) -> list[Line]:
    kept = json.loads((root / LINES).read_text(encoding="utf-8"))["cases"]
    return [Line(**line | {"exact": None if line["exact"] is None else float(line["exact"])}) for line in kept]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--repeats", type=int, default=REPEATS, help="audits of each bug")
    parser.add_argument("--audits", type=int, default=AUDITS, help="audits of correct mechanisms")
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the results go")
    parser.add_argument("--picture", action="store_true", help=f"only the rows of the picture, and {PICTURE}")
    parser.add_argument("--redraw", action="store_true", help="only the picture, from the rows of an earlier run")
    options = parser.parse_args()
    if options.picture or options.redraw:
        if not options.redraw:
            keep_lines()
        draw(PICTURE, kept_lines())
        return
    console = wide_console()
    with processes(2) as submit, console.status("auditing"):
        caught = [catch(bug, options.repeats, submit) for bug in BROKEN]
        alarms = {
            "twins and shipped subjects": cry_wolf(
                [*(bug.correct for bug in BROKEN), *shipped_subjects(full=True)], options.audits, submit
            ),
            "a twin that attains its claim": cry_wolf(
                [bug.correct for bug in BROKEN if bug.name == "float Laplace"], options.audits, submit
            ),
        }
    false_alarms = {what: asdict(counted) for what, counted in alarms.items()}
    settings = {"runs": FAST.runs, "level": LEVEL / ROWS, "false_alarms": false_alarms}
    write_json(options.json, settings, [asdict(case) for case in caught])
    show(
        "Bugs caught",
        ["bug", "auditor", "claimed ε", "found ε", "caught", "twin"],
        [
            [
                case.bug,
                case.caught_by,
                f"{case.claimed:.3f}",
                case.found if isinstance(case.found, str) else f"{case.found:.3f}",
                f"{case.caught} of {case.repeats}" + (", computed" if case.caught_by == "exact" else ""),
                "passes" if case.twin_passes else "FLAGGED",
            ]
            for case in caught
        ],
        console,
    )
    for what, counted in alarms.items():
        console.print(
            f"False alarms, {what}: {counted.alarms} in {counted.audits} audits at level {counted.level:g} "
            f"(binomial 99 % limit: {counted.limit}).",
            highlight=False,
        )
    console.print(options.json)


if __name__ == "__main__":
    main()
