"""Classes that only learn: any scikit-learn classifier, and linear and tree teachers by the thousand."""
