"""Small changes to the code, made one at a time: does a test fail on each? `python -m mutants`, docs/mutants.md."""
