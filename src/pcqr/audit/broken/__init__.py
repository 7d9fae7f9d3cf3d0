"""Broken mechanisms: they look right and are not. An audit that lets one of them pass has failed itself.

Each `Bug` runs the shipped code with one thing broken, as somebody did break it or might, claims what the correct code
would be entitled to, and comes with two neighbours on which it shows. Beside each stands the correct twin, under the
same claim, which must pass. Nothing here is meant for use.

sparse_vectors  the variants of Lyu, Su and Li 2017; reused noise; one answer too many
votes           the missing ½; noise for one count; a check not paid for; gaps that move by 2
neighbours      near records that pay for less than their being there changes
posteriors      fresh draws that are charged as one
universal       ε spent twice; answers by a draw over private points; votes beside a draw, not paid for
floats          Laplace noise in floating point
buffers         draws that are given up when they run long; one buffer of noise for two workers
teachers        a scaler before the split; one random stream for all; cuts that look at other teachers' records
parties         noise for a party that moves one point
persons         somebody's rows at several teachers; cuts of all rows
weights         a record that counts twice; counts of labels with noise for one
classifiers     noise for adding, where a record is replaced; no noise in empty cells or on a comparison; vectors
                relative to the longest; a tree, pilots, a comparison or an option not paid for, or chosen by records;
                counts at leaves with noise for one, or of a tree that was not drawn; shares of exact counts
scores          noise for one cell; bins cut by the records
messages        a private value in an error message
tables          a column's type chosen from all cells
predicates      empty nodes without a cut; cuts at fixed ranks, or not paid for; a threshold, or noise, for one column
"""

from __future__ import annotations

from pcqr.audit.broken import base as neighbours
from pcqr.audit.broken import classifiers, messages, posteriors, predicates, sparse_vectors, universal, votes
from pcqr.audit.broken import posteriors as scores
from pcqr.audit.broken import records as parties
from pcqr.audit.broken import records as tables
from pcqr.audit.broken import records as users
from pcqr.audit.broken import records as weights
from pcqr.audit.broken import votes as buffers
from pcqr.audit.broken import votes as floats
from pcqr.audit.broken import votes as teachers
from pcqr.audit.broken.base import Bug, exact_case

BROKEN: tuple[Bug, ...] = (
    *sparse_vectors.BUGS,
    *votes.BUGS,
    *neighbours.BUGS,
    *posteriors.BUGS,
    *parties.BUGS,
    *universal.BUGS,
    *classifiers.BUGS,
    *floats.BUGS,
    *buffers.BUGS,
    *teachers.BUGS,
    *users.BUGS,
    *weights.BUGS,
    *scores.BUGS,
    *messages.BUGS,
    *tables.BUGS,
    *predicates.BUGS,
)

__all__ = ["BROKEN", "Bug", "exact_case"]
