"""The parameters of a stage: each refuses what no algorithm could run, and keeps Python's own numbers."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from pcqr.errors import ParameterError
from pcqr.hypotheses import Stumps, Thresholds
from pcqr.mechanisms.noisy_max import GaussianMax
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.privacy.accounting import Composed, NoisySumsEvent, PureEvent, ShapingEvent
from pcqr.privacy.composition import Context, Sequence, account, account_for
from pcqr.privacy.guarantee import rounded_up
from pcqr.releases.classifier.plan import (
    LARGEST_TERM,
    MOST_RECORDS,
    ClassCountsStage,
    ComparisonStage,
    LeafCountsStage,
    LinearStage,
)
from pcqr.releases.confident.plan import ConfidentMax, ConfidentMaxStage
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage

VOTE = VoteStage(
    records=1_000,
    subsample=500,
    teachers=101,
    inverse_temperature=0.3,
    sparse_vector=OneSidedSparseVector.calibrate(0.9, 1e-6, 3),
    copies=6,
    public=50,
)
NOISY = NoisyMaxStage(records=100, teachers=31, queries=10, noise=GaussianMax(5.0))
DRAW = DrawStage(inverse_temperature=0.2, after_queries=40)
LINEAR = LinearStage(
    records=400, dense=6, ferns=3, depth=2, share=128, steps=5, bound=8, scale=3.0, momentum=0.9, step_size=0.01
)
CONFIDENT = ConfidentMaxStage(100, 31, asked=10, answered=5, noise=ConfidentMax(25, 5.0, 5.0))
COMPARISON = ComparisonStage(records=400, bound=8, scale=4.0, lead=-20)
LEAVES, LABELS = LeafCountsStage(40.0), ClassCountsStage(40.0, 3)
STAGES: tuple[Any, ...] = (VOTE, NOISY, CONFIDENT, DRAW, LINEAR, COMPARISON, LEAVES, LABELS)
DENSE_ONLY = replace(LINEAR, ferns=0, depth=0, share=256)
FERNS_ONLY = replace(LINEAR, dense=0, share=0)
POSTERIOR = replace(DENSE_ONLY, momentum=0.0, step_size=0.0)
REFUSED: list[tuple[Any, str, object]] = [
    (LEAVES, "scale", 0.0),
    (LABELS, "scale", math.nan),
    (LABELS, "classes", 1),
    (LABELS, "classes", 2.0),
    (POSTERIOR, "step_size", -1e-9),
    (POSTERIOR, "step_size", math.nan),
    (VOTE, "records", 0),
    (VOTE, "records", 1_000.0),
    (VOTE, "subsample", 0),
    (VOTE, "subsample", 1_001),
    (VOTE, "teachers", 100),
    (VOTE, "teachers", -1),
    (VOTE, "teachers", 501),
    (VOTE, "inverse_temperature", -0.1),
    (VOTE, "inverse_temperature", math.inf),
    (VOTE, "sparse_vector", GaussianMax(5.0)),
    (VOTE, "copies", 0),
    (VOTE, "public", 0),
    (NOISY, "records", 0),
    (NOISY, "teachers", 0),
    (NOISY, "teachers", 101),
    (NOISY, "queries", 0),
    (NOISY, "noise", VOTE.sparse_vector),
    (NOISY, "labels", 1),
    (CONFIDENT, "records", 0),
    (CONFIDENT, "teachers", 101),
    (CONFIDENT, "asked", 0),
    (CONFIDENT, "answered", 0),
    (CONFIDENT, "answered", 11),
    (CONFIDENT, "noise", GaussianMax(5.0)),
    (CONFIDENT, "labels", 1),
    (DRAW, "inverse_temperature", -0.1),
    (DRAW, "inverse_temperature", math.nan),
    (DRAW, "inverse_temperature", None),
    (DRAW, "after_queries", -1),
    (DRAW, "after_queries", True),
    (LINEAR, "records", 0),
    (LINEAR, "records", MOST_RECORDS + 1),
    (LINEAR, "dense", -1),
    (LINEAR, "dense", 2**16 + 1),
    (LINEAR, "ferns", 2**16 + 1),
    (LINEAR, "depth", 0),
    (LINEAR, "depth", 17),
    (LINEAR, "share", 0),
    (LINEAR, "share", 256),
    (LINEAR, "share", 257),
    (DENSE_ONLY, "depth", 2),
    (DENSE_ONLY, "share", 255),
    (FERNS_ONLY, "share", 1),
    (LINEAR, "steps", 0),
    (LINEAR, "bound", 0),
    (LINEAR, "bound", 6),
    (LINEAR, "bound", 2 * LARGEST_TERM),
    (LINEAR, "classes", 1),
    (LINEAR, "classes", 128),
    (LINEAR, "seed", -1),
    (LINEAR, "scale", 0.0),
    (LINEAR, "scale", 2.0**60),
    (LINEAR, "momentum", 1.0),
    (LINEAR, "step_size", 0.0),
    (LINEAR, "features", "forests"),
    (LINEAR, "features", None),
    (LINEAR, "whitening", 0.0),
    (LINEAR, "whitening", -0.1),
    (LINEAR, "whitening", 1.001),
    (LINEAR, "whitening", math.nan),
    (COMPARISON, "records", 0),
    (COMPARISON, "records", MOST_RECORDS + 1),
    (COMPARISON, "bound", 0),
    (COMPARISON, "bound", 2 * LARGEST_TERM),
    (COMPARISON, "scale", 0.0),
    (COMPARISON, "scale", math.inf),
    (COMPARISON, "scale", 2.0**60),
    (COMPARISON, "lead", -401),
    (COMPARISON, "lead", 401),
    (COMPARISON, "lead", 0.5),
]


@pytest.mark.parametrize(
    ("stage", "name", "value"),
    REFUSED,
    ids=[f"{type(at).__name__}-{name}-{str(value)[:12]}" for at, name, value in REFUSED],
)
def test_a_stage_refuses_what_could_not_run(stage: Any, name: str, value: object) -> None:
    with pytest.raises(ParameterError) as refusal:
        replace(stage, **{name: value})
    assert refusal.value.name == name


@pytest.mark.parametrize(
    ("stage", "change", "name"),
    [
        (LINEAR, {"dense": 0}, "share"),
        (LINEAR, {"ferns": 0}, "depth"),
        (LINEAR, {"ferns": 0, "depth": 0}, "share"),
        (LINEAR, {"dense": 0, "ferns": 0, "depth": 0}, "share"),
        (DENSE_ONLY, {"ferns": 3, "depth": 2}, "share"),
        (DENSE_ONLY, {"dense": 0}, "share"),
        (FERNS_ONLY, {"dense": 6}, "share"),
    ],
)
def test_a_share_of_the_norm_goes_to_parts_that_are_there(stage: LinearStage, change: Any, name: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        replace(stage, **change)
    assert refusal.value.name == name


@pytest.mark.parametrize("change", [{"classes": 3}, {"ferns": 3, "depth": 2, "share": 128}, {"momentum": 0.5}])
def test_a_posterior_is_for_two_classes_without_ferns_and_has_no_steps(change: dict[str, Any]) -> None:
    assert POSTERIOR.is_empirical_bayes
    assert not LINEAR.is_empirical_bayes
    with pytest.raises(ParameterError, match="step_size"):
        replace(POSTERIOR, **change)


@pytest.mark.parametrize("name", ["copies", "public"])
def test_without_relabelling_there_are_neither_copies_nor_public_points(name: str) -> None:
    bare = replace(VOTE, inverse_temperature=None, copies=None, public=None)
    with pytest.raises(ParameterError, match=f"{name} must be None"):
        replace(bare, **{name: 5})  # type: ignore[arg-type]


def test_every_field_of_every_stage_has_a_value_that_is_refused() -> None:
    tested = {(type(stage), name) for stage, name, _ in REFUSED}
    assert tested == {(type(stage), field.name) for stage in STAGES for field in fields(stage)}


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: type(stage).__name__)
def test_a_stage_keeps_pythons_own_numbers(stage: Any) -> None:
    """NumPy's numbers are taken and turned; the stage is the same as one that was made of Python's."""

    def numpys(value: Any) -> Any:
        return np.int64(value) if isinstance(value, int) else np.float64(value) if isinstance(value, float) else value

    taken = type(stage)(**{field.name: numpys(getattr(stage, field.name)) for field in fields(stage)})
    assert taken == stage
    kept = (getattr(taken, field.name) for field in fields(taken))
    assert all(value is None or is_dataclass(value) or type(value) in (int, float, str) for value in kept)


def test_a_draw_may_ignore_the_records() -> None:
    """η = 0 costs nothing, and the proofs cover it."""
    assert DrawStage(0.0).inverse_temperature == 0.0
    assert replace(VOTE, inverse_temperature=0.0).inverse_temperature == 0.0


@pytest.mark.parametrize(
    ("stage", "coordinates", "blocks"),
    [
        (LINEAR, 6 + 3 * 4, 1),
        (DENSE_ONLY, 6, 1),
        (FERNS_ONLY, 3 * 4, 1),
        (replace(LINEAR, classes=3), 6 + 3 * 4, 3),
    ],
)
def test_a_linear_classifier_has_noise_for_every_weight_of_every_block(
    stage: LinearStage, coordinates: int, blocks: int
) -> None:
    assert (stage.coordinates, stage.blocks, stage.draws) == (coordinates, blocks, 5 * coordinates * blocks)
    assert stage.sensitivity == 2 * stage.bound
    multiplier = stage.scale / stage.sensitivity
    assert stage.sums == NoisySumsEvent(multiplier, 5, stage.scale, stage.draws)
    assert stage.sums.squared_mu == 5 / multiplier**2
    assert stage.event(Context(Thresholds(), 1, 1)) == stage.sums, "whatever the class is"


def test_a_comparison_is_one_number_of_sensitivity_2_m() -> None:
    """A replaced record moves each of the two counts by at most 1, and the lead is in M-ths of a record."""
    assert COMPARISON.sums == NoisySumsEvent(4.0 / (2 * 8), steps=1, scale=4.0, draws=1)
    assert COMPARISON.event(Context(Thresholds(), 1, 1)) == COMPARISON.sums, "whatever the class is"
    for change in ({"bound": 16}, {"scale": 2.0}):
        assert replace(COMPARISON, **change).sums.squared_mu == 4 * COMPARISON.sums.squared_mu
    assert replace(COMPARISON, lead=400).sums == COMPARISON.sums
    assert [replace(COMPARISON, lead=limit).lead for limit in (-400, 400)] == [-400, 400]


def test_the_option_turns_at_whole_records() -> None:
    """In M-ths of a record: the second option from the lead on."""
    leads = {-400 * 8: 0, -20 * 8 - 1: 0, -20 * 8: 1, -20 * 8 + 1: 1, 0: 1, 400 * 8: 1}
    assert {lead: COMPARISON.option(lead) for lead in leads} == leads
    assert [replace(COMPARISON, lead=0).option(lead) for lead in (-1, 0, 1)] == [0, 1, 1]
    assert [replace(COMPARISON, lead=7).option(lead) for lead in (7 * 8 - 1, 7 * 8)] == [0, 1]


def test_counts_at_leaves_move_by_two_records() -> None:
    """Beside a draw both are pure, and add up."""
    context, counts = Context(Stumps(cuts=[0.5]), 400, 1), LeafCountsStage(40.0)
    assert counts.epsilon == rounded_up(2 / 40)
    assert account(counts, context).epsilon == counts.epsilon
    both = account(Sequence((DRAW, counts)), context, delta=1e-6)
    assert both.epsilon == rounded_up(account(DRAW, context).epsilon + counts.epsilon)
    assert both.is_pure
    assert both.rho is not None
    assert both.rho > counts.epsilon**2 / 2
    for scale in (0.0, -1.0, math.inf, 2.0**51):
        with pytest.raises(ParameterError, match="scale"):
            LeafCountsStage(scale)


def test_counts_of_labels_move_by_one_record_or_by_two() -> None:
    """The interval of a draw after them depends on them, which the fold is told."""
    context = Context(Stumps(cuts=[0.5]), 400, 1)
    two, three, many = (ClassCountsStage(40.0, classes) for classes in (2, 3, 9))
    assert (two.epsilon, three.epsilon, many.epsilon) == (rounded_up(1 / 40), rounded_up(2 / 40), rounded_up(2 / 40))
    assert two.event(context) == ShapingEvent(PureEvent(two.epsilon))
    both = account(Sequence((three, DRAW)), context, delta=1e-6)
    assert both.is_pure
    assert both.epsilon == rounded_up(account(DRAW, context).epsilon + three.epsilon)
    sums = NoisySumsEvent(20.0, steps=4, scale=2.0**30, draws=1_000)
    first, fixed = (
        account_for(Composed((event, sums, DRAW.event(context))), 1e-6).epsilon
        for event in (two.event(context), PureEvent(two.epsilon))
    )
    assert first > fixed
    assert two.words(context).startswith("noisy counts of the labels")
    for scale, classes in ((0.0, 2), (math.inf, 2), (2.0**51, 2), (1.0, 1), (1.0, 128)):
        with pytest.raises(ParameterError, match="classes" if scale == 1.0 else "scale"):
            ClassCountsStage(scale, classes)


def test_what_a_stage_needs_time_for() -> None:
    assert VOTE.work(1_000) == ((5, 101), (500, 1))
    assert replace(VOTE, inverse_temperature=None, copies=None, public=None).work(1_000) == ((5, 101),)
    assert DRAW.work(1_000) == ((1_000, 1),)
    assert LINEAR.work(1_000) == COMPARISON.work(1_000) == ()
    assert LINEAR.effort == 5 * (6 + 3)
    assert DRAW.effort == COMPARISON.effort == 0.0


def test_what_a_stage_does_in_words() -> None:
    context = Context(Stumps(cuts=[0.5]), 400, 1)
    assert DRAW.words(context).endswith("decision stumps")
    assert LINEAR.words(context).startswith("a linear classifier over 6 dense coordinates and 3 ferns of 2 predicates")
    assert LINEAR.words(context).endswith("by 5 steps of DP gradient descent")
    assert POSTERIOR.words(context).endswith("over 6 dense coordinates, by 5 noisy sums and empirical Bayes")
    assert COMPARISON.words(context).startswith("a noisy comparison of the errors of these two")
    assert LeafCountsStage(40.0).words(context).startswith("noisy counts of each label in each leaf")
