"""The page that `unmess recipe` writes about a model.

| file | contents |
| --- | --- |
| `gathering.py` | gathers the facts: from a worker, from checks or from a matrix |
| `describing.py`, `work.py` | capture and lower the model; in this process, and in the worker |
| `facts.py` | the facts, without PyTorch |
| `excerpt.py` | the first lines of IR |
| `commands.py`, `failures.py`, `changes.py` | what the facts mean for a user |
| `page.py`, `page.md.jinja` | the page |
"""
