"""One folder an algorithm: `plan.py` (its stage), `run.py`, `planning.py` and `estimator.py`."""
