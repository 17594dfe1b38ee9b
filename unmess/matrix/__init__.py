"""Checks many models on many backends and output dialects, and keeps the results in a folder.

| file | contents |
| --- | --- |
| `cells.py` | the cells of a matrix: models by pattern, runners, output dialects, shards |
| `folder.py` | the folder of results |
| `running.py` | runs the cells that have no result |
| `summary.py` | rows in a few words, counts by column |
| `difference.py` | what got better or worse between two folders |

Nothing here imports PyTorch.
"""
