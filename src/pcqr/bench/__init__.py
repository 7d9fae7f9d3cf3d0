"""Every system beside us, on the same data, in the same run: `pcqr bench` (docs/bench.md)."""
