"""Sorting and searching."""

import torch

from unmess.conformance.operators.case import EXACT, C, Table

TABLE = Table("Search and sort", EXACT)
op = TABLE.op

op(
    "torch.sort",
    *("f32[n,4] distinct", C("f32[n,4] distinct", 0), C("f32[3,4] distinct", -1, True)),
    *(C("f32[4,7] ties", stable=True), C("i64[4,7] ties", dim=0, stable=True, descending=True)),
    *(
        "i8[8] distinct",
        "u8[7] distinct",
        "bool[2]",
        "f32[]",
        "f32[0]",
        "f64[5] distinct",
        "i64[5,n] distinct",
    ),
)
op(
    "torch.sort",
    C("f32[13] special", stable=True),
    C("f16[13] special", stable=True, descending=True),
)
op("torch.argsort", "f32[n,4] distinct", C("f32[3,4] distinct", 0), C("i64[7] ties", stable=True))
op("torch.argsort", C("i64[5] distinct", descending=True))
op("torch.msort", "f32[n,3] distinct")
# A row that is too long for sorting by counting.
op("torch.msort", "bool[4500]")
op(
    "torch.topk",
    *(
        C("f32[n,5] distinct", 2),
        C("f32[4,n] distinct", 2, 0),
        C("f32[5] distinct", 2, largest=False),
    ),
    *(
        C("i64[5] distinct", 3),
        C("f16[2,5] distinct", 5),
        C("i32[5] distinct", 1),
        C("f32[5] distinct", 0),
    ),
)
op("torch.kthvalue", C("f32[n,5] distinct", 2), C("i64[5] distinct", 3))
op(
    "torch.searchsorted",
    *(C("f32[5]", "f32[n,2]"), C("i64[5]", "i64[4]"), C("f32[5]", "f32[4]", right=True)),
    function=lambda x, y, **options: torch.searchsorted(x.sort().values, y, **options),
)
op(
    "torch.bucketize",
    *(C("f32[n,2]", "f32[5]"), C("f32[4]", "f32[5]", right=True)),
    function=lambda x, y, **options: torch.bucketize(x, y.sort().values, **options),
)
op("torch.nonzero", "c64[5] sparse")
op("torch.nonzero", "f32[5] sparse", "i64[3,4] sparse", "bool[3,2]", "f32[4] zero")
op("torch.nonzero", C("i64[3,4] sparse", as_tuple=True))
op("torch.argwhere", "f32[3,4] sparse")
op("torch.where", C("bool[3,4]"))
op("torch.unique", "i64[7] ties", C("i64[7] ties", return_inverse=True), "f32[7] ties")
op("torch.unique", C("i64[7] ties", return_counts=True))
op("torch.unique_consecutive", "i64[7] ties")
op("torch.isin", C("i64[7] ties", "i64[2] <2"))
op(
    "argsort of argsort",
    *("f32[n] distinct", "i64[7] distinct"),
    function=lambda x: torch.argsort(torch.argsort(x)),
)
op(
    "x[x.argmax()]",
    *("f32[n,2] distinct", "i64[5] distinct"),
    function=lambda x: x.flatten()[x.argmax()],
)
op(
    "maximum by its place",
    *("f32[n,5] distinct", "i64[n,5] distinct"),
    function=lambda x: x.gather(1, x.max(1, keepdim=True).indices),
)
for name, options in (
    ("unique", {"return_inverse": True, "return_counts": True}),
    ("unique", {"return_inverse": True, "return_counts": True, "dim": 1}),
    ("unique_consecutive", {"return_inverse": True, "return_counts": True}),
    ("unique_consecutive", {"return_inverse": True, "return_counts": True, "dim": 0}),
):
    op(
        f"torch.{name}",
        *(C(text, **options) for text in ("f32[6,2] ties", "bool[2,3]", "i64[1,4] ties")),
    )
op("torch.unique", "f32[0]", "f32[13] special", C("u8[2,3] ties", dim=0))
op(
    "torch.unique(x) * 2",
    C("i64[7] ties", calls=(("i64[7] distinct",), ("i64[7] zero",))),
    function=lambda x: torch.unique(x) * 2,
)
op("torch.kthvalue", C("f32[]", 1), C("f32[3,5] distinct", 2, 0, True))
op(
    "torch.searchsorted",
    C("f32[5]", 0.3),
    function=lambda x, y: torch.searchsorted(x.sort().values, y),
)
op("torch.combinations", C("i64[3]", 3, with_replacement=True), C("f32[2]", 1))
op("torch.nonzero_static", C("f32[3,4] sparse", size=4), C("bool[5]", size=3, fill_value=9))
