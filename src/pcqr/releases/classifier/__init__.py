"""`PrivateClassifier`: a tree, or a linear classifier with a tree beside it."""
