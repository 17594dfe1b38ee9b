"""Benchmarks: `python -m benchmarks NAME …` runs them; without a name, lists them."""
