"""What a person asks before there is a release: what is possible, what was measured, what to run."""
