"""The shipped mechanisms and algorithms, each with the neighbours and queries to search."""

from __future__ import annotations

from pcqr.audit.exact.cases.classifiers import classifier_cases
from pcqr.audit.exact.cases.mechanisms import mechanism_cases, noise_cases, vote_cases
from pcqr.audit.exact.cases.peers import neighbour_cases, peer_cases
from pcqr.audit.exact.cases.predicates import predicates_cases
from pcqr.audit.exact.cases.publication import committee_cases, publication_cases
from pcqr.audit.exact.cases.records import user_cases, weight_cases
from pcqr.audit.exact.cases.tables import raw_cases, score_cases
from pcqr.audit.exact.verify import Case


def shipped_cases(*, full: bool = False) -> tuple[Case, ...]:
    """Every case of the fast set, some seconds on one core, or of the `full` one: more tables, queries and rounds."""
    parts = (
        noise_cases,
        mechanism_cases,
        committee_cases,
        vote_cases,
        publication_cases,
        classifier_cases,
        peer_cases,
        neighbour_cases,
        user_cases,
        weight_cases,
        raw_cases,
        predicates_cases,
        score_cases,
    )
    return tuple(case for cases in parts for case in cases(full=full))
