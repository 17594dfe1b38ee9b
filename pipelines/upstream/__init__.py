"""Lowers to linalg that upstream MLIR can process, without operations that only torch-mlir has.

All operations stay on tensors with value semantics. The tool that takes the IR bufferizes it.
"""
