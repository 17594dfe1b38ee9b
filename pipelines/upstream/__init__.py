"""linalg that upstream MLIR takes all the way: no operation that only torch-mlir knows.

Everything stays on tensors with value semantics, so that whoever takes the IR over bufferizes it.
"""
