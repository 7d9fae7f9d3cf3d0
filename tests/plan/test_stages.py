"""The parameters of a stage: each refuses what no algorithm could run, and keeps Python's own numbers."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pcqr.errors import ParameterError
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.peers.confident.mechanism import ConfidentMax
from pcqr.peers.confident.plan import ConfidentMaxStage
from pcqr.peers.noisy_max.mechanism import GaussianMax
from pcqr.peers.noisy_max.plan import NoisyMaxStage
from pcqr.plan import (
    LARGEST_TERM,
    MOST_RECORDS,
    AskedStage,
    ContestStage,
    CountedStage,
    DrawStage,
    LinearStage,
    StackedStage,
    VoteStage,
)

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
HEAD = LinearStage(
    records=400, dense=6, ferns=3, depth=2, share=128, steps=5, bound=8, scale=3.0, momentum=0.9, step_size=0.01
)
CONFIDENT = ConfidentMaxStage(100, 31, asked=10, answered=5, noise=ConfidentMax(25, 5.0, 5.0))
ASKED = AskedStage(question=0.02, shallow=1, few=30, many=90, tree=0.2, depth=2, linear=HEAD)
PILOT = replace(HEAD, dense=4, ferns=0, depth=0, share=256, steps=2, scale=5.0)
STACKED = StackedStage(tree=0.2, depth=2, slack=0.001, whitening=0.5, linear=replace(HEAD, dense=7))
CONTEST = ContestStage(PILOT, shallow=1, scale=4.0, tree_from=-20, tree=0.2, depth=2, linear=HEAD, slack=0.001)
COUNTED = CountedStage(count=0.02, rare=30, tree=0.4, depth=2, uneven=60, careful=HEAD, otherwise=STACKED)
STAGES: tuple[Any, ...] = (VOTE, NOISY, CONFIDENT, DRAW, HEAD, ASKED, STACKED, CONTEST, COUNTED)
DENSE_ONLY = replace(HEAD, ferns=0, depth=0, share=256)
FERNS_ONLY = replace(HEAD, dense=0, share=0)
TOO_SHARP = 2.0**50  # times n more than 2**52


def for_records(records: int) -> StackedStage:
    return replace(STACKED, linear=replace(STACKED.linear, records=records))


POSTERIOR = replace(DENSE_ONLY, momentum=0.0, step_size=0.0)
REFUSED: list[tuple[Any, str, object]] = [
    (POSTERIOR, "step_size", -1e-9),
    (POSTERIOR, "step_size", math.nan),
    (CONTEST, "slack", -1e-9),
    (CONTEST, "slack", math.inf),
    (CONTEST, "slack", math.nan),
    (STACKED, "depth", 0),
    (STACKED, "depth", 1.5),
    (STACKED, "slack", -1e-9),
    (STACKED, "slack", math.inf),
    (STACKED, "slack", math.nan),
    (STACKED, "whitening", 0.0),
    (STACKED, "whitening", -0.1),
    (STACKED, "whitening", 1.001),
    (STACKED, "whitening", math.nan),
    (STACKED, "linear", None),
    (STACKED, "linear", DRAW),
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
    (HEAD, "records", 0),
    (HEAD, "records", MOST_RECORDS + 1),
    (HEAD, "dense", -1),
    (HEAD, "dense", 2**16 + 1),
    (HEAD, "ferns", 2**16 + 1),
    (HEAD, "depth", 0),
    (HEAD, "depth", 17),
    (HEAD, "share", 0),
    (HEAD, "share", 256),
    (HEAD, "share", 257),
    (DENSE_ONLY, "depth", 2),
    (DENSE_ONLY, "share", 255),
    (FERNS_ONLY, "share", 1),
    (HEAD, "steps", 0),
    (HEAD, "bound", 0),
    (HEAD, "bound", 6),
    (HEAD, "bound", 2 * LARGEST_TERM),
    (HEAD, "classes", 1),
    (HEAD, "classes", 128),
    (HEAD, "seed", -1),
    (HEAD, "scale", 0.0),
    (HEAD, "scale", 2.0**60),
    (HEAD, "momentum", 1.0),
    (HEAD, "step_size", 0.0),
    (ASKED, "linear", replace(HEAD, classes=3)),
    (ASKED, "linear", None),
    (ASKED, "question", 0.0),
    (ASKED, "question", math.inf),
    (ASKED, "question", 2.0**-50),
    (ASKED, "question", Fraction(1, 10**400)),
    (ASKED, "shallow", 0),
    (ASKED, "few", -1),
    (ASKED, "many", -1),
    (ASKED, "many", 1.5),
    (ASKED, "depth", 0),
    (CONTEST, "pilot", replace(PILOT, classes=3)),
    (CONTEST, "pilot", None),
    (CONTEST, "linear", replace(HEAD, classes=3)),
    (CONTEST, "linear", CONFIDENT),
    (CONTEST, "linear", replace(HEAD, records=399)),
    (CONTEST, "linear", replace(HEAD, bound=16)),
    (CONTEST, "shallow", 0),
    (CONTEST, "shallow", 1.5),
    (CONTEST, "scale", 0.0),
    (CONTEST, "scale", math.inf),
    (CONTEST, "scale", 2.0**60),
    (CONTEST, "tree_from", -401),
    (CONTEST, "tree_from", 401),
    (CONTEST, "tree_from", 0.5),
    (CONTEST, "depth", 0),
    (COUNTED, "count", 0.0),
    (COUNTED, "count", 2.0**-50),
    (COUNTED, "rare", -1),
    (COUNTED, "uneven", -1),
    (COUNTED, "depth", 0),
    (COUNTED, "careful", replace(HEAD, classes=3)),
    (COUNTED, "otherwise", HEAD),
    (COUNTED, "otherwise", for_records(399)),
    (COUNTED, "otherwise", CONTEST),
    (COUNTED, "otherwise", ASKED),
    (COUNTED, "otherwise", DRAW),
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


@pytest.mark.parametrize("eta", [-0.1, math.nan, TOO_SHARP])
def test_a_part_that_could_not_be_drawn_is_refused_with_the_whole(eta: float) -> None:
    with pytest.raises(ParameterError, match="inverse_temperature"):
        replace(COUNTED, tree=eta)
    for stage in (ASKED, CONTEST, STACKED):
        with pytest.raises(ParameterError, match="inverse_temperature"):
            replace(stage, tree=eta)


@pytest.mark.parametrize("stage", [CONTEST, STACKED], ids=["contest", "stacked"])
def test_the_draw_of_a_tree_is_to_an_accountant_an_interval_with_twice_its_slack(
    stage: ContestStage | StackedStage,
) -> None:
    """2η + 4λ, where a slack is 2λ: the sampler may err on either of two neighbours."""
    assert stage.records == 400
    assert 0.402 <= stage.draw.epsilon == pytest.approx(0.402, rel=1e-12)
    assert replace(stage, tree=0.0, slack=0.0).draw.epsilon == 0.0


@pytest.mark.parametrize(
    ("stage", "change", "name"),
    [
        (HEAD, {"dense": 0}, "share"),
        (HEAD, {"ferns": 0}, "depth"),
        (HEAD, {"ferns": 0, "depth": 0}, "share"),
        (HEAD, {"dense": 0, "ferns": 0, "depth": 0}, "share"),
        (DENSE_ONLY, {"ferns": 3, "depth": 2}, "share"),
        (DENSE_ONLY, {"dense": 0}, "share"),
        (FERNS_ONLY, {"dense": 6}, "share"),
    ],
)
def test_a_share_of_the_norm_goes_to_parts_that_are_there(stage: LinearStage, change: Any, name: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        replace(stage, **change)
    assert refusal.value.name == name


def test_a_product_of_numpys_integers_is_not_judged_after_it_has_overflowed() -> None:
    many = replace(HEAD, records=2**24)
    sharp: dict[str, Any] = {"tree": np.int64(2**40)}  # 2⁶⁴ is 0 in 64 bits
    with pytest.raises(ParameterError, match="inverse_temperature"):
        replace(COUNTED, careful=many, otherwise=for_records(2**24), **sharp)
    with pytest.raises(ParameterError, match="inverse_temperature"):
        replace(ASKED, linear=many, **sharp)
    with pytest.raises(ParameterError, match="inverse_temperature"):
        replace(for_records(2**24), **sharp)
    with pytest.raises(ParameterError, match="inverse_temperature"):
        replace(CONTEST, pilot=replace(PILOT, records=2**24), linear=many, **sharp)


@pytest.mark.parametrize("change", [{"classes": 3}, {"ferns": 3, "depth": 2, "share": 128}, {"momentum": 0.5}])
def test_a_posterior_is_for_two_classes_without_ferns_and_has_no_steps(change: dict[str, Any]) -> None:
    assert POSTERIOR.is_empirical_bayes
    assert not HEAD.is_empirical_bayes
    with pytest.raises(ParameterError, match="step_size"):
        replace(POSTERIOR, **change)


@pytest.mark.parametrize("name", ["copies", "public"])
def test_without_relabelling_there_are_neither_copies_nor_public_points(name: str) -> None:
    bare = replace(VOTE, inverse_temperature=None, copies=None, public=None)
    with pytest.raises(ParameterError, match=f"{name} must be None"):
        replace(bare, **{name: 5})  # type: ignore[arg-type]


def test_every_field_of_every_stage_has_a_value_that_is_refused() -> None:
    tested = {(type(stage), name) for stage, name, _ in REFUSED}
    tested |= {(CountedStage, "tree"), (AskedStage, "tree"), (ContestStage, "tree"), (StackedStage, "tree")}
    assert tested == {(type(stage), field.name) for stage in STAGES for field in fields(stage)}


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: type(stage).__name__)
def test_a_stage_keeps_pythons_own_numbers(stage: Any) -> None:
    """NumPy's numbers are taken and turned; the stage is the same as one that was made of Python's."""

    def numpys(value: Any) -> Any:
        return np.int64(value) if isinstance(value, int) else np.float64(value) if isinstance(value, float) else value

    taken = type(stage)(**{field.name: numpys(getattr(stage, field.name)) for field in fields(stage)})
    assert taken == stage
    kept = (getattr(taken, field.name) for field in fields(taken))
    assert all(value is None or is_dataclass(value) or type(value) in (int, float) for value in kept)


def test_a_draw_may_ignore_the_records() -> None:
    """η = 0 costs nothing, and the proofs cover it."""
    assert DrawStage(0.0).inverse_temperature == 0.0
    assert replace(VOTE, inverse_temperature=0.0).inverse_temperature == 0.0
    assert replace(ASKED, tree=0.0).tree == 0.0
    assert replace(CONTEST, tree=0.0).tree == 0.0
    assert replace(STACKED, tree=0.0).tree == 0.0
    assert replace(COUNTED, tree=0.0).tree == 0.0


@pytest.mark.parametrize(
    ("stage", "coordinates", "blocks"),
    [
        (HEAD, 6 + 3 * 4, 1),
        (DENSE_ONLY, 6, 1),
        (FERNS_ONLY, 3 * 4, 1),
        (replace(HEAD, classes=3), 6 + 3 * 4, 3),
    ],
)
def test_a_head_has_noise_for_every_weight_of_every_block(stage: LinearStage, coordinates: int, blocks: int) -> None:
    assert (stage.coordinates, stage.blocks, stage.draws) == (coordinates, blocks, 5 * coordinates * blocks)
    assert stage.sensitivity == 2 * stage.bound
    assert stage.event.noise_multiplier == stage.scale / stage.sensitivity


def test_a_lead_is_a_number_of_sensitivity_2_m() -> None:
    assert (CONTEST.records, CONTEST.bound) == (400, 8)
    assert CONTEST.comparison.noise_multiplier == 4.0 / (2 * 8)
    assert [replace(CONTEST, tree_from=limit).tree_from for limit in (-400, 400)] == [-400, 400]
