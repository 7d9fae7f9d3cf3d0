"""The account of a private table: what may ever be spent on it, and what was."""
