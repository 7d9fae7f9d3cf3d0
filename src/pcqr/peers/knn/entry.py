"""What the registry knows of this peer."""

from pcqr.registry import Algorithm

INDIVIDUAL_KNN = Algorithm(
    name="Ind-kNN",
    estimator="pcqr.peers.knn.estimator:IndividualKNN",
    words="answers by votes of near records, each of which pays from a budget of its own; Python only",
    strength="with good dense features near records say it all, and nobody pays for what others were asked",
    proof="individual_knn",
    aliases=("individual nearest neighbours",),
)
