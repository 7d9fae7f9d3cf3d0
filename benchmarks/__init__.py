"""Measurements that the README and the claims of the design rest on. Each module runs by itself: `python -m`."""
