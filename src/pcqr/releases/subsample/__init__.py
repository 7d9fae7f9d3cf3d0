"""SubSamp: votes of teachers on disjoint parts of the records."""

from __future__ import annotations

from pcqr.registry import Algorithm

SUB_SAMP = Algorithm(
    name="SubSamp",
    estimator="pcqr.releases.subsample.estimator:SubsampleAggregate",
    words="answers by votes on the labels as they are, tested for stability or with noise",
    recommended_because="the teachers agree often enough on the labels as they are",
    proof="sub_samp",
    planner="pcqr.advice.question:plan_sub_samp",
    option="subsamp",
)
