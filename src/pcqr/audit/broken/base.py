"""What a specimen is: a bug that somebody has made or could make, beside the same code without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pcqr.audit.exact.cases.classifiers import Counted, Published, followed
from pcqr.audit.exact.cases.weights import LabelCounts
from pcqr.audit.exact.drawn import DrawnCase
from pcqr.audit.exact.samplers import Sampler, SamplerCase
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


def exact_case(subject: Subject) -> Case:
    """Return what the exact verifier makes of a bug or a twin.

    A sampler is walked word by word, all else choice by choice; the last noisy sum of what is published has a law in
    closed form.
    """
    name, claim, mechanism = subject.name, subject.claim, subject.mechanism
    if isinstance(mechanism, Sampler):
        return SamplerCase.of(name, claim, mechanism)
    neighbours = [(subject.first, subject.second)]
    if isinstance(mechanism, Published):
        return followed(DrawnCase.once(name, claim, neighbours, mechanism), mechanism)
    if isinstance(mechanism, Counted | LabelCounts):
        return DrawnCase.once(name, claim, neighbours, mechanism)
    return Case.once(name, claim, neighbours, mechanism)
