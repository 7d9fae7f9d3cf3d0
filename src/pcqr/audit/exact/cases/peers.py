"""What the releases are compared with: noisy majorities, confident ones, draws from a posterior, noisy students."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from pcqr.audit.exact.adversary import Session
from pcqr.audit.exact.cases.mechanisms import DISSENTING, PUBLIC, UNANIMOUS, VotesSession, as_point, votes_case
from pcqr.audit.exact.cases.tables import Pairs, Record, Table, all_neighbours, as_points, replacing_the_last
from pcqr.audit.exact.sums import Shown, SumCase
from pcqr.audit.exact.verify import Case
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.vectors import ColumnVectors
from pcqr.hypotheses.base import Points
from pcqr.hypotheses.committees import Arrays, Committee
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.mechanisms.noisy_max import ExponentialMax, GaussianMax, LaplaceMax, NoisyMax
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.unit import PRESENCE
from pcqr.releases.confident.plan import ConfidentMax, ConfidentMaxStage
from pcqr.releases.confident.run import ConfidentVotes, confident_max, confident_max_guarantee
from pcqr.releases.gibbs.plan import GibbsStage
from pcqr.releases.gibbs.run import GibbsLabels, gibbs_guarantee, gibbs_labels
from pcqr.releases.interactive.plan import PupilStage
from pcqr.releases.interactive.run import InteractiveVotes, interactive_max_guarantee
from pcqr.releases.knn.plan import IndividualStage
from pcqr.releases.knn.run import IndividualVotes, individual_guarantee, individual_votes
from pcqr.releases.knn.sampled import SampledStage, sampled_guarantee, sampled_votes
from pcqr.releases.multiparty.plan import PartiesStage
from pcqr.releases.multiparty.run import curvature_of, parties_guarantee, released, unit_vectors, whole_weights
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.noisy_max.run import NoisyVotes, noisy_max, noisy_max_guarantee

Votes = tuple[int, ...]
"""For each label."""


def peer_cases(*, full: bool) -> Iterator[Case]:
    neighbours = all_neighbours(3) if full else replacing_the_last((UNANIMOUS,) * 2)
    for noise in (ExponentialMax(0.5), ExponentialMax(1.5), GaussianMax(1.0), LaplaceMax(1.0)):
        yield noisy_max_case(noise, 2, neighbours)
    for answer in (ExponentialMax(0.5), GaussianMax(1.0), LaplaceMax(1.0)):
        yield noisy_answer_case(answer, 7 if full else 4, 3)
    pairs = neighbours if full else replacing_the_last((UNANIMOUS,) * 2, (UNANIMOUS, DISSENTING, (0.0, 1)))
    for stage, public in ((GibbsStage(3, 3, 2, 0.5), 2), (GibbsStage(3, 2, 1, 1.0), None)):
        yield gibbs_case(stage, public, pairs)
    for asked, answered in ((2, 1), (3, 2)) if full else ((2, 1),):
        yield confident_max_case(asked, answered, neighbours)
    polls = neighbouring_polls(4, 3)
    plan = ConfidentMaxStage(4, 4, 2, 1, CONFIDENT, 3)
    name = f"Confident max, 3 labels: {CONFIDENT}, k = 4, 2 asked, 1 answered"
    yield polled_case(name, confident_max_guarantee(plan, 1e-3), polls if full else polls[::7], plan, 3)
    plan, pupil = ConfidentMaxStage(4, 4, 2, 2, CONFIDENT, 3), PupilStage(2, 0.5, 1)
    name = f"Interactive max, 3 labels: {CONFIDENT}, {pupil}, k = 4, 2 asked, 2 answered"
    yield interactive_case(name, interactive_max_guarantee(plan, 1e-3), CORRECTED, plan, pupil, 3)
    yield student_case(2, 3 if full else 2)
    if full:
        yield student_case(3, 2)


def noisy_max_case(noise: NoisyMax, queries: int, neighbours: Pairs, delta: float = 1e-3) -> Case:
    """All the answers that were paid for, and one query more, which must be refused."""
    plan = NoisyMaxStage(len(neighbours[0][0].records), 3, queries, noise)
    name = f"Noisy max: {noise}, n = {plan.records}, k = {plan.teachers}, m = {queries}"
    return votes_case(
        name, noisy_max_guarantee(plan, delta), neighbours, partial(_prepared, plan), queries, queries + 1
    )


def noisy_answer_case(noise: NoisyMax, teachers: int, labels: int, delta: float = 1e-3) -> Case:
    """One answer among several labels, whichever way one teacher changes its mind."""
    plan = NoisyMaxStage(teachers, teachers, 1, noise, labels)
    name = f"Noisy max, one answer: {noise}, k = {teachers}, {labels} labels"
    votes = neighbouring_votes(teachers, labels)
    return Case.once(name, noisy_max_guarantee(plan, delta), votes, partial(_answer, noise), plan.answer)


def gibbs_case(stage: GibbsStage, public: int | None, neighbours: Pairs) -> Case:
    """All the draws that were paid for, and one query more, which must be refused."""
    name = f"Gibbs prediction: Thresholds, n = {stage.records}, n' = {stage.subsample}, m = {stage.queries}, "
    name += f"η = {stage.inverse_temperature:g}" + (f", {public} public points" if public else "")
    claimed = gibbs_guarantee(stage, Thresholds(), 1, public, 0.0)
    prepare, rounds = partial(_posterior, stage, public), stage.queries + 1
    return votes_case(name, claimed, neighbours, prepare, stage.queries, rounds)


def neighbouring_votes(teachers: int, labels: int) -> list[tuple[Votes, Votes]]:
    """All votes of so many teachers, and what each becomes when one of them changes its mind."""
    found = []
    for votes in product(range(teachers + 1), repeat=labels):
        for source, target in product(range(labels), repeat=2):
            if sum(votes) == teachers and source != target and votes[source]:
                moved = (count + (label == target) - (label == source) for label, count in enumerate(votes))
                found.append((votes, tuple(moved)))
    return found


CONFIDENT = ConfidentMax(3, 1.5, 1.0, grid=1)


def confident_max_case(asked: int, answered: int, neighbours: Pairs, delta: float = 1e-3) -> Case:
    """All that may be asked, and one query more, which must be refused."""
    plan = ConfidentMaxStage(len(neighbours[0][0].records), 3, asked, answered, CONFIDENT)
    name = f"Confident max: {CONFIDENT}, n = {plan.records}, k = 3, {asked} asked, {answered} answered"
    claimed, prepare = confident_max_guarantee(plan, delta), partial(_confident, plan)
    return votes_case(name, claimed, neighbours, prepare, asked, asked + 1)


class Polled(Committee):
    """Teachers that are known by their votes alone: those on each query of the menu."""

    kind = "polled"

    def __init__(self, votes: Sequence[Votes]) -> None:
        self._votes = np.array(votes)

    def counts(self, X: Points) -> NDArray[np.int64]:
        return self._votes[X[:, 0].astype(np.int64)]

    def arrays(self) -> Arrays:
        return {"votes": self._votes}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Polled:
        return cls(arrays["votes"].tolist())


def polled_case(
    name: str,
    claimed: Guarantee,
    neighbours: Sequence[tuple[Sequence[Votes], Sequence[Votes]]],
    plan: ConfidentMaxStage,
    rounds: int,
) -> Case:
    """Confident answers on given votes: those on each of some queries, of which any is asked in every round."""
    menu = tuple(float(query) for query in range(len(neighbours[0][0])))
    return Case(name, claimed, neighbours, partial(_polled, plan, menu), menu, rounds)


def _polled(plan: ConfidentMaxStage, menu: Sequence[float], votes: Sequence[Votes], entropy: Entropy) -> VotesSession:
    return VotesSession(ConfidentVotes(Polled(votes), plan, entropy), menu, plan.asked, entropy)


class LabelShares(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A student that takes each label to be as likely as it was so far, whatever is asked."""

    def fit(self, X: Points, y: NDArray[Any]) -> LabelShares:  # noqa: ARG002
        self.classes_, numbers = np.unique(y, return_counts=True)
        self.shares_ = numbers / numbers.sum()
        return self

    def predict_proba(self, X: Points) -> NDArray[np.float64]:
        return np.tile(self.shares_, (len(X), 1))


class StudentSession(VotesSession):
    """The student itself is a function of the history: the votes are all that is secret."""

    def secret(self) -> Hashable:
        return tuple(tuple(map(int, counts)) for _, counts in self._labeller.counts(as_points(self._menu)))


CORRECTED = [(((3, 1, 0), (0, 0, 4)), ((2, 2, 0), (0, 1, 3)))]
"""The votes of four teachers on two queries; one of them changes its mind about both."""


def interactive_case(
    name: str,
    claimed: Guarantee,
    neighbours: Sequence[tuple[Sequence[Votes], Sequence[Votes]]],
    plan: ConfidentMaxStage,
    pupil: PupilStage,
    rounds: int,
) -> Case:
    """Interactive answers on given votes, with a student of their labels."""
    menu = tuple(float(query) for query in range(len(neighbours[0][0])))
    return Case(name, claimed, neighbours, partial(_interactive, plan, pupil, menu), menu, rounds)


def _interactive(
    plan: ConfidentMaxStage, pupil: PupilStage, menu: Sequence[float], votes: Sequence[Votes], entropy: Entropy
) -> VotesSession:
    labeller = InteractiveVotes(Polled(votes), plan, pupil, LabelShares(), entropy)
    for label in (0, plan.labels - 1):
        labeller.student.learn(np.array([-1.0]), label)  # as if these had been answered before
    return StudentSession(labeller, menu, plan.asked, entropy)


def _confident(plan: ConfidentMaxStage, table: Table, entropy: Entropy) -> ConfidentVotes:
    return confident_max(Thresholds(), table.source(), plan, entropy)


def neighbouring_polls(teachers: int, labels: int) -> list[tuple[tuple[Votes, ...], tuple[Votes, ...]]]:
    """The votes on two queries, each with one teacher that changes its mind: all pairs of the first and the last, …"""
    votes = neighbouring_votes(teachers, labels)
    return [
        ((first, other_first), (second, other_second))
        for (first, second), (other_first, other_second) in zip(votes, reversed(votes), strict=True)
    ]


STUDENT_FEATURES = FeatureMap(ColumnVectors(centres=(0.0,), scales=(3.0,), constant=4, features=1), None, share=256)
"""v = (3x, 4): of length 5 at x = ±1."""
STUDENT_POINTS = np.array([[1.0], [-1.0], [0.0]])


def student_case(labels: int, points: int, parties: int = 3, delta: float = 0.01) -> Case:
    """A published student of the votes on so many points, whatever one party has said there, and says instead."""
    vectors = unit_vectors(STUDENT_FEATURES, STUDENT_POINTS[:points])
    draft = PartiesStage(
        records=parties,
        parties=parties,
        points=points,
        coordinates=vectors.shape[1],
        penalty=0.5,
        curvature=curvature_of(vectors),
        steps=40,
        scale=1.0,
        grid=2**5,
        labels=labels,
    )
    plan = replace(draft, scale=draft.sensitivity)
    name = f"Student of soft votes: {labels} labels, {points} points, P = {parties}, λ = {plan.penalty:g}, "
    name += f"σ = {plan.scale:.4g}, δ = {delta:g}"
    neighbours = neighbouring_ballots(labels, points, parties)
    start = partial(Shown, partial(_student, plan, vectors))
    return SumCase(name, parties_guarantee(plan, delta), neighbours, start, event=plan.release)


def neighbouring_ballots(labels: int, points: int, parties: int) -> list[tuple[tuple[Votes, ...], tuple[Votes, ...]]]:
    """The votes on each point where one party has said anything and then anything else, and the others agree."""
    found = []
    for others in range(labels):
        for said, instead in combinations(product(range(labels), repeat=points), 2):
            found.append((_votes(labels, parties, others, said), _votes(labels, parties, others, instead)))
    return found


def _votes(labels: int, parties: int, others: int, said: Sequence[int]) -> tuple[Votes, ...]:
    return tuple(tuple((parties - 1) * (label == others) + (label == own) for label in range(labels)) for own in said)


def _student(
    plan: PartiesStage, vectors: NDArray[np.float64], votes: Sequence[Votes], entropy: Entropy
) -> tuple[float, ...]:
    """The published weights, in units of the noisy integers."""
    published = released(STUDENT_FEATURES, whole_weights(vectors, np.array(votes), plan), plan, entropy)
    return tuple(plan.grid * weight for block in published.weights for weight in block)


def _answer(noise: NoisyMax, votes: Votes, entropy: Entropy) -> int:
    return noise.decide(np.array(votes), entropy)


def _posterior(stage: GibbsStage, public: int | None, table: Table, entropy: Entropy) -> GibbsLabels:
    return gibbs_labels(Thresholds(), table.source(), None if public is None else PUBLIC[:public], stage, entropy)


def _prepared(plan: NoisyMaxStage, table: Table, entropy: Entropy) -> NoisyVotes:
    return noisy_max(Thresholds(), table.source(), plan, entropy)


# ---------------------------------------------------------------------------------------------------------------------
# Near records that vote: with budgets of their own, deletions among the moves; and the nearest of every sample.


LINE_VECTORS = ColumnVectors(centres=(0.0,), scales=(1.0,), features=1, constant=1)
NEIGHBOUR_POINTS = np.array([[0.0], [1.0], [2.0]])
AWAY = 100.0
"""Nobody there is near a query: an empty place."""
Move = float | str
FORGET = "forget the last record"
"""A move of the adversary beside the places to ask for."""
MENU: tuple[Move, ...] = (0.0, FORGET)


def small_stage(records: int, budget: float, classes: int = 2) -> IndividualStage:
    """W = 2 at the query and 1 at the edge, which is one step away; a count costs a record ¼ and a vote about ½."""
    return IndividualStage(
        records=records,
        classes=classes,
        public=3,
        reach=2,
        budget=budget,
        count_scale=4.0,
        vote_scale=1.0,
        least=1,
        unanswered=9,
        limit=9,
        least_weight=0.3,
        grid=2,
    )


class NeighbourSession(Session[Move]):
    """The labeller without its protocol: a query may be asked again, and is then decided again."""

    def __init__(self, labeller: IndividualVotes, records: int) -> None:
        self._labeller, self._last = labeller, np.array([records - 1])

    def ask(self, query: Move) -> Hashable:
        if isinstance(query, str):
            self._labeller.forget(self._last)
            return "forgotten"
        (near,) = self._labeller.counts(as_point(query))
        return self._labeller.decide(near)


def _started(stage: IndividualStage, table: Table, entropy: Entropy) -> NeighbourSession:
    labeller = individual_votes(LINE_VECTORS, table.source(stage.classes), NEIGHBOUR_POINTS, stage, entropy)
    return NeighbourSession(labeller, stage.records)


def individual_case(
    stage: IndividualStage, neighbours: Pairs, rounds: int, menu: Sequence[Move] = MENU, delta: float = 0.01
) -> Case:
    name = (
        f"Ind-kNN: {stage.unit.kind}, C = {stage.classes}, n = {stage.records}, b = {stage.budget:g}, "
        f"σ₁ = {stage.count_scale:g}, {rounds} rounds of {len(menu)} moves"
    )
    return Case(name, individual_guarantee(stage, delta), neighbours, partial(_started, stage), menu, rounds)


def against(common: Sequence[Record], first: Record, second: Record) -> Pairs:
    """Two tables that differ in their last record."""
    return [(Table((*common, first)), Table((*common, second)))]


class SampledSession(Session[float]):
    """The labeller without its protocol."""

    def __init__(self, stage: SampledStage, table: Table, entropy: Entropy) -> None:
        self._labeller = sampled_votes(LINE_VECTORS, table.source(stage.classes), stage, entropy)

    def ask(self, query: float) -> Hashable:
        (vector,) = self._labeller.counts(as_point(query))
        return self._labeller.decide(vector)


def sampled_case(stage: SampledStage, neighbours: Pairs, delta: float = 0.01) -> Case:
    """All samples, and as many queries as were paid for."""
    name = (
        f"Private-kNN: C = {stage.classes}, n = {stage.records}, k = {stage.neighbours}, q = {stage.rate:.2g}, "
        f"σ = {stage.scale:g}, m = {stage.queries}"
    )
    start = partial(SampledSession, stage)
    return Case(name, sampled_guarantee(stage, delta), neighbours, start, (0.0,), stage.queries)


def neighbour_cases(*, full: bool) -> Iterator[Case]:
    others: tuple[Record, ...] = ((1.0, 0), (2.0, 1))
    nearest = SampledStage(3, 2, neighbours=1, queries=1, chosen=1, out_of=2, scale=1.0)
    yield sampled_case(nearest, against(others, (0.0, 0), (0.0, 1)))
    yield sampled_case(replace(nearest, queries=2, scale=0.7), against(others, (0.0, 1), (2.0, 0)))
    one: tuple[Record, ...] = ((1.0, 0),)
    stage = small_stage(2, 1.5)
    replaced, removed = against(one, (0.0, 0), (0.0, 1)), against(one, (0.0, 1), (AWAY, 1))
    yield individual_case(stage, replaced, 2)
    yield individual_case(replace(stage, unit=PRESENCE), removed, 2)
    if full:
        yield individual_case(stage, replaced, 3)
        yield individual_case(stage, against(one, (0.0, 0), (1.0, 1)), 2, (0.0, 1.0, 2.0, FORGET))
        yield individual_case(small_stage(2, 1.0, classes=3), against(one, (0.0, 1), (0.0, 2)), 2)
