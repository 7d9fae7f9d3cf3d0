"""What docs/paper-corrections.md and docs/theory.md say about the paper: figures, and a test behind every entry.

C1 to C6, C9, C10 and C13 to C15 are shown next to the code that they concern; here is the arithmetic of the others.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, poisson
from support.requests import request_of

from pcqr.hypotheses import Intervals, Thresholds
from pcqr.planner import paper
from pcqr.planner.certificate import consistent_learner_tail
from pcqr.planner.search import split
from pcqr.privacy.composition import Context, account

ROOT = Path(__file__).parents[1]
ENTRIES: dict[str, str] = dict(
    re.findall(r"^\| C(\d+)([^\n]*)$", (ROOT / "docs/paper-corrections.md").read_text(), re.MULTILINE)
)
DEFINITION = "7"
"""A definition has nothing to compute."""


def test_there_are_eighteen_entries_and_both_pages_know_it() -> None:
    assert sorted(map(int, ENTRIES)) == list(range(1, 19))
    theory = (ROOT / "docs/theory.md").read_text()
    assert "C1–C18" in theory
    assert {found for found in re.findall(r"\bC(\d+)\b", theory) if found != "0"} <= ENTRIES.keys()


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry != DEFINITION])
def test_every_correction_names_tests_that_exist(entry: str) -> None:
    tests = {
        name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    named = set(re.findall(r"`(test_\w+)`", ENTRIES[entry]))
    assert named, "no test stands behind it"
    assert named <= tests


# --------------------------------------------------------------------------------------------------------------
# Privacy


@pytest.mark.parametrize(
    ("low", "high"), [(0.0366313, 0.0379763), (0.0995741, 0.1606028), (0.2706706, 0.5284822), (0.7357589, 1.0)]
)
def test_c4_the_bound_on_copies_is_false_on_four_intervals(low: float, high: float) -> None:
    """r is Binomial(n', 1/n'), next to Poisson(1): P(r > ⌊ln(2/δ)⌋) against δ/2 within and just outside."""

    def is_false(delta: float) -> bool:
        most = math.floor(math.log(2 / delta))
        assert (poisson.sf(most, 1.0) > delta / 2) == (binom.sf(most, 10**7, 1e-7) > delta / 2)
        return bool(poisson.sf(most, 1.0) > delta / 2)

    assert all(is_false(delta) for delta in np.linspace(low, high, 50)[1:-1])
    assert not is_false(low * (1 - 1e-4))
    assert high == 1.0 or not is_false(high * (1 + 1e-4))


def test_c4_the_bound_on_copies_is_true_elsewhere() -> None:
    for delta in np.geomspace(1e-12, 0.0366, 2_000):
        assert poisson.sf(math.floor(math.log(2 / delta)), 1.0) <= delta / 2


def test_c8_the_papers_constants_leave_room() -> None:
    """By the corrected price of relabelling and ε* ≤ 1, a nominal ε = 1 is at most ln(1 + (e^2.948 − 1)/56) = .2797."""
    inner = 2 * math.log(1 + math.exp(0.5)) + 1
    assert math.log1p(math.expm1(inner) / 56) == pytest.approx(0.2797, abs=5e-5)
    context = Context(Thresholds(), records=10**13, features=1)
    real = [
        account(paper.literal_votes(10**13, 0.999, delta, alpha, 0.05, queries), context).epsilon
        for delta in (0.036, 1e-3, 1e-6)
        for alpha in (0.01, 0.1, 0.9)
        for queries in (1, 300, 10**6)
    ]
    assert max(real) == pytest.approx(0.173, abs=5e-4)


# --------------------------------------------------------------------------------------------------------------
# Accuracy


def teachers(queries: int, alpha: float, beta: float, delta: float) -> int:
    inner_epsilon, inner_delta = paper.inner_budget(queries, delta, alpha)
    unstable = paper.unstable_cutoff(queries, alpha, beta)
    scale = math.sqrt(32 * unstable * math.log(2 / inner_delta)) / inner_epsilon
    return paper.teachers_needed(scale, queries, unstable, inner_delta, beta)


def test_c11_the_claim_on_disagreements_is_empty_for_large_d() -> None:
    """2(en/d)^{2d}·e^{−nα²/8} at n = 50·d·ln(1/α)/α²: e^{(20.7 − 14.4)d} at α = .1, whatever β' is."""
    size = 50 * math.log(10) / 0.01
    growth, decay = 2 * (1 + math.log(size)), size * 0.01 / 8
    assert growth == pytest.approx(20.7, abs=0.05)
    assert decay == pytest.approx(14.4, abs=0.05)


def test_c12_the_teachers_share_is_too_small_for_our_bound() -> None:
    ratios = []
    for hypotheses, d in ((Thresholds(), 1), (Intervals(), 2)):
        for alpha in (0.01, 0.1, 0.3):
            for queries in (math.ceil(8 * math.log(20 / alpha) / alpha), 10**6):
                k = teachers(queries, alpha, 0.05, 1e-6)
                share = paper.subsample_needed(d, queries, alpha, 0.05, 1e-6) / k

                def is_enough(records: int, k: int = k, alpha: float = alpha) -> bool:
                    offset, rate = consistent_learner_tail(lambda n: hypotheses.log_growth(n, 1), records)  # noqa: B023
                    return offset - rate * alpha / 24 <= math.log(0.05 / (16 * k))

                factor = next(f for f in np.arange(1.0, 10.0, 0.1) if is_enough(math.ceil(f * share)))
                assert not is_enough(math.ceil(share))
                ratios.append(factor)
    assert (min(ratios), max(ratios)) == (pytest.approx(1.2, abs=0.11), pytest.approx(4.0, abs=0.11))


def test_c13_each_stage_of_a_universal_release_gets_half_of_beta() -> None:
    request = request_of(100_000, 1, Thresholds(), 1.0, 1e-6, queries=200, alpha=0.1, beta=0.05)
    stage, _ = split(request, 0.5, 100)
    assert stage.beta == 0.025


def test_c15_the_number_of_teachers_is_odd() -> None:
    for queries in range(100, 140):
        assert teachers(queries, 0.1, 0.05, 1e-6) % 2 == 1


def test_c16_the_slip_in_lemma_3_5_is_made_up_for() -> None:
    """α/24 to α/12 takes 50·24²(…)/α² records, not 7200(…)/α² = 50·12²(…)/α²; n' has them for α, β ≤ ½, δ ≤ .036."""
    assert (50 * 12**2, 50 * 24**2) == (7200, 28800)
    room = []
    for d in (1, 10, 1000):
        for alpha in (0.001, 0.1, 0.3, 0.5):
            for beta in (1e-6, 0.05, 0.5):
                for delta in (1e-12, 1e-3, 0.036):
                    for times in (1, 100, 10**6):
                        queries = math.ceil(8 * math.log(1 / (alpha * beta)) / alpha * times)
                        k = teachers(queries, alpha, beta, delta)
                        needed = 50 * 24**2 * (d * math.log(1 / alpha) + math.log(8 * k / beta)) / alpha**2
                        room.append(paper.subsample_needed(d, queries, alpha, beta, delta) / needed)
    assert min(room) == pytest.approx(6.0, abs=0.05)


def test_c17_lemma_3_2_follows_from_growth_functions_for_d_1_only() -> None:
    """4·Π(2n')·e^{−n'(α/3)²/8} at n' = 256(d + ln(3/β))/α², α = .1, β = .05, against 2β/3 = .0333."""
    counted, sauer = {}, {}
    for d in (1, 2, 3, 10):
        size = math.ceil(256 * (d + math.log(60)) / 0.01)
        decay = 4 * math.exp(-size * (0.1 / 3) ** 2 / 8)
        counted[d] = decay * sum(math.comb(2 * size, i) for i in range(d + 1))
        sauer[d] = decay * (math.e * 2 * size / d) ** d
    assert counted[1] == pytest.approx(0.0142, abs=5e-5)
    assert counted[1] < 2 * 0.05 / 3 < sauer[1]
    assert sauer[1] == pytest.approx(0.0386, abs=5e-5)
    assert min(counted[d] for d in (2, 3, 10)) > 1


def test_c17_the_middle_inequality_of_its_proof_fails_near_alpha_1() -> None:
    d, alpha, beta = 100, 0.9, 0.05
    size, confidence = 256 * (d + math.log(3 / beta)) / alpha**2, math.log(3 / beta)
    first = 2 / size * (d * math.log(math.e * size / d) + confidence)
    middle = 80 * alpha**2 * (d * math.log(1 / alpha) + confidence) / (256 * (d + confidence))
    assert middle < first < alpha / 3


@pytest.mark.parametrize("d", [1, 4, 100, 10**4, 10**6])
@pytest.mark.parametrize("alpha", [0.1, 0.01])
def test_c18_the_remarks_factor_is_the_smaller_of_two(d: int, alpha: float) -> None:
    """d/α²·max(1, √d) against d/α²·max(1, √d·α). It is 1/α from d = 1/α² on, not whenever d grows."""
    ratio = max(1, math.sqrt(d)) / max(1, math.sqrt(d) * alpha)
    assert ratio == pytest.approx(min(math.sqrt(d), 1 / alpha))
    assert (ratio == pytest.approx(1 / alpha)) == (d >= 1 / alpha**2)


def test_c18_no_algorithm_answers_one_query_with_an_excess_below_alpha() -> None:
    """m = 1: the average is 0 or 1. Coin-flip labels, γ = ½: it exceeds γ + α = .6 half of the time, and β is .05."""
    gamma, alpha, beta = 0.5, 0.1, 0.05
    assert binom.sf(gamma + alpha, 1, gamma) == 0.5 > beta
