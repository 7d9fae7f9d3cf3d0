"""What a specimen is: a bug that somebody has made or could make, beside the same code without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pcqr.audit.exact.cases.classifiers import Counted, Published, followed
from pcqr.audit.exact.cases.mechanisms import as_point
from pcqr.audit.exact.cases.peers import AWAY, LINE_VECTORS, small_stage
from pcqr.audit.exact.cases.peers import NEIGHBOUR_POINTS as PUBLIC
from pcqr.audit.exact.cases.records import LabelCounts
from pcqr.audit.exact.cases.tables import Record, Table
from pcqr.audit.exact.drawn import DrawnCase
from pcqr.audit.exact.samplers import Sampler, SamplerCase
from pcqr.audit.exact.verify import Case
from pcqr.audit.statistical import Mechanism, Subject
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.unit import PRESENCE
from pcqr.releases.knn.plan import IndividualStage
from pcqr.releases.knn.run import IndividualVotes, Near, Surroundings, individual_guarantee, kernel


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


# ---------------------------------------------------------------------------------------------------------------------
# Near records that vote and pay less than what their being there changes. The private data are tables.


class NearestVotes(IndividualVotes):
    """Of those who have anything left, the nearest alone votes, and pays for its own vote."""

    def _voting(self, counted: Near, scale: float) -> Near:
        nearest = np.argsort(-counted.weights, kind="stable")[:1]
        return super()._voting(Near(counted.positions[nearest], counted.weights[nearest]), scale)


@dataclass(frozen=True)
class OneAnswer:
    """The answer to one query at 0."""

    stage: IndividualStage
    kind: type[IndividualVotes]

    def __call__(self, table: Table, entropy: Entropy) -> str:
        weights = kernel(self.stage.grid, self.stage.least_weight)
        surroundings = Surroundings(LINE_VECTORS, table.source(), PUBLIC, self.stage.reach, weights)
        labeller = self.kind(surroundings, self.stage, entropy)
        (near,) = labeller.counts(as_point(0.0))
        label = labeller.decide(near)
        return "⊥" if label is None else str(label)


OTHERS: tuple[Record, ...] = (*(((1.0, 0),) * 100), *(((1.0, 1),) * 100))
"""A little farther from the query than the last record, and of two minds."""
UNIT = 64
STAGE = replace(
    small_stage(len(OTHERS) + 1, budget=1.01),
    grid=UNIT,
    count_scale=20.0 * UNIT,
    vote_scale=150.0**-0.5,
    least=150 * UNIT,
    least_weight=0.98,
    unit=PRESENCE,
    limit=1,
)
"""A vote at the least number of neighbours has noise of one vote, and everybody can pay for one."""

NEIGHBOUR_BUGS: Sequence[Bug] = (
    bug(
        "charged for its own vote alone",
        "The nearest record that has any budget left votes, and pays for one vote. Without it the next one votes, for "
        "another label: two counts change.",
        source="what individual accounting of Feldman and Zrnic 2021 becomes with the k nearest neighbours",
        claim=individual_guarantee(STAGE, 0.24),
        broken=OneAnswer(STAGE, NearestVotes),
        correct=OneAnswer(STAGE, IndividualVotes),
        neighbours=(Table((*OTHERS, (0.0, 1))), Table((*OTHERS, (AWAY, 1)))),
    ),
)
