"""Progress is told to who listens, in public numbers, and to nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from pcqr import AgnosticRelease, PrivateClassifier
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.progress import Progress, reporting, stage_progress, tracked


def test_nothing_is_told_where_nobody_listens() -> None:
    told: list[Progress] = []
    assert list(tracked("parts", "abc")) == ["a", "b", "c"]
    with reporting(told.append):
        pass
    assert list(tracked("parts", "abc")) == ["a", "b", "c"]
    assert told == []


def test_a_part_is_done_when_the_next_one_is_asked_for() -> None:
    told: list[Progress] = []
    with reporting(told.append):
        for place, part in enumerate(tracked("parts", "ab")):
            assert part == "ab"[place]
            assert told[-1] == Progress("parts", place, 2)
    assert told[-1] == Progress("parts", 2, 2)


def test_stages_within_a_stage_are_silent_and_later_ones_are_not() -> None:
    told: list[Progress] = []
    with reporting(told.append):
        for _ in tracked("outer", range(2)):
            assert list(tracked("inner", range(5))) == [0, 1, 2, 3, 4]
        list(tracked("later", range(1)))
    assert [(p.stage, p.done) for p in told] == [("outer", 0), ("outer", 1), ("outer", 2), ("later", 0), ("later", 1)]


def test_a_loop_that_is_broken_off_silences_nothing_after_it() -> None:
    told: list[Progress] = []

    def broken() -> Iterator[int]:
        for part in tracked("broken", range(3)):
            yield part
            raise ValueError("broken off")

    with reporting(told.append):
        with pytest.raises(ValueError, match="broken off"):
            list(broken())
        list(tracked("later", range(1)))
    assert told[-1] == Progress("later", 1, 1)


def test_a_listener_that_raises_breaks_off_the_fit() -> None:
    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    X = np.linspace(0, 1, 5_000)[:, None]
    release = AgnosticRelease(Thresholds(), epsilon=4.0, entropy=0)
    with reporting(stop), pytest.raises(KeyboardInterrupt):
        release.fit(X, X[:, 0] > 0.5)
    assert not hasattr(release, "plan_")


def test_a_stage_of_one_part_begins_and_is_over_even_where_it_fails() -> None:
    told: list[Progress] = []
    with reporting(told.append):
        with stage_progress("reading"):
            assert told == [Progress("reading", 0, 1)]
        assert told[1:] == [Progress("reading", 1, 1)]
        with pytest.raises(ZeroDivisionError), stage_progress("dividing"):
            raise ZeroDivisionError
        list(tracked("later", "a"))
    assert told[2:] == [Progress("dividing", 0, 1), Progress("later", 0, 1), Progress("later", 1, 1)]


def test_pilots_and_the_linear_classifier_after_them_are_told_apart() -> None:
    told: list[Progress] = []
    rng = np.random.default_rng(0)
    X, public = rng.random((500, 2)), rng.random((100, 2))
    with reporting(told.append):
        PrivateClassifier(301.0, method="linear", entropy=0).fit(X, X[:, 0] > X[:, 1], public=public)
    parts = ("vectors of the records", "noisy sums")
    pilots = [f"{name}, {part}" for name in ("linear classifier", "linear classifier 2") for part in parts]
    assert list(dict.fromkeys(each.stage for each in told)) == [
        *pilots,
        "comparing the pilots",
        *(f"linear classifier 3, {part}" for part in parts),
    ]


FITS: dict[str, Any] = {
    "teachers": lambda: AgnosticRelease(Thresholds(), epsilon=4.0, teachers=51, entropy=0),
    "linear classifier, noisy sums": lambda: PrivateClassifier(4.0, method="linear", entropy=0),
    "weighing trees of depth 1": lambda: PrivateClassifier(4.0, method="tree", trees=DecisionTrees(depth=3), entropy=0),
}


@pytest.mark.filterwarnings("ignore::pcqr.errors.UnansweredWarning")  # few records
@pytest.mark.parametrize("stage", FITS)
def test_every_long_fit_counts_its_parts_and_says_nothing_of_the_records(stage: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((3_000, 6 if "weighing" in stage else 1))
    public = rng.random((400, X.shape[1]))

    def counters(y: Any) -> list[Progress]:
        told: list[Progress] = []
        with reporting(told.append):
            FITS[stage]().fit(X, y, public=None if stage == "teachers" else public)
        return told

    told = counters(X[:, 0] > 0.5)
    assert told == counters(rng.random(3_000) > 0.9)
    steps = [p for p in told if p.stage == stage]
    assert (steps[0].done, steps[-1].done) == (0, steps[-1].total)
    assert all(later.done == earlier.done + 1 for earlier, later in pairwise(steps) if later.done)


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_verbose_fit_writes_a_line_for_each_stage(
    is_terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public counters: the numbers of teachers are those of the plan."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal, raising=False)
    X = np.random.default_rng(0).random((3_000, 1))
    release = AgnosticRelease(Thresholds(), epsilon=2.0, queries=5, entropy=0)
    release.fit(X, X[:, 0] > 0.5)
    assert capsys.readouterr().err == ""
    told: list[Progress] = []
    with reporting(told.append):
        release.fit(X, X[:, 0] > 0.5)
    assert capsys.readouterr() == ("", "")
    release.fit(X, X[:, 0] > 0.5, verbose=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = [line.split("\r")[-1].rpartition(", ")[0] for line in shown.err.split("\n")[:-1]]
    assert lines == [f"{each.stage}: {each.done:,} of {each.total:,}" for each in told if each.done == each.total]
    assert ("\r" in shown.err) is is_terminal
    assert "teachers" in shown.err
