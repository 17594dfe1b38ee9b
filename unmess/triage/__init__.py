"""Finds the stage at which a model fails, and the smallest program that fails in the same way.

| files | contents |
| --- | --- |
| `triage`, `search` | the whole task; the stage, and the level at which to reduce |
| `failure` | what identifies a failure |
| `numerics`, `stability`, `dispatches` | the first wrong value, and what makes it wrong |
| `recording`, `graph_recording`, `call_recording`, `values` | record a model, in a worker |
| `trace`, `program_text` | a program as a list of calls, and as a Python file |
| `reduction`, `delta`, `inputs`, `trials` | the search for a small program |
| `folder`, `forms`, `running`, `issue`, `known_limits`, `finding` | the result |

All programs run in workers, so that a crash or a hang is a finding, too. Nothing here imports
PyTorch, but for the code that runs in workers.
"""

from unmess.triage.finding import Finding
from unmess.triage.triage import triage

__all__ = ["Finding", "triage"]
