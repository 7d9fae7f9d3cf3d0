"""Plans for classifiers that are published at once: which method, by public numbers, and its parameters."""
