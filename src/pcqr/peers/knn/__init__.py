"""Nearest neighbours that vote, each with a budget of its own (Ind-kNN 2023). Proof: proofs/individual_knn.md."""
