"""The systems beside us, on the same teachers and under the same accounting."""
