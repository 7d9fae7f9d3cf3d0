"""What is expected, which is no bound: a model of teachers, a run of the sparse vector under it, what falls short."""
