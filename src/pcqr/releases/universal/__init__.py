"""UnvPrivCl: votes, then a published classifier; or a classifier that is published at `fit`."""
