"""The heavy sums on a GPU: the same integers, and the same floats, as on the CPU (proofs/gpu.md).

Modules here import numpy and torch alone, and take counts, vectors and noise as arguments: they run where nothing else
can be installed. `pip install pcqr[gpu]`.
"""
