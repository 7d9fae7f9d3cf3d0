"""What the registry knows of this peer."""

from __future__ import annotations

from pcqr.registry import Algorithm

CONFIDENT_MAX = Algorithm(
    name="confident max",
    estimator="pcqr.releases.confident.estimator:ConfidentMaxAggregate",
    words="answers by noisy majorities where the teachers agree, ⊥ elsewhere; Python only",
    recommended_because="queries on which the teachers do not agree cost little",
    proof="confident",
    further=("noisy_max",),
    aliases=("Confident-GNMax",),
)
