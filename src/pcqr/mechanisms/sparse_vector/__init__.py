"""The sparse vector: many stability tests, of which only the failed ones are paid for.

Three forms, each a frozen set of parameters that states its guarantee and can be started:

* `OneSidedSparseVector`, calibrated: the threshold is noised once, the queries by one-sided noise. Pure, up to
  the chance that the threshold falls below zero. The number of queries enters no privacy figure.
* `RenyiSparseVector`, calibrated: the same with noise made for Rényi accounting, better from a few unstable answers on.
  `calibrated_sparse_vector` takes the better of the two.
* `PaperSparseVector`, the form of Nandi and Bassily (after Bassily, Thakkar and Thakurta 2018), corrected: two-sided
  noise, the threshold noised afresh after each unstable answer, advanced composition.

Proof of all: proofs/sparse_vector.md. Dwork, Naor, Reingold, Rothblum, Vadhan 2009; Lyu, Su, Li 2017; Zhu, Wang 2020.
"""

from pcqr.mechanisms.sparse_vector.choice import best_one_sided, calibrated_sparse_vector
from pcqr.mechanisms.sparse_vector.one_sided import OneSidedSparseVector
from pcqr.mechanisms.sparse_vector.paper import PaperSparseVector
from pcqr.mechanisms.sparse_vector.renyi import RenyiSparseVector
from pcqr.mechanisms.sparse_vector.running import RunningSparseVector

CalibratedSparseVector = OneSidedSparseVector | RenyiSparseVector
SparseVector = CalibratedSparseVector | PaperSparseVector

__all__ = [
    "CalibratedSparseVector",
    "OneSidedSparseVector",
    "PaperSparseVector",
    "RenyiSparseVector",
    "RunningSparseVector",
    "SparseVector",
    "best_one_sided",
    "calibrated_sparse_vector",
]
