"""SubSamp: votes of teachers on disjoint parts of the records."""
