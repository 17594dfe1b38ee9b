"""The reference runner: compiles linalg-on-tensors with MLIR's own passes and LLVM's JIT only."""
