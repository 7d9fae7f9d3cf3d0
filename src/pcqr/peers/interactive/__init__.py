"""The teachers speak where a student is wrong (PATE 2018: the interactive aggregator). Proof: proofs/interactive.md."""
