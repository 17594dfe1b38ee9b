"""Decompositions of elementwise arithmetic, products and sums."""

from __future__ import annotations

import torch

from importers.decompositions.angles import angle, atan2
from importers.decompositions.comparison import of_numbers
from importers.decompositions.decomposition import Decomposition
from importers.decompositions.division import divide, fmod, remainder
from importers.decompositions.float_bits import frexp, nextafter
from importers.decompositions.gradients import huber_loss, threshold_backward
from importers.decompositions.integer_products import bmm, int_mm, mm
from importers.decompositions.logarithms import acosh, asinh, exp2, log10
from importers.decompositions.magnitude import distance, hypot
from importers.decompositions.narrow_sums import batch_norm, in_f32, rms_norm
from importers.decompositions.negation import neg, neg_view
from importers.decompositions.numbers import with_tensor
from importers.decompositions.power import integer_power, powers, powers_of_a_number
from importers.decompositions.reciprocal import reciprocal
from importers.decompositions.signs import copysign, copysign_of_number, sign, signbit
from importers.decompositions.sums_of_exponentials import logaddexp, logaddexp2
from importers.decompositions.truncation import trunc

ARITHMETIC = (
    *(
        Decomposition(
            "product of 8-bit integers",
            f"aten::{function.__name__}.default",
            "linalg",
            "torch-mlir's lowering looks for the zero points of quantised operands, and crashes",
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
            "torch-mlir compares with the integer 0, which it folds wrongly for constants",
            sign,
        )
        for name in ("sign", "sgn")
    ),
    *(
        Decomposition(
            "booleans compared with numbers",
            f"aten::{function.__name__}.Scalar",
            "run",
            "torch-mlir makes a boolean of the number, and orders constants as if True were -1",
            of_numbers(function),
        )
        for function in (torch.lt, torch.le, torch.gt, torch.ge, torch.eq, torch.ne)
    ),
    *(
        Decomposition(
            "sum of narrow floats",
            f"aten::{name}.{overload}",
            "run",
            "torch-mlir's lowering adds in the operand's own type, in which a long sum comes to a "
            "halt (in bf16 at 256 times the summand); eager adds in f32, and a product of many "
            "leaves the range of f16 in some orders",
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
        "sum of narrow floats",
        "aten::native_batch_norm.default",
        "run",
        "torch-mlir's lowering sums in the operand's own type, in which instance norms of more "
        "than 65,504 elements are infinite in f16; eager sums in f32",
        batch_norm,
    ),
    Decomposition(
        "sum of narrow floats",
        "aten::rms_norm.default",
        "run",
        "torch-mlir's lowering adds the squares in the operand's own type; eager does in f32",
        rms_norm,
    ),
    *(
        Decomposition(
            "division in whole numbers",
            f"aten::{operator}",
            "run",
            "torch-mlir divides floating-point numbers, rounds, and then rounds down (1 // 0.1 is "
            "9, not 10; inf // 2 is NaN)",
            function,
        )
        for operator, function in (
            ("div.Tensor_mode", divide),
            ("div.Scalar_mode", divide),
        )
    ),
    *(
        Decomposition(
            "remainder with the sign of what is divided",
            f"aten::fmod.{overload}",
            "run",
            "torch-mlir subtracts a multiple of the rounded quotient, which is far from exact; and "
            "has no lowering for a number",
            fmod,
        )
        for overload in ("Tensor", "Scalar")
    ),
    Decomposition(
        "remainder by a number",
        "aten::remainder.Scalar",
        "run",
        "torch-mlir folds that of a literal with the sign of the element",
        remainder,
    ),
    Decomposition(
        "remainder of a number",
        "aten::remainder.Scalar_Tensor",
        "linalg",
        "torch-mlir has no lowering",
        remainder,
    ),
    Decomposition(
        "negation of integers",
        "aten::neg.default",
        "run",
        "torch-mlir's lowering goes by way of f32, which has 24 bits",
        neg,
    ),
    Decomposition(
        "negation as a view",
        "aten::_neg_view.default",
        "torch",
        "the torch dialect has none; it is the imaginary part of a conjugate",
        neg_view,
    ),
    *(
        Decomposition(
            "magnitudes and signs",
            f"aten::{operator}",
            "torch",
            "the torch dialect has none of them, or no lowering for them",
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
            "torch-mlir takes no integers; IREE gives NaN for negative numbers, and for 0 to the 0",
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
            "IREE has no log10; its asinh of a negative number cancels, and its acosh overflows",
            function,
        )
        for function in (log10, asinh, acosh)
    ),
    Decomposition(
        "powers of 2",
        "aten::exp2.default",
        "run",
        "torch-mlir multiplies by log 2 in f32, which leaves up to 16 units in the last place",
        exp2,
    ),
    *(
        Decomposition(
            "sum of two exponentials",
            f"aten::{function.__name__}.default",
            "run",
            "PyTorch's decomposition gives infinity for infinity and NaN, and loses digits",
            function,
        )
        for function in (logaddexp, logaddexp2)
    ),
    Decomposition(
        "angle of zeros and infinities",
        "aten::atan2.default",
        "run",
        "IREE gives NaN for (0, 0), and leaves the sign of zeros out",
        atan2,
    ),
    Decomposition(
        "rounding towards zero",
        "aten::trunc.default",
        "run",
        "torch-mlir multiplies with the sign, which makes 0 of -0",
        trunc,
    ),
    Decomposition(
        "distance",
        "aten::dist.default",
        "torch",
        "the torch dialect has no lowering of dist",
        distance,
    ),
    *(
        Decomposition(
            "bits of a number",
            f"aten::{name}",
            "torch",
            "torch-mlir takes two tensors only",
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
            "operands of several types",
            f"aten::{function.__name__}.default",
            "run",
            "PyTorch's decomposition gives a result of another type than eager",
            function,
        )
        for function in (threshold_backward, huber_loss)
    ),
    Decomposition(
        "reciprocal as a quotient",
        "aten::reciprocal.default",
        "run",
        "the linalg form asserts that no element is zero, for each element of every batch norm",
        reciprocal,
    ),
)
