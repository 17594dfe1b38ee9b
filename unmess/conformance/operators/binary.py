"""Elementwise functions of two or more operands, with broadcasting and promotion."""

from dataclasses import replace

from unmess.conformance.operators.case import CHOICE, EACH, EXACT, C, Table

TABLE = Table("Binary", EACH)
op = TABLE.op

# Every pair of special numbers.
GRID = ("f32[13] special", "f32[13,1] special")
EXTREMES = {
    dtype: (f"{dtype}[8] extreme", f"{dtype}[8,1] extreme") for dtype in ("i8", "i32", "i64")
}
BYTES = ("u8[6] extreme", "u8[6,1] extreme")

for name in ("add", "sub", "mul"):
    op(
        f"torch.{name}",
        *(C("f32[n,3]", "f32[3]"), C("f32[n,1]", "f32[1,m]"), C("bf16[2,3]", "bf16[3]")),
        *(C(*GRID), C(*EXTREMES["i64"]), C(*EXTREMES["i8"]), C(*BYTES), C("i64[3]", "f32[3]")),
        *(C("f32[]", "f64[]"), C("u8[3]", "i8[3]")),
        accuracy=EXACT,
    )
op("torch.add", C("f64[2,3]", "f64[]"), C("f16[5]", "f32[5]"), C("f32[0,3]", "f32[3]"))
op("torch.add", C(*EXTREMES["i32"]), C("i32[3]", "i64[2,1]"), C("c64[3]", "f32[3]"))
op("torch.mul", C("c64[3]", "c64[2,1]"))
op("torch.sub", C("c64[3]", "c64[2,1]"))
op("torch.add", C("bool[4]", "bool[4]"), C("bool[4]", "i64[4]"), C("f32[n]", 2), C("i64[n]", 0.5))
op("torch.add", C("f32[4]", "f32[4]", alpha=0.5), C("i64[4]", "i64[4]", alpha=-2))
op("torch.sub", C("f32[n]", "f32[n]", alpha=2), C("i32[3]", 7), accuracy=EXACT)
op("torch.rsub", C("f32[n]", 1.5), C("i64[4]", 3), accuracy=EXACT)
op("torch.mul", C("bool[4]", "bool[4]"), C("f32[3]", True), C("f64[3]", 0.1), accuracy=EXACT)

op(
    "torch.div",
    *(C("f32[n,3]", "f32[3] positive"), C("f64[2,3]", "f64[3]"), C("f16[5]", "f16[5] positive")),
    *(C(*GRID), C("i64[5]", "i64[5] positive"), C("i32[5]", "i32[5] zero"), C("f32[n]", 3)),
    *(C("u8[4]", "u8[4] positive"), C("bool[3]", "i64[3] positive"), C("bf16[5]", "bf16[5]")),
    accuracy=EXACT,
)
op("torch.div", C("c64[5]", "c64[5]"), C("c64[5]", "f32[5]"))
# All four combinations of signs, rounded down and toward zero.
SIGNS = ("i64[9] distinct", "i64[4,1] negative"), ("i32[9] distinct", "i32[4,1] positive")
for mode in ("floor", "trunc"):
    op(
        "torch.div",
        *(C(*signs, rounding_mode=mode) for signs in SIGNS),
        C("f32[n,9] halves", "f32[9] positive", rounding_mode=mode),
        C("f64[9] halves", "f64[4,1] negative", rounding_mode=mode),
        C("f16[9] halves", "f16[9] positive", rounding_mode=mode),
        C(*GRID, rounding_mode=mode),
        C("i8[9]", 2, rounding_mode=mode),
        C("u8[9]", "u8[9] positive", rounding_mode=mode),
        accuracy=EXACT,
    )
for name in ("floor_divide", "remainder", "fmod"):
    op(
        f"torch.{name}",
        *(C(*signs) for signs in SIGNS),
        *(C("f32[n,9] halves", "f32[9] positive"), C("f64[9] halves", "f64[4,1] negative")),
        *(C(*GRID), C("i64[n]", 3), C("f32[9]", -1.5), C("u8[9]", "u8[9] positive")),
        accuracy=EXACT,
    )
op("torch.remainder", C("f16[9] halves", "f16[9] negative"), C("i8[9]", -3), accuracy=EXACT)

op(
    "torch.pow",
    *(C("f32[n,3] positive", "f32[3]"), C("f64[5] positive", "f64[5]"), C(*GRID)),
    *(C("f32[n]", 2), C("f32[5]", 3), C("f32[5] positive", 0.5), C("f32[5] positive", -1.5)),
    *(C("f32[5]", 0), C("f16[5] positive", 2.5), C(2, "f32[n]"), C("f32[13] special", 0.5)),
)
op(
    "torch.pow",
    *(C("i64[5]", 3), C("i64[9] distinct", "i64[4,1] <6"), C("i32[5]", 2), C(2, "i64[5] <9")),
    *(C("i8[5]", 4), C("u8[5]", 3), C("i64[4]", 0)),
    accuracy=EXACT,
)
op("torch.pow", C("i64[4]", 0.5), C("c64[4]", 2), C("i64[4] positive", "f32[4]"))
op("torch.pow", C("f32[13] special", -1), C("f32[13] special", -2), C("f32[9] halves", 5))
op("torch.pow", C(-2.0, "f32[9] halves"), C("f32[9] halves", "f32[4,1] distinct"))
op("torch.float_power", C("f32[n] positive", "f32[n]"), C("i64[4]", 2))

op("torch.atan2", C("f32[n,3]", "f32[3]"), C("f64[5]", "f64[5]"), C(*GRID), C("i64[4]", "i64[4]"))
op("torch.hypot", C("f32[n,3]", "f32[3]"), C(*GRID))
# The maximum and the logarithm may cancel. The latter's rounding error then is the result's.
CANCELING = replace(EACH, of_largest=1)
op(
    "torch.logaddexp",
    *(C("f32[n,3]", "f32[3]"), C("f64[5]", "f64[5]"), C(*GRID)),
    accuracy=CANCELING,
)
op("torch.logaddexp2", C("f32[n,3]", "f32[3]"), C(*GRID), accuracy=CANCELING)
op("torch.xlogy", C("f32[n,3]", "f32[3] positive"), C(*GRID), C("f32[4]", 2), C("i64[4]", "f32[4]"))
op("torch.special.xlog1py", C("f32[n]", "f32[n] positive"), C("f32[4]", 0.5))
op("torch.copysign", C("f32[n,3]", "f32[3]"), C(*GRID), C("f32[4]", -0.0), accuracy=EXACT)
op("torch.nextafter", C("f32[5]", "f32[5]"), accuracy=EXACT)
op("torch.heaviside", C("f32[13] special", "f32[]"), C("i64[5]", "i64[5]"), accuracy=EXACT)
for name in ("maximum", "minimum", "fmax", "fmin"):
    op(
        f"torch.{name}",
        *(C("f32[n,3]", "f32[3]"), C(*GRID), C("i64[5]", "f32[5]"), C(*EXTREMES["i64"])),
        accuracy=CHOICE,
    )
op("torch.maximum", C(*BYTES), C("bool[4]", "bool[4]"), C("f16[5]", "f16[5]"), accuracy=CHOICE)
op("torch.gcd", C("i64[5] positive", "i64[5] positive"), accuracy=EXACT)
op("torch.lcm", C("i64[5] positive", "i64[5] positive"), accuracy=EXACT)
op("torch.dist", C("f32[n,3]", "f32[n,3]"))

for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    op(
        f"torch.{name}",
        *(C("i64[n,3]", "i64[3]"), C(*EXTREMES["i8"]), C(*BYTES), C("bool[4]", "bool[4]")),
        *(C("i32[5]", 6),),
    )
for name in ("bitwise_left_shift", "bitwise_right_shift"):
    op(
        f"torch.{name}",
        *(C("i64[n,3]", "i64[3] <9"), C("i32[8] extreme", "i32[8] <9"), C("i8[8] extreme", 3)),
        *(C("u8[6]", "u8[6] <8"),),
    )
for name in ("logical_and", "logical_or", "logical_xor"):
    op(
        f"torch.{name}",
        *(C("bool[n,3]", "bool[3]"), C("f32[13] special", "bool[13]"), C("i64[5]", "f32[5] ties")),
    )

op("torch.lerp", C("f32[n,3]", "f32[3]", 0.3), C("f32[5]", "f32[5]", "f32[5] unit"))
op("torch.lerp", C("f64[5]", "f64[5]", 0.5), C("f16[5]", "f16[5]", 0.7))
op("torch.addcmul", C("f32[n,3]", "f32[3]", "f32[n,1]"), C("f64[4]", "f64[4]", "f64[]", value=0.5))
op("torch.addcmul", C("i64[4]", "i64[4]", "i64[4]", value=2))
op("torch.addcdiv", C("f32[n,3]", "f32[3]", "f32[3] positive"))
op("torch.addcdiv", C("f32[4]", "f32[4]", "f32[4] positive", value=2))
op(
    "torch.where",
    *(
        C("bool[n,3]", "f32[3]", "f32[n,1]"),
        C("bool[3]", "i64[3]", "f32[3]"),
        C("bool[3]", "f32[3]", 0.0),
    ),
    *(
        C("bool[]", "f16[3]", "f16[]"),
        C("bool[4]", "bool[4]", "bool[4]"),
        C("bool[3]", "i8[3]", "u8[3]"),
    ),
    *(C("bool[13]", "f32[13] special", "f32[]"), C("bool[4]", "c64[4]", "c64[]")),
    accuracy=EXACT,
)
op("torch.complex", C("f32[n]", "f32[n]"), C("f64[3]", "f64[3]"), accuracy=EXACT)
op("torch.polar", C("f32[n] positive", "f32[n]"))
op("x + x.T", "f32[k,k]", "i64[3,3]", function=lambda x: x + x.T, accuracy=EXACT)
op(
    "x.add_(y).mul_(2)",
    *(C("f32[n,3]", "f32[3]"), C("i64[3]", "i64[3]")),
    function=lambda x, y: x.clone().add_(y).mul_(2),
    accuracy=EXACT,
)
for name in ("gcd", "lcm"):
    op(
        f"torch.{name}",
        *(C("i64[n]", "i64[n]"), C("i8[8] extreme", "i8[8,1] extreme")),
        *(C("u8[6] extreme", "u8[6]"), C("i32[5]", "i64[5]")),
        accuracy=EXACT,
    )
