"""Knowledge transfer (Bassily, Thakkar, Thakurta 2018): a student learns from released answers. Proof: transfer.md."""
