"""Answers only where the teachers agree (PATE 2018: Confident-GNMax). Proof: proofs/confident.md."""
