"""Machine code in this process: compiled, cached, loaded and called."""
