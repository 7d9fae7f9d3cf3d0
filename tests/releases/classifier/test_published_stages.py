"""What `publish` runs: every stage as planned, the option that a comparison speaks for, nothing that is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.releases import Forbidden
from support.stages import stage_on

from pcqr.data.records import GroupedRecords, InMemory, Records
from pcqr.data.records.arrays import Points
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.records.vectors import PredicateVectors
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses import HypothesisClass, Stumps, Thresholds
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.privacy.composition import Branch, Sequence, Stage
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.noise import discrete_gaussian
from pcqr.progress import Progress, reporting
from pcqr.releases.classifier import run as module
from pcqr.releases.classifier.descent import dp_gradient_descent
from pcqr.releases.classifier.plan import LARGEST_TERM, ComparisonStage, LinearStage, MapName
from pcqr.releases.classifier.run import most_coordinates, publish
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.run import sspp
from pcqr.releases.subsample.plan import VoteStage

M = LARGEST_TERM
PUBLIC = np.random.default_rng(1).normal(size=(200, 2))
PREDICATES = tuple(Predicate(feature, cut) for feature in range(2) for cut in (-0.5, 0.0, 0.5))
TREES = DecisionTrees(predicates=PREDICATES, depth=2)
DENSE = PredicateVectors.of(PREDICATES, 2, PUBLIC)
FERNS = Ferns.of(PUBLIC, range(2), count=30, depth=4, seed=1)
PLAIN, MOSTLY = FeatureMap(DENSE, None, 256), FeatureMap(DENSE, FERNS, 13)
MAPS: dict[MapName, FeatureMap] = {"plain": PLAIN, "mostly ferns": MOSTLY}
NAMES: tuple[MapName, MapName] = ("plain", "mostly ferns")
N = 400


def crossed(count: int = N) -> InMemory:
    """Columns that act together: no predicate alone says anything."""
    X = np.random.default_rng(2).normal(size=(count, 2))
    return InMemory(X, (X[:, 0] * X[:, 1] > 0).astype(np.int8))


def by_itself(count: int = N) -> InMemory:
    X = np.random.default_rng(3).normal(size=(count, 2))
    return InMemory(X, (X[:, 0] > 0).astype(np.int8))


def linears(records: int, steps: tuple[int, int], multiplier: float, **others: Any) -> tuple[LinearStage, LinearStage]:
    first, second = (
        replace(stage_on(MAPS[name], records, each, multiplier, **others), features=name)
        for name, each in zip(NAMES, steps, strict=True)
    )
    return first, second


def piloted(records: int = N, multiplier: float = 10.0, lead: int = 0, draw: DrawStage | None = None) -> Sequence:
    """Pilots, their comparison and two options; with a tree before them, if there is a draw."""
    room: dict[str, Any] = {} if draw is None else {"dense": most_coordinates(PLAIN)}
    pilots = tuple(replace(each, **room) for each in linears(records, (5, 7), 3 * multiplier))
    options = Branch(tuple(replace(each, **room) for each in linears(records, (9, 11), multiplier)))
    comparison = ComparisonStage(records, M, 2 * multiplier * M, lead)
    return Sequence((*(() if draw is None else (draw,)), *pilots, comparison, options))


def comparison_of(stage: Sequence) -> ComparisonStage:
    (found,) = (each for each in stage.stages if isinstance(each, ComparisonStage))
    return found


def with_lead(stage: Sequence, lead: int) -> Sequence:
    return Sequence(tuple(replace(s, lead=lead) if isinstance(s, ComparisonStage) else s for s in stage.stages))


def run(
    stage: Stage, records: Records, seed: int = 0, trees: HypothesisClass = TREES, public: Points | None = PUBLIC
) -> LinearClassifier:
    found = publish(stage, trees, records, SeededEntropy(seed), maps=MAPS, public=public)
    assert isinstance(found, LinearClassifier)
    return found


# A run is its parts ---------------------------------------------------------------------------------------------------


def in_parts(stage: Sequence, records: InMemory, seed: int) -> tuple[int, LinearClassifier]:
    """The noisy lead of the second pilot, and the linear classifier after it."""
    entropy, maps = SeededEntropy(seed), dict(MAPS)
    *before, _, options = stage.stages
    assert isinstance(options, Branch)
    if isinstance(before[0], DrawStage):
        tree = sspp(TREES, records, None, before[0], entropy)
        before = before[1:]
        assert isinstance(tree, DecisionTree)
        maps = {name: each.beside(tree.simplified().root, PUBLIC, 1.0) for name, each in MAPS.items()}

    def trained(linear: Stage) -> LinearClassifier:
        assert isinstance(linear, LinearStage)
        features = maps[linear.features]
        return dp_gradient_descent(features, records, replace(linear, dense=features.size), entropy)

    pilots = [trained(pilot) for pilot in before]
    wrong = [int((pilot.predict(records.X) != records.y).sum()) for pilot in pilots]
    comparison = comparison_of(stage)
    lead = M * (wrong[0] - wrong[1]) + discrete_gaussian(comparison.scale, entropy)
    return lead, trained(options.options[lead >= M * comparison.lead])


@pytest.mark.parametrize("draw", [None, DrawStage(0.05)], ids=["pilots", "a tree and pilots"])
@pytest.mark.parametrize("seed", [5, 6])
def test_a_run_is_its_parts_on_the_same_noise(draw: DrawStage | None, seed: int) -> None:
    """And the option turns where the noisy lead is that of the plan."""
    records, stage = crossed(), piloted(draw=draw)
    lead, _ = in_parts(stage, records, seed)
    for limit in (lead // M, lead // M + 1):
        at = with_lead(stage, limit)
        _, expected = in_parts(at, records, seed)
        found = run(at, records, seed)
        assert found == expected
        assert (found.feature_map.ferns is not None) is (lead >= M * limit)
    if draw is not None:
        assert found.feature_map.tree is not None, "that of the records: it is stacked"


def test_the_tree_beside_every_linear_classifier_is_the_one_that_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[FeatureMap] = []

    def watched(features: FeatureMap, *given: Any, **named: Any) -> LinearClassifier:
        seen.append(features)
        return dp_gradient_descent(features, *given, **named)

    drawn: list[DecisionTree] = []

    def watched_draw(*given: Any) -> Any:
        drawn.append(sspp(*given))  # type: ignore[arg-type]
        return drawn[-1]

    monkeypatch.setattr(module, "dp_gradient_descent", watched)
    monkeypatch.setattr(module, "sspp", watched_draw)
    found = run(piloted(draw=DrawStage(0.3)), crossed())
    (tree,) = drawn
    assert [features.tree for features in seen] == 3 * [tree.simplified().root]
    assert found.feature_map == seen[-1]


@pytest.mark.parametrize("records", [crossed(4_000), by_itself(4_000)], ids=["crossed", "alone"])
def test_what_columns_do_together_decides(records: InMemory) -> None:
    is_crossed = bool((records.y == (records.X[:, 0] * records.X[:, 1] > 0)).all())
    found = run(piloted(4_000, 0.5, lead=400), records)
    assert found.feature_map == (MOSTLY if is_crossed else PLAIN)


def test_only_the_option_that_is_chosen_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[tuple[int, str]] = []

    def watched(features: FeatureMap, _: Any, stage: LinearStage, *__: Any, **named: Any) -> LinearClassifier:
        called.append((stage.steps, named["called"]))
        blocks = np.zeros((1, features.count, 1 << features.depth))
        return LinearClassifier.of(features, 2, np.zeros((1, features.size)), blocks)

    monkeypatch.setattr(module, "dp_gradient_descent", watched)
    words = ("linear classifier", "linear classifier 2", "linear classifier 3")
    for lead, steps in ((N, 9), (-N, 11)):
        called.clear()
        run(piloted(lead=lead), crossed())
        assert called == list(zip((5, 7, steps), words, strict=True))


def test_stages_are_run_in_the_order_of_the_plan_and_told_as_they_run() -> None:
    told: list[Progress] = []
    with reporting(told.append):
        run(piloted(draw=DrawStage(0.3)), crossed())
    heard = list(dict.fromkeys(each.stage for each in told))
    several = [
        f"linear classifier{number}, {what}"
        for number in ("", " 2")
        for what in ("vectors of the records", "noisy sums")
    ]
    assert [stage for stage in heard if stage in several or "compar" in stage] == [*several, "comparing the pilots"]
    assert heard[-1] == "linear classifier 3, noisy sums"


def test_an_option_may_be_a_sequence_and_a_branch_may_be_nested() -> None:
    """After one comparison all branches are decided by it, until there is another one."""
    first, second = linears(N, (2, 3), 5.0)
    inner = Branch((replace(first, steps=4), replace(second, steps=6)))
    compare = ComparisonStage(N, M, 10.0 * M, lead=-N)
    stage = Sequence((first, second, compare, Branch((first, Sequence((second, inner))))))
    by_hand, entropy = [], SeededEntropy(3)
    for name, steps in (("plain", 2), ("mostly ferns", 3), ("", 0), ("mostly ferns", 3), ("mostly ferns", 6)):
        if not name:
            discrete_gaussian(10.0 * M, entropy)
            continue
        planned = replace(second if name == "mostly ferns" else first, steps=steps)
        by_hand.append(dp_gradient_descent(MAPS[planned.features], crossed(), planned, entropy))
    assert run(stage, crossed(), 3) == by_hand[-1]
    back = Sequence((first, second, compare, second, first, replace(compare, lead=N), inner))
    assert run(back, crossed(), 3).feature_map == PLAIN, "the latest comparison decides"


# What a neighbour moves -----------------------------------------------------------------------------------------------


def opposites() -> list[LinearClassifier]:
    """Two classifiers that never agree: whose lead a label moves most."""
    theta = np.random.default_rng(7).normal(size=(1, PLAIN.size))
    return [LinearClassifier.of(PLAIN, 2, sign * theta, np.zeros((1, 0, 1))) for sign in (1.0, -1.0)]


def lead_of(records: Records, pilots: list[LinearClassifier]) -> int:
    first, second = map(int, records.error_counts(pilots))
    return M * (first - second) // records.whole


def test_a_neighbour_moves_the_lead_by_two_records_at_most() -> None:
    records, moved = crossed(300), set()
    pilots = opposites()
    for i in range(0, 300, 7):
        X, y = records.X.copy(), records.y.copy()
        X[i], y[i] = -X[i], 1 - y[i]
        moved.add(lead_of(InMemory(X, y), pilots) - lead_of(records, pilots))
    assert max(map(abs, moved)) == 2 * M, "and it may move by that"
    assert len(moved) > 1


def user_level(rows: NDArray[np.float64], y: NDArray[np.int8], whose: NDArray[np.int64]) -> GroupedRecords:
    return GroupedRecords(InMemory(rows, y), whose, 3)


def test_nor_does_a_person_who_replaces_all_of_their_rows() -> None:
    table, whose = crossed(600), np.arange(600) // 3
    before = user_level(table.X, table.y, whose)
    pilots, moved = opposites(), set()
    for i in range(0, 200, 9):
        X, y = table.X.copy(), table.y.copy()
        X[whose == i], y[whose == i] = -X[whose == i], 1 - y[whose == i]
        moved.add(abs(lead_of(user_level(X, y, whose), pilots) - lead_of(before, pilots)))
    assert M < max(moved) <= 2 * M
    assert len(moved) > 1


def test_persons_of_one_row_are_compared_as_records_are() -> None:
    """In persons, not in their 64ths: on the same noise the option turns at the same lead."""
    records = crossed()
    stage = piloted()
    lead, _ = in_parts(stage, records, 5)
    for limit in (lead // M, lead // M + 1):
        at = with_lead(stage, limit)
        assert run(at, GroupedRecords(records, np.arange(N)), 5) == run(at, records, 5)


# What is drawn is what was planned ------------------------------------------------------------------------------------


class Watch:
    """Stands in for `sspp`, `dp_gradient_descent` and noise, and keeps what they are asked for."""

    def __init__(self, noise: int = 0, tree: DecisionTree | None = None) -> None:
        self.tree = DecisionTree(Leaf(0), 2) if tree is None else tree
        self.drawn: list[tuple[Any, DrawStage]] = []
        self.descended: list[tuple[FeatureMap, LinearStage]] = []
        self.scales: list[float] = []
        self._noise = noise

    def sspp(self, members: Any, records: Any, public: Any, stage: DrawStage, _: Any) -> DecisionTree:
        assert public is None, "the class is the same whatever is public"
        _are_all(records)
        self.drawn.append((members, stage))
        return self.tree

    def dp_gradient_descent(
        self, features: FeatureMap, records: Any, stage: LinearStage, _: Any, **named: Any
    ) -> LinearClassifier:
        assert named["public"] is PUBLIC
        _are_all(records)
        self.descended.append((features, stage))
        blocks = np.zeros((1, features.count, 1 << features.depth))
        return LinearClassifier.of(features, 2, np.zeros((1, features.size)), blocks)

    def noise(self, scale: float, _: Any) -> int:
        self.scales.append(scale)
        return self._noise


def _are_all(records: InMemory) -> None:
    assert (records.X == TABLE.X).all()
    assert (records.y == TABLE.y).all()


TABLE = InMemory(np.random.default_rng(0).normal(size=(N, 2)), (np.arange(N) < 150).astype(np.int8))
ROOT = Split(Predicate(1, 0.5), Leaf(0), Split(Predicate(0, 0.5), Leaf(0), Leaf(1)))


@pytest.mark.parametrize("noise", [-60 * M, -3, -1, 0, 1, 11 * M])
def test_the_numbers_of_the_stages_in_use_are_the_plans(noise: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pilots that are wrong about 250 and 150 of 400: the lead is 100 and the noise."""
    watch = Watch(noise)
    monkeypatch.setattr(InMemory, "error_counts", lambda *_: np.array([250, 150]))
    for name in ("sspp", "dp_gradient_descent"):
        monkeypatch.setattr(module, name, getattr(watch, name))
    monkeypatch.setattr(module, "discrete_gaussian", watch.noise)
    stage = piloted(lead=100, draw=DrawStage(0.01))
    publish(stage, TREES, TABLE, SeededEntropy(0), maps=MAPS, public=PUBLIC)
    draw, first, second, comparison, options = stage.stages
    assert isinstance(options, Branch)
    assert isinstance(comparison, ComparisonStage)
    assert watch.drawn == [(TREES, draw)]
    assert watch.scales == [comparison.scale]
    chosen = options.options[noise >= 0]
    used = [
        replace(each, dense=MAPS[each.features].size)
        for each in (first, second, chosen)
        if isinstance(each, LinearStage)
    ]
    assert watch.descended == [(MAPS[each.features], each) for each in used]


def test_a_tree_and_the_linear_classifier_beside_it_are_made_as_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the predicates of the tree that was drawn, simplified as it will be published, and the plan's noise."""
    doubled = DecisionTree(Split(Predicate(0, 0.5), ROOT, ROOT), 2)
    watch = Watch(tree=doubled)
    monkeypatch.setattr(module, "sspp", watch.sspp)
    monkeypatch.setattr(module, "dp_gradient_descent", watch.dp_gradient_descent)
    linear = replace(linears(N, (9, 11), 5.0, whitening=0.4)[0], dense=most_coordinates(PLAIN) + 3)
    publish(Sequence((DrawStage(0.01), linear)), TREES, TABLE, SeededEntropy(0), maps=MAPS, public=PUBLIC)
    assert watch.drawn == [(TREES, DrawStage(0.01))]
    beside = PLAIN.beside(ROOT, PUBLIC, 0.4)
    assert beside.tree == ROOT
    assert watch.descended == [(beside, replace(linear, dense=beside.size))]


def test_a_draw_is_at_its_own_temperature_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """What came before it moves neither its η nor its class: so the interval of its loss is the same."""
    first, second = (replace(each, dense=most_coordinates(PLAIN)) for each in linears(N, (2, 3), 5.0))
    draws = DrawStage(0.01), DrawStage(0.02)
    options = Branch((Sequence((draws[0], second)), draws[1]))
    for stage, drawn in (
        (Sequence((draws[0], first, second, draws[1])), list(draws)),
        (Sequence((first, second, ComparisonStage(N, M, 10.0 * M, N), options)), [draws[0]]),
        (Sequence((first, second, ComparisonStage(N, M, 10.0 * M, -N), options)), [draws[1]]),
    ):
        watch = Watch()
        monkeypatch.setattr(module, "sspp", watch.sspp)
        monkeypatch.setattr(module, "dp_gradient_descent", watch.dp_gradient_descent)
        publish(stage, TREES, TABLE, SeededEntropy(0), maps=MAPS, public=PUBLIC)
        assert watch.drawn == [(TREES, draw) for draw in drawn]


def test_a_draw_alone_is_from_the_class_at_its_temperature() -> None:
    table = by_itself(200)
    X = InMemory(table.X[:, :1], table.y)
    stumps = Stumps(cuts=[0.0, 0.5])
    expected = sspp(stumps, X, None, DrawStage(0.7), SeededEntropy(4))
    assert publish(DrawStage(0.7), stumps, X, SeededEntropy(4)) == expected


# What is refused, before any stage is run -----------------------------------------------------------------------------

VOTE = VoteStage(N, 200, 11, None, OneSidedSparseVector.calibrate(0.9, 1e-6, 3))
FIRST, SECOND = linears(N, (2, 3), 5.0)
COMPARISON = ComparisonStage(N, M, 10.0 * M, 0)
DRAW = DrawStage(0.1)
ROOMY = replace(FIRST, dense=most_coordinates(PLAIN))


def refused(
    stage: Stage,
    told: str,
    *,
    records: Records | None = None,
    trees: HypothesisClass = TREES,
    maps: Mapping[MapName, FeatureMap] | None = MAPS,
    public: Points | None = None,
    kind: type[Exception] = ParameterError,
) -> None:
    with pytest.raises(kind, match=told):
        publish(stage, trees, crossed() if records is None else records, Forbidden(), maps=maps, public=public)


@pytest.mark.parametrize(
    "stage",
    [
        VOTE,
        COMPARISON,
        Sequence((FIRST, SECOND, COMPARISON)),
        Sequence((DRAW, VOTE)),
        Sequence((DRAW, VOTE, ROOMY)),
        Sequence((FIRST, SECOND, COMPARISON, Branch((FIRST, VOTE)))),
        Sequence((FIRST, SECOND, COMPARISON, Branch((FIRST, COMPARISON)))),
        Sequence((FIRST, SECOND, COMPARISON, Branch((FIRST, Sequence((SECOND, COMPARISON)))))),
    ],
    ids=lambda stage: type(stage).__name__,
)
def test_stages_that_do_not_end_in_a_classifier_are_refused(stage: Stage) -> None:
    refused(stage, "plan must be stages that end in a classifier")


@pytest.mark.parametrize(
    "stage",
    [
        Sequence((COMPARISON, FIRST)),
        Sequence((FIRST, COMPARISON, Branch((FIRST, SECOND)))),
        Sequence((DRAW, ROOMY, COMPARISON, Branch((ROOMY, ROOMY)))),
        Sequence((Branch((FIRST, SECOND)), COMPARISON, Branch((FIRST, SECOND)))),
        Sequence((Branch((FIRST, Sequence((FIRST, SECOND)))), COMPARISON, FIRST)),
    ],
    ids=["none", "one", "one and a tree", "one of two", "one or two"],
)
def test_a_comparison_needs_two_linear_classifiers_before_it_whatever_option_is_run(stage: Stage) -> None:
    refused(stage, "two linear classifiers before a comparison")


def test_a_run_that_has_two_in_any_case_is_not_refused() -> None:
    both = Branch((Sequence((FIRST, SECOND)), Sequence((SECOND, FIRST))))
    assert run(Sequence((both, COMPARISON, FIRST)), crossed()).feature_map == PLAIN


def test_what_no_draw_could_bear_is_refused() -> None:
    hot = DrawStage(2.0**52 / N * 1.01)
    for stage in (hot, Sequence((hot, ROOMY)), Sequence((FIRST, SECOND, COMPARISON, Branch((hot, hot))))):
        refused(stage, "inverse_temperature must be at most 2")


@pytest.mark.parametrize("public", [None, PUBLIC], ids=["no public rows", "public rows"])
@pytest.mark.parametrize("maps", [None, {}, {"mostly ferns": MOSTLY}])
def test_a_map_that_is_missing_is_named(maps: Mapping[MapName, FeatureMap] | None, public: Points | None) -> None:
    for stage in (FIRST, Sequence((DRAW, ROOMY)), Sequence((SECOND, FIRST)) if maps else FIRST):
        refused(stage, "maps must be one called 'plain'", maps=maps, public=public)


def test_every_linear_classifier_has_the_shape_of_its_map() -> None:
    wrong: tuple[LinearStage, ...] = (replace(FIRST, features="mostly ferns"), replace(SECOND, features="plain"))
    for linear in (*wrong, replace(FIRST, dense=FIRST.dense - 1)):
        refused(linear, "plan for this feature map|room for")
        refused(Sequence((FIRST, SECOND, COMPARISON, Branch((FIRST, linear)))), "plan for this feature map|room for")


def test_beside_a_tree_every_linear_classifier_has_room_for_it() -> None:
    """Also the options that would not be run."""
    room = most_coordinates(PLAIN)
    roomy = [replace(each, dense=room) for each in (FIRST, SECOND)]
    for place in range(2):
        options = [replace(each, dense=room - (k == place)) for k, each in enumerate(roomy)]
        stage = Sequence((DRAW, *roomy, COMPARISON, Branch(tuple(options))))
        refused(stage, f"a linear classifier with room for {room} coordinates; received {room - 1}")


def test_a_tree_beside_a_linear_classifier_is_a_decision_tree() -> None:
    refused(Sequence((DRAW, ROOMY)), "hypotheses must be decision trees beside", trees=Thresholds())


def test_every_stage_is_for_the_same_records() -> None:
    for stage in (FIRST, Sequence((FIRST, SECOND, COMPARISON, FIRST)), Sequence((DRAW, ROOMY))):
        refused(stage, "a plan for 300 records", records=crossed(300))
    other = replace(COMPARISON, records=N + 1)
    refused(Sequence((FIRST, SECOND, other, FIRST)), f"a plan for {N} records; received {N + 1}")
    late = replace(FIRST, records=N - 1)
    refused(Sequence((FIRST, SECOND, COMPARISON, Branch((FIRST, late)))), f"a plan for {N} records")


def test_every_linear_classifier_is_for_the_labels_of_the_records() -> None:
    three = replace(ROOMY, classes=3)
    refused(replace(FIRST, classes=3), "y must be records with 3 labels", kind=DataError)
    refused(Sequence((DRAW, three)), "a plan for 2 classes", kind=ParameterError)


def test_public_rows_are_of_the_table_of_the_maps() -> None:
    for stage in (FIRST, Sequence((DRAW, ROOMY))):
        refused(stage, "public", public=PUBLIC[:, :1], kind=DataError)
        refused(stage, "public must be finite", public=np.full((9, 2), np.inf), kind=DataError)


def test_empirical_bayes_needs_public_rows_in_every_option() -> None:
    posterior = replace(FIRST, momentum=0.0, step_size=0.0)
    told = "public must be public rows for empirical Bayes"
    for stage in (
        posterior,
        Sequence((FIRST, posterior)),
        Sequence((FIRST, SECOND, COMPARISON, Branch((FIRST, posterior)))),
    ):
        refused(stage, told)
    beside = Sequence((DRAW, ROOMY, replace(posterior, dense=ROOMY.dense)))
    refused(beside, told, public=PUBLIC[: 4 * ROOMY.dense - 1])
    assert run(beside, crossed(), public=PUBLIC[: 4 * ROOMY.dense]).classes == 2
