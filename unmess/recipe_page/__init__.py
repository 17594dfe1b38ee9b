"""The page that `unmess recipe` writes about a model.

| file | contents |
| --- | --- |
| `gathering.py` | gathers the facts: from a worker, from checks or from a matrix |
| `work.py` | the code that runs in the worker: captures and lowers the model |
| `facts.py` | the facts, without PyTorch |
| `commands.py` | the command lines on the page |
| `failures.py` | the failures, and the changes that the program needs |
| `page.py`, `page.md.jinja` | the page |
"""
