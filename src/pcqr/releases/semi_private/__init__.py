"""SSPP: one exact draw from a public class."""

from __future__ import annotations

from pcqr.registry import Algorithm

SSPP = Algorithm(
    name="SSPP",
    estimator="pcqr.releases.semi_private.estimator:SemiPrivateLearner",
    words="publishes one hypothesis at once, drawn from a public class; pure ε",
    recommended_because="it publishes at once, has no unstable answers and spends no δ",
    proof="sspp",
    planner="pcqr.advice.question:plan_sspp",
    expected="pcqr.advice.question:sspp_expected",
    command="pcqr publish (trees)",
    publishes=True,
    pure=True,
)
