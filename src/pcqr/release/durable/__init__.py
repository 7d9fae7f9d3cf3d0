"""A release in a directory: it outlives its process, and counts its budget once (proofs/release.md)."""
