"""Gathering and scattering by indices and masks."""

import torch
import torch.nn.functional as F

from unmess.conformance.operators.case import EXACT, SUMS, C, Table

TABLE = Table("Indexing and scatter", EXACT)
op = TABLE.op

op(
    "torch.gather",
    C("f32[n,4]", 1, "i64[n,2] <4"),
    C("f32[3,4]", 0, "i64[2,4] <3"),
    C("i64[5]", -1, "i64[3] <5"),
)
op("torch.gather", C("f16[2,3]", 1, "i64[2,0] <3"), C("bool[2,3]", 1, "i64[2,2] <3"))
op("torch.take_along_dim", C("f32[3,4]", "i64[3,2] <4", 1), C("f32[3,4]", "i64[1,4] <3", 0))
op("torch.take", C("f32[3,4]", "i64[5] <12"), C("i64[5]", "i64[2,2] <5"))
op(
    "torch.index_select",
    C("f32[4,n]", 0, "i64[3] <4"),
    C("f32[n,4]", 1, "i32[2] <4"),
    C("f32[3]", 0, "i64[0]"),
)
op("torch.index_select", C("i8[4,2]", -2, "i64[3] <4"))
for name in ("scatter", "scatter_add"):
    op(
        f"torch.{name}",
        *(C("f32[n,4]", 1, "i64[n,1] <4", "f32[n,1]"), C("f32[3,4]", 0, "i64[1,4] <3", "f32[2,4]")),
        *(
            C("i64[2,3]", -1, "i64[2,1] <3", "i64[2,3]"),
            C("f32[3,2]", 0, "i64[0,2] <3", "f32[1,2]"),
        ),
        accuracy=EXACT if name == "scatter" else SUMS,
    )
op("torch.scatter", C("f32[3,4]", 1, "i64[3,1] <4", 7.0), C("bool[2,3]", 1, "i64[2,1] <3", True))
op(
    "torch.scatter_add",
    C("f32[3]", 0, "i64[7] <3", "f32[7]"),
    C("i64[3]", 0, "i64[7] <3", "i64[7]"),
    accuracy=SUMS,
)
for how in ("sum", "prod", "amax", "amin", "mean"):
    op(
        "torch.scatter_reduce",
        C("f32[3]", 0, "i64[7] <3", "f32[7]", how),
        C("f32[2,3]", 1, "i64[2,4] <3", "f32[2,4]", how, include_self=False),
        accuracy=SUMS,
    )
op("torch.scatter_reduce", C("i64[3]", 0, "i64[7] <3", "i64[7]", "amax"))
op(
    "torch.index_add",
    C("f32[4,n]", 0, "i64[3] <4", "f32[3,n]"),
    C("f32[2,3]", 1, "i64[2] <3", "f32[2,2]", alpha=2),
    accuracy=SUMS,
)
op(
    "torch.index_copy",
    C("f32[4,n]", 0, "i64[1] <4", "f32[1,n]"),
    C("f32[2,4]", 1, "i64[1] <4", "f32[2,1]"),
)
op(
    "torch.index_fill",
    C("f32[4,n]", 0, "i64[2] <4", 7.0),
    C("i64[2,4]", 1, "i64[2] <4", -1),
    C("f32[3]", 0, "i64[0]", 1.0),
)
op("torch.index_reduce", C("f32[3]", 0, "i64[5] <3", "f32[5]", "amax"))
op(
    "torch.index_put",
    C("f32[4,n]", ("i64[1] <4",), "f32[n]"),
    C("f32[4,3]", ("i64[2] <4", "i64[2] <3"), "f32[2]", accumulate=True),
    accuracy=SUMS,
)
op(
    "torch.masked_fill",
    C("f32[n,3]", "bool[n,3]", 0.5),
    C("f32[2,3]", "bool[3]", float("-inf")),
    C("i64[4]", "bool[4]", 7),
)
op("torch.masked_fill", C("f32[n,3]", "bool[n,1]", "f32[]"), C("bool[3]", "bool[3]", True))
op(
    "torch.masked_select",
    C("f32[n,3]", "bool[n,3]"),
    C("i64[4]", "bool[4]"),
    C("f32[2,3]", "bool[3]"),
)
op("torch.masked_scatter", C("f32[2,3]", "bool[2,3]", "f32[6]"))
op("torch.select_scatter", C("f32[n,3]", "f32[n]", 1, 2), C("f32[3,2]", "f32[2]", 0, -1))
op("torch.slice_scatter", C("f32[n,4]", "f32[n,2]", 1, 1, 3), C("f32[5]", "f32[2]", 0, 0, 4, 2))
op("torch.diagonal_scatter", C("f32[3,3]", "f32[3]"), C("f32[3,4]", "f32[3]", 1))

op(
    "x[i]",
    C("f32[5,n]", "i64[3] <5"),
    C("i64[5]", "i64[2,2] <5"),
    C("f32[5,2]", "i64[] <5"),
    C("f32[5]", "i64[0]"),
    function=lambda x, i: x[i],
)
op(
    "x[:, i]",
    C("f32[n,5]", "i64[3] <5"),
    C("f32[2,5,3]", "i64[2] <5"),
    function=lambda x, i: x[:, i],
)
op(
    "x[i, j]",
    C("f32[4,5]", "i64[3] <4", "i64[3] <5"),
    C("f32[4,5]", "i64[2,1] <4", "i64[3] <5"),
    function=lambda x, i, j: x[i, j],
)
op("x[i, :, j]", C("f32[4,n,5]", "i64[3] <4", "i64[3] <5"), function=lambda x, i, j: x[i, :, j])
op("x[-i]", C("f32[5,n]", "i64[3] <5"), function=lambda x, i: x[-1 - i])
op(
    "x[mask]",
    C("f32[n,3]", "bool[n]"),
    C("f32[n,3]", "bool[n,3]"),
    C("i64[4]", "bool[4]"),
    function=lambda x, m: x[m],
)


def _assigned(x, place, value):
    x = x.clone()
    x[place] = value
    return x


op(
    "x[mask] = y",
    *(
        C("f32[n,3]", "bool[n,3]", "f32[]"),
        C("f32[4,3]", "bool[4]", "f32[3]"),
        C("i64[4]", "bool[4]", 7),
    ),
    function=_assigned,
)
op(
    "x[i] = y",
    C("f32[5,n]", "i64[1] <5", "f32[n]"),
    C("i64[5]", "i64[2] <5", -1),
    function=_assigned,
)
op(
    "x[1:3] = y",
    C("f32[5,n]", "f32[2,n]"),
    C("i64[5]", 3),
    function=lambda x, y: _assigned(x, slice(1, 3), y),
)
op(
    "x[:, ::2] = y",
    C("f32[n,5]", "f32[3]"),
    function=lambda x, y: _assigned(x, (slice(None), slice(None, None, 2)), y),
)
op(
    "x[..., 0] += y",
    C("f32[n,3]", "f32[n]"),
    function=lambda x, y: _assigned(x, (..., 0), x[..., 0] + y),
)
op("x[x > 0]", "f32[7]", "i64[n]", function=lambda x: x[x > 0])
op(
    "x[i] += y",
    C("f32[5]", "i64[4] <5", "f32[4]"),
    function=lambda x, i, y: x.index_put((i,), y, accumulate=True),
    accuracy=SUMS,
)
op(
    "embedding by one-hot",
    C("i64[n] <4", "f32[4,3]"),
    function=lambda i, w: F.one_hot(i, 4).to(w.dtype) @ w,
    accuracy=SUMS,
)
# Masks with accumulation, and masks combined with other indices.
for accumulate in (False, True):
    op(
        f"x.index_put((mask, i), y, {accumulate})",
        C("f32[3,4]", torch.tensor([True, False, True]), torch.tensor([-1, 2]), "f32[2]"),
        function=lambda x, m, i, y, accumulate=accumulate: x.index_put((m, i), y, accumulate),
    )
    op(
        f"x.index_put((mask,), y, {accumulate})",
        *(C("f32[3,4]", "bool[3]", "f32[4]"), C("f32[3,4]", "bool[3,4]", "f32[]")),
        C("f32[3,4]", torch.tensor([True, False, True]), "f32[2,4]"),
        function=lambda x, m, y, accumulate=accumulate: x.index_put((m,), y, accumulate),
    )
op("torch.masked_select", C("f32[]", "bool[]"), C("f32[3,1]", "bool[4]"))
op("torch.nonzero", "f32[]", "bool[1]")
op("torch.gather", C("f32[]", 0, "i64[] <1"))
op("torch.scatter", C("f32[3,2]", 0, "i64[2,2] <3", "f32[2,2]", reduce="multiply"))
op(
    "torch.scatter",
    C("f32[3]", 0, "i64[4] <3", 2.5, reduce="add"),
    C("f32[]", 0, "i64[] <1", "f32[]"),
)
for reduce in ("prod", "mean", "amax", "amin"):
    op(
        "torch.index_reduce",
        C("f32[3,2]", 0, "i64[4] <3", "f32[4,2]", reduce),
        C("f32[3,2]", -1, "i32[3] <2", "f32[3,3]", reduce, include_self=False),
    )
op("torch.put", C("f32[3,2]", torch.tensor([[-1, 0]]), "f32[2]"))
op("torch.put", C("f32[3,2]", torch.tensor([1, 1, -5]), "f32[3]", accumulate=True))
op(
    "torch.diagonal_scatter",
    C("f32[2,3,4]", "f32[3,2]", 1, 0, 2),
    C("f32[2,5,3]", "f32[2,3]", 2, 2, 1),
)
# Sums of booleans.
op("torch.scatter_add", C("bool[4]", 0, "i64[7] <4", "bool[7]"))
for how in ("sum", "prod", "amax", "amin"):
    op("torch.scatter_reduce", C("bool[4]", 0, "i64[7] <4", "bool[7]", how))
op("torch.index_add", C("bool[4]", 0, "i64[7] <4", "bool[7]"))
op("torch.put", C("bool[4]", "i64[7] <4", "bool[7]", accumulate=True))
op("torch.scatter", C("c64[3,4]", 1, "i64[3,1] <4", "c64[3,1]"))
