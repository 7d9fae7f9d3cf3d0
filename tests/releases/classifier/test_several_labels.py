"""Stable votes between more than two labels: `SubsampleAggregate` and what it is kept in."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.releases import Forbidden

import pcqr
from pcqr import AgnosticRelease, SubsampleAggregate, UniversalRelease
from pcqr.errors import Exhausted, ParameterError
from pcqr.hypotheses import DecisionTrees, Stumps

NAMES = ("low", "middle", "high", "top")
PUBLIC = np.linspace(0.0025, 0.9975, 200)[:, None]

COARSE = DecisionTrees(depth=1, cuts=2, labels=4)


def steps_of_four(records: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    X = np.random.default_rng(0).random((records, 1))
    return X, np.array(NAMES)[np.digitize(X[:, 0], [0.25, 0.5, 0.75])]


def fitted(**parameters: Any) -> SubsampleAggregate:
    X, y = steps_of_four(6_000)
    release = SubsampleAggregate(
        DecisionTrees(depth=2, cuts=8), epsilon=4.0, queries=20, entropy=0, classes=NAMES, **parameters
    )
    return release.fit(X, y, public=PUBLIC)


def test_every_label_is_answered_by_its_name() -> None:
    release = fitted()
    assert release.hypotheses_.labels == 4
    assert release.predict([[0.1], [0.35], [0.6], [0.9]]).tolist() == list(NAMES)
    assert release.answer([0.6]).label == "high"
    assert not any("read from y" in assumption for assumption in release.guarantee_.assumptions)


def test_the_plan_is_that_of_fit() -> None:
    release = fitted()
    plan = SubsampleAggregate(DecisionTrees(depth=2, cuts=8), epsilon=4.0, queries=20, entropy=0, classes=NAMES).plan(
        6_000, public=PUBLIC
    )
    assert plan.vote == release.plan_.vote


@pytest.mark.filterwarnings("ignore::pcqr.errors.UnansweredWarning")
def test_unstable_votes_may_become_any_of_the_labels() -> None:
    X = np.random.default_rng(0).random((3_000, 1))
    y = np.random.default_rng(1).integers(0, 4, 3_000)  # nothing to learn
    release = SubsampleAggregate(
        COARSE,
        epsilon=4.0,
        entropy=0,
        on_unstable="random",
        teachers=201,
        unstable=90,
    )
    release.fit(X, y, public=PUBLIC)
    answers = [release.answer([x]) for x in np.linspace(0.0, 1.0, 60)]
    coins = [answer.label for answer in answers if answer.kind == "unstable"]
    assert len(coins) > 50
    assert set(coins) == {0, 1, 2, 3}


@pytest.mark.filterwarnings("ignore::pcqr.errors.UnansweredWarning")
def test_rows_without_an_answer_count_as_a_coin_of_so_many_sides() -> None:
    release = SubsampleAggregate(COARSE, epsilon=4.0, entropy=0, teachers=201, unstable=1)
    X, y = np.random.default_rng(0).random((3_000, 1)), np.random.default_rng(1).integers(0, 4, 3_000)
    release.fit(X, y, public=PUBLIC)
    with pytest.warns(Exhausted, match="count as 1/4 right"):
        score = release.score(np.linspace(0.0, 1.0, 101)[:, None], np.full(101, 7))  # a label that nothing says
    assert score == pytest.approx((101 - release.queries_answered_) / 4 / 101)


def test_a_kept_release_goes_on_with_all_labels(tmp_path: Path) -> None:
    release = fitted()
    before = release.predict([[0.1], [0.6]]).tolist()
    release.save(tmp_path / "kept", anchor=tmp_path / "anchor").close()
    again = pcqr.release.open(tmp_path / "kept", anchor=tmp_path / "anchor")
    assert again.predict([[0.1], [0.6], [0.35], [0.9]]).tolist() == [*before, "middle", "top"]
    assert [answer.kind for answer in again.answers([[0.1], [0.9]])] == ["repeated", "repeated"]
    assert again.classes_.tolist() == list(NAMES)
    again.close()


@pytest.mark.parametrize("release", [partial(AgnosticRelease, vote="stability"), UniversalRelease])
def test_relabelling_is_between_two_labels_and_says_why(release: Any) -> None:
    X, y = steps_of_four(2_000)
    with pytest.raises(ParameterError, match="two label names: what relabelling costs is proved for two"):
        release(DecisionTrees(depth=2), entropy=Forbidden(), classes=NAMES).fit(X, y, public=PUBLIC)
    with pytest.raises(ParameterError, match="two label names: what relabelling costs is proved for two"):
        release(DecisionTrees(depth=2), classes=NAMES).plan(2_000, public=PUBLIC)


def test_a_class_of_two_labels_says_so() -> None:
    X, y = steps_of_four(2_000)
    with pytest.raises(ParameterError, match="2 label names for Stumps"):
        SubsampleAggregate(Stumps(), entropy=Forbidden(), classes=NAMES).fit(X, y)
    with pytest.raises(ParameterError, match="2 label names for Stumps"):
        SubsampleAggregate(Stumps(), classes=NAMES).plan(2_000, 1)
