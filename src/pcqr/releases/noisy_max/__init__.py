"""What the registry knows of this peer."""

from __future__ import annotations

from pcqr.registry import Algorithm

NOISY_MAX = Algorithm(
    name="noisy max",
    estimator="pcqr.releases.noisy_max.estimator:NoisyMaxAggregate",
    words="answers by noisy majorities, every answer paid for; Python only",
    recommended_because="with few records noise on every vote costs less than tests of stability",
    proof="noisy_max",
    planner="pcqr.releases.noisy_max.planning:plan_noisy_max",
    aliases=("PATE",),
)
