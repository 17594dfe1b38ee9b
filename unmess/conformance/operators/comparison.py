"""Comparisons of numbers and of tensors."""

from unmess.conformance.operators.case import EXACT, C, Table

TABLE = Table("Comparison", EXACT)
op = TABLE.op

for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    op(
        f"torch.{name}",
        *(C("f32[n,3] ties", "f32[3] ties"), C("f32[13] special", "f32[13,1] special")),
        *(C("i64[8] extreme", "i64[8,1] extreme"), C("u8[6] extreme", "i8[8,1] extreme")),
        *(C("i64[n]", 0.5), C("bool[4]", 1)),
    )
op("torch.lt", C("f64[5]", 0.5), C("f16[5]", "f32[5]"), C("i32[4]", 2**40), C("f32[0]", "f32[1]"))
op("torch.ge", C("bf16[5] ties", 1), C("bool[4]", "bool[4]"))
op("torch.eq", C("c64[3] ties", "c64[3] ties"), C("u8[6] extreme", -1))
op("torch.equal", C("f32[3]", "f32[3]"), C("i64[3] zero", "i64[3] zero"))
op("torch.isclose", C("bool[4]", "bool[4]"))
op("torch.isclose", C("f32[n,3]", "f32[3]"), C("f32[13] special", "f32[13] special"))
op("torch.isclose", C("f32[13] special", "f32[13] special", equal_nan=True), C("i64[4]", "i64[4]"))
op("torch.isclose", C("i64[8] extreme", "i64[8,1] extreme"), C("i8[8] extreme", "i8[8,1] extreme"))
op("torch.allclose", C("f32[3] zero", "f32[3] zero"))
op("torch.isin", C("i64[n,3] ties", "i64[4]"), C("f32[5] ties", "f32[2] ties"))
op("torch.isin", C("i64[5] ties", "i64[2]", invert=True))
