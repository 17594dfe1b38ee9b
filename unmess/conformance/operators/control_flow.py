"""Branches and loops that depend on values."""

import torch
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from unmess.conformance.operators.case import SUMS, C, Table

TABLE = Table("Control flow", SUMS)
op = TABLE.op

BOTH = {"calls": (("f32[3] negative",), ("f32[3] zero",))}


def _nested(x):
    return torch.cond(
        x.sum() > 1, lambda x: torch.cond(x.max() > 2, torch.sin, torch.cos, (x,)), torch.neg, (x,)
    )


def _count(x):
    def step(i, x):
        return i + 1, x * 2

    return while_loop(
        lambda i, x: (i < 9) & (x.sum() < 50), step, (torch.zeros((), dtype=torch.int64), x)
    )


op(
    "torch.cond(x.sum() > 0, …)",
    C("f32[3] positive", **BOTH),
    function=lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)),
)
op(
    "torch.cond(flag, …)",
    C("bool[]", "f32[n]"),
    function=lambda p, x: torch.cond(p, lambda x: x + 1, lambda x: x * 2, (x,)),
)
op(
    "torch.cond with two results",
    C("f32[3] positive", **BOTH),
    function=lambda x: torch.cond(
        x[0] > 0, lambda x: (x * 3, x.sum()), lambda x: (-x, x.prod()), (x,)
    ),
)
op("torch.cond in torch.cond", C("f32[3] positive", **BOTH), function=_nested)
op(
    "torch.cond on integers",
    C("i64[3]", calls=(("i64[3] positive",),)),
    function=lambda x: torch.cond((x > 0).all(), lambda x: x // 2, lambda x: x * 3, (x,)),
)
op(
    "while_loop",
    C("f32[3] positive", calls=(("f32[3] zero",), ("f32[3] negative",))),
    function=_count,
)
op(
    "while_loop on a number",
    C("i64[] positive", calls=(("i64[] zero",),)),
    function=lambda n: while_loop(
        lambda n, s: n > 0, lambda n, s: (n - 1, s + n), (n, torch.zeros((), dtype=torch.int64))
    ),
)
op(
    "while_loop on computed values",
    C("f32[3] positive", calls=(("f32[3] zero",), ("f32[3] negative",))),
    function=lambda x: while_loop(
        lambda rest, x: rest > 0, lambda rest, x: (rest - 0.25, x + 1), ((x * 2).sum(), x * 2)
    ),
)
op("a Python loop", "f32[n,3]", function=lambda x: sum(x[:, i] * i for i in range(3)))
op("a Python branch on a size", "f32[n,3]", function=lambda x: x + 1 if x.shape[1] > 2 else x)
op(
    "scan",
    "f32[4,3]",
    function=lambda x: scan(lambda total, row: (total + row, total * row), x[0] * 0, x),
)
op(
    "associative_scan",
    "f32[4,3]",
    function=lambda x: associative_scan(torch.add, x, 0, combine_mode="generic"),
)
op("torch.where instead of a branch", "f32[n]", function=lambda x: torch.where(x > 0, x.sqrt(), -x))
op("torch.vmap", "f32[n,3]", function=lambda x: torch.vmap(lambda row: row / row.sum())(x))
op("torch.func.grad", "f32[3]", function=lambda x: torch.func.grad(lambda x: (x * x).sum())(x))
op("a size that a value decides", C("i64[] <4", "f32[5]"), function=lambda n, x: _cut(n, x))


def _cut(n, x):
    size = n.item()
    torch._check(size >= 0)
    torch._check(size <= 5)
    return x[:size]
