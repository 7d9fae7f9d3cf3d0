"""The entries themselves. A new peer is one line here, or one call of `pcqr.registry.register`."""

from __future__ import annotations

from pcqr.registry.entries import Algorithm, HypothesisFamily, Reference

ALGORITHMS: list[Reference] = [
    Algorithm(
        name="PrivateClassifier",
        estimator="pcqr.estimators:PrivateClassifier",
        words="publishes a tree or a linear classifier at once",
        strength="it answers every query, however many, and nothing can be left unanswered",
        proof="plans",
        further=("linear", "sspp"),
        command="pcqr publish --delta",
        publishes=True,
    ),
    Algorithm(
        name="SSPP",
        estimator="pcqr.estimators:SemiPrivateLearner",
        words="publishes one hypothesis at once, drawn from a public class; pure ε",
        strength="it publishes at once, has no unstable answers and spends no δ",
        proof="sspp",
        planner="pcqr.planning.questions.options:plan_sspp",
        expected="pcqr.planning.questions.options:sspp_expected",
        command="pcqr publish (trees)",
        publishes=True,
        pure=True,
    ),
    Algorithm(
        name="UnvPrivCl",
        estimator="pcqr.estimators:UniversalRelease",
        words="publishes a classifier at once, or, with a class of your own, after votes of relabelled teachers",
        strength="it answers like AgPrivCl and then publishes a classifier that answers for ever",
        proof="unv_priv_cl",
        planner="pcqr.planning.questions.options:plan_unv_priv_cl",
        expected="pcqr.planning.questions.options:unv_priv_cl_expected",
        option="universal",
        publishes=True,
    ),
    Algorithm(
        name="AgPrivCl",
        estimator="pcqr.estimators:AgnosticRelease",
        words="answers by votes: tested for stability after relabelling, or with noise; by one draw from a fixed class",
        strength="relabelling makes the teachers agree, so that few queries are unstable",
        proof="ag_priv_cl",
        planner="pcqr.planning.questions.options:plan_ag_priv_cl",
        option="agnostic",
    ),
    "pcqr.peers.parties.entry:PARTIES",
    "pcqr.peers.noisy_max.entry:NOISY_MAX",
    "pcqr.peers.knn.entry:INDIVIDUAL_KNN",
    "pcqr.peers.knn.entry:PRIVATE_KNN",
    "pcqr.peers.gibbs.entry:GIBBS",
    "pcqr.peers.confident.entry:CONFIDENT_MAX",
    "pcqr.peers.interactive.entry:INTERACTIVE_MAX",
    Algorithm(
        name="SubSamp",
        estimator="pcqr.estimators:SubsampleAggregate",
        words="answers by votes on the labels as they are, tested for stability or with noise",
        strength="the teachers agree often enough on the labels as they are",
        proof="sub_samp",
        planner="pcqr.planning.questions.options:plan_sub_samp",
        option="subsamp",
    ),
]
"""In the order in which near ties between them are decided: what is published at once, published later, abstains."""

CLASSES: list[Reference] = [
    HypothesisFamily(name="Thresholds", make="pcqr.hypotheses:Thresholds", proof="thresholds", option="thresholds"),
    HypothesisFamily(name="Intervals", make="pcqr.hypotheses:Intervals", proof="intervals", option="intervals"),
    HypothesisFamily(
        name="UnionsOfIntervals",
        make="pcqr.hypotheses:UnionsOfIntervals",
        proof="unions",
        option="unions",
        parameters={"intervals": "r"},
    ),
    HypothesisFamily(name="Stumps", make="pcqr.hypotheses:Stumps", proof="stumps", option="stumps"),
    HypothesisFamily(name="Rectangles", make="pcqr.hypotheses:Rectangles", proof="rectangles", option="rectangles"),
    HypothesisFamily(name="Halfspaces", make="pcqr.hypotheses:Halfspaces", proof="halfspaces", option="halfspaces"),
    HypothesisFamily(
        name="DecisionTrees",
        make="pcqr.hypotheses:DecisionTrees",
        proof="trees",
        option="trees",
        parameters={"depth": "depth"},
        needs_public=True,
    ),
    HypothesisFamily(name="Finite", make="pcqr.hypotheses:Finite", proof="finite"),
    HypothesisFamily(name="Estimators", make="pcqr.hypotheses:Estimators", proof="ensemble"),
    HypothesisFamily(name="LogisticTeachers", make="pcqr.hypotheses:LogisticTeachers", proof="ensemble"),
    HypothesisFamily(name="TreeTeachers", make="pcqr.hypotheses:TreeTeachers", proof="ensemble"),
]
