"""What runs in environments of their own, where pcqr is not: each module needs NumPy and the library that it is for."""
