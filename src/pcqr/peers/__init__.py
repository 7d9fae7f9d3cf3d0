"""The systems beside us, each in a folder of its own, on the same teachers and under the same accounting."""
