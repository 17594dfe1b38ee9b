"""Tensors made from numbers, or like another tensor."""

import torch

from unmess.conformance.operators.case import EXACT, Accuracy, C, Table

TABLE = Table("Creation", EXACT)
op = TABLE.op

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int8)
DTYPES += (torch.uint8, torch.bool, torch.complex64)
for dtype in DTYPES:
    op("torch.ones_like", C("f32[n,3]", dtype=dtype))
    op("torch.full", C((3,), 1, dtype=dtype))
op("torch.zeros", C((0, 2)), C(()))
op("torch.ones", C((2, 3)), C((2,), dtype=torch.int32))
op("torch.zeros_like", "f32[n,3]", "bool[n]", "i64[2,0]")
op(
    "torch.full",
    C((2, 3), 1.5),
    C((2,), True),
    C((), -7),
    C((2,), float("inf")),
    C((2,), float("nan")),
)
op("torch.full_like", C("f32[n,3]", 2), C("i64[3]", 2.7), C("f32[3]", True, dtype=torch.bool))
op("Tensor.new_zeros", C("f32[n]", (2, 3)), C("f64[2]", (2,), dtype=torch.int64))
op("Tensor.new_ones", C("i32[n]", (2, 3)))
op("Tensor.new_full", C("f32[n]", (2,), 3.5), C("i64[2]", (2,), 3))
op("torch.zeros(x.shape[0])", "f32[n,3]", function=lambda x: torch.zeros(x.shape[0]))
op("torch.arange(x.shape[0])", "f32[n,3]", function=lambda x: torch.arange(x.shape[0]))
op("torch.ones(x.shape) * 2", "f32[n,m]", function=lambda x: torch.ones(x.shape[0], x.shape[1]) * 2)
op("torch.full((n, 2), n)", "f32[n]", function=lambda x: torch.full((x.shape[0], 2), 7.0))
ROUNDED = Accuracy(1)
op(
    "torch.arange",
    C(5),
    C(2, 9, 3),
    C(5, 0, -2),
    C(0),
    C(0, 1, 0.25),
    C(1.5, 4),
    C(4, dtype=torch.float16),
)
op(
    "torch.arange",
    C(3, dtype=torch.int32),
    C(-2, 2, dtype=torch.float64),
    C(0, 1, 0.1),
    accuracy=ROUNDED,
)
op(
    "torch.linspace",
    C(0, 1, 5),
    C(-1, 1, 4),
    C(3, 3, 2),
    C(0, 1, 1),
    C(0, 9, 4, dtype=torch.float64),
    accuracy=ROUNDED,
)
op("torch.logspace", C(0, 2, 3), accuracy=Accuracy(4))
op("torch.eye", C(3), C(2, 4), C(3, dtype=torch.int64), C(2, dtype=torch.bool), C(0))
op("torch.tril_indices", C(3, 4), C(3, 3, -1))
op("torch.triu_indices", C(3, 4, 1))
op("torch.scalar_tensor", C(2.5), C(3, dtype=torch.int64))
op("torch.tensor", C(2.5), C([1, 2, 3]), C([[1.0, 2.0], [3.0, 4.0]]), C([True, False]), C([]))
op("torch.as_tensor", C([1.0, 2.0]))
op("torch.empty_like(x).fill_(3)", "f32[n,3]", function=lambda x: torch.empty_like(x).fill_(3))
op("torch.empty(2, 3).zero_()", C("f32[1]"), function=lambda _x: torch.empty(2, 3).zero_())
op(
    "torch.empty_strided(…).copy_(x)",
    "f32[2,3]",
    function=lambda x: torch.empty_strided((2, 3), (1, 2)).copy_(x),
)
op("torch.hann_window", C(5), C(4, periodic=False), accuracy=Accuracy(4))
op("torch.hamming_window", C(5), C(4, False, 0.5, 0.4), C(1), C(0), accuracy=Accuracy(4))
for name in ("blackman", "bartlett"):
    op(f"torch.{name}_window", C(5), C(8, periodic=False), C(1), accuracy=Accuracy(8))
# The rounding of each place is multiplied by beta, which is 12.
op(
    "torch.kaiser_window",
    *(C(5), C(8, periodic=False), C(4, True, 3.5, dtype=torch.float64)),
    accuracy=Accuracy(32),
)
op(
    "torch.one_hot of torch.arange",
    C("f32[1]"),
    function=lambda _x: torch.nn.functional.one_hot(torch.arange(3), 4),
)
op("torch.fft.fftfreq", C(7, 0.5), C(6), function=torch.fft.fftfreq, accuracy=ROUNDED)
op("torch.fft.rfftfreq", C(7), function=torch.fft.rfftfreq, accuracy=ROUNDED)
for name in ("tril_indices", "triu_indices"):
    op(f"torch.{name}", C(3, 4, 1, dtype=torch.int32))
