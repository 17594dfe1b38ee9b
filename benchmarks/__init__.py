"""Side-by-side measurements: `python -m benchmarks NAME …`, or without a name what there is."""
