"""AgPrivCl: relabelled records, then votes."""

from __future__ import annotations

from pcqr.registry import Algorithm

AG_PRIV_CL = Algorithm(
    name="AgPrivCl",
    estimator="pcqr.releases.agnostic.estimator:AgnosticRelease",
    words="answers by votes: tested for stability after relabelling, or with noise; by one draw from a fixed class",
    recommended_because="relabelling makes the teachers agree, so that few queries are unstable",
    proof="ag_priv_cl",
    planner="pcqr.advice.question:plan_ag_priv_cl",
    option="agnostic",
)
