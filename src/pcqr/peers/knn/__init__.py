"""Near records that vote: each with a budget of its own (Ind-kNN 2023), or the nearest of a sample (Private-kNN 2020).

Proofs: proofs/individual_knn.md, proofs/private_knn.md.
"""
