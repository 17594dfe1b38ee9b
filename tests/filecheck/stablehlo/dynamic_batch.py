# RUN: unmess import %s:model --to stablehlo --dynamic x.0=batch:2..8 | filecheck %s

# Broadcasts are marked as not expanding the dynamic batch. Without this, no lowering of StableHLO to
# linalg accepts them. Weights keep their names.

import torch

# CHECK:      func.func @main(%x: tensor<?x4xf32> {unmess.input = "x"}, %weight: tensor<4xf32> {unmess.weight = "weight"})
# CHECK-SAME: -> tensor<?x4xf32>
# CHECK:      stablehlo.dynamic_broadcast_in_dim %x, {{.*}} {known_nonexpanding_dimensions = array<i64: 0>}


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(4))

    def forward(self, x):
        return x * self.weight


def model():
    return Scale(), (torch.randn(2, 4),)
