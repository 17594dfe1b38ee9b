"""A data set of real programs: the IR of many models at each stage, and every distinct kernel.

| file | contents |
| --- | --- |
| `tensors.py` | makes weights and inputs from a seed, with NumPy alone |
| `describing.py` | describes how tensors are made, and gives a model such weights |
| `calling.py` | describes the arguments of a program, and eager's results for them |
| `kernels.py` | cuts linalg operations out of a module, in a canonical form |
| `work.py` | the code that runs in a worker: one model, static or dynamic |
| `parts.py` | the results of each model, kept until all models are finished |
| `running.py` | runs the models that have no result, in worker processes |
| `tables.py` | rows and Arrow schemas of the tables |
| `writing.py` | writes the tables as Parquet, the same bytes each time |
| `croissant.py` | the description of the data set in Croissant's JSON-LD |
| `verify.py` | replays a sample of the kernels |
| `replay/` | runs one kernel with upstream MLIR and with NumPy |

Only `calling.py`, `describing.py` and `kernels.py` import PyTorch or torch-mlir.
"""
