"""What outlives a process: ledger, account, the directory of a release, secrets."""
