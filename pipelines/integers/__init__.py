"""Lowers the operators of integer programs, `unmess.rescale` and others, to each output dialect.

Each operator becomes a function in the dialect, written as MLIR text, which is inlined.
"""
