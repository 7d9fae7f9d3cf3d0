"""Which tests judge a change: those that mirror its file first, then those of its room, then those that use it."""

from __future__ import annotations

from pathlib import Path

from mutants.selection import ROOT

PARTS = "algorithms/test_parts_are_the_plans.py"
OTHER_NAMES = {
    "pcqr/accounting/loss.py": ["accounting/test_never_too_small.py"],
    "pcqr/accounting/renyi.py": ["accounting/test_never_too_small.py"],
    "pcqr/algorithms/linear.py": [PARTS, "algorithms/test_linear_descent.py", "privacy/test_gradient_steps_exactly.py"],
    "pcqr/algorithms/published.py": ["algorithms/test_published_stages.py", "algorithms/test_tree_beside_linear.py"],
    "pcqr/algorithms/predicates.py": ["algorithms/test_private_schema.py"],
    "pcqr/mechanisms/noisy_max.py": ["mechanisms/test_noisy_majorities.py", "privacy/test_noisy_max_exactly.py"],
    "pcqr/planning/noisy_max.py": ["planning/test_noisy_max_planning.py"],
    "pcqr/algorithms/lock.py": ["algorithms/test_unv_priv_cl.py"],
    "pcqr/algorithms/ag_priv_cl.py": [PARTS, "algorithms/test_guarantees.py", "privacy/test_relabel_exactly.py"],
    "pcqr/algorithms/relabel.py": ["privacy/test_relabel_exactly.py"],
    "pcqr/algorithms/score.py": ["estimators/test_scoring.py", "privacy/test_score_exactly.py"],
    "pcqr/algorithms/sspp.py": [PARTS, "algorithms/test_guarantees.py"],
    "pcqr/algorithms/stab.py": ["algorithms/test_ensemble.py"],
    "pcqr/algorithms/sub_samp.py": ["algorithms/test_guarantees.py"],
    "pcqr/algorithms/priv_class.py": ["algorithms/test_priv_class.py", "algorithms/test_unv_priv_cl.py"],
    "pcqr/algorithms/sharing.py": ["algorithms/test_sharing.py", "algorithms/test_unv_priv_cl.py"],
    "pcqr/algorithms/unv_priv_cl.py": [
        "algorithms/test_unv_priv_cl.py",
        "algorithms/test_asking.py",
        "estimators/test_answers_by_draw.py",
    ],
    "pcqr/algorithms/log.py": ["algorithms/test_priv_class.py", "release/durable/test_copies.py"],
    "pcqr/estimators/kept.py": [
        "release/durable/test_kept_releases.py",
        "release/durable/test_copies.py",
        "release/durable/test_published_at_fit.py",
        "release/durable/test_cautious.py",
    ],
    "pcqr/peers/knn/planning.py": ["peers/knn/test_individual_planning.py"],
    "pcqr/plan/composition.py": ["plan/test_composition.py", "plan/test_zcdp.py", "plan/test_sums_guarantee.py"],
    "pcqr/plan/linear.py": ["plan/test_stages.py"],
    "pcqr/plan/stages.py": ["plan/test_stages.py", "algorithms/test_guarantees.py"],
    "pcqr/records/keeping.py": ["release/durable/test_kept_releases.py"],
    "pcqr/release/durable/log.py": ["release/durable/test_ledger_log.py"],
    "pcqr/release/durable/directory.py": ["release/durable/test_kept_releases.py"],
    "pcqr/estimators/base.py": [
        "estimators/test_limits_of_a_release.py",
        "estimators/test_refusals.py",
        "estimators/test_schema_release.py",
        "estimators/test_persons.py",
    ],
    "pcqr/estimators/frozen.py": ["estimators/test_pipelines.py"],
    "pcqr/estimators/handed.py": ["schema/test_origin.py"],
    "pcqr/estimators/labels.py": ["estimators/test_only_public_things.py", "estimators/test_reading.py"],
    "pcqr/estimators/private_classifier.py": [
        "estimators/test_only_public_things.py",
        "estimators/test_nothing_public.py",
        "estimators/test_weights.py",
    ],
    "pcqr/estimators/releases.py": [
        "estimators/test_limits_of_a_release.py",
        "estimators/test_unfitted.py",
        "estimators/test_classifier_releases.py",
        "estimators/test_answers_by_draw.py",
    ],
    "pcqr/estimators/answering.py": ["estimators/test_releases.py", "estimators/test_unfitted.py"],
    "pcqr/estimators/tables.py": [
        "estimators/test_mixed_tables.py",
        "estimators/test_reading.py",
        "estimators/test_reading_queries.py",
    ],
    "pcqr/estimators/semi_private.py": ["estimators/test_limits_of_a_release.py"],
    "pcqr/mechanisms/histogram.py": ["privacy/test_score_exactly.py", "estimators/test_scoring.py"],
    "pcqr/mechanisms/sparse_vector/renyi.py": ["privacy/test_renyi_sparse_vector_exactly.py"],
    "pcqr/mechanisms/sparse_vector/renyi_search.py": ["privacy/test_renyi_sparse_vector_exactly.py"],
    "pcqr/records/source.py": ["records/test_sources.py", "records/test_encoded.py"],
    "pcqr/records/in_memory.py": ["records/test_sources.py"],
    "pcqr/records/persons.py": ["records/test_person_sums.py"],
    "pcqr/records/predicates.py": ["hypotheses/trees/test_predicates.py"],
    "pcqr/records/gradient_sums.py": ["records/test_gradient_sums.py", "privacy/test_gradient_sums_exactly.py"],
    "pcqr/records/gradient_kernels.py": ["records/test_gradient_sums.py", "privacy/test_gradient_sums_exactly.py"],
    "pcqr/hypotheses/learners/descent.py": ["hypotheses/learners/test_together.py"],
    "pcqr/hypotheses/learners/growth.py": ["hypotheses/learners/test_together.py"],
    "pcqr/hypotheses/learners/planes.py": ["hypotheses/learners/test_together.py"],
    "pcqr/hypotheses/trees/growing.py": ["hypotheses/trees/test_decision_trees.py"],
    "pcqr/hypotheses/trees/splits.py": ["hypotheses/trees/test_partition.py"],
    "pcqr/hypotheses/trees/work.py": ["hypotheses/trees/test_work.py"],
}
"""Mirrors that are called otherwise than their file."""

FURTHER = {
    "entropy": ["noise/test_laws.py", "algorithms/test_ensemble.py"],
    "noise": ["noise", "mechanisms/test_exponential.py", "mechanisms/test_stability.py"],
    "guarantee": ["accounting", "mechanisms/test_stability.py", "algorithms/test_guarantees.py"],
    "accounting": ["accounting", "test_guarantee.py", "algorithms/test_guarantees.py"],
    "records": [
        "records/test_limits.py",
        "algorithms/test_linear_descent.py",
        "privacy/test_gradient_sums_exactly.py",
        "records/test_vectors.py",
    ],
    "mechanisms": ["mechanisms", "privacy/test_sparse_vector_exactly.py", "algorithms/test_guarantees.py"],
    "hypotheses": [
        "hypotheses/test_numerical_bounds.py",
        "hypotheses/test_classes.py",
        "hypotheses/committees",
        "algorithms/test_ensemble.py",
        "mechanisms/test_exponential.py",
    ],
    "algorithms": [
        *(PARTS, "algorithms", "privacy/test_votes_end_to_end_exactly.py", "release/durable/test_book.py"),
    ],
    "peers": [
        *("peers", "privacy/test_noisy_max_exactly.py", "privacy/test_confident_exactly.py"),
        *("privacy/test_parties_exactly.py", "privacy/test_interactive_exactly.py"),
    ],
    "estimators": [
        *("estimators/test_unfitted.py", "estimators/test_limits_of_a_release.py", "estimators/test_refusals.py"),
        *("estimators/test_private_classifier.py", "estimators/test_releases.py"),
    ],
    "release": ["release/durable"],
    "plan": [
        "algorithms/test_linear_descent.py",
        "plan",
        "algorithms/test_published_stages.py",
        "algorithms/test_tree_beside_linear.py",
        "privacy/test_gradient_steps_exactly.py",
    ],
}


def tests_for(path: str) -> tuple[list[str], list[str]]:
    """The test files that judge a change to `path`, a file below src: its mirrors, and further ones."""
    _, *folders, file = Path(path).parts
    stem = file.removesuffix(".py")
    room = folders[0] if folders else stem
    mirrors = [f"tests/{name}" for name in OTHER_NAMES.get(path, [])]
    for name in (stem, *reversed(folders[1:])):
        mirrors += _found(f"{room}/**/test_{name}*.py")
    mirrors += _found(f"test_{room}*.py")
    further = [test for name in FURTHER[room] for test in (_found(f"{name}/**/test_*.py") or [f"tests/{name}"])]
    return list(dict.fromkeys(mirrors)), [test for test in dict.fromkeys(further) if test not in mirrors]


def _found(pattern: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").glob(pattern))
