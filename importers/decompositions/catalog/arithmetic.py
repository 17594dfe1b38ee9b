"""Decompositions of elementwise arithmetic, products and sums."""

import torch

from importers.decompositions.bits import frexp, nextafter
from importers.decompositions.comparison import compare_booleans_with_number
from importers.decompositions.decomposition import entries, of_overloads
from importers.decompositions.distances import distance, hypot
from importers.decompositions.division import divide, fmod, gcd, lcm, reciprocal, remainder
from importers.decompositions.losses import huber_loss, threshold_backward
from importers.decompositions.matrix_products import addbmm, addmv, bmm, int_mm, mm
from importers.decompositions.narrow_sums import batch_norm, in_f32, rms_norm
from importers.decompositions.numbers import with_tensor
from importers.decompositions.power import (
    acosh,
    asinh,
    exp2,
    integer_power,
    log10,
    logaddexp,
    logaddexp2,
    powers,
    powers_of_a_number,
)
from importers.decompositions.signs import (
    angle,
    atan2,
    copysign,
    copysign_of_number,
    neg,
    neg_view,
    sign,
    signbit,
    trunc,
)

ARITHMETIC = (
    *entries(
        "product of 8-bit integers",
        "linalg",
        "torch-mlir's lowering expects quantized operands with zero points, and crashes "
        "without them",
        {"mm.default": mm, "bmm.default": bmm},
    ),
    *entries(
        "product of 8-bit integers in i32",
        "torch",
        "the torch dialect has no _int_mm",
        {"_int_mm.default": int_mm},
    ),
    *entries(
        "signs",
        "run",
        "torch-mlir compares with the integer 0, and folds this comparison incorrectly for "
        "constants",
        {"sign.default": sign, "sgn.default": sign},
    ),
    *entries(
        "booleans compared with numbers",
        "run",
        "torch-mlir converts the number to a boolean, and orders constants as if True were -1",
        {
            f"{function.__name__}.Scalar": compare_booleans_with_number(function)
            for function in (torch.lt, torch.le, torch.gt, torch.ge, torch.eq, torch.ne)
        },
    ),
    *entries(
        "reductions in f16 and bf16",
        "run",
        "torch-mlir accumulates in the operand's dtype: long sums stop growing (in bf16 at "
        "256 times the summand), and products leave the range of f16 in some orders; eager "
        "accumulates in f32",
        of_overloads(
            in_f32,
            *("sum.default", "sum.dim_IntList", "mean.default", "mean.dim", "cumsum.default"),
            *("prod.default", "prod.dim_int", "cumprod.default", "var.correction"),
            *("std.correction", "var_mean.correction", "std_mean.correction"),
            *("linalg_vector_norm.default", "norm.ScalarOpt_dim", "avg_pool1d.default"),
            *("avg_pool2d.default", "avg_pool3d.default", "adaptive_avg_pool1d.default"),
            *("_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default"),
        ),
    ),
    *entries(
        "reductions in f16 and bf16",
        "run",
        "torch-mlir accumulates in the operand's dtype: instance norms of more than 65,504 "
        "elements are infinite in f16; eager accumulates in f32",
        {"native_batch_norm.default": batch_norm},
    ),
    *entries(
        "reductions in f16 and bf16",
        "run",
        "torch-mlir adds the squares in the operand's dtype; eager adds them in f32",
        {"rms_norm.default": rms_norm},
    ),
    *entries(
        "rounded division",
        "run",
        "torch-mlir rounds the quotient twice, first to the dtype and then down: it gives 10 "
        "for 1 // 0.1 (eager: 9) and infinity for inf // 2 (eager: NaN)",
        {"div.Tensor_mode": divide, "div.Scalar_mode": divide},
    ),
    *entries(
        "remainder with the sign of the dividend",
        "run",
        "torch-mlir subtracts a multiple of the rounded quotient, which is inexact; it has no "
        "lowering for a number as divisor",
        {"fmod.Tensor": fmod, "fmod.Scalar": fmod},
    ),
    *entries(
        "remainder by a number",
        "run",
        "torch-mlir folds the remainder of a constant with the sign of the dividend; eager uses "
        "the sign of the divisor",
        {"remainder.Scalar": remainder},
    ),
    *entries(
        "remainder of a number",
        "linalg",
        "torch-mlir has no lowering for a number as dividend",
        {"remainder.Scalar_Tensor": remainder},
    ),
    *entries(
        "negation of integers",
        "run",
        "torch-mlir's lowering converts to f32, which is exact for 24 bits only",
        {"neg.default": neg},
    ),
    *entries(
        "negation as a view",
        "torch",
        "the torch dialect has no _neg_view, which PyTorch uses for the imaginary part of a "
        "conjugate",
        {"_neg_view.default": neg_view},
    ),
    *entries(
        "magnitudes, signs and bits of floats",
        "torch",
        "the torch dialect does not have the operator, or torch-mlir does not lower it",
        {
            "hypot.default": hypot,
            "signbit.default": signbit,
            "copysign.Tensor": copysign,
            "copysign.Scalar": copysign_of_number,
            "angle.default": angle,
            "nextafter.default": nextafter,
            "frexp.Tensor": frexp,
        },
    ),
    *entries(
        "power of integers",
        "linalg",
        "torch-mlir lowers powers of floating-point numbers only",
        {"pow.Tensor_Scalar": integer_power},
    ),
    *entries(
        "powers",
        "run",
        "torch-mlir does not lower powers of integers; IREE gives NaN for negative bases and "
        "for 0 to the power of 0",
        {"pow.Tensor_Tensor": powers, "pow.Scalar": powers_of_a_number},
    ),
    *entries(
        "logarithms in f64",
        "run",
        "IREE has no log10; its asinh loses digits for negative numbers, and its acosh overflows",
        {"log10.default": log10, "asinh.default": asinh, "acosh.default": acosh},
    ),
    *entries(
        "powers of 2",
        "run",
        "torch-mlir multiplies by log 2 in f32, with errors of up to 16 units in the last place",
        {"exp2.default": exp2},
    ),
    *entries(
        "logarithm of a sum of two exponentials",
        "run",
        "PyTorch's decomposition gives infinity for infinity and NaN (eager: NaN), and loses "
        "digits",
        {"logaddexp.default": logaddexp, "logaddexp2.default": logaddexp2},
    ),
    *entries(
        "angle of zeros and infinities",
        "run",
        "IREE gives NaN for atan2(0, 0), and ignores the sign of zeros",
        {"atan2.default": atan2},
    ),
    *entries(
        "rounding toward zero",
        "run",
        "torch-mlir multiplies by the sign, which turns -0 into 0",
        {"trunc.default": trunc},
    ),
    *entries("distance", "torch", "torch-mlir does not lower dist", {"dist.default": distance}),
    *entries(
        "bitwise operators with a number",
        "torch",
        "torch-mlir lowers them for two tensors only",
        {
            name: with_tensor(function)
            for name, function in (
                ("bitwise_or.Scalar", torch.bitwise_or),
                ("bitwise_xor.Scalar", torch.bitwise_xor),
                ("bitwise_left_shift.Tensor_Scalar", torch.bitwise_left_shift),
                ("bitwise_right_shift.Tensor_Scalar", torch.bitwise_right_shift),
                ("bitwise_and.Scalar_Tensor", torch.bitwise_and),
                ("bitwise_or.Scalar_Tensor", torch.bitwise_or),
                ("bitwise_xor.Scalar_Tensor", torch.bitwise_xor),
                ("bitwise_left_shift.Scalar_Tensor", torch.bitwise_left_shift),
                ("bitwise_right_shift.Scalar_Tensor", torch.bitwise_right_shift),
            )
        },
    ),
    *entries(
        "operands of different dtypes",
        "run",
        "PyTorch's decomposition gives a result of another dtype than eager",
        {"threshold_backward.default": threshold_backward, "huber_loss.default": huber_loss},
    ),
    *entries(
        "reciprocal as a quotient",
        "run",
        "torch-mlir's lowering to linalg asserts that no element is zero; eager gives infinity. "
        "Every batch norm computes a reciprocal",
        {"reciprocal.default": reciprocal},
    ),
    *entries(
        "common divisors and multiples",
        "torch",
        "the torch dialect has no gcd and no lcm",
        {"gcd.default": gcd, "lcm.default": lcm},
    ),
    *entries(
        "sum with a matrix-vector product",
        "torch",
        "the torch dialect has no addmv",
        {"addmv.default": addmv},
    ),
    *entries(
        "sum with a sum of matrix products",
        "linalg",
        "torch-mlir has no lowering for all dtypes and factors",
        {"addbmm.default": addbmm},
    ),
)
