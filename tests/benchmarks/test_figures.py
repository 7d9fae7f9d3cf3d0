"""Figures that benchmarks compute from runs: leads and their errors, losses, AUCs, margins, costs, what is charged."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom
from support.requests import request_of

from benchmarks import (
    bench,
    billion,
    classifiers,
    nothing_public,
    pate,
    planner,
    relabel,
    timing,
)
from benchmarks.accuracy import ask, clopper_pearson
from benchmarks.bench import ANOTHER, NEITHER, OURS, difference
from benchmarks.calibration import (
    Calibration,
    binned,
    log_loss,
)
from benchmarks.few_records import (
    expected_of_a_drawn_label,
)
from benchmarks.leads import EPSILONS, Peer, Runs, lead, lines, paired_error, read_counts
from benchmarks.nothing_public import (
    ENOUGH,
    IN_VIEW,
    Gap,
    error_over_tables,
    gap_of,
)
from benchmarks.planner import (
    ALGORITHMS,
    BETA,
    CLASSES,
    DELTA,
    EPSILON,
    MARGIN_FAILURE,
    MARGIN_QUERIES,
    PaperNoises,
    RecordsCase,
    margin_cases,
    paper_margin,
)
from benchmarks.tables import TABLES
from benchmarks.theorem import TWO_INTERVALS
from benchmarks.timing import CASES, Times
from pcqr import SubsampleAggregate
from pcqr.bench.report import summaries
from pcqr.bench.running import Cell
from pcqr.bench.running import Run as BenchRun
from pcqr.hypotheses import Thresholds
from pcqr.mechanisms.sparse_vector import PaperSparseVector
from pcqr.planner import paper
from pcqr.planner.certificate import sampling_slack
from pcqr.planner.certified import fewest_records

ROOT = Path(__file__).parents[2]


def runs(rows: np.ndarray) -> Runs:
    """Of which rows were right in each run."""
    return Runs(list(rows.mean(axis=1)), rows.sum(axis=0, dtype=np.uint8))


def test_the_error_of_test_rows_is_that_of_paired_differences() -> None:
    generator = np.random.default_rng(1)
    common = generator.random(1_000) < 0.7
    ours, theirs = np.array([common] * 2), np.array([common ^ (generator.random(1_000) < 0.1) for _ in range(3)])
    difference = ours.mean(axis=0) - theirs.mean(axis=0)
    of_rows = 100 * difference.std(ddof=1) / 1_000**0.5
    assert paired_error(runs(ours), runs(theirs)) == pytest.approx(of_rows)
    assert paired_error(runs(ours), runs(ours)) == 0.0
    found = lead(runs(ours), runs(theirs))
    assert found.points == pytest.approx(100 * difference.mean())
    assert found.of_runs == pytest.approx(100 * theirs.mean(axis=1).std(ddof=1) / math.sqrt(3))
    assert found.of_all == pytest.approx(math.hypot(found.of_runs, of_rows))


def test_words_name_the_cells_that_are_behind_by_more_than_a_standard_error() -> None:
    ours = {("adult", 0.1): Runs([0.80, 0.82], None), ("bank", 1.0): Runs([0.89, 0.89], None)}
    peer = Peer("it", {("adult", 0.1): Runs([0.815, 0.815], None), ("bank", 1.0): Runs([0.9, 0.92], None)})
    (beside,) = lines(ours, [peer])
    assert beside.endswith("ahead in 0 of 2 cells, behind in 1, by so many points: bank at 1 (2.00, 2.0 of them).")


def bench_run(
    method: str, accuracy: float, epsilon: float = 1.0, *, seed: int = 0, score: float | None = None
) -> BenchRun:
    cell = Cell("adult", "f", method, epsilon, 1e-6, 500, seed)
    score = accuracy if score is None else score
    return BenchRun(cell, accuracy, accuracy, score, 1.0, 500, 1.0, 1.0, 1.0, 9)


def bench_runs(method: str, *accuracies: float, epsilon: float = 1.0) -> list[BenchRun]:
    return [bench_run(method, accuracy, epsilon, seed=seed) for seed, accuracy in enumerate(accuracies)]


def test_it_says_who_is_ahead_and_by_how_much() -> None:
    found = [
        *bench_runs("linear", 0.78, 0.82),
        *bench_runs("tree", 0.7, 0.7),
        *bench_runs("dp-sgd-logistic", 0.73, 0.77),
        *bench_runs("linear", 0.6, 0.6, epsilon=0.1),
        *bench_runs("dp-sgd-logistic", 0.66, 0.64, epsilon=0.1),
        *bench_runs("linear", 0.6, 0.7, epsilon=0.3),
        *bench_runs("dp-sgd-logistic", 0.7, 0.65, epsilon=0.3),
    ]
    (line,) = bench.standing(summaries([*found, *bench_runs("majority", 0.95, 0.95, epsilon=0.0)]))
    assert f"{OURS} at ε = 1 (linear 80.0, dp-sgd-logistic 75.0: +5.00 ± 0.71)" in line  # √(.05 / 1,000)
    assert f"{NEITHER} at ε = 0.3 (linear 65.0, dp-sgd-logistic 67.5: −2.50 ± 7.50)" in line
    assert f"{ANOTHER} at ε = 0.1 (linear 60.0, dp-sgd-logistic 65.0: −5.00 ± 1.00)" in line


def test_queries_that_are_asked_one_at_a_time_are_judged_by_their_score() -> None:
    found = [bench_run("subsamp", 0.9, seed=seed, score=0.6) for seed in (0, 1)]
    found += [bench_run("gnmax", 0.7, seed=seed) for seed in (0, 1)]
    found += [bench_run("individual-knn-removed", 0.9, seed=seed) for seed in (0, 1)]  # another unit of privacy
    (line,) = bench.standing(summaries(found))
    assert line.startswith("- *adult*, one query at a time, score on the queries: **another is ahead**")
    assert "(subsamp 60.0, gnmax 70.0: −10.00 ± 1.00)" in line
    assert bench.standing(summaries([bench_run("universal", 0.7), *found[2:]])) == []  # one run has no standard error


def test_differences_are_those_of_runs_with_the_same_queries() -> None:
    ours, other = summaries([*bench_runs("linear", 0.9, 0.6, 0.7), *bench_runs("mst", 0.8, 0.6)])
    assert difference(ours, other, "accuracy") == pytest.approx((0.05, 0.05))
    close, far = summaries([*bench_runs("linear", 0.502, 0.502), *bench_runs("mst", 0.5, 0.5)])
    assert difference(close, far, "accuracy") == pytest.approx((0.002, 0.002**0.5 / 1_000**0.5))


SAID = np.array([0.0, 0.05, 0.55, 0.58, 1.0])


Y = np.array([0, 1, 1, 0, 1], dtype=np.int8)


def test_bins_are_tenths_and_the_last_one_has_its_end() -> None:
    assert binned(SAID, Y) == [(2, 0.025, 0.5), (2, pytest.approx(0.565), 0.5), (1, 1.0, 1.0)]


def test_the_loss_is_the_mean_surprise() -> None:
    said = np.array([0.25, 0.5])
    assert log_loss(said, np.array([1, 0], dtype=np.int8)) == pytest.approx((math.log(4) + math.log(2)) / 2)


def test_the_error_weighs_bins_by_their_rows() -> None:
    case = Calibration(1.0, 0.9, 0.3, 0.3, 0.5, [(30, 0.1, 0.2), (10, 0.9, 0.5)])
    assert case.error == pytest.approx((30 * 0.1 + 10 * 0.4) / 40)
    assert Calibration.read(json.loads(json.dumps(asdict(case)))) == case


def test_the_expected_accuracy_is_that_of_the_exponential_mechanism() -> None:
    ones, records, epsilon, share = 7, 10, 0.5, 0.3
    weights = [
        math.exp(-epsilon / 2 * error_counts) for error_counts in (ones, records - ones)
    ]  # of always 0, of always 1
    expected = (weights[0] * (1 - share) + weights[1] * share) / sum(weights)
    assert expected_of_a_drawn_label(ones, records, epsilon, share) == pytest.approx(expected, rel=1e-12)
    assert expected_of_a_drawn_label(10**6, 10**6, 1.0, 0.75) == 0.75, "no overflow"
    assert expected_of_a_drawn_label(5, 10, 4.0, 0.75) == pytest.approx(0.5)


def test_nothing_public_is_not_far_behind_2000_public_rows() -> None:
    references, gaps = classifiers.stored(ROOT), []
    for (name, epsilon, setting), case in nothing_public.stored(ROOT).items():
        if name in IN_VIEW:
            assert len(case.accuracy) == 5
        if name in IN_VIEW and setting == "nothing":
            gaps.append(gap_of(case, references[name, epsilon].accuracy))
            assert gaps[-1].points > -2.5
    assert np.mean([gap.points for gap in gaps if gap.n_epsilon >= ENOUGH]) > -0.8
    assert np.mean([gap.points for gap in gaps if gap.n_epsilon < ENOUGH]) > -1.5


def test_the_standard_error_is_over_tables() -> None:
    alone = [Gap(str(place), 1e4, points, 0.0) for place, points in enumerate((-1.0, 0.0, 1.0, 2.0))]
    assert error_over_tables(alone) == pytest.approx(np.std([-1, 0, 1, 2], ddof=1) / 2)
    twice = [*alone, *alone]
    assert error_over_tables(twice) == pytest.approx(error_over_tables(alone)), "no more is known by asking twice"


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


def pate_run(answered: int, right: int, seed: int) -> pate.Run:
    return pate.Run("adult", "noisy max, planned", "tree", seed, 5, 1.0, 1e-6, 10, answered, right, {"not asked": 0.5})


def test_a_query_without_a_label_is_a_coin() -> None:
    (cell,) = pate.cells([pate_run(6, 3, 0), pate_run(4, 3, 1)], "adult")
    assert cell.answered[0] == pytest.approx(0.5)
    assert cell.right[0] == pytest.approx((3 / 6 + 3 / 4) / 2)
    assert cell.with_coins[0] == pytest.approx((5 + 6) / 20)
    assert cell.student("not asked") == "50.0 ± 0.0 %"
    assert cell.student("unknown") == "–"


TEXT = (ROOT / planner.PAGE).read_text(encoding="utf-8")


STORED = planner.read(ROOT / planner.RESULTS)


def test_the_margins_are_still_those_of_the_results() -> None:
    assert margin_cases() == STORED["margins"]


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


RUN = relabel.Run(1.0, 100, "relabelled", 0, teachers=11, allowed=4, decided=40, unstable=4, right=30)


def test_shares_are_of_decided_and_of_all_queries() -> None:
    cell = relabel.Cell([RUN, replace(RUN, seed=1, decided=100, unstable=2, right=90)])
    assert RUN.unlabelled == pytest.approx(0.64)
    assert cell.unstable[0] == pytest.approx(6 / 140)
    assert cell.unlabelled[0] == pytest.approx((0.64 + 0.02) / 2)
    assert cell.right == pytest.approx(120 / 134)
    assert cell.plan == (11, 4)


def test_the_best_interval_covers_one_side() -> None:
    assert TWO_INTERVALS.best_error == pytest.approx(0.05 + 0.9 * 0.2)


def test_best_error_is_what_the_learner_finds_on_many_records() -> None:
    X, y = TWO_INTERVALS.draw(200_000, np.random.default_rng(0))
    learned = TWO_INTERVALS.hypotheses.learn(X, y)
    assert np.mean(learned.predict(X) != y) == pytest.approx(TWO_INTERVALS.best_error, abs=0.005)


@pytest.mark.parametrize(("hits", "runs"), [(0, 20), (7, 20), (20, 20), (199, 200)])
def test_clopper_pearson_leaves_at_most_a_fortieth_on_each_side(hits: int, runs: int) -> None:
    low, high = clopper_pearson(hits, runs)
    assert low <= hits / runs <= high
    assert low == 0.0 if hits == 0 else binom.sf(hits - 1, runs, low) == pytest.approx(0.025)
    assert high == 1.0 if hits == runs else binom.cdf(hits, runs, high) == pytest.approx(0.025)


@pytest.mark.filterwarnings("ignore::pcqr.errors.UnansweredWarning")  # it is to halt
def test_a_halted_release_is_charged_coins_for_the_rest() -> None:
    generator = np.random.default_rng(0)
    X = generator.random((3_000, 1))
    y = generator.integers(0, 2, 3_000).astype(np.int8)  # nothing to learn: every vote is split
    release = SubsampleAggregate(Thresholds(), epsilon=2.0, unstable=3, on_unstable="random", entropy=0).fit(X, y)
    queries = 0.3 + 0.4 * generator.random((2_000, 1))
    outcome = ask(release, queries, np.ones(2_000, dtype=np.int8), generator)
    assert outcome.halted
    assert outcome.unstable == 3 / 2_000
    assert outcome.error == pytest.approx(outcome.unanswered / 2, abs=0.06)


def made_up(shift: float, count: int = 4_000) -> Times:
    """Replies whose time is a millisecond and something, `shift` microseconds longer where they are unstable."""
    rng = np.random.default_rng(0)
    is_hard = rng.integers(0, 2, count) == 1
    taken = 1e6 + 1e5 * rng.exponential(size=count) + 1e3 * shift * is_hard
    sent = np.cumsum(taken).astype(np.int64)
    return Times(sent, sent + taken.astype(np.int64), np.zeros(count, np.int64), is_hard, is_hard)


def test_its_error_is_that_of_coins() -> None:
    """Of 400 useless scores: the spread is known to a relative error of 1/√800, and six of these are allowed."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        is_one = rng.permutation(200) < 90
        found.append(timing.auc(rng.random(200), is_one))
    assert np.std(found) == pytest.approx(timing.null_error(90, 110), rel=6 / np.sqrt(800))


@pytest.mark.parametrize(("shift", "is_told_apart"), [(0.0, False), (100.0, True)])
def test_a_difference_is_found_where_there_is_one(shift: float, is_told_apart: bool) -> None:
    """A false alarm has a chance of 1 in 1,000; the seed is fixed."""
    found = timing.judged("made up", made_up(shift), None, 1, 1.0, 0)
    assert found.is_told_apart == is_told_apart
    assert found.replies == 4_000
    assert 0.5 < found.smallest_found < 0.58
    assert len(found.row()) == len(timing.HEADER)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_requests_differ_in_their_numbers_alone(case: timing.Case) -> None:
    made, is_hard = timing.requests(case, 200)
    assert len({len(each) for each in made}) == 1
    assert len(set(made)) == 200
    assert 60 < is_hard.sum() < 140


def test_a_hundred_times_the_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = {
        "scaling": {
            "measured": {"10000000": {"counts": {"read": 36.0}}},
            "published": {"tree": {"processor": 72.0}, "auto": {"processor": 360.0}},
        },
        "cluster": {"seconds": {"1": [8.0, 9.0, 7.0], "2": [5.0, 5.0, 5.0]}},
    }
    monkeypatch.setattr(billion, "stored", lambda name: json.loads(json.dumps(measured[name])))
    _, _, *rows = billion.fits().splitlines()
    cells = [[cell.strip() for cell in row.split("|")[2:-1]] for row in rows]
    assert cells[0] == ["1.0", "1.2 min", "0.06 $"]  # one core hour, at four fifths of the speed
    assert cells[2] == ["10.0", "11.7 min", "0.62 $"]


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
