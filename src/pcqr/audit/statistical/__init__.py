"""The statistical auditor: a lower bound on ε from many runs of the real code, wrong with a stated small chance.

A mechanism is a black box here: private data in, everything that an observer sees out, exceptions included. It is run
on two neighbours with the operating system's entropy. The event that tells the neighbours apart best is chosen on one
half of the runs and judged on the other half (Ding, Wang, Wang, Zhang, Kifer 2018 search for events in this way;
Jagielski, Ullman, Oprea 2020 bound ε by Clopper–Pearson limits). A mechanism is flagged when the bound exceeds its
claim: if the claim holds, that happens with a chance of at most the stated level.

What it cannot do is clear a mechanism: the bound grows with the number of runs and never passes what the chosen
neighbours reveal. That is what `pcqr.audit.exact` is for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pcqr.audit.statistical.runs import (
    Event,
    Mechanism,
    Subject,
    Submit,
    best_event,
    here,
    least_epsilon,
    observe,
    processes,
    split,
    tallies,
)
from pcqr.checks import check_integer, check_probability
from pcqr.privacy.guarantee import Guarantee

__all__ = [
    "Audited",
    "Event",
    "Mechanism",
    "Subject",
    "Submit",
    "audit",
    "here",
    "least_epsilon",
    "observe",
    "processes",
]


@dataclass(frozen=True)
class Audited:
    """What the runs show: ε ≥ `epsilon` at the claimed δ, unless something of probability `level` has happened.

    `event` was chosen on half of the `runs` on each neighbour; in the other half it happened `hits` times on the
    neighbour where it is more likely and `others` times on the other one.
    """

    epsilon: float
    level: float
    runs: int
    hits: int
    others: int
    event: Event

    def refutes(self, claim: Guarantee) -> bool:
        return self.epsilon > claim.epsilon


def audit(
    subjects: Sequence[Subject],
    *,
    runs: int,
    level: float,
    submit: Submit = here,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Audited]:
    """Audit each of `subjects` by `runs` runs on each neighbour; `level` is the chance of a false alarm of each.

    Over several audits the chances add up: give each a share of what the whole table may have. `submit` does the work,
    here or on other `processes`; `advance` is told the number of runs whenever some are done.
    """
    check_integer("runs", runs, least=2)
    check_probability("level", level)
    half = runs // 2
    groups = [
        split(subject.mechanism, data, half)
        for subject in subjects
        for data in (subject.first, subject.second)
        for _ in ("to choose the event", "to judge it")
    ]
    counted = iter(tallies(groups, submit, advance))
    audited = []
    for subject in subjects:
        choose_first, judge_first, choose_second, judge_second = (next(counted) for _ in range(4))
        event = best_event(choose_first, choose_second, subject.claim.delta, level)
        hits, others = event.hits(judge_first, judge_second)
        bound = max(0.0, float(least_epsilon(hits, others, half, subject.claim.delta, level)))
        audited.append(Audited(bound, level, 2 * half, hits, others, event))
    return audited
