"""What all estimators share: inputs, contribution bounding, fitting, answering, keeping."""
