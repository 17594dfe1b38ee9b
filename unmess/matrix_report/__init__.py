"""The page that `unmess report` writes about a matrix.

| file | contents |
| --- | --- |
| `page.py` | the page: the table of models, and what its template needs |
| `details.py` | the details that the page shows when a cell is opened |
| `coverage.py` | counts by family of models and by operator |
| `plots.py` | errors, times and memory as SVG |

Nothing here imports PyTorch.
"""
