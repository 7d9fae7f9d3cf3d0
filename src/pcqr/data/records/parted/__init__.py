"""Records in parts, each worked on where it lies: files on one machine, or on several (proofs/parted.md)."""
