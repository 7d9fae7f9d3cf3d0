"""Broken mechanisms: they look right and are not. An audit that lets one of them pass has failed itself.

Each `Bug` runs the shipped code with one thing broken, as somebody did break it or might, claims what the correct code
would be entitled to, and comes with two neighbours on which it shows. Beside each stands the correct twin, under the
same claim, which must pass. Nothing here is meant for use.

base         near records that pay for less than their being there changes
votes        the missing ½; noise for one count; a check not paid for; gaps that move by 2; the variants of the sparse
             vector of Lyu, Su and Li 2017; reused noise; one answer too many; Laplace noise in floating point; draws
             that are given up when they run long; one buffer of noise for two workers; a scaler before the split; one
             random stream for all; cuts that look at other teachers' records
records      noise for a party that moves one point; somebody's rows at several teachers; cuts of all rows; a record
             that counts twice; counts of labels with noise for one; a column's type chosen from all cells
universal    ε spent twice; answers by a draw over private points; votes beside a draw, not paid for; fresh draws that
             are charged as one; a score with noise for one cell, or bins cut by the records; a private value in an
             error message
classifiers  noise for adding, where a record is replaced; no noise in empty cells or on a comparison; vectors relative
             to the longest; a tree, pilots, a comparison or an option not paid for, or chosen by records; counts at
             leaves with noise for one, or of a tree that was not drawn; shares of exact counts; empty nodes without a
             cut; cuts at fixed ranks, or not paid for; a threshold, or noise, for one column
"""

from __future__ import annotations

from pcqr.audit.broken import base, classifiers, records, universal, votes
from pcqr.audit.broken.base import Bug, exact_case

BROKEN: tuple[Bug, ...] = (
    *votes.SPARSE_VECTOR_BUGS,
    *votes.VOTE_BUGS,
    *base.NEIGHBOUR_BUGS,
    *universal.POSTERIOR_BUGS,
    *records.PARTY_BUGS,
    *universal.UNIVERSAL_BUGS,
    *classifiers.CLASSIFIER_BUGS,
    *votes.FLOAT_BUGS,
    *votes.BUFFER_BUGS,
    *votes.TEACHER_BUGS,
    *records.USER_BUGS,
    *records.WEIGHT_BUGS,
    *universal.SCORE_BUGS,
    *universal.MESSAGE_BUGS,
    *records.TABLE_BUGS,
    *classifiers.PREDICATE_BUGS,
)

__all__ = ["BROKEN", "Bug", "exact_case"]
