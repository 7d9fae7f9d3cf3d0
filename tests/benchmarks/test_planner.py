"""The page on the theory stays true to its results, and the pure parts of the benchmark do what they say."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from support.requests import request_of

from benchmarks.planner import (
    ALGORITHMS,
    BETA,
    BUDGETS,
    CLASSES,
    DELTA,
    EPSILON,
    MARGIN_FAILURE,
    MARGIN_QUERIES,
    PAGE,
    RESULTS,
    PaperNoises,
    RecordsCase,
    RunsCase,
    margin_cases,
    paper_margin,
    read,
    runs_case,
    scientific,
    tables,
    tuned,
    write,
)
from pcqr.mechanisms.sparse_vector import PaperSparseVector
from pcqr.planner import paper
from pcqr.planner.certificate import sampling_slack
from pcqr.planner.certified import fewest_records

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
STORED = read(ROOT / RESULTS)


def test_the_tables_of_the_page_are_those_of_the_results() -> None:
    """`python -m benchmarks.planner --redraw` writes them again."""
    for name, table in tables(STORED).items():
        assert f"<!-- {name} -->\n{table}\n<!-- end of {name} -->" in TEXT
    assert len(STORED["records"]) == 36
    assert len(STORED["runs"]) == 24


def test_its_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", TEXT)
    assert len(targets) > 15
    assert not [target for target in targets if not (ROOT / "docs" / target).resolve().exists()]


def test_every_correction_it_names_exists() -> None:
    corrections = (ROOT / "docs" / "paper-corrections.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\bC\d+\b", TEXT))
    assert named == {f"C{number}" for number in range(1, 19)}
    assert all(f"| {name} " in corrections for name in named)


def test_the_margins_are_still_those_of_the_results() -> None:
    assert margin_cases() == STORED["margins"]


@pytest.mark.parametrize("unstable", BUDGETS)
def test_the_tuned_form_keeps_the_budget_and_gains(unstable: int) -> None:
    form = tuned(unstable)
    assert form.guarantee.within(EPSILON, DELTA)
    assert paper_margin(form) < paper_margin(PaperSparseVector.from_paper(EPSILON, DELTA, unstable, MARGIN_QUERIES))


def test_the_margin_of_the_papers_form_is_enough_and_nearly_the_least() -> None:
    """Simulated with continuous noise of the same scales, at a failure chance that a few thousand runs can see."""
    vector = PaperSparseVector.from_paper(EPSILON, DELTA, 1, MARGIN_QUERIES)
    generator = np.random.default_rng(0)
    runs = 3_000
    lowest = np.array([generator.laplace(0.0, 2.0 * vector.scale, MARGIN_QUERIES).min() for _ in range(runs)])
    fails = generator.laplace(0.0, vector.scale, runs) - lowest  # a query fails iff its excess over w is at most this
    excess = paper_margin(vector) - vector.threshold
    assert np.mean(fails >= excess) == pytest.approx(MARGIN_FAILURE, abs=0.006)
    assert np.mean(fails >= 0.8 * excess) > 3 * MARGIN_FAILURE
    assert PaperNoises(vector).query_failures(np.array([-3, 0])).tolist() == [1.0, 1.0]


def test_figures_in_the_text() -> None:
    d, alpha, beta = 1, 0.1, 0.05
    size = 256 * (d + math.log(3 / beta)) / alpha**2
    bound = 4 * (1 + 2 * size) * math.exp(-size * (alpha / 3) ** 2 / 8)
    assert f"{bound:.3f}".removeprefix("0") in TEXT
    assert bound <= 2 * beta / 3
    assert f"{sampling_slack(1000, 0.05):.3f}".removeprefix("0") == ".027"
    assert f"{math.sqrt(math.log(20) / 2000):.3f}".removeprefix("0") == ".039"
    assert f"{sampling_slack(100, 0.05):.3f}".removeprefix("0") == ".087"


def test_the_logarithms_of_the_papers_subsample_cover_the_slip_of_claim_3_6() -> None:
    room = math.inf
    grid = itertools.product((1, 10, 200), (0.01, 0.1, 0.3, 0.49), (10, 100, 10**4, 10**6), (0.036, 1e-6), (0.01, 0.2))
    for d, alpha, m, delta, beta in grid:
        if m >= 8 * math.log(1 / (alpha * beta)) / alpha:
            k = paper.figures(d, m, 1.0, delta, alpha, beta).k
            needed = 50 * 24**2 * (d * math.log(24 / alpha) + math.log(8 * k / beta)) / alpha**2
            room = min(room, paper.subsample_needed(d, m, alpha, beta, delta) / needed)
    assert f"{math.floor(10 * room) / 10}" == "6.8"


def test_the_proved_n_against_epsilon() -> None:
    hypotheses, features = CLASSES["thresholds"]

    def needed(epsilon: float) -> int:
        votes = fewest_records(request_of(1, features, hypotheses, epsilon, DELTA, 1_000, 0.1, BETA))
        assert votes is not None
        return votes.plan.records

    fewest = [needed(epsilon) for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)]
    falls = [before / after for before, after in itertools.pairwise(fewest)]
    assert all(1.8 <= falls[place] <= 2.3 for place in (0, 4))
    assert all(2.4 <= falls[place] <= 3.7 for place in (2, 3))


@pytest.mark.parametrize("case", STORED["records"][4::9], ids=lambda case: case.name)
def test_the_stored_records_are_those_of_the_code(case: RecordsCase) -> None:
    hypotheses, features = CLASSES[case.name]
    votes = fewest_records(request_of(1, features, hypotheses, EPSILON, DELTA, case.queries, case.alpha, BETA))
    assert votes is not None
    assert votes.plan.records == pytest.approx(case.proved, rel=0.05)
    dimension = hypotheses.vc_bound(features)
    assert case.printed == paper.records_needed(dimension, case.queries, EPSILON, DELTA, case.alpha, BETA)


def test_what_the_text_says_of_the_runs() -> None:
    understated, overstated = [], dict[str, list[float]]((name, []) for name in ALGORITHMS)
    for case in STORED["runs"]:
        overstated[case.algorithm].append(case.expected_excess / max(1e-9, float(np.mean(case.excess))))
        if case.algorithm == "AgPrivCl":
            understated.append(float(np.mean(case.unstable)) / case.expected_unstable)
    assert min(understated) == pytest.approx(1.3, abs=0.05)
    assert max(understated) == pytest.approx(2.0, abs=0.1)
    assert sum(ratio >= 1.2 for ratio in overstated["AgPrivCl"]) == 5
    assert sum(abs(ratio - 1.0) < 0.05 for ratio in overstated["AgPrivCl"]) == 1
    assert 1 / min(overstated["AgPrivCl"]) == pytest.approx(1.17, abs=0.02)
    assert max(overstated["AgPrivCl"]) == pytest.approx(2.2, abs=0.06)
    assert min(overstated["SubSamp"] + overstated["noisy max"]) > 6


def test_results_survive_the_file(tmp_path: Path) -> None:
    write(tmp_path / "results.json", STORED)
    assert read(tmp_path / "results.json") == STORED
    assert (tmp_path / "results.json").read_text() == (ROOT / RESULTS).read_text()


def test_rows() -> None:
    assert RecordsCase("a", 0.1, 100, 4 * 10**11, None).row()[3:] == ["4.0·10¹¹", "none", "—", "—", "—"]
    assert RecordsCase("a", 0.1, 100, 10**11, 3 * 10**6, 11, 2).row()[4:] == ["3.0·10⁶", "33,000", "11", "2"]
    case = RunsCase("a", 10, 1.0, "noisy max", 0.0, 0.1, [0.0, 0.0], [0.1, 0.3], [0.0, 0.5])
    assert case.row()[4:] == ["—", "—", "0.1000", "0.2000 ± 0.1000", "1 of 2"]
    assert scientific(1_249_870) == "1.2·10⁶"
    assert RecordsCase("thresholds", 0.1, 1_000, 10**12, 1_249_870, 1, 1).row()[4] == "1.3·10⁶"  # proved, so rounded up


def test_runs_can_be_repeated() -> None:
    first = runs_case("threshold", 20_000, 2.0, "noisy max", runs=2)
    assert first == runs_case("threshold", 20_000, 2.0, "noisy max", runs=2)
    assert max(first.excess) < 0.1
