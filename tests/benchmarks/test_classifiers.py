"""docs/classifiers.md and docs/classifier-results.md show what the stored results say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import classes, classifier_costs, classifiers, few_records, rule, wide
from benchmarks.accuracy import markdown
from benchmarks.leads import EPSILONS, Runs, read_counts
from benchmarks.tables import TABLES, Task
from pcqr.data.schema import Column, Schema
from pcqr.releases.classifier.rule import choose

ROOT = Path(__file__).parents[2]
RESULTS, SUMMARY = ((ROOT / page).read_text(encoding="utf-8") for page in (classifiers.PAGE, classifiers.SUMMARY))


def held_out_by_band(root: Path) -> str:
    return markdown(rule.BY_BAND, rule.by_band(rule.stored(root / rule.RESULTS), rule.HELD_OUT))


def few(root: Path) -> str:
    return markdown(few_records.HEADER, few_records.rows(few_records.stored(root)))


@pytest.mark.parametrize(
    "table",
    [
        classifiers.table,
        held_out_by_band,
        lambda root: markdown(rule.HEADER, rule.by_question(rule.stored(root / rule.RESULTS), rule.HELD_OUT)),
        lambda root: markdown(rule.HEADER, rule.by_question(rule.stored(root / rule.RESULTS), rule.IN_VIEW)),
        few,
        classifier_costs.table,
        wide.table,
        classes.table,
    ],
    ids=["accuracy", "by band", "held out", "in view", "few records", "costs", "wide", "classes"],
)
def test_the_page_has_the_tables_of_the_results(table: Callable[[Path], str]) -> None:
    assert table(ROOT) in RESULTS


@pytest.mark.parametrize("table", [classifiers.standing, held_out_by_band, few])
def test_the_summary_has_the_means(table: Callable[[Path], str]) -> None:
    assert table(ROOT) in SUMMARY


def test_what_is_published_is_named_for_the_table() -> None:
    names = [classifiers.named(choose(1_000, epsilon)) for epsilon in (1.0, 10.0, 100.0, 1_000.0)]
    assert names == ["tree", "tree and linear", "tree and linear, ferns", "tree and linear, ferns"]
    assert set(names) == classifiers.MARKERS.keys() == classifiers.WORDS.keys()
    assert {case.method for case in classifiers.stored(ROOT).values()} <= set(names)


def test_all_peers_were_run_on_every_table_at_every_epsilon_often_enough() -> None:
    every = {(name, epsilon) for name in TABLES for epsilon in EPSILONS}
    for peer in classifiers.peers(ROOT):
        assert peer.runs.keys() == every
        for runs in peer.runs.values():
            assert runs.count >= 5
            assert_rows_tell_the_accuracy(runs)
    assert classifiers.without_privacy(ROOT).keys() == set(TABLES)


def test_the_rows_on_file_are_those_of_our_runs() -> None:
    runs = classifiers.ours(ROOT)
    assert read_counts(ROOT / classifiers.ROWS).keys() <= runs.keys()
    for each in runs.values():
        if each.right is not None:
            assert_rows_tell_the_accuracy(each)


def assert_rows_tell_the_accuracy(runs: Runs) -> None:
    assert runs.right is not None
    assert 100.0 * runs.right.mean() / runs.count == pytest.approx(runs.mean)


def small_task() -> Task:
    generator = np.random.default_rng(3)
    X = generator.normal(size=(300, 2))
    y = (X[:, 0] > 0.2).astype(np.int8)
    return Task("adult", X[:150], y[:150], X[200:], X[150:200], y[150:200], Schema((Column("a"), Column("b"))))


def test_a_run_that_was_cut_off_is_gone_on_with_and_an_older_one_can_be_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = small_task()
    monkeypatch.setitem(classifiers.RUNS, "adult", 2)
    two = classifiers.measure(task, 0.3, tmp_path)
    monkeypatch.setitem(classifiers.RUNS, "adult", 3)
    three = classifiers.measure(task, 0.3, tmp_path)
    assert list(three.accuracy[:2]) == list(two.accuracy)
    assert_rows_tell_the_accuracy(classifiers.ours(tmp_path)["adult", 0.3])
    assert classifiers.measure(task, 0.3, tmp_path).seconds == list(three.seconds)

    other = replace(three, epsilon=1.0)
    classifiers.store(classifiers.stored(tmp_path) | {other.key: other}, tmp_path)
    classifiers.forget(("adult", 0.3), tmp_path)
    assert classifiers.stored(tmp_path).keys() == {("adult", 1.0)}
    assert not read_counts(tmp_path / classifiers.ROWS)
    anew = classifiers.measure(task, 1.0, tmp_path)  # figures without the rows are of an older version
    assert anew.seconds != other.seconds


def test_a_table_that_only_peers_were_run_on_has_empty_fields() -> None:
    cases = classifiers.stored(ROOT)
    rows = [line.split(" | ") for line in classifiers.table(ROOT).splitlines()[2:]]
    assert len(rows) == len(TABLES) * len(EPSILONS)
    for row in rows:
        key = row[0].removeprefix("| "), float(row[1])
        assert bool(row[4]) == (key in cases)
        assert "±" in row[5]
        assert "±" in row[7]
