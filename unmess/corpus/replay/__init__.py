"""Runs kernels with upstream MLIR and with NumPy, and compares the results.

Imports neither PyTorch nor torch-mlir.

| file | contents |
| --- | --- |
| `engine.py` | compiles and runs a function with upstream MLIR's bindings |
| `interpreter.py` | computes a linalg operation with NumPy, from its indexing maps and its body |
| `scalars.py` | the operations of bodies, as NumPy functions |
| `inputs.py` | sizes and values of the arguments |
| `outcome.py` | the result of a replay |
| `checking.py` | the result of one kernel |
| `programs.py` | the result of a whole model, compared with the recorded results of eager PyTorch |
"""
