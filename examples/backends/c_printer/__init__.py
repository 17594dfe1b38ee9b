"""Prints linalg as C: one source file, one header, a static memory plan, no heap.

MLIR's own route to C is the EmitC dialect. For LLVM 22.1, `mlir-opt` and `mlir-translate` printed
none of seven small programs (MLP, CNN, attention, embedding with argmax, booleans, integers, sort):
`memref.alloc` of a static size becomes a cast that cannot be printed, constants of rank 0, views,
copies, `cf.assert` and `math.erf` have no conversion, and `malloc` is the only memory. So MLIR
lowers the program to loops on buffers, and this package prints these: `lowering` runs the passes,
`registers` improves reductions, `arena` plans the memory, `types`, `expressions` and `statements`
print operations, and `sources` writes files.
"""
