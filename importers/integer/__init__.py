"""Integer programs: graphs with quantize and dequantize operators, computed in integers.

`conversion` replaces each operator between dequantized operands and a quantized result by an
integer form: sums of products in i32, and `rescale` operators that multiply them by a fixed-point
number, as TOSA defines it. `operators` defines the operators that PyTorch does not have.
"""

from importers.integer.program import integer_program

__all__ = ["integer_program"]
