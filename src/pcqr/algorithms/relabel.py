"""Relabel: replace the labels by those of a privately drawn ĥ ∈ H (Beimel, Nissim, Stemmer 2015; Algorithm Relabel)."""

from __future__ import annotations

from pcqr.entropy import Entropy
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.records import Records


def relabel(
    hypotheses: HypothesisClass,
    records: Records,
    inverse_temperature: float,
    public: Points | None,
    entropy: Entropy,
) -> Records:
    """The records with the labels ĥ(x), ĥ drawn with P(h) ∝ e^{−η·mistakes(h)}, η = `inverse_temperature`.

    The members are one for each dichotomy of `public`, or of the private points where that is None.

    The result is **not releasable** and ĥ is forgotten: the relabelled records may only be handed to a
    differentially private algorithm A, and relabel-then-A is then
    (2·ln(1 + e^η) + ε_A + numerical slack, δ_A)-DP, or (2η + ε_A + …, δ_A) over a fixed class or public points
    (proofs/relabel.md; `pcqr.mechanisms.relabelling.relabel_guarantee`).
    """
    drawn = hypotheses.draw_on(records, inverse_temperature, public=public, entropy=entropy)
    return records.relabelled(drawn.hypothesis)
