"""What the exits need besides torch-mlir's own passes: a file for each concern, in Python."""
