"""Elementwise functions of one operand."""

from unmess.conformance.operators.case import CHOICE, EACH, EXACT, Accuracy, C, Table

TABLE = Table("Unary", EACH)
op = TABLE.op

# Functions that are defined for all numbers.
for name in ("exp", "expm1", "exp2", "tanh", "sigmoid", "erf", "atan", "asinh", "sin", "cos"):
    op(f"torch.{name}", "f32[n,3]", "f64[2,3]", "f32[13] special")
for name in ("exp", "tanh", "erf"):
    op(f"torch.{name}", "f16[7]", "i64[5]")
for name in ("erfc", "sinh", "cosh", "sinc"):
    op(f"torch.{name}", "f32[n,3]", "bf16[7]", "f32[13] special")
# The tangent is a quotient, and IREE's divisor has an error.
op("torch.tan", "f32[n,3]", "bf16[7]", "f32[13] special", accuracy=Accuracy(16, "each"))

# Functions that are NaN for some numbers.
for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt"):
    op(f"torch.{name}", "f32[n,3] positive", "f64[2,3] positive", "f32[13] special")
op("torch.log", "bf16[7] positive", "i32[4] positive")
for name in ("asin", "acos", "atanh"):
    op(f"torch.{name}", "f32[n,3] unit", "f32[13] special")
op("torch.acosh", "f32[n,3] positive", "f32[13] special")
op("torch.logit", "f32[n,3] unit", C("f32[5]", eps=0.1))
op("torch.lgamma", "f32[n,3] positive", "f32[5] unit", "f32[13] special")
op("torch.special.entr", "f32[n,3]", "f32[13] special")
op("torch.special.ndtr", "f32[n,3]")
op("torch.deg2rad", "f32[n,3]", "i64[5]")
op("torch.rad2deg", "f32[n,3]")

# Exact functions.
for name in ("abs", "neg", "sign", "square"):
    op(
        f"torch.{name}",
        *("f32[n,3]", "bf16[7]", "f32[13] special", "i64[8] extreme", "i8[8] extreme"),
        accuracy=EXACT,
    )
op(
    "torch.relu",
    *("f32[n,3]", "f16[7]", "f32[13] special", "i64[8] extreme", "i8[8] extreme"),
    accuracy=CHOICE,
)
for name in ("floor", "ceil", "round", "trunc"):
    op(
        f"torch.{name}",
        *("f32[n,3] halves", "f16[9] halves", "f32[13] special", "i64[8] extreme"),
        accuracy=EXACT,
    )
op("torch.round", C("f32[7]", decimals=2), C("f64[7]", decimals=-1), accuracy=EXACT)
op("torch.frac", "f32[n,3]", "f32[9] halves", accuracy=EXACT)
op("torch.reciprocal", "f32[n,3]", "f64[5]", "f32[13] special", "i64[4] positive", accuracy=EXACT)
op("torch.sgn", "f32[13] special", "c64[5]")
op("torch.signbit", "f32[13] special", "f16[13] special", "i32[8] extreme", "u8[4]")
op("torch.nan_to_num", "f32[13] special", "f16[13] special", "i64[4]", accuracy=EXACT)
op("torch.nan_to_num", C("f32[13] special", nan=1.0, posinf=2.0, neginf=-2.0), accuracy=EXACT)
op("torch.positive", "f32[n,3]", accuracy=EXACT)
op("torch.logical_not", "bool[n,3]", "f32[13] special", "i64[5] ties", "u8[4] ties")
op("torch.bitwise_not", "i64[8] extreme", "i8[8] extreme", "u8[4]", "bool[n]")
for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf"):
    op(f"torch.{name}", "f32[13] special", "f16[n,3]")
op("torch.isnan", "i64[4]")

# Empty tensors, scalars and clamping.
for name in ("exp", "abs", "sqrt", "floor", "erf"):
    op(f"torch.{name}", "f32[0,3]", "f32[] positive")
op("torch.clamp", C("f32[n,3]", -1, 1), C("f32[13] special", -1.0, 2.0), accuracy=CHOICE)
op("torch.clamp", C("i64[8] extreme", -2, 5), C("i8[8] extreme", min=0), accuracy=CHOICE)
op("torch.clamp", C("f32[4]", 2, 1), C("u8[9]", max=5), C("i32[4]", 0.5, 2.5), accuracy=CHOICE)
op("torch.clamp", C("f32[n,4]", "f32[4] negative", "f32[n,1] positive"), accuracy=CHOICE)
op("torch.clamp", C("f32[13] special", "f32[13,1] special", "f32[]"), accuracy=CHOICE)
op("torch.clamp_min", C("f32[n,3]", 0.5), C("i64[5]", 1), accuracy=CHOICE)
op("torch.clamp_max", C("f32[n,3]", 0.5), C("i64[5]", 1), accuracy=CHOICE)
op("torch.threshold", C("f32[n,3]", 0.5, -7.0), C("i64[5]", 1, 9), accuracy=CHOICE)

# Complex numbers.
for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "reciprocal"):
    op(f"torch.{name}", "c64[5]", "c64[169] special")
for name in ("tan", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh"):
    op(f"torch.{name}", "c64[n]", "c64[169] special")
op("torch.asinh", "c128[3,5]")
op("torch.tanh", "c128[3,5]")
op("torch.abs", "c64[n]", "c128[5]")
op("torch.angle", "c64[5]", "f32[13] special")
op("torch.neg", "c64[n]", accuracy=EXACT)
op("torch.conj", "c64[n]", "f32[3]", accuracy=EXACT)
op("torch.real", "c64[n]", "c128[3]", accuracy=EXACT)
op("torch.imag", "c64[n]", accuracy=EXACT)
op("torch.view_as_real", "c64[n,3]", accuracy=EXACT)
op("torch.view_as_complex", "f32[n,3,2]", accuracy=EXACT)
op("torch.isnan", "c64[5]")
for name in ("log2", "log10", "log1p", "exp2", "expm1"):
    op(f"torch.{name}", "c64[5]")
op("torch.isfinite", "c64[5]")
op("torch.logaddexp", C("c64[5]", "c64[5]"))
for name in ("logical_and", "logical_or", "logical_xor"):
    op(f"torch.{name}", C("c64[6] sparse", "f32[6] sparse"), C("bool[6]", "c64[6] sparse"))
op("torch.logical_not", "c64[6] sparse")

# Mantissas and exponents.
op("torch.frexp", "f32[5]", "f64[13] special", "bf16[7]", accuracy=EXACT)
op("torch.ldexp", C("f32[n]", "i32[n]"), C("f32[5]", "i64[5]"), C("c64[5]", "i64[5]"))
# Subnormal numbers, which IREE treats as zero.
op("torch.exp", "f32[3] subnormal")
op("torch.abs", "f32[3] subnormal", accuracy=EXACT)
op("torch.sqrt", "f32[3] subnormal")
op("x.float().exp().half()", "f16[7]", function=lambda x: x.float().exp().half())
