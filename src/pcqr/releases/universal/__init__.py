"""UnvPrivCl: votes, then a published classifier; or a classifier that is published at `fit`."""

from __future__ import annotations

from pcqr.registry import Algorithm

UNV_PRIV_CL = Algorithm(
    name="UnvPrivCl",
    estimator="pcqr.releases.universal.estimator:UniversalRelease",
    words="publishes a classifier at once, or, with a class of your own, after votes of relabelled teachers",
    recommended_because="it answers like AgPrivCl and then publishes a classifier that answers for ever",
    proof="unv_priv_cl",
    planner="pcqr.advice.question:plan_unv_priv_cl",
    expected="pcqr.advice.question:unv_priv_cl_expected",
    option="universal",
    publishes=True,
)
