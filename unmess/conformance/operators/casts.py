"""Casts between types, promotion, and conversions to Python numbers."""

import torch

from unmess.conformance.operators.case import EXACT, C, Table
from unmess.conformance.operators.tensors import DTYPES

TABLE = Table("Types and casts", EXACT)
op = TABLE.op

# Casts from each of these types, of numbers that both types can represent.
SOURCES = {
    "f32": "f32[n,5] halves",
    "f64": "f64[9] halves",
    "bf16": "bf16[9] halves",
    "i64": "i64[n,5]",
    "u8": "u8[9] <9",
    "bool": "bool[4]",
}
for source, text in SOURCES.items():
    for target in ("f32", "f16", "i32", "i8", "bool"):
        if source != target:
            op("Tensor.to", C(text, DTYPES[target]))
# Casts that lose bits of integers, fractions or digits of floats.
op(
    "Tensor.to",
    *(C("i64[8] extreme", DTYPES[name]) for name in ("i32", "i16", "i8", "u8", "bool", "f32")),
)
op("Tensor.to", *(C("i32[8] extreme", DTYPES[name]) for name in ("i8", "f32", "f64", "f16")))
op("Tensor.to", *(C("f32[7]", DTYPES[name]) for name in ("f16", "bf16", "i32", "i8")))
op("Tensor.to", *(C("f32[13] special", DTYPES[name]) for name in ("f16", "bf16", "f64", "bool")))
op("Tensor.to", *(C("f64[13] special", DTYPES[name]) for name in ("f32", "bool")))
op(
    "Tensor.to",
    C("f32[7] positive", torch.uint8),
    C("f32[3]", torch.float8_e4m3fn),
    C("f32[3]", torch.float8_e5m2),
)
op(
    "Tensor.to",
    C("f32[]", torch.int64),
    C("f32[0,3]", torch.float16),
    C("c64[4]", torch.complex128),
)
op("Tensor.float", "i64[n]", "bool[3]")
op("Tensor.double", "f32[n]")
op("Tensor.half", "f32[n]", "i32[3]")
op("Tensor.bfloat16", "f32[n]")
op("Tensor.long", "f32[n]", "i8[8] extreme")
op("Tensor.int", "f32[5] halves", "u8[6] extreme")
op("Tensor.bool", "f32[13] special", "i64[n]")
op("torch.bitwise_and of casts", C("f32[5] halves", "i64[5]"), function=lambda x, y: x.long() & y)
# Promotion.
op("x + 1.5", "i64[n]", "i8[3]", "bool[3]", "f16[3]", "u8[3]", function=lambda x: x + 1.5)
op("x + 1", "f16[n]", "u8[6] extreme", "bool[3]", "i8[8] extreme", function=lambda x: x + 1)
op("x * True", "i32[3]", "f64[3]", function=lambda x: x * True)
op("x / 2", "i64[n]", "i32[3]", "bool[3]", "u8[3]", function=lambda x: x / 2)
op("x // 2", "i64[n]", "f32[5]", "i8[9] distinct", "u8[6] extreme", function=lambda x: x // 2)
op("x % 3", "i64[n]", "f32[5] halves", "i8[9] distinct", "u8[6] extreme", function=lambda x: x % 3)
op(
    "x + y",
    C("f16[3]", "bf16[3]"),
    C("bool[3]", "f16[3]"),
    C("i64[3]", "f16[]"),
    C("u8[3]", "i64[]"),
    C("i8[3]", "u8[3]"),
    function=lambda x, y: x + y,
)
op("-x", "i8[8] extreme", "u8[6] extreme", "i64[8] extreme", function=lambda x: -x)
op("~x", "bool[3]", "i16[3]", function=lambda x: ~x)
op("abs(x)", "i8[8] extreme", "i16[8] extreme", function=lambda x: abs(x))
op(
    "torch.result_type",
    C("i64[3]", "f32[3]"),
    function=lambda x, y: (x + y).to(torch.result_type(x, y)),
)
op("x.sum().item()", "i64[n]", "f64[5]", "bool[4]", function=lambda x: x.sum().item())
op("float(x)", "f32[]", function=lambda x: float(x) + 1)
op("x.shape[0] / 2", "f32[n]", function=lambda x: x.shape[0] / 2)
op("x.to(y.dtype)", C("f32[n]", "f16[1]"), function=lambda x, y: x.to(y.dtype))
op("x.view(int).view(float)", "f32[5]", function=lambda x: x.view(torch.int32).view(torch.float32))
for dtype in ("i16", "i8", "u8"):
    op(
        "x * y + x - y",
        C(f"{dtype}[6] extreme", f"{dtype}[6,1] extreme"),
        function=lambda x, y: x * y + x - y,
    )
    op(
        "x.sum(), x.max(), x.cumsum(0)",
        f"{dtype}[6] extreme",
        function=lambda x: (x.sum(), x.max(), x.cumsum(0)),
    )
# Numbers read from tensors, and Python arithmetic with them.
op("bool(x)", "f32[]", "i64[1]", "bool[]", function=lambda x: bool(x))
op("int(x)", "f32[]", "i64[]", "bool[1,1]", function=lambda x: int(x))
op("x.item()", "u8[]", "i8[1]", function=lambda x: x.item())
op("x.item() // y.item()", C("i64[]", "i64[] positive"), function=lambda x, y: x.item() // y.item())
op("x.item() % y.item()", C("i64[]", "i64[] positive"), function=lambda x, y: x.item() % y.item())
for text, function in (
    ("x.item() < y.item()", lambda x, y: x.item() < y.item()),
    ("x.item() != y.item()", lambda x, y: x.item() != y.item()),
    ("x.item() * y.item() - 1", lambda x, y: x.item() * y.item() - 1),
    ("max(x.item(), y.item())", lambda x, y: max(x.item(), y.item())),
    ("abs(x.item()) + y.item()", lambda x, y: abs(x.item()) + y.item()),
):
    op(text, C("f64[]", "f64[]"), C("i64[]", "i64[] positive"), function=function)
# The bits of elements as other types.
for given, dtypes in (
    ("f32[3,4]", (torch.uint8, torch.bfloat16, torch.int64, torch.complex64)),
    ("i64[8] extreme", (torch.int32, torch.float64)),
    ("u8[16] <255", (torch.float32, torch.int8, torch.int16)),
    ("bf16[2,4]", (torch.int32,)),
    ("c64[3]", (torch.float32,)),
    ("bool[4]", (torch.uint8,)),
):
    op("Tensor.view", *(C(given, dtype) for dtype in dtypes))
