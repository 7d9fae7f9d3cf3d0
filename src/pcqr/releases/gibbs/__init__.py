"""What the registry knows of this peer."""

from __future__ import annotations

from pcqr.registry import Algorithm

GIBBS = Algorithm(
    name="Gibbs prediction",
    estimator="pcqr.releases.gibbs.estimator:GibbsPrediction",
    words="answers each of a few queries by a fresh draw from the posterior of the class; Python only",
    recommended_because="for one query it needs no teachers that agree, and no public points",
    proof="gibbs",
    aliases=("Dagan-Feldman",),
)
