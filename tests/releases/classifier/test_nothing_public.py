"""`PrivateClassifier` with nothing public but columns and their kinds."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.releases import Forbidden

from pcqr import Groups, PrivateClassifier, Schema
from pcqr.data.records import GroupedRecords, InMemory
from pcqr.data.records.in_memory import RawRecords
from pcqr.data.schema import Column
from pcqr.data.schema.raw import TYPES_ARE_PUBLIC
from pcqr.durable.account import Account
from pcqr.errors import AccountExhausted, DataError, NothingPublic, ParameterError
from pcqr.hypotheses import DecisionTrees
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import Predicate
from pcqr.models import PublishedModel
from pcqr.privacy.composition import Sequence, parts_of
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.base.fitting import BOUGHT_OF_PERSONS
from pcqr.releases.classifier import estimator as private_classifier
from pcqr.releases.classifier.plan import ClassCountsStage, LeafCountsStage, LinearStage, PredicatesStage
from pcqr.releases.classifier.predicates import GRID_CUTS, MOST_CATEGORIES, private_schema
from pcqr.releases.classifier.run import publish_weighed
from pcqr.releases.protocol.stages import DrawStage

TYPES: dict[str, Any] = {"age": "numeric", "job": "categorical", "born": "date", "smokes": "boolean"}


def people(records: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """A number, a text, a date and a truth value, with gaps in all but the last. The first two say the label."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, records).astype(float)
    job = rng.choice(["cook", "nurse", "pilot"], records, p=[0.5, 0.4, 0.1])
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20_000, records), unit="D")
    y = ((age > 50) ^ (job == "nurse")).astype(int)
    frame = pd.DataFrame({"age": age, "job": job, "born": born, "smokes": rng.random(records) < 0.3})
    frame.loc[rng.random(records) < 0.05, "age"] = np.nan
    frame.loc[rng.random(records) < 0.05, "job"] = None
    frame.loc[rng.random(records) < 0.05, "born"] = None
    return frame, y


FRAME, Y = people(6_000)
NUMBERS = np.random.default_rng(1).normal(300.0, 5.0, size=(6_000, 3))
ABOVE = (NUMBERS[:, 0] > 303.0).astype(int)


def stages_of(classifier: PrivateClassifier) -> tuple[Any, ...]:
    stage = classifier.plan_.stage
    return stage.stages if isinstance(stage, Sequence) else (stage,)


@pytest.mark.filterwarnings("ignore::pcqr.errors.NothingPublic")
@pytest.mark.parametrize(
    ("epsilon", "method", "kinds"),
    [
        (0.3, "auto", (PredicatesStage, DrawStage, LeafCountsStage)),
        (1.0, "auto", (PredicatesStage, DrawStage, LinearStage)),
        (6.0, "auto", (PredicatesStage, DrawStage, LinearStage)),
        (6.0, "linear", (PredicatesStage, LinearStage)),
        (6.0, "tree", (PredicatesStage, DrawStage, LeafCountsStage)),
    ],
)
def test_a_share_of_the_budget_buys_the_predicates(epsilon: float, method: Any, kinds: tuple[type, ...]) -> None:
    classifier = PrivateClassifier(epsilon, method=method, entropy=0).fit(FRAME, Y)
    assert tuple(map(type, stages_of(classifier))) == kinds
    assert classifier.guarantee_.within(epsilon, 1e-6)
    assert classifier.guarantee_.epsilon > 0.99 * epsilon, "nothing is left over"
    assert classifier.guarantee_.delta > 0.0
    assert TYPES_ARE_PUBLIC in classifier.guarantee_.assumptions
    assert isinstance(classifier.schema_, Schema)
    age, job, born, smokes = classifier.schema_.columns
    assert set(job.categories) <= {"cook", "nurse", "pilot"}
    assert len(age.cuts) >= 1
    assert len(born.cuts) >= 1
    assert (born.kind, smokes.categories) == ("date", ("False", "True"))
    assert classifier.n_public_ is None
    assert classifier.n_features_in_ == len(classifier.schema_.features)
    assert classifier.predict_proba(FRAME[:9]).shape == (9, 2)
    if epsilon >= 1.0:
        assert (classifier.predict(FRAME) == Y).mean() > 0.9
    assert PublishedModel.from_learner(classifier).predict(FRAME[:9]).tolist() == classifier.predict(FRAME[:9]).tolist()


def test_columns_far_from_0_are_cut_where_the_records_are() -> None:
    classifier = PrivateClassifier(2.0, entropy=0).fit(NUMBERS, ABOVE)
    assert (classifier.predict(NUMBERS) == ABOVE).mean() > 0.95
    assert classifier.schema_ is None
    assert classifier.n_features_in_ == 3


def test_that_all_columns_of_a_frame_are_numbers_is_assumed_public() -> None:
    frame = pd.DataFrame(NUMBERS, columns=["a", "b", "c"])
    trees = DecisionTrees(depth=1, predicates=(Predicate(0, 303.0),))
    schema = Schema(tuple(Column(name, cuts=[303.0]) for name in frame.columns))
    for table, parameters, is_assumed in (
        ({"X": frame}, {}, True),  # one text in it, and it would be read by kinds
        ({"X": frame}, {"types": dict.fromkeys(frame.columns, "numeric")}, False),
        ({"X": NUMBERS, "public": NUMBERS[:40] + 1.0}, {}, False),
        ({"X": frame, "schema": schema}, {}, False),
        ({"X": frame}, {"trees": trees, "method": "tree"}, False),
        ({"X": NUMBERS}, {}, False),
    ):
        classifier = PrivateClassifier(2.0, entropy=0, **parameters).fit(y=ABOVE, **table)
        assert (TYPES_ARE_PUBLIC in classifier.guarantee_.assumptions) == is_assumed


def test_gaps_in_a_frame_of_numbers_need_declared_types() -> None:
    frame = pd.DataFrame(NUMBERS, columns=["a", "b", "c"])
    frame.loc[::7, "b"] = np.nan
    with pytest.raises(DataError, match="declare the `types` of a frame"):
        PrivateClassifier(2.0, entropy=0).fit(frame, ABOVE)
    classifier = PrivateClassifier(2.0, entropy=0, types=dict.fromkeys("abc", "numeric")).fit(frame, ABOVE)
    assert classifier.n_features_in_ == 6
    assert (classifier.predict(frame) == ABOVE).mean() > 0.9


def test_below_the_limit_nothing_is_looked_at() -> None:
    few = FRAME[:2_000]
    with pytest.warns(NothingPublic, match=r"powers of √2.* the texts of 'job' say is not used.* 30 will do"):
        classifier = PrivateClassifier(0.3, entropy=0).fit(few, Y[:2_000])
    assert tuple(map(type, stages_of(classifier))) == (DrawStage, LeafCountsStage)
    assert classifier.guarantee_.is_pure
    hypotheses = classifier.hypotheses_
    assert isinstance(hypotheses, DecisionTrees)
    cuts = {predicate.cut for predicate in hypotheses.predicates or () if predicate.feature == 0}
    assert cuts == set(GRID_CUTS)
    assert classifier.predict(few).shape == (2_000,)
    with pytest.warns(NothingPublic, match="δ = 0 buys no cuts"):
        pure = PrivateClassifier(3.0, 0.0, method="tree", entropy=0).fit(FRAME, Y)
    assert pure.guarantee_.is_pure


def test_the_grid_is_the_one_that_was_measured() -> None:
    assert len(GRID_CUTS) == 53
    assert (GRID_CUTS[0], GRID_CUTS[-1]) == (-(2.0**13), 2.0**14)


def test_the_warning_below_5000_depends_on_public_numbers_alone() -> None:
    near, far = NUMBERS - 300.0, NUMBERS + 1e6
    said = []
    for X in (near, far):
        with pytest.warns(NothingPublic, match="far from 0") as caught:
            PrivateClassifier(0.8, entropy=0).fit(X, ABOVE)
        said.append([str(each.message) for each in caught])
    assert said[0] == said[1]


def test_the_plan_is_that_of_a_dry_run_without_data() -> None:
    for epsilon in (0.3, 1.0, 6.0):
        classifier = PrivateClassifier(epsilon, types=TYPES, entropy=0)
        planned = classifier.plan(6_000)
        with pytest.warns(NothingPublic) if epsilon == 0.3 else nullcontext():
            classifier.fit(FRAME, Y)
        assert classifier.plan_.stage == planned.stage
        assert classifier.dry_run(6_000).plan == planned
        assert (classifier.guarantee_.epsilon, classifier.guarantee_.delta) == (
            planned.guarantee.epsilon,
            planned.guarantee.delta,
        )
    assert (
        PrivateClassifier(2.0).plan(6_000, 3).stage == PrivateClassifier(2.0, entropy=0).fit(NUMBERS, ABOVE).plan_.stage
    )


def test_the_account_is_charged_once_and_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = Account.create(tmp_path / "one", epsilon=1.0, delta=1e-6, anchor=tmp_path / "anchor")
    charged: list[int] = []

    def bought(*given: Any) -> Schema:
        charged.append(len(account.charges))
        return private_schema(*given)

    monkeypatch.setattr(private_classifier, "private_schema", bought)
    PrivateClassifier(0.9, account=account).fit(FRAME, Y)
    assert charged == [1]
    assert len(account.charges) == 1
    with pytest.raises(AccountExhausted):
        PrivateClassifier(0.9, account=account).fit(FRAME, Y)
    assert charged == [1]


# What follows is a function of what was shown -------------------------------------------------------------------------

SHOWN = Schema(
    (
        Column("age", missing=True, cuts=[20.0, 50.0, 70.0], shares=[0.1, 0.4, 0.3, 0.2]),
        Column("job", "categorical", ["cook", "nurse"], other=True, shares=[0.5, 0.3]),
        Column("born", "date", missing=True, cuts=[0.0]),
        Column("smokes", "categorical", ["False", "True"], other=True),
    )
)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 6.0])
@pytest.mark.filterwarnings("ignore::pcqr.errors.NothingPublic")
def test_class_maps_and_stages_are_the_same_for_any_two_tables(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def watched(stage: Any, hypotheses: Any, records: Any, entropy: Any, **others: Any) -> Any:
        seen.append((stage, hypotheses, others["maps"], others["public"].tolist() if others["maps"] else None))
        return publish_weighed(stage, hypotheses, records, entropy, **others)

    monkeypatch.setattr(private_classifier, "private_schema", lambda *_: SHOWN)
    monkeypatch.setattr(private_classifier, "publish_weighed", watched)
    other, labels = people(6_000, seed=9)
    for X, y in ((FRAME, Y), (other.assign(age=other["age"] * 1e9), 1 - labels)):
        PrivateClassifier(epsilon, entropy=0).fit(X, y)
    assert seen[0] == seen[1]


def columns_shown(draw: Any, levels: int) -> Schema:
    """Any schema that a purchase may bring: few cuts or many, close or far apart, and few or many categories."""
    cuts = draw(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=(1 << levels) - 1, unique=True))
    days = draw(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=(1 << levels) - 1, unique=True))
    names = [f"job {place}" for place in range(draw(st.sampled_from([0, 1, 7, MOST_CATEGORIES])))]
    return Schema(
        (
            Column("age", missing=True, cuts=sorted({cut + 0.0 for cut in cuts})),
            Column("job", "categorical", names, other=True, shares=[0.5 / max(len(names), 1)] * len(names)),
            Column("born", "date", missing=True, cuts=sorted({day + 0.0 for day in days})),
            Column("smokes", "categorical", ["False", "True"], other=True),
        )
    )


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_whatever_is_shown_is_within_the_plan(data: st.DataObject) -> None:
    epsilon, method = data.draw(st.sampled_from([(1.0, "auto"), (6.0, "auto"), (6.0, "linear"), (6.0, "tree")]))
    classifier = PrivateClassifier(epsilon, method=method, types=TYPES, entropy=0)  # type: ignore[arg-type]
    planned = classifier.dry_run(6_000)
    stage = planned.plan.stage
    assert isinstance(stage, Sequence)
    assert isinstance(stage.stages[0], PredicatesStage)
    shown = columns_shown(data.draw, stage.stages[0].levels)
    taken: list[Any] = []

    def published(*given: Any, **others: Any) -> tuple[None, None]:
        taken.append((given, others))
        return None, None

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(private_classifier, "private_schema", lambda *_: shown)
        patched.setattr(private_classifier, "publish_weighed", published)
        classifier.fit(FRAME, Y)
    ((following, hypotheses, records, _), others) = taken[0]
    assert following == (stage.stages[1] if len(stage.stages) == 2 else Sequence(stage.stages[1:]))
    for draw in parts_of(following, DrawStage):
        most, error = (
            each.log_probability_error(6_000, draw.inverse_temperature) for each in (planned.hypotheses, hypotheses)
        )
        assert error <= most
    for linear in parts_of(following, LinearStage):
        made = others["maps"][linear.features]
        assert made.size + hypotheses.labels - 1 <= linear.dense or not parts_of(following, DrawStage)
        assert made.size <= linear.dense
        assert (made.count, made.depth, made.share) == (linear.ferns, linear.depth, linear.share)
    assert records.width == len(shown.features)


@pytest.mark.parametrize("cell", [None, "cook"])
def test_columns_that_say_nothing_are_no_reason_to_fail(cell: str | None) -> None:
    texts = pl.DataFrame({"job": pl.Series([cell] * 6_000, dtype=pl.String)})
    classifier = PrivateClassifier(6.0, entropy=0).fit(texts, Y)
    assert classifier.predict(texts).shape == (6_000,)
    unlike = pl.DataFrame({"id": [f"{row}" for row in range(6_000)]})
    assert PrivateClassifier(6.0, entropy=0).fit(unlike, Y).schema_.columns[0].categories == ()  # type: ignore[union-attr]
    constant = np.zeros((6_000, 2))
    assert PrivateClassifier(6.0, entropy=0).fit(constant, Y).predict(constant).shape == (6_000,)


@pytest.mark.parametrize("rare", [0, 20])
def test_a_number_that_hardly_varies_is_cut_all_the_same(rare: int) -> None:
    """Else there would be nothing to ask, which no plan could know, and `fit` would fail after the charge."""
    column = np.zeros((6_000, 1))
    column[:rare] = 1.0
    stage = stages_of(PrivateClassifier(1.0, entropy=0).fit(column, Y))[0]
    raw = RawRecords(InMemory(column, Y))
    assert all(private_schema(raw, stage, SeededEntropy(seed)).columns[0].cuts for seed in range(50))


# Kinds, persons -------------------------------------------------------------------------------------------------------


def test_a_column_without_a_type_needs_a_kind() -> None:
    table = {name: FRAME[name].tolist() for name in FRAME}
    with pytest.raises(
        DataError, match=r"types=\{'age': 'numeric'.*columns without a type: 'age', 'job', 'born', 'smokes'"
    ):
        PrivateClassifier(2.0, entropy=Forbidden()).fit(table, Y)
    classifier = PrivateClassifier(2.0, types=TYPES, entropy=0).fit(table, Y)
    assert TYPES_ARE_PUBLIC not in classifier.guarantee_.assumptions, "they were declared"
    by_type = PrivateClassifier(2.0, entropy=0).fit(FRAME, Y)
    assert classifier.schema_ == by_type.schema_
    assert (classifier.predict(table) == by_type.predict(FRAME)).all()


def test_kinds_of_arrays_are_not_declared() -> None:
    with pytest.raises(ParameterError, match="types must be None for a table without names"):
        PrivateClassifier(2.0, types={"x0": "numeric"}, entropy=Forbidden()).fit(NUMBERS, ABOVE)
    with pytest.raises(ParameterError, match="for columns of X that are not left out"):
        PrivateClassifier(2.0, types={"agee": "numeric"}, entropy=Forbidden()).fit(FRAME, Y)


def test_a_cell_of_another_kind_is_refused_before_anything_is_spent() -> None:
    for kind in ("numeric", "date"):
        classifier = PrivateClassifier(2.0, types={"job": kind}, entropy=Forbidden())
        with pytest.raises(DataError, match="job") as refused:
            classifier.fit(FRAME, Y)
        assert "nurse" not in str(refused.value)
        assert classifier.has_spent is False


def bought_of(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The tables that predicates are bought of from now on."""
    seen: list[Any] = []

    def watched(table: Any, *others: Any) -> Schema:
        seen.append(table)
        return private_schema(table, *others)

    monkeypatch.setattr(private_classifier, "private_schema", watched)
    return seen


IDS = np.concatenate([np.arange(2_000), np.arange(2_000), np.full(2_000, 1_999)])
"""Of 2,000 persons: two rows each, and more than 2,000 of the last one."""


@pytest.mark.filterwarnings("ignore::pcqr.errors.NothingPublic")
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("is_array", [False, True])
def test_of_persons_one_row_of_each_is_asked(rows: int, is_array: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = bought_of(monkeypatch)
    X: Any = NUMBERS.copy() if is_array else FRAME.assign(age=np.arange(6_000.0))
    if is_array:
        X[:, 0] = np.arange(6_000.0)
    classifier = PrivateClassifier(3.0, method="tree", types=None, entropy=0).fit(X, Y, groups=Groups(IDS, rows))
    (raw,) = seen
    name = "x0" if is_array else "age"
    chosen = np.concatenate([block[name] for block in raw.numbers([name])]).astype(int)
    assert raw.size == classifier.n_records_ == 2_000
    assert sorted(IDS[chosen]) == list(range(2_000)), "each person once"
    assert (chosen >= 2_000).mean() == pytest.approx(0.5, abs=0.06), "chosen by coins"  # false alarm: below 1e-6
    assert (np.diff(IDS[chosen]) > 0).mean() == pytest.approx(0.5, abs=0.07), "in a secret order"
    guarantee = classifier.guarantee_
    assert guarantee.unit.plural == "persons"
    assert BOUGHT_OF_PERSONS in guarantee.steps
    assert guarantee.within(3.0, 1e-6)
    planned = PrivateClassifier(3.0, method="tree", types=None if is_array else TYPES).plan(
        2_000, 3 if is_array else None, user_level=True
    )
    assert planned.stage == classifier.plan_.stage
    assert planned.guarantee.steps == guarantee.steps
    assert (planned.guarantee.epsilon, planned.guarantee.unit) == (guarantee.epsilon, guarantee.unit)


def test_all_rows_of_persons_are_read_by_what_was_bought(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Any] = []

    def published(*given: Any, **_: Any) -> tuple[None, None]:
        taken.append(given[2])
        return None, None

    monkeypatch.setattr(private_classifier, "private_schema", lambda *_: SHOWN)
    monkeypatch.setattr(private_classifier, "publish_weighed", published)
    PrivateClassifier(3.0, method="tree", entropy=0).fit(FRAME, Y, groups=IDS)
    (user_level,) = taken
    assert isinstance(user_level, GroupedRecords)
    rows = user_level.part(np.arange(2_000))
    order = np.argsort(IDS, kind="stable")
    assert np.array_equal(rows.X, SHOWN.encode(FRAME)[order])
    assert np.array_equal(rows.y, Y[order])


def test_persons_of_one_row_get_what_is_bought_of_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GroupedRecords, "one_row_each", lambda self, _: np.arange(self.size))  # no coin is tossed
    records = PrivateClassifier(1.0, entropy=0).fit(FRAME, Y)
    user_level = PrivateClassifier(1.0, entropy=0).fit(FRAME, Y, groups=np.arange(6_000)[::-1])
    assert records.schema_ == user_level.schema_
    assert records.hypothesis_.to_json() == user_level.hypothesis_.to_json()
    assert records.plan_.stage == user_level.plan_.stage


def test_persons_below_the_limit_get_the_grid() -> None:
    with pytest.warns(NothingPublic):
        few = PrivateClassifier(0.2, entropy=0).fit(FRAME, Y, groups=np.arange(6_000) // 2)
    assert few.guarantee_.unit.plural == "persons"
    assert not parts_of(few.plan_.stage, PredicatesStage)
    assert BOUGHT_OF_PERSONS not in few.guarantee_.steps


@pytest.mark.filterwarnings("ignore::pcqr.errors.NothingPublic")
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_weights_do_not_change_what_is_bought(epsilon: float) -> None:
    """All records count one for predicates, those of weight 0, too. What follows sees weights."""
    weights = np.where(np.arange(6_000) < 3_000, 1.0, 0.0)
    wrong = np.where(weights > 0, Y, 1 - Y)
    made = [
        PrivateClassifier(epsilon, method="tree", class_weight=declared, entropy=0).fit(FRAME, y, sample_weight=given)
        for declared, y, given in (
            (None, Y, None),
            (None, Y, weights),
            (None, wrong, weights),
            ({0: 1, 1: 3}, Y, None),
            ({0: 1, 1: 3}, Y, weights),
        )
    ]
    assert all(classifier.schema_ == made[0].schema_ for classifier in made)
    assert all(classifier.plan_.stage == made[0].plan_.stage for classifier in made), "weights cost nothing"
    assert made[1].hypothesis_.to_json() == made[2].hypothesis_.to_json(), "who weighs nothing says nothing"
    if epsilon == 2.0:
        seen = weights > 0
        assert (made[2].predict(FRAME[seen]) == Y[seen]).mean() > 0.85
        assert (made[3].predict(FRAME) == 1).mean() > (made[0].predict(FRAME) == 1).mean()


@pytest.mark.filterwarnings("ignore::pcqr.errors.NothingPublic")
@pytest.mark.parametrize("method", ["tree", "linear", "auto"])
@pytest.mark.parametrize("is_array", [False, True])
def test_balanced_counts_come_after_what_is_bought(method: Any, is_array: bool) -> None:
    X, y = (NUMBERS, ABOVE) if is_array else (FRAME, Y)
    classifier = PrivateClassifier(2.0, method=method, class_weight="balanced", entropy=0).fit(X, y)
    kinds = tuple(map(type, stages_of(classifier)))
    assert kinds[:2] == (PredicatesStage, ClassCountsStage)
    assert classifier.guarantee_.within(2.0, 1e-6)
    assert classifier.guarantee_.epsilon > 0.99 * 2.0
    types = None if is_array else TYPES
    again = PrivateClassifier(2.0, method=method, class_weight="balanced", types=types)
    assert again.plan(6_000, 3 if is_array else None).stage == classifier.plan_.stage
    if is_array:
        assert classifier.class_weight_[1] == 1.0
        assert (classifier.predict(X) == y).mean() > 0.9


def test_persons_with_weights_get_predicates_of_one_row_each() -> None:
    classifier = PrivateClassifier(3.0, class_weight="balanced", entropy=0)
    classifier.fit(FRAME, Y, groups=Groups(IDS, 2), sample_weight=np.linspace(0.0, 1.0, 6_000))
    assert isinstance(stages_of(classifier)[0], PredicatesStage)
    assert classifier.guarantee_.unit.plural == "persons"


def test_declared_trees_and_dense_features_buy_nothing() -> None:
    trees = DecisionTrees(depth=1, predicates=(Predicate(0, 300.0),))
    for classifier in (
        PrivateClassifier(2.0, trees=trees, method="tree", entropy=0).fit(NUMBERS, ABOVE),
        PrivateClassifier(2.0, features="dense", method="linear", entropy=0),
    ):
        if classifier.features == "dense":
            with pytest.warns(NothingPublic, match="centre 0"):
                classifier.fit(NUMBERS, ABOVE)
        assert not parts_of(classifier.plan_.stage, PredicatesStage)


def test_trees_of_the_users_own_depth() -> None:
    classifier = PrivateClassifier(2.0, method="tree", trees=DecisionTrees(depth=2), entropy=0).fit(FRAME, Y)
    assert isinstance(classifier.hypotheses_, DecisionTrees)
    assert classifier.hypotheses_.depth == 2
    assert classifier.guarantee_.within(2.0, 1e-6)
    assert replace(classifier.hypotheses_, predicates=None) == DecisionTrees(depth=2)


def test_rare_ones_are_not_asked_as_often_as_numbers() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(4_000, 2)), rng.random((4_000, 8)) < 0.02])
    classifier = PrivateClassifier(10.0, entropy=0, classes=(0, 1)).fit(X, X[:, 0] > 0)
    assert isinstance(classifier.hypothesis_, LinearClassifier)
    ferns = classifier.hypothesis_.feature_map.ferns
    assert ferns is not None
    asked = np.bincount([predicate.feature for predicate in ferns.predicates], minlength=10)
    assert asked[:2].sum() > 3 * asked[2:].sum(), "a cut of a rare 0/1 column tells few records apart"
