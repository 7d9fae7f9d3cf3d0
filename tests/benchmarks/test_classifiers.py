"""docs/classifiers.md shows what the stored results say."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from benchmarks import classifier_costs, classifiers, network, rule, wide
from benchmarks.accuracy import markdown, write_json
from benchmarks.dp_sgd import EPSILONS
from benchmarks.network_training import Setting

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / classifiers.PAGE).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "table",
    [
        classifiers.table(ROOT),
        markdown(rule.HEADER, rule.rows(rule.stored(ROOT))),
        classifier_costs.table(ROOT),
        wide.table(ROOT),
    ],
    ids=["accuracy", "rule", "costs", "wide"],
)
def test_the_page_has_the_tables_of_the_results(table: str) -> None:
    assert table in PAGE


def test_every_table_was_run_at_every_epsilon_often_enough() -> None:
    cases = classifiers.stored(ROOT)
    assert cases.keys() == {(name, epsilon) for name in classifiers.TARGETS for epsilon in EPSILONS}
    assert all(len(case.accuracy) >= 5 and len(case.peer) >= 5 for case in cases.values())


def test_one_figure_is_behind_dp_sgd_by_a_standard_error_and_some_are_far_ahead_at_every_epsilon() -> None:
    """As docs/classifiers.md says: bank at .3, by 1.3 of them."""
    cases = classifiers.stored(ROOT).values()
    behind = {case.key: -case.lead[0] / case.lead[2] for case in cases if case.lead[0] < -case.lead[2]}
    assert {key: round(errors, 1) for key, errors in behind.items()} == {("bank", 0.3): 1.3}
    for epsilon in EPSILONS:
        leads = [case.lead for case in cases if case.epsilon == epsilon]
        assert max(lead / error for lead, _, error in leads) > 3


def test_a_network_on_file_has_two_columns(tmp_path: Path) -> None:
    (tmp_path / classifiers.RESULTS).parent.mkdir(parents=True)
    shutil.copy(ROOT / classifiers.RESULTS, tmp_path / classifiers.RESULTS)
    assert "network" not in classifiers.table(tmp_path)
    case = network.Case("adult", 0.1, Setting(), False, 2.0, [0.81, 0.83], 0.82, 3, 1.0)
    write_json(tmp_path / network.RESULTS, {}, [asdict(case)])
    header, _, *rows = classifiers.table(tmp_path).splitlines()
    assert header.endswith("| network (runs) | lead on it |")
    assert sum("| 82.00 ±1.00 (2) | +3.24 ±1.00" in row for row in rows) == 1
    assert sum(row.endswith("|  |  |") for row in rows) == len(rows) - 1


def test_the_error_of_test_rows_is_that_of_paired_differences() -> None:
    generator = np.random.default_rng(1)
    common = generator.random(1_000) < 0.7
    ours, theirs = [common, common], np.array([common ^ (generator.random(1_000) < 0.1) for _ in range(3)])
    difference = np.mean(ours, axis=0) - theirs.mean(axis=0)
    assert classifiers.paired_error(ours, theirs) == pytest.approx(difference.std(ddof=1) / 1_000**0.5)
    assert classifiers.paired_error(ours, ours) == 0.0
