"""The runs of PATE: what is on the page is what was measured, and the figures that must come out do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from benchmarks import pate
from benchmarks.accuracy import markdown
from benchmarks.pate_trials import Spread, given
from pcqr import SubsampleAggregate
from pcqr.hypotheses import Thresholds

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["accounting", "mnist", "adult"])
def test_the_page_has_the_tables_of_the_results(name: str) -> None:
    runs = pate.stored(ROOT / pate.RESULTS)
    table = {
        "accounting": lambda: markdown(pate.ACCOUNTING, pate.accounting_rows()),
        "mnist": lambda: markdown(pate.MNIST, pate.mnist_rows(runs)),
        "adult": lambda: markdown(pate.ADULT, pate.adult_rows(runs)),
    }[name]()
    assert f"<!-- {name} -->\n{table}\n<!-- end of {name} -->" in (ROOT / pate.PAGE).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("place", "renyi", "stated"), [(0, 2.76, 2.54), (1, 11.84, 11.14), (2, 3.83, 3.54)], ids=["MNIST", "SVHN", "Adult"]
)
def test_published_runs_cost_what_they_are_known_to_cost(place: int, renyi: float, stated: float) -> None:
    run = pate.PUBLISHED[place]
    assert pate.costs(run)[1:] == pytest.approx((renyi, stated), abs=0.01)


def test_nothing_that_we_state_is_above_what_the_authors_count() -> None:
    for run in pate.PUBLISHED:
        authors, renyi, stated = pate.costs(run)
        assert stated <= renyi < authors


def run(answered: int, right: int, seed: int) -> pate.Run:
    return pate.Run("adult", "noisy max, planned", "tree", seed, 5, 1.0, 1e-6, 10, answered, right, {"not asked": 0.5})


def test_a_query_without_a_label_is_a_coin() -> None:
    (cell,) = pate.cells([run(6, 3, 0), run(4, 3, 1)], "adult")
    assert cell.answered[0] == pytest.approx(0.5)
    assert cell.right[0] == pytest.approx((3 / 6 + 3 / 4) / 2)
    assert cell.with_coins[0] == pytest.approx((5 + 6) / 20)
    assert cell.student("not asked") == "50.0 ± 0.0 %"
    assert cell.student("unknown") == "–"


def test_labels_are_counted_until_a_release_halts() -> None:
    X = np.random.default_rng(0).uniform(0, 10, size=(2_000, 1))
    y = (X[:, 0] > 6).astype(int)
    settings = {"epsilon": 4.0, "queries": 20, "teachers": 99, "unstable": 1, "entropy": 0}
    release = SubsampleAggregate(Thresholds(), **settings).fit(X, y)  # type: ignore[arg-type]
    asked = np.concatenate([[1.0, 9.0], np.full(1, 6.001), np.linspace(5.99, 6.01, 30)])[:, None]
    answered, right = given(release, asked, np.array([0, 1, *[1] * 31]))
    assert 2 <= right <= answered < 33


def test_a_student_with_public_points_beside_its_labels() -> None:
    rng = np.random.default_rng(0)
    public = np.concatenate([rng.normal(0, 0.3, (100, 2)), rng.normal(3, 0.3, (100, 2))])
    student = clone(Spread(public))
    assert is_classifier(student)
    assert student.fit(public[[0, 150]], np.array([0, 1])).predict([[0.3, 0.2], [2.8, 3.1]]).tolist() == [0, 1]
