"""Types, errors, the cache folder and child processes, which all other packages use."""
