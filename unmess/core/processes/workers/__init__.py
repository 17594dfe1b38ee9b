"""Worker processes: forks of one parent that has imported the libraries, and does nothing else.

Importing PyTorch, transformers and MLIR takes several seconds, a fork takes 30 ms. So a command
that works on many models, and a test session, start a `Parent` once. The parent is a process of
its own: it imports the libraries, has one thread, never imports a user's code, and forks a worker
for each request. A crash or a hang ends one worker. Workers share the memory of the libraries.

| file | contents |
| --- | --- |
| `parent.py` | `Parent`: starts the parent process, and requests workers from it |
| `worker.py` | `Worker`: a handle of a worker: messages, output, time limit, death |
| `each.py` | `each_in_workers`: calls a function on many items, in as few workers as possible |
| `server.py` | the parent process: forks workers, ends them, reports how they ended |
| `inside.py` | sets up a worker, runs its function, and ends it |
| `preloading.py` | imports that leave no second thread behind, and may be forked |

`multiprocessing`'s fork server lacks four features that are needed here: the peak memory of a
worker, process groups, an environment for each worker, and an error if the parent has threads.
If forking is not possible, each worker is a fresh interpreter (`Parent(fork=False)`).
"""

from unmess.core.processes.workers.each import Died, each_in_workers
from unmess.core.processes.workers.parent import Parent
from unmess.core.processes.workers.worker import Worker

__all__ = ["Died", "Parent", "Worker", "each_in_workers"]
