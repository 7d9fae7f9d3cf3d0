"""What the registry knows of this peer."""

from pcqr.registry import Algorithm

NOISY_MAX = Algorithm(
    name="noisy max",
    estimator="pcqr.peers.noisy_max.estimator:NoisyMaxAggregate",
    words="answers by noisy majorities, every answer paid for; Python only",
    strength="with few records noise on every vote costs less than tests of stability",
    proof="noisy_max",
    planner="pcqr.planning.noisy_max:plan_noisy_max",
    aliases=("PATE",),
)
