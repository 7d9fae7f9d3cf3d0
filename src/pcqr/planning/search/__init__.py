"""The search for a plan: what privacy leaves for the votes, and the knobs with the smallest expected loss."""
