"""Decompositions of elementwise arithmetic, products and sums."""

from __future__ import annotations

import torch

from importers.decompositions.angles import angle, atan2
from importers.decompositions.comparison import compare_booleans_with_number
from importers.decompositions.decomposition import Decomposition
from importers.decompositions.distances import distance, hypot
from importers.decompositions.division import divide, fmod, reciprocal, remainder
from importers.decompositions.divisors import gcd, lcm
from importers.decompositions.float_bits import frexp, nextafter
from importers.decompositions.gradients import huber_loss, threshold_backward
from importers.decompositions.logarithms import acosh, asinh, exp2, log10, logaddexp, logaddexp2
from importers.decompositions.matrix_products import addbmm, addmv, bmm, int_mm, mm
from importers.decompositions.narrow_sums import batch_norm, in_f32, rms_norm
from importers.decompositions.numbers import with_tensor
from importers.decompositions.power import integer_power, powers, powers_of_a_number
from importers.decompositions.signs import (
    copysign,
    copysign_of_number,
    neg,
    neg_view,
    sign,
    signbit,
    trunc,
)

ARITHMETIC = (
    *(
        Decomposition(
            "product of 8-bit integers",
            f"aten::{function.__name__}.default",
            "linalg",
            "torch-mlir's lowering expects quantized operands with zero points, and crashes "
            "without them",
            function,
        )
        for function in (mm, bmm)
    ),
    Decomposition(
        "product of 8-bit integers in i32",
        "aten::_int_mm.default",
        "torch",
        "the torch dialect has no _int_mm",
        int_mm,
    ),
    *(
        Decomposition(
            "signs",
            f"aten::{name}.default",
            "run",
            "torch-mlir compares with the integer 0, and folds this comparison incorrectly for "
            "constants",
            sign,
        )
        for name in ("sign", "sgn")
    ),
    *(
        Decomposition(
            "booleans compared with numbers",
            f"aten::{function.__name__}.Scalar",
            "run",
            "torch-mlir converts the number to a boolean, and orders constants as if True were -1",
            compare_booleans_with_number(function),
        )
        for function in (torch.lt, torch.le, torch.gt, torch.ge, torch.eq, torch.ne)
    ),
    *(
        Decomposition(
            "reductions in f16 and bf16",
            f"aten::{name}.{overload}",
            "run",
            "torch-mlir accumulates in the operand's dtype: long sums stop growing (in bf16 at "
            "256 times the summand), and products leave the range of f16 in some orders; eager "
            "accumulates in f32",
            in_f32(getattr(getattr(torch.ops.aten, name), overload)),
        )
        for name, overload in (
            ("sum", "default"),
            ("sum", "dim_IntList"),
            ("mean", "default"),
            ("mean", "dim"),
            ("cumsum", "default"),
            ("prod", "default"),
            ("prod", "dim_int"),
            ("cumprod", "default"),
            ("var", "correction"),
            ("std", "correction"),
            ("var_mean", "correction"),
            ("std_mean", "correction"),
            ("linalg_vector_norm", "default"),
            ("norm", "ScalarOpt_dim"),
            ("avg_pool1d", "default"),
            ("avg_pool2d", "default"),
            ("avg_pool3d", "default"),
            ("adaptive_avg_pool1d", "default"),
            ("_adaptive_avg_pool2d", "default"),
            ("_adaptive_avg_pool3d", "default"),
        )
    ),
    Decomposition(
        "reductions in f16 and bf16",
        "aten::native_batch_norm.default",
        "run",
        "torch-mlir accumulates in the operand's dtype: instance norms of more than 65,504 "
        "elements are infinite in f16; eager accumulates in f32",
        batch_norm,
    ),
    Decomposition(
        "reductions in f16 and bf16",
        "aten::rms_norm.default",
        "run",
        "torch-mlir adds the squares in the operand's dtype; eager adds them in f32",
        rms_norm,
    ),
    *(
        Decomposition(
            "rounded division",
            f"aten::{operator}",
            "run",
            "torch-mlir rounds the quotient twice, first to the dtype and then down: it gives 10 "
            "for 1 // 0.1 (eager: 9) and infinity for inf // 2 (eager: NaN)",
            function,
        )
        for operator, function in (
            ("div.Tensor_mode", divide),
            ("div.Scalar_mode", divide),
        )
    ),
    *(
        Decomposition(
            "remainder with the sign of the dividend",
            f"aten::fmod.{overload}",
            "run",
            "torch-mlir subtracts a multiple of the rounded quotient, which is inexact; it has no "
            "lowering for a number as divisor",
            fmod,
        )
        for overload in ("Tensor", "Scalar")
    ),
    Decomposition(
        "remainder by a number",
        "aten::remainder.Scalar",
        "run",
        "torch-mlir folds the remainder of a constant with the sign of the dividend; eager uses "
        "the sign of the divisor",
        remainder,
    ),
    Decomposition(
        "remainder of a number",
        "aten::remainder.Scalar_Tensor",
        "linalg",
        "torch-mlir has no lowering for a number as dividend",
        remainder,
    ),
    Decomposition(
        "negation of integers",
        "aten::neg.default",
        "run",
        "torch-mlir's lowering converts to f32, which is exact for 24 bits only",
        neg,
    ),
    Decomposition(
        "negation as a view",
        "aten::_neg_view.default",
        "torch",
        "the torch dialect has no _neg_view, which PyTorch uses for the imaginary part of a "
        "conjugate",
        neg_view,
    ),
    *(
        Decomposition(
            "magnitudes, signs and bits of floats",
            f"aten::{operator}",
            "torch",
            "the torch dialect does not have the operator, or torch-mlir does not lower it",
            function,
        )
        for operator, function in (
            ("hypot.default", hypot),
            ("signbit.default", signbit),
            ("copysign.Tensor", copysign),
            ("copysign.Scalar", copysign_of_number),
            ("angle.default", angle),
            ("nextafter.default", nextafter),
            ("frexp.Tensor", frexp),
        )
    ),
    Decomposition(
        "power of integers",
        "aten::pow.Tensor_Scalar",
        "linalg",
        "torch-mlir lowers powers of floating-point numbers only",
        integer_power,
    ),
    *(
        Decomposition(
            "powers",
            f"aten::pow.{overload}",
            "run",
            "torch-mlir does not lower powers of integers; IREE gives NaN for negative bases and "
            "for 0 to the power of 0",
            function,
        )
        for overload, function in (
            ("Tensor_Tensor", powers),
            ("Scalar", powers_of_a_number),
        )
    ),
    *(
        Decomposition(
            "logarithms in f64",
            f"aten::{function.__name__}.default",
            "run",
            "IREE has no log10; its asinh loses digits for negative numbers, and its acosh "
            "overflows",
            function,
        )
        for function in (log10, asinh, acosh)
    ),
    Decomposition(
        "powers of 2",
        "aten::exp2.default",
        "run",
        "torch-mlir multiplies by log 2 in f32, with errors of up to 16 units in the last place",
        exp2,
    ),
    *(
        Decomposition(
            "logarithm of a sum of two exponentials",
            f"aten::{function.__name__}.default",
            "run",
            "PyTorch's decomposition gives infinity for infinity and NaN (eager: NaN), and loses "
            "digits",
            function,
        )
        for function in (logaddexp, logaddexp2)
    ),
    Decomposition(
        "angle of zeros and infinities",
        "aten::atan2.default",
        "run",
        "IREE gives NaN for atan2(0, 0), and ignores the sign of zeros",
        atan2,
    ),
    Decomposition(
        "rounding toward zero",
        "aten::trunc.default",
        "run",
        "torch-mlir multiplies by the sign, which turns -0 into 0",
        trunc,
    ),
    Decomposition(
        "distance",
        "aten::dist.default",
        "torch",
        "torch-mlir does not lower dist",
        distance,
    ),
    *(
        Decomposition(
            "bitwise operators with a number",
            f"aten::{name}",
            "torch",
            "torch-mlir lowers them for two tensors only",
            with_tensor(function),
        )
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
    ),
    *(
        Decomposition(
            "operands of different dtypes",
            f"aten::{function.__name__}.default",
            "run",
            "PyTorch's decomposition gives a result of another dtype than eager",
            function,
        )
        for function in (threshold_backward, huber_loss)
    ),
    Decomposition(
        "reciprocal as a quotient",
        "aten::reciprocal.default",
        "run",
        "torch-mlir's lowering to linalg asserts that no element is zero; eager gives infinity. "
        "Every batch norm computes a reciprocal",
        reciprocal,
    ),
    *(
        Decomposition(
            "common divisors and multiples",
            f"aten::{function.__name__}.default",
            "torch",
            "the torch dialect has no gcd and no lcm",
            function,
        )
        for function in (gcd, lcm)
    ),
    Decomposition(
        "sum with a matrix-vector product",
        "aten::addmv.default",
        "torch",
        "the torch dialect has no addmv",
        addmv,
    ),
    Decomposition(
        "sum with a sum of matrix products",
        "aten::addbmm.default",
        "linalg",
        "torch-mlir has no lowering for all dtypes and factors",
        addbmm,
    ),
)
