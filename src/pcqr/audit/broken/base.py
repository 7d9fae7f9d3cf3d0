"""What a specimen is: a bug that somebody has made or could make, beside the same code without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pcqr.audit.exact.cases.classifiers import Contest, Question, Stacked
from pcqr.audit.exact.drawn import DrawnCase
from pcqr.audit.exact.samplers import Sampler, SamplerCase
from pcqr.audit.exact.turns import PilotCase, TurningCase
from pcqr.audit.exact.verify import Case
from pcqr.audit.statistical.runs import Mechanism, Subject
from pcqr.guarantee import Guarantee


@dataclass(frozen=True)
class Bug:
    """A broken mechanism that claims a guarantee which it does not have, and its correct twin, which has it.

    `wrong` says what is wrong, `source` where the bug was described (empty: nowhere in particular). `caught_by` is the
    auditor that must catch it: "exact" where the law of the whole transcript can be computed, else "statistical".
    """

    name: str
    wrong: str
    source: str
    caught_by: Literal["exact", "statistical"]
    broken: Subject
    correct: Subject


def bug(
    name: str,
    wrong: str,
    *,
    claim: Guarantee,
    broken: Mechanism,
    correct: Mechanism,
    neighbours: tuple[object, object],
    correct_neighbours: tuple[object, object] | None = None,
    source: str = "",
    caught_by: Literal["exact", "statistical"] = "exact",
) -> Bug:
    """A `Bug` whose two subjects share the claim and, unless `correct_neighbours` are given, the neighbours."""
    return Bug(
        name=name,
        wrong=wrong,
        source=source,
        caught_by=caught_by,
        broken=Subject(name, claim, broken, *neighbours),
        correct=Subject(f"{name}: mended", claim, correct, *(correct_neighbours or neighbours)),
    )


_KINDS: dict[type, type[Case]] = {Question: TurningCase, Contest: PilotCase, Stacked: DrawnCase}


def exact_case(subject: Subject) -> Case:
    """What the exact verifier makes of a bug or a twin: a sampler is walked word by word, all else choice by choice.

    A noisy sum after a choice has a law in closed form; one before all choices, that of a pilot, has its values.
    """
    if isinstance(subject.mechanism, Sampler):
        return SamplerCase.of(subject.name, subject.claim, subject.mechanism)
    kind = _KINDS.get(type(subject.mechanism), Case)
    return kind.once(subject.name, subject.claim, [(subject.first, subject.second)], subject.mechanism)
