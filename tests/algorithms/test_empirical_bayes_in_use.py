"""Posteriors in contests and in classifiers: against their parts on the same noise, and where they are in use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pcqr.algorithms.contest import contest
from pcqr.planning.classifiers.contest import plan_contest
from support.either import COLUMNS, MAP, PREDICATES, TREES, bits, request_for
from support.releases import Forbidden

from pcqr import PrivateClassifier
from pcqr.algorithms import contest as contest_module
from pcqr.algorithms.empirical_bayes import EmpiricalBayes, allows_empirical_bayes
from pcqr.algorithms.linear import descend, shape_of
from pcqr.algorithms.sspp import sspp
from pcqr.entropy import SeededEntropy
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree
from pcqr.noise import discrete_gaussian
from pcqr.plan import ContestStage, DrawStage, LinearPlan, LinearStage
from pcqr.records import InMemory
from pcqr.records.feature_map import FeatureMap
from pcqr.records.vectors import PredicateVectors
from pcqr.schema import Column, Schema

Floats = NDArray[np.float64]
Maps = tuple[FeatureMap, FeatureMap]

M = 2**24

BITS = bits(200)
SEEN = FeatureMap(PredicateVectors.of(PREDICATES, COLUMNS, BITS, 0.4), None, 256)
SEEN_OTHERWISE = FeatureMap(PredicateVectors.of(PREDICATES, COLUMNS, BITS, 0.2), None, 256)
CONTESTS: dict[str, Maps] = {
    "one map": (SEEN, SEEN),
    "two maps": (SEEN, SEEN_OTHERWISE),
    "a pilot of steps": (MAP, SEEN),
    "a linear classifier of steps": (SEEN, MAP),
}
"""Whose pilots and linear classifiers are posteriors where they are seen through directions."""


def majority(records: int) -> InMemory:
    X = bits(records)
    return InMemory(X, (X.sum(axis=1) > 2).astype(np.int8))


def contest_plan(maps: Maps, records: int = 800) -> ContestStage:
    return plan_contest(request_for(records, 6.0), TREES, maps, 1e-6)


def in_parts(maps: Maps, records: InMemory, plan: ContestStage, seed: int) -> tuple[int, Hypothesis]:
    """The noisy lead, and what comes after it. On one map the pilot's sum is in the linear classifier's evidence."""
    entropy = SeededEntropy(seed)
    before = EmpiricalBayes(maps[0], BITS) if plan.pilot.is_empirical_bayes else None
    pilot = descend(maps[0], records, plan.pilot, entropy, evidence=before)
    shallow = replace(TREES, depth=plan.shallow).learn(records.X, records.y)
    wrong, best = (int((found.predict(records.X) != records.y).sum()) for found in (pilot, shallow))
    lead = M * (wrong - best) + discrete_gaussian(plan.scale, entropy)
    if lead >= M * plan.tree_from:
        return lead, sspp(replace(TREES, depth=plan.depth), records, None, DrawStage(plan.tree), entropy)
    if not plan.linear.is_empirical_bayes:
        start = pilot if maps[0] == maps[1] else None
        return lead, descend(maps[1], records, plan.linear, entropy, start=start)
    after = before if before is not None and maps[0] == maps[1] else EmpiricalBayes(maps[1], BITS)
    return lead, descend(maps[1], records, plan.linear, entropy, evidence=after)


@pytest.mark.parametrize("name", CONTESTS)
def test_a_contest_is_its_parts_on_the_same_noise(name: str) -> None:
    maps, records = CONTESTS[name], majority(800)
    plan = contest_plan(maps)
    assert (plan.pilot.is_empirical_bayes, plan.linear.is_empirical_bayes) == tuple(map(allows_empirical_bayes, maps))
    lead, _ = in_parts(maps, records, plan, 5)
    for limit in (lead // M, lead // M + 1):
        at = replace(plan, tree_from=limit)
        found = contest(TREES, maps, records, at, SeededEntropy(5), public=BITS)
        assert (lead, found) == in_parts(maps, records, at, 5)
        assert isinstance(found, DecisionTree if lead >= M * limit else LinearClassifier)


@pytest.mark.parametrize("pilot", ["steps", "a posterior"])
def test_on_one_map_pilot_and_head_may_be_made_in_two_ways(pilot: str) -> None:
    """A linear classifier of steps begins where its pilot ended; one that is a posterior knows the sums of none but its like."""
    records, steps = majority(800), LinearStage(800, *shape_of(SEEN), 3, M, 6.0 * M, 0.5, 0.05)
    plan = replace(contest_plan((SEEN, SEEN)), tree_from=800)
    mixed = replace(plan, pilot=steps) if pilot == "steps" else replace(plan, linear=steps)
    found = contest(TREES, (SEEN, SEEN), records, mixed, SeededEntropy(6), public=BITS)
    assert found == in_parts((SEEN, SEEN), records, mixed, 6)[1]


@pytest.mark.parametrize(
    ("name", "known"), [("one map", [0, 1]), ("two maps", [0, 0]), ("a linear classifier of steps", [0, None])]
)
def test_the_sums_of_a_pilot_are_known_to_its_head_on_one_map(
    name: str, known: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int | None] = []

    def watched(*given: Any, evidence: EmpiricalBayes | None = None, **named: Any) -> LinearClassifier:
        begun.append(None if evidence is None else len(evidence._sums))
        return descend(*given, evidence=evidence, **named)

    monkeypatch.setattr(contest_module, "descend", watched)
    plan = replace(contest_plan(CONTESTS[name]), tree_from=800)
    assert plan.pilot.steps == 1
    contest(TREES, CONTESTS[name], majority(800), plan, SeededEntropy(0), public=BITS)
    assert begun == known


@pytest.mark.parametrize("name", CONTESTS)
def test_a_contest_of_posteriors_needs_public_rows(name: str) -> None:
    plan = contest_plan(CONTESTS[name])
    with pytest.raises(ParameterError, match="public must be public rows of 5 columns"):
        contest(TREES, CONTESTS[name], majority(800), plan, Forbidden())


Table = Floats | dict[str, Floats]


def fitted(
    epsilon: float, *, rows: int = 300, labels: int = 2, schema: Schema | None = None
) -> tuple[PrivateClassifier, Table, NDArray[np.int64]]:
    """One of 1,000 records, and other ones."""
    X, fresh, public = (np.random.default_rng(seed).random((count, 2)) for seed, count in enumerate((1_000, 500, rows)))
    y, truth = (((each > 0.4).sum(axis=1) * (labels - 1) // 2).astype(np.int64) for each in (X, fresh))
    tables: list[Table] = (
        [X, fresh] if schema is None else [dict(zip("ab", each.T, strict=True)) for each in (X, fresh)]
    )
    classifier = PrivateClassifier(epsilon, method="linear", entropy=0, classes=range(labels))
    classifier.fit(tables[0], y, public=public if rows else None, schema=schema)
    return classifier, tables[1], truth


@pytest.mark.parametrize(("epsilon", "rows"), [(2.0, 300), (7.99, 300), (2.0, 160)])
def test_a_head_of_few_records_is_a_posterior(epsilon: float, rows: int) -> None:
    """Four public rows for each of 40 predicates are enough."""
    classifier, fresh, truth = fitted(epsilon, rows=rows)
    assert isinstance(classifier.plan_, LinearPlan)
    assert (classifier.plan_.linear.is_empirical_bayes, classifier.plan_.linear.steps) == (True, 2)
    assert allows_empirical_bayes(classifier.hypothesis_.feature_map)  # type: ignore[attr-defined]
    assert classifier.guarantee_.within(epsilon, 1e-6)
    assert np.mean(classifier.predict(fresh) == truth) > 0.9
    probabilities = classifier.predict_proba(fresh)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert (probabilities > 0.0).all()
    assert (probabilities.argmax(axis=1) == classifier.predict(fresh)).all()


UNIT_SQUARE = Schema((Column("a", bounds=(0.0, 1.0)), Column("b", bounds=(0.0, 1.0))))


@pytest.mark.parametrize(
    ("epsilon", "others"),
    [(8.0, {}), (2.0, {"rows": 159}), (2.0, {"labels": 3}), (2.0, {"rows": 0, "schema": UNIT_SQUARE})],
    ids=["n·ε = 8,000", "few public rows", "three classes", "a schema alone"],
)
def test_other_heads_are_made_by_steps(epsilon: float, others: dict[str, Any]) -> None:
    classifier, fresh, _ = fitted(epsilon, **others)
    assert isinstance(classifier.plan_, LinearPlan)
    assert not classifier.plan_.linear.is_empirical_bayes
    assert classifier.plan_.linear.steps >= 100
    np.testing.assert_allclose(classifier.predict_proba(fresh).sum(axis=1), 1.0, rtol=1e-12)
