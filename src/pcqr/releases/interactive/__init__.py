"""What the registry knows of this peer."""

from __future__ import annotations

from pcqr.registry import Algorithm

INTERACTIVE_MAX = Algorithm(
    name="interactive max",
    estimator="pcqr.releases.interactive.estimator:InteractiveMaxAggregate",
    words="answers by noisy majorities where a student of the answers is wrong, else by the student; Python only",
    recommended_because="what a student of earlier answers knows costs only a check",
    proof="interactive",
    further=("confident", "noisy_max"),
    aliases=("Interactive-GNMax",),
)
