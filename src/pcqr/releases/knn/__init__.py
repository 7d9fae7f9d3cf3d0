"""What the registry knows of these peers."""

from __future__ import annotations

from pcqr.registry import Algorithm

INDIVIDUAL_KNN = Algorithm(
    name="Ind-kNN",
    estimator="pcqr.releases.knn.estimator:IndividualKNN",
    words="answers by votes of near records, each of which pays from a budget of its own; Python only",
    recommended_because="with good dense features near records say it all, and nobody pays for what others were asked",
    proof="individual_knn",
    aliases=("individual nearest neighbours",),
)

PRIVATE_KNN = Algorithm(
    name="Private-kNN",
    estimator="pcqr.releases.knn.estimator:PrivateKNN",
    words="answers by noisy majorities of the nearest records in a secret sample; Python only",
    recommended_because="with good dense features near records say it all, and every query gets a label",
    proof="private_knn",
)
