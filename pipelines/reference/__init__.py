"""The reference runner: linalg-on-tensors, MLIR's own passes, LLVM's JIT, nothing else."""
