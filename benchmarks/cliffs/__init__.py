"""Searches the operators of the recipes for those that run much slower than in eager PyTorch.

A configuration is a call of one operator, as it occurs in a recipe: shapes, dtypes, options, and
which tensors are weights. Each distinct one is timed as a program of its own on both runners, and
in eager PyTorch. The table has the largest ratios first.

| file | contents |
| --- | --- |
| `configurations.py` | `Configuration`, from a node of a captured graph; its family and its kind |
| `collecting.py` | collects the configurations of recipes, in worker processes |
| `quantized.py` | layers of quantized models, whose captured graphs have no quantized operators |
| `timing.py` | times a configuration, in a worker process |
| `store.py` | the stored rows, so that a second run repeats nothing |
| `report.py` | the tables |
"""

from benchmarks.cliffs.command import main

__all__ = ["main"]
