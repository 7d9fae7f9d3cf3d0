"""A student of the parties' soft votes, published with noise (Hamm, Cao, Belkin 2016). Proof: proofs/parties.md."""
