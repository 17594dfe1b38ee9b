"""Random operators. They have eager's distribution, but other numbers, equal in each run."""

import torch
import torch.nn.functional as F

from unmess.conformance.operators.case import SAMPLES, C, Table

TABLE = Table("Random", SAMPLES)
op = TABLE.op

X = "f32[40,50] zero"
op("torch.rand", C((40, 50)), C((40, 50), dtype=torch.float64), C((40, 50), dtype=torch.float16))
op("torch.randn", C((40, 50)), C((40, 50), dtype=torch.float64))
op("torch.rand_like", X)
op("torch.randn_like", X, "f16[40,50] zero", "c64[20,50] zero")
op("torch.rand", C((20, 50), dtype=torch.complex64))
op("torch.randint", C(0, 10, (40, 50)), C(-3, 3, (40, 50)), C(5, (2000,), dtype=torch.int32))
op("torch.randint", C(5, (2000,), dtype=torch.float32), C(-3, 9, (2000,), dtype=torch.float64))
op("torch.randint_like", C(X, 0, 7), C("i64[40,50]", 5))
op("torch.randperm", C(2000))
op("torch.bernoulli", "f32[40,50] positive", function=lambda x: torch.bernoulli(x / 3.1))
op("Tensor.bernoulli_", X, function=lambda x: x.clone().bernoulli_(0.3))
op("Tensor.uniform_", X, function=lambda x: x.clone().uniform_(-2, 5))
op("Tensor.normal_", X, function=lambda x: x.clone().normal_(1, 3))
op("Tensor.exponential_", X, function=lambda x: x.clone().exponential_(2))
op("torch.normal", C(X, 2.0), C(1.0, 2.0, (40, 50)), C(1.0, 2.0, (900,), dtype=torch.complex64))
op("Tensor.uniform_", "c64[900] zero", function=lambda x: x.clone().uniform_(-2, 5))
op("Tensor.normal_", "c64[900] zero", function=lambda x: x.clone().normal_(1, 3))
op("torch.multinomial", C("f32[5] positive", 2000, replacement=True))
op("F.dropout", C("f32[40,50] positive", 0.25, training=True))
op(
    "F.dropout1d",
    C("f32[500,2,4] positive", 0.5),
    function=lambda x, p: F.dropout1d(x, p, training=True),
)
op("F.gumbel_softmax", C("f32[500,4] zero"), function=lambda x: F.gumbel_softmax(x, hard=True))
op("torch.rand(x.shape)", "f32[n,700]", function=torch.rand_like)
op("Tensor.cauchy_", X, function=lambda x: x.clone().cauchy_())
op("Tensor.exponential_", "bf16[40,50]", function=lambda x: x.clone().exponential_())
op("Tensor.geometric_", "i64[40,50]", function=lambda x: x.clone().geometric_(0.5))
op("Tensor.geometric_", X, function=lambda x: x.clone().geometric_(0.3))
op("Tensor.log_normal_", X, function=lambda x: x.clone().log_normal_())
op("torch.poisson", "f32[n,50] positive", "f16[40,50] positive")
op("torch.poisson of large rates", "f64[40,50]", function=lambda x: torch.poisson(x * x * 20))
