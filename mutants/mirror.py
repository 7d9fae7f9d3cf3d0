"""Which tests judge a change: those that mirror its file first, then those of its room, then those that use it."""

from __future__ import annotations

from pathlib import Path

from mutants.selection import ROOT

PARTS = "releases/test_parts_are_the_plans.py"
OTHER_NAMES = {
    "pcqr/hypotheses/intervals.py": ["hypotheses/test_on_the_line.py"],
    "pcqr/hypotheses/thresholds.py": ["hypotheses/test_on_the_line.py"],
    "pcqr/hypotheses/unions.py": ["hypotheses/test_on_the_line.py"],
    "pcqr/privacy/noise/kernels.py": ["privacy/noise/test_exponential_bounds.py", "privacy/noise/test_laws.py"],
    "pcqr/privacy/accounting/loss.py": ["privacy/accounting/test_never_too_small.py"],
    "pcqr/privacy/accounting/renyi.py": ["privacy/accounting/test_never_too_small.py"],
    "pcqr/releases/classifier/descent.py": [
        PARTS,
        "releases/classifier/test_linear_descent.py",
        "exact/test_gradient_steps_exactly.py",
    ],
    "pcqr/releases/classifier/run.py": [
        "releases/classifier/test_published_stages.py",
        "releases/classifier/test_tree_beside_linear.py",
    ],
    "pcqr/releases/classifier/predicates.py": ["releases/classifier/test_private_schema.py"],
    "pcqr/mechanisms/noisy_max.py": ["mechanisms/test_noisy_majorities.py", "exact/test_noisy_max_exactly.py"],
    "pcqr/releases/noisy_max/planning.py": ["releases/noisy_max/test_noisy_max_planning.py"],
    "pcqr/releases/protocol/online.py": [
        "releases/universal/test_unv_priv_cl.py",
        "releases/protocol/test_priv_class.py",
        "releases/protocol/test_concurrency.py",
    ],
    "pcqr/releases/agnostic/run.py": [PARTS, "releases/test_guarantees.py", "exact/test_relabel_exactly.py"],
    "pcqr/models/scoring.py": ["models/test_scoring.py", "exact/test_score_exactly.py"],
    "pcqr/releases/semi_private/run.py": [PARTS, "releases/test_guarantees.py"],
    "pcqr/releases/subsample/run.py": ["releases/subsample/test_ensemble.py", "releases/test_guarantees.py"],
    "pcqr/releases/universal/run.py": [
        "releases/universal/test_unv_priv_cl.py",
        "releases/protocol/test_asking.py",
        "releases/universal/test_answers_by_draw.py",
    ],
    "pcqr/releases/protocol/log.py": ["releases/protocol/test_priv_class.py", "durable/test_copies.py"],
    "pcqr/releases/base/kept.py": [
        "durable/test_kept_releases.py",
        "durable/test_copies.py",
        "durable/test_published_at_fit.py",
        "durable/test_cautious.py",
        "releases/base/test_pipelines.py",
    ],
    "pcqr/releases/knn/planning.py": ["releases/knn/test_individual_planning.py"],
    "pcqr/privacy/composition.py": [
        "privacy/test_composition.py",
        "privacy/test_zcdp.py",
        "privacy/test_sums_guarantee.py",
    ],
    "pcqr/releases/classifier/plan.py": ["releases/protocol/test_stages.py"],
    "pcqr/data/records/in_memory.py": ["durable/test_kept_releases.py", "data/records/test_sources.py"],
    "pcqr/durable/log.py": ["durable/test_ledger_log.py"],
    "pcqr/durable/directory.py": ["durable/test_kept_releases.py"],
    "pcqr/releases/base/fitting.py": [
        "releases/base/test_limits_of_a_release.py",
        "releases/base/test_refusals.py",
        "releases/classifier/test_schema_release.py",
        "releases/base/test_user_level.py",
    ],
    "pcqr/releases/base/inputs.py": [
        "data/schema/test_origin.py",
        "releases/base/test_only_public_things.py",
        "releases/base/test_reading.py",
        "releases/base/test_mixed_tables.py",
        "releases/base/test_reading_queries.py",
    ],
    "pcqr/releases/classifier/estimator.py": [
        "releases/base/test_only_public_things.py",
        "releases/classifier/test_nothing_public.py",
        "releases/base/test_weights.py",
    ],
    "pcqr/releases/universal/estimator.py": [
        "releases/base/test_limits_of_a_release.py",
        "releases/base/test_unfitted.py",
        "releases/universal/test_classifier_releases.py",
        "releases/universal/test_answers_by_draw.py",
    ],
    "pcqr/releases/base/answering.py": ["releases/base/test_releases.py", "releases/base/test_unfitted.py"],
    "pcqr/releases/semi_private/estimator.py": ["releases/base/test_limits_of_a_release.py"],
    "pcqr/mechanisms/histogram.py": ["exact/test_score_exactly.py", "models/test_scoring.py"],
    "pcqr/mechanisms/sparse_vector.py": ["exact/test_renyi_sparse_vector_exactly.py"],
    "pcqr/data/records/source.py": ["data/records/test_sources.py", "data/records/test_encoded.py"],
    "pcqr/data/records/user_level.py": ["data/records/test_user_level_sums.py", "data/records/test_weighted.py"],
    "pcqr/data/records/predicates.py": ["hypotheses/trees/test_predicates.py"],
    "pcqr/data/records/gradient_sums.py": ["data/records/test_gradient_sums.py", "exact/test_gradient_sums_exactly.py"],
    "pcqr/hypotheses/descent.py": ["hypotheses/learners/test_together.py"],
    "pcqr/hypotheses/growth.py": ["hypotheses/learners/test_together.py"],
    "pcqr/hypotheses/trees/decision_trees.py": [
        "hypotheses/trees/test_decision_trees.py",
        "hypotheses/trees/test_work.py",
    ],
    "pcqr/hypotheses/trees/partition.py": ["hypotheses/trees/test_partition.py"],
}
"""Mirrors that are called otherwise than their file."""

FURTHER = {
    "privacy": [
        *("privacy", "mechanisms/test_exponential.py", "mechanisms/test_stability.py", "releases/test_guarantees.py"),
        *("releases/subsample/test_ensemble.py", "exact/test_plans_exactly.py"),
    ],
    "data": [
        *("data/records/test_limits.py", "releases/classifier/test_linear_descent.py"),
        *("exact/test_gradient_sums_exactly.py", "data/records/test_vectors.py"),
    ],
    "mechanisms": ["mechanisms", "exact/test_sparse_vector_exactly.py", "releases/test_guarantees.py"],
    "hypotheses": [
        *("hypotheses/test_numerical_bounds.py", "hypotheses/test_classes.py", "hypotheses/committees"),
        *("releases/subsample/test_ensemble.py", "mechanisms/test_exponential.py"),
    ],
    "releases": [
        *(PARTS, "releases/test_guarantees.py", "releases/protocol", "releases/base/test_unfitted.py"),
        *(
            "releases/base/test_limits_of_a_release.py",
            "releases/base/test_refusals.py",
            "releases/base/test_releases.py",
        ),
        *("releases/classifier/test_private_classifier.py", "releases/classifier/test_linear_descent.py"),
        *("releases/classifier/test_published_stages.py", "releases/classifier/test_tree_beside_linear.py"),
        *("exact/test_gradient_steps_exactly.py", "exact/test_votes_end_to_end_exactly.py", "durable/test_quotas.py"),
    ],
    "durable": ["durable"],
}


def tests_for(path: str) -> tuple[list[str], list[str]]:
    """The test files that judge a change to `path`, a file below src: its mirrors, and further ones."""
    _, *folders, file = Path(path).parts
    stem = file.removesuffix(".py")
    room = folders[0] if folders else stem
    mirrors = [f"tests/{name}" for name in OTHER_NAMES.get(path, [])]
    for name in (stem, *reversed(folders[1:])):
        mirrors += _found(f"{room}/**/test_{name}*.py")
    if room == "releases" and len(folders) > 1:
        mirrors += [*_found(f"releases/{folders[1]}/test_*.py"), *_found(f"exact/test_{folders[1]}*.py")]
    further = [test for name in FURTHER[room] for test in (_found(f"{name}/**/test_*.py") or [f"tests/{name}"])]
    return list(dict.fromkeys(mirrors)), [test for test in dict.fromkeys(further) if test not in mirrors]


def _found(pattern: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").glob(pattern))
