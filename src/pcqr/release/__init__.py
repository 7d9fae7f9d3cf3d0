"""What outlives a process: ledgers, and the secrets that are kept beside them."""
