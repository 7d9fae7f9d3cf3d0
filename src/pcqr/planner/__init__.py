"""Public numbers to plans: the model behind expectations, certificates, search."""
