"""Code that all other parts share: types, the cache folder, child processes."""
