"""Pictures: what all of them share, and those of accounts, audits, plans and the demonstration."""
