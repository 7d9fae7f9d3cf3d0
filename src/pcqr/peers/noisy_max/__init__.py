"""The noisy majority, query by query (PATE 2017, 2018; Dwork and Feldman 2018). Proof: proofs/noisy_max.md."""
