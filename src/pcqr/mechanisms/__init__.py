"""Mechanisms: each takes plain parameters and an entropy source, and states its own guarantee. None composes budgets.

votes          counts of votes → plurality and distance to instability      proofs/votes.md
stability      release f(S) where it is far from changing                   proofs/stability.md
sparse_vector  many stability tests, paid for when they fail                proofs/sparse_vector.md
exponential    draw a hypothesis of a fixed class, releasable               proofs/exponential.md
relabelling    what relabelling by a drawn hypothesis adds to what follows  proofs/relabel.md
histogram      counts of records in public cells                            proofs/score.md

Examples
--------
Three forms of one mechanism: `SparseVector` is any of them, `CalibratedSparseVector` one of those that planning makes
by default.

>>> from pcqr.mechanisms import CalibratedSparseVector, PaperSparseVector, SparseVector
>>> paper = PaperSparseVector.from_paper(epsilon=1.0, delta=1e-6, unstable=5, queries=100)
>>> isinstance(paper, SparseVector), isinstance(paper, CalibratedSparseVector)
(True, False)
"""

from pcqr.mechanisms.exponential import Selection, exponential_guarantee, exponential_mechanism, inverse_temperature_for
from pcqr.mechanisms.histogram import NoisyHistogram
from pcqr.mechanisms.relabelling import relabel_cost, relabel_guarantee
from pcqr.mechanisms.sparse_vector import (
    CalibratedSparseVector,
    OneSidedSparseVector,
    PaperSparseVector,
    RenyiSparseVector,
    RunningSparseVector,
    SparseVector,
)
from pcqr.mechanisms.stability import StabilityTest, distance_to_instability, plurality

__all__ = [
    "CalibratedSparseVector",
    "NoisyHistogram",
    "OneSidedSparseVector",
    "PaperSparseVector",
    "RenyiSparseVector",
    "RunningSparseVector",
    "Selection",
    "SparseVector",
    "StabilityTest",
    "distance_to_instability",
    "exponential_guarantee",
    "exponential_mechanism",
    "inverse_temperature_for",
    "plurality",
    "relabel_cost",
    "relabel_guarantee",
]
