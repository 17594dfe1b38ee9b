"""Runs the search with options: `python -m benchmarks.cliffs --help`."""

import sys

from benchmarks.cliffs.command import main

if __name__ == "__main__":
    main(sys.argv[1:])
