"""The cache folder: compiled programs, reproducers, and what is removed when it grows."""
