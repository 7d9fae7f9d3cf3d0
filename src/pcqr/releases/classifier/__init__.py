"""`PrivateClassifier`: a tree, or a linear classifier with a tree beside it."""

from __future__ import annotations

from pcqr.registry import Algorithm

PRIVATE_CLASSIFIER = Algorithm(
    name="PrivateClassifier",
    estimator="pcqr.releases.classifier.estimator:PrivateClassifier",
    words="publishes a tree or a linear classifier at once",
    recommended_because="it answers every query, however many, and nothing can be left unanswered",
    proof="plans",
    further=("linear", "sspp"),
    command="pcqr publish --delta",
    publishes=True,
)
