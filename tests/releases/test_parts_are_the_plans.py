"""What is drawn is what was planned, part by part: at the plan's η and noise (`publish`: test_published_stages.py).

Statistics hardly tell a tree at twice its η from one that was paid for, so the parts are watched as they are asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.stages import MAP, bits

from pcqr.data.records import InMemory
from pcqr.hypotheses import Thresholds
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.agnostic import run as ag_priv_cl
from pcqr.releases.classifier import descent as linear
from pcqr.releases.classifier.plan import LinearStage
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private import run as sspp
from pcqr.releases.subsample.plan import VoteStage

N = 400
X = bits(N)
Y = (np.arange(N) < 150).astype(np.int8)


def test_records_are_relabelled_at_the_plans_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, float, object]] = []

    def watched_relabel(_: Any, records: Any, eta: float, public: Any, __: Any) -> Any:
        asked.append((records.size, eta, public))
        return records

    monkeypatch.setattr(ag_priv_cl, "relabel", watched_relabel)
    vector = OneSidedSparseVector(threshold=3, threshold_scale=0.5, query_scale=0.5, unstable=2)
    plan = VoteStage(N, 300, 41, 0.7, vector)
    ag_priv_cl.ag_priv_cl(Thresholds(), InMemory(X[:, :1], Y), None, plan, SeededEntropy(0))
    assert asked == [(300, 0.7, None)]


def test_a_hypothesis_is_drawn_at_the_plans_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    genuine = sspp.exponential_mechanism  # type: ignore[attr-defined]

    def watched_draw(hypotheses: Any, records: Any, eta: float, **others: Any) -> Any:
        asked.append(eta)
        return genuine(hypotheses, records, eta, **others)

    monkeypatch.setattr(sspp, "exponential_mechanism", watched_draw)
    sspp.sspp(Thresholds(), InMemory(X[:, :1], Y), X[:3, :1], DrawStage(0.7), SeededEntropy(0))
    assert asked == [0.7]


def test_every_sum_of_a_descent_has_fresh_noise_of_the_plans_scale_in_every_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[float, int]] = []

    def watched_noise(scale: float, count: int, _: Any) -> Any:
        asked.append((scale, count))
        return np.zeros(count, dtype=np.int64)

    monkeypatch.setattr(linear, "discrete_gaussians", watched_noise)
    plan = LinearStage(N, MAP.size, 0, 0, 256, 3, 2**10, 2.0**12, 0.5, 0.1, classes=3)
    linear.dp_gradient_descent(MAP, InMemory(X, Y, 3), plan, SeededEntropy(0))
    assert asked == [(2.0**12, 3 * MAP.size)] * 3
