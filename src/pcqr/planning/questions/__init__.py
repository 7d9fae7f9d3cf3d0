"""What a person asks: what is possible, which algorithm, what to run, where each number comes from."""
