"""Sums, means, extremes and other statistics, over all or some axes."""

import torch

from unmess.conformance.operators.case import CHOICE, EXACT, SUMS, Accuracy, C, Table

TABLE = Table("Statistics and reductions", SUMS)
op = TABLE.op

X = "f32[n,3,4]"
for name in ("sum", "mean"):
    op(
        f"torch.{name}",
        *(X, C(X, 0), C(X, -1, keepdim=True), C(X, (2, 0)), C("f32[n,m]", 1), C("f32[3,0]", 1)),
        *(
            "bf16[5]",
            "f32[]",
            "c64[4]",
            C("i64[4]", dtype=torch.float32),
            C("f32[2,13] special", 1),
        ),
    )
op(
    "torch.sum",
    "i64[n,3]",
    "i32[5]",
    "u8[6] extreme",
    "i8[8] extreme",
    "bool[n,4]",
    "i64[8] extreme",
)
op(
    "torch.sum",
    C("i32[5]", dtype=torch.int32),
    C("f32[2,3]", dtype=torch.float64),
    C("f32[2,3]", []),
)
op("torch.sum", C("bool[n,4]", 1, dtype=torch.bool), C("f32[4] sparse", dtype=torch.bool))
op("torch.mean", C("i64[n,3]", 1, dtype=torch.float32), C("bool[2,3]", 0, dtype=torch.float64))
for axes in (None, 0, 1, (0, 2), (1, 2), (0, 1)):
    op(
        f"sum of products over {axes}",
        *(C(X, "f32[4]"), C("f64[2,3,5]", "f64[3,1]"), C("bf16[2,3,5]", "bf16[3,5]")),
        function=lambda x, y, axes=axes: (x * y).sum(axes),
    )
op("torch.all", "c64[5] sparse", C("c64[3,2] sparse", 1))
op("torch.any", "c64[5] sparse", C("c64[3,2] zero", 0))
op("torch.any", C("f32[]", 0), C("u8[] zero", -1))
op("torch.all", C("f32[]", -1, keepdim=True))
op("torch.var", "c64[6]", C("c64[3,4]", 1))
op("torch.std", C("c64[3,4]", 0))
op("torch.var_mean", C("c64[3,4]", 1, keepdim=True))
op("torch.nansum", "f32[3] special", C("f32[n,3]", 1))
op("torch.nanmean", "f32[1] special", C("f32[n,3]", 1))
op("torch.prod", X, C("f32[n,3]", 1), C("f32[n,3]", 0, keepdim=True), "i64[5]", "f32[0]", "bool[3]")
op("torch.prod", "f64[5]", "f16[4]", C("i32[3]", dtype=torch.float32), "f32[]")

for name in ("var", "std"):
    op(
        f"torch.{name}",
        *(X, C(X, 1), C(X, (0, -1), keepdim=True), C("f32[n,3]", 0, correction=0)),
    )
op("torch.var", "f64[5]", C("f16[2,7]", 1), C("f32[1,3]", 0), C("f32[4,3]", 0, correction=2))
op("torch.var_mean", C(X, 1), C("f32[4] positive"))
op("torch.std_mean", C(X, 1, keepdim=True))
op(
    "torch.logsumexp",
    C(X, 1),
    C(X, (0, 2), keepdim=True),
    C("f32[13] special", 0),
    C("f32[3,0]", 1),
)
op("torch.cov", "f32[3,5]")
op("torch.corrcoef", "f32[3,5]")

for name in ("amax", "amin"):
    op(
        f"torch.{name}",
        *(X, C(X, (2, 0), keepdim=True), C("i64[n,3]", -1), C("f32[2,13] special", 1)),
        accuracy=CHOICE,
    )
op("torch.amax", C("u8[6] extreme", 0), C("bool[2,3]", 1), C("f32[]", 0), accuracy=CHOICE)
for name in ("max", "min"):
    op(
        f"torch.{name}",
        *(X, C("f32[n,3]", 0), C("f32[2,5] distinct", -1), C("f32[3,4]", 1, keepdim=True)),
        *("i64[8] extreme", "f32[13] special", C("f32[3,7] ties", 1)),
        accuracy=CHOICE,
    )
op("torch.max", "i8[8] extreme", "u8[6] extreme", "bool[4]", "f64[]", accuracy=CHOICE)
op("torch.min", C("i32[2,5] distinct", 1), accuracy=CHOICE)
for name in ("argmax", "argmin"):
    op(
        f"torch.{name}",
        *("f32[n,4] distinct", C("f32[n,4] distinct", 1), C("f32[3,7] ties", 1)),
        C("f32[2,13] special", -1),
    )
op("torch.argmax", C("i64[3,4] distinct", 0, keepdim=True), "f32[]", "i64[5] ties")
op("torch.aminmax", "f32[n,3]", C("f32[n,3]", dim=1), accuracy=CHOICE)
op(
    "torch.all",
    "bool[n,3]",
    C("bool[n,3]", 1),
    C("f32[3,4] ties", -1, keepdim=True),
    "bool[0]",
    "u8[4] ties",
)
op(
    "torch.any",
    "bool[n,3]",
    C("bool[n,3]", 0),
    C("f32[3,4] ties", -1, keepdim=True),
    "bool[0]",
    C("i64[2,3,2] ties", (0, 2)),
)
op("torch.count_nonzero", "f32[n,3] ties", C("i64[3,4] ties", 1))

op(
    "torch.norm",
    X,
    C(X, dim=1),
    C(X, 1, dim=(0, 1)),
    C("f32[4]", float("inf")),
    C("f32[3,4]", "fro"),
)
op(
    "torch.linalg.vector_norm",
    X,
    C(X, 1, (0, 2)),
    C(X, 3, 1),
    C("f32[n,3]", 0, 1),
    C("f64[4]", float("-inf")),
    *(C("f32[]", order, 0, True) for order in (0, 0.5, 2, float("inf"), float("-inf"))),
    C("c64[]", float("inf"), 0),
)
op("torch.linalg.norm", "f32[n,3]", C("f32[3,4]", 1), C("f32[3,4]", "fro", (0, 1)), C("f32[4]", 1))

for name in ("cumsum", "cumprod"):
    op(
        f"torch.{name}",
        *(C("f32[n,3]", 0), C("f32[2,n]", -1), C("i64[4]", 0), C("f64[5]", 0), C("f16[5]", 0)),
        *(C("f32[0]", 0), C("f32[]", 0), C("i32[3,2]", 1), C("bool[4]", 0)),
    )
op(
    "torch.cumsum",
    C("f32[4]", 0, dtype=torch.float64),
    C("u8[6] extreme", 0),
    C("f32[13] special", 0),
)
op("torch.cumprod", C("c64[3,5]", 1), C("c64[2,n]", -1))
for name in ("cummax", "cummin"):
    op(
        f"torch.{name}",
        *(C("f32[n,3]", 0), C("f32[2,13] special", 1), C("i64[3,n] ties", -1), C("f32[5000]", 0)),
        *(C("u8[7] extreme", 0), C("bool[2,4]", 1), C("f32[]", 0), C("f32[2,0]", 1)),
        accuracy=EXACT,
    )
# For a single number, this is the logarithm of its exponential.
op("torch.logcumsumexp", C("f32[n,3]", 0), C("c64[3,5]", 1), accuracy=Accuracy(16, "worst"))
op("torch.diff", "f32[5]", C("f32[3,4]", dim=0), C("i64[5]", n=2))
op("torch.median", "f32[5] distinct", C("f32[3,5] distinct", 1), "i64[4] distinct", accuracy=EXACT)
op("torch.nanmedian", "f32[5] distinct", accuracy=EXACT)
op("torch.quantile", C("f32[5]", 0.3), C("f32[3,5]", 0.5, dim=1))
op("torch.mode", "i64[5] ties", accuracy=EXACT)
op(
    "torch.mode of long rows",
    *("f32[2,n] ties", "i64[5000] ties"),
    # Eager returns any index of the mode if a row has more than 16 elements.
    function=lambda x: (torch.mode(x).values, x.gather(-1, torch.mode(x, keepdim=True).indices)),
    accuracy=EXACT,
)
op("torch.histc", C("f32[9] ties", 3, 0, 3), C("f32[20]", 5), C("f32[2,0]", 3), accuracy=EXACT)
op("torch.bincount", C("i64[7] <4", minlength=6), C("i64[7] <4", "f32[7]", minlength=4))
op("torch.median", "f32[]", C("f32[2,13] special", 1), C("i64[3,4] ties", 0, True), accuracy=EXACT)
op("torch.nanmedian", "f32[13] special", C("f32[2,13] special", 1, True), "f32[]", accuracy=CHOICE)
op("torch.mode", "f32[13] special", C("f32[3,7] ties", 0), C("bool[3,4]", 1, True), accuracy=CHOICE)
op("torch.max", C("f32[]", 0), C("i64[]", -1, keepdim=True), accuracy=EXACT)
op("torch.amin", C("f32[]", 0), accuracy=EXACT)
op("torch.prod", C("f32[]", 0))
op("torch.var", C("f32[0,3]", 0))
op("torch.std_mean", C("f32[0,3]", 0))
op("torch.cumprod", C("i64[4]", 0, dtype=torch.float32), C("bool[4]", 0, dtype=torch.float64))
op(
    "torch.logcumsumexp",
    *(C("f32[2,13] special", 1), C("f32[]", 0), C("bf16[40]", 0), C("f64[5]", 0)),
    accuracy=Accuracy(16, "worst"),
)
op("torch.cov", "f32[5]", C("f64[3,5]", correction=0))
op(
    "torch.cov with weights",
    C("f32[3,4]", "i64[4] positive", "f32[4] positive"),
    function=lambda x, f, a: torch.cov(x, fweights=f, aweights=a),
)
op("torch.corrcoef", "f32[5]", "c64[3,5]")
op("torch.cumprod", C("u8[6] extreme", 0, dtype=torch.uint8), C("i64[4]", 0, dtype=torch.int8))
op("torch.cov", "i64[3,5]")
op(
    "torch.cdist",
    C("f32[2,3,4]", "f32[5,4]"),
    C("f32[2,3]", "f32[4,3]", 0.0),
    C("f32[3,0]", "f32[2,0]"),
)
op("torch.cdist", C("f32[2,3]", "f32[4,3]", float("inf")), C("f64[2,3]", "f64[4,3]", 3.5))
op("torch.cdist", C("f32[3,13] special", "f32[2,13]", 0.0), accuracy=EXACT)
op("F.pdist", "f32[4,3]", C("f32[3,2]", 1.0), "f32[1,3]")
op(
    "torch.histogram",
    C("f32[9] ties", 3),
    C("f32[20]", 4, range=(-2.0, 2.0), density=True),
    accuracy=SUMS,
)
op(
    "torch.histogramdd",
    *(C("f32[9,2] ties", (3, 2)), C("f64[7,3]", (2, 1, 3), range=(-2.0, 2.0, -1.0, 1.0, 0.0, 3.0))),
    *(C("f32[4,2,2]", [2, 3], density=True), C("f32[0,2]", (2, 2))),
    accuracy=SUMS,
)
op(
    "torch.histogramdd with edges and weights",
    C("f32[13,1] special", "f32[13]"),
    C("f32[2,4,2]", "f32[2,4]"),
    function=lambda x, weight: torch.histogramdd(
        x, [torch.tensor([-2.5, 0.0, 1.0, 3.0])] * x.shape[-1], weight=weight
    ),
    accuracy=SUMS,
)
op("torch.histogram", C("f32[13] special", torch.tensor([-1.0, 0.0, 1.0, 3.0])), accuracy=EXACT)
op("torch.bincount", "i64[5] zero", "u8[6] <9")
op(
    "torch.scatter_reduce",
    C("i64[3]", 0, torch.tensor([0, 0, 2, 2]), "i64[4]", "mean"),
    accuracy=EXACT,
)
op("torch.trapezoid", "f32[n]", C("f32[3,4]", dx=0.5))
op("torch.renorm", C("f32[3,4]", 2, 0, 1.0))
