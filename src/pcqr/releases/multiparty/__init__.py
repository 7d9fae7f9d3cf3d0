"""What the registry knows of this peer."""

from __future__ import annotations

from pcqr.registry import Algorithm

PARTIES = Algorithm(
    name="parties",
    estimator="pcqr.releases.multiparty.estimator:MultipartyClassifier",
    words="publishes a linear student of soft votes on public rows, with noise on its weights; Python only",
    recommended_because="teachers may be anything that learns, and all public rows are labelled at one price",
    proof="parties",
    further=("linear",),
    aliases=("Hamm-Cao-Belkin",),
    publishes=True,
)
