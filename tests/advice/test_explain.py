"""Every line of an explanation, recomputed by its own formula."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from support.requests import request_of

from pcqr.advice.outlook import Line, explain_calibrated, explain_paper
from pcqr.hypotheses import Finite, Thresholds
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, PaperSparseVector
from pcqr.planner import paper
from pcqr.planner.certificate import SHARES
from pcqr.planner.certified import CertifiedVotes, fewest_records
from pcqr.planner.request import Request

REQUEST = request_of(1, 1, Thresholds(), 0.8, 1e-7, 500, 0.12, 0.04)


@dataclass(frozen=True)
class Constant:
    """A model that gives every row the same label."""

    label: int

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.full(len(X), self.label)


def by_symbol(lines: tuple[Line, ...]) -> dict[str, float]:
    values = {line.symbol: line.value for line in lines}
    assert len(values) == len(lines)
    assert all(line.formula and line.proof for line in lines)
    return values


def votes(request: Request) -> CertifiedVotes:
    found = fewest_records(request)
    assert found is not None
    return found


@pytest.mark.parametrize(("queries", "alpha"), [(500, 0.12), (20_000, 0.3), (10, 0.01)])
def test_the_paper_s_numbers(queries: int, alpha: float) -> None:
    d, m, eps, delta, beta = 3, queries, 0.8, 1e-7, 0.04
    v = by_symbol(explain_paper(paper.figures(d, m, eps, delta, alpha, beta)))
    inner = alpha * max(1.0, math.sqrt(m * alpha))
    assert v["ε'"] == pytest.approx(inner)
    assert v["ε̂"] == pytest.approx(min(1.0, inner) / math.log(2 / delta))
    assert v["δ̂"] == pytest.approx(delta / (2 * math.exp(min(1.0, inner)) * math.log(2 / delta)))
    assert v["T"] == math.ceil(max(1.0, m * alpha / 8 + 0.25 * math.sqrt(3 * m * alpha * math.log(m / beta))))
    assert v["λ"] == pytest.approx(math.sqrt(32 * v["T"] * math.log(2 / v["δ̂"])) / v["ε̂"])
    assert v["w"] == math.ceil(2 * v["λ"] * math.log(2 * m / v["δ̂"]))
    k = 34 * math.sqrt(2) * v["λ"] * math.log(4 * m * v["T"] / min(v["δ̂"], beta / 2))
    assert v["k"] % 2 == 1
    assert k <= v["k"] <= k + 2
    subsample = 8000 * (d * math.log(1 / alpha) + math.log(m / beta)) * math.log(2 / delta) ** 1.5
    subsample *= math.log(m * alpha / min(delta, beta / 2)) / alpha**2 * max(1.0, math.sqrt(m) * alpha**1.5)
    assert v["n'"] == pytest.approx(subsample, rel=1e-6)
    assert v["n"] == pytest.approx(56 * subsample / eps, rel=1e-6)
    assert v["m_o"] == math.ceil(32 * (d * math.log(1 / alpha) + math.log(1 / beta)) / alpha)


@pytest.mark.parametrize("epsilon", [0.8, 6.0])
def test_the_calibrated_numbers(epsilon: float) -> None:
    request = REQUEST.but(epsilon=epsilon)
    found = votes(request)
    v = by_symbol(explain_calibrated(request, found))
    q, eta, b, n = v["q"], v["η"], v["b"], v["n'"]
    assert v["n'"] == math.floor(found.knobs["rate"] * v["n"])
    assert q == pytest.approx(v["n'"] / v["n"])
    assert v["R"] == pytest.approx(2 * math.log(1 + math.exp(eta)))
    assert v["ε_A"] == pytest.approx(math.log(1 + math.expm1(epsilon) / q) - v["R"])
    assert math.log1p(q * math.expm1(v["R"] + v["ε_A"])) == pytest.approx(epsilon)
    assert v["δ_A"] == pytest.approx(1e-7 / q)
    assert any(b == pytest.approx(0.04 * share / 7) for share in SHARES)
    assert v["N"] == v["n'"] // v["k"]
    assert (v["k"] - 1) / 2 - v["D"] == pytest.approx(v["k"] * v["φ"] - 1)
    assert v["k"] % 2 == 1
    growth = Thresholds().log_growth(int(n))
    assert v["selection"] == pytest.approx((growth + math.log(1 / b)) / (eta * n), rel=1e-3)
    parts = v["selection"] + v["generalisation"] + v["unclear"] + v["sampling"]
    assert v["α"] == pytest.approx(parts)
    assert v["α"] <= 0.12
    tail = sum(
        math.exp(
            math.lgamma(501)
            - math.lgamma(j + 1)
            - math.lgamma(501 - j)
            + j * math.log(v["unclear"])
            + (500 - j) * math.log1p(-v["unclear"])
        )
        for j in range(int(v["T"]), 501)
    )
    assert tail <= b


def test_both_forms_of_the_sparse_vector_are_explained() -> None:
    pure = request_of(1, 1, Thresholds(), 20.0, 1e-9, 100, 0.3, 0.05)
    forms = {type(votes(r).plan.sparse_vector).__name__: (r, votes(r)) for r in (REQUEST, pure)}
    for request, found in forms.values():
        v = by_symbol(explain_calibrated(request, found))
        vector = found.plan.sparse_vector
        assert not isinstance(vector, PaperSparseVector)
        assert v["e₁"] == 1 / vector.threshold_scale
        assert v["e₂"] == 1 / vector.query_scale
        if isinstance(vector, OneSidedSparseVector):
            assert v["e₂"] == pytest.approx((v["ε_A"] - v["e₁"]) / (2 * v["T"]), rel=0.01)


def test_a_fixed_class_pays_less_for_relabelling() -> None:
    fixed = Finite([Constant(0), Constant(1)])
    request = REQUEST.but(hypotheses=fixed)
    lines = {line.symbol: line for line in explain_calibrated(request, votes(request))}
    assert lines["R"].value == pytest.approx(2 * lines["η"].value)
    assert lines["R"].formula.startswith("2η")
