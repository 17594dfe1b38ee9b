"""Common operators on both runners beside eager, slowest first.

    ./pixiw run bench operators
    python -m benchmarks.operators topk sort

The second command times only the expressions that contain one of the words. Each expression of
`expressions.py` is a program of its own. The sides take turns, and the least times count, without
the least time of a call that adds two single numbers.
"""

from benchmarks.operators.command import main

__all__ = ["main"]
