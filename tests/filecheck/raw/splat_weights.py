# RUN: unmess import %s:model --to raw --weights splat | filecheck %s

# Each weight becomes a splat of its first element, for every dtype. Small constants of the program
# are not weights and are kept. Buffers that the model writes stay arguments.

import torch

# CHECK-LABEL: func.func @main(
# CHECK-SAME:    %x: !torch.vtensor<[2],f32> {unmess.input = "x"},
# CHECK-SAME:    %calls: !torch.vtensor<[],si64> {unmess.state = "calls"})
# CHECK-DAG:     torch.vtensor.literal(dense<5.000000e-01> : tensor<100x2xf32>)
# CHECK-DAG:     torch.vtensor.literal(dense<true> : tensor<2xi1>)
# CHECK-DAG:     torch.vtensor.literal(dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>)
# CHECK-NOT:     dense_resource


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(0.5, 200).reshape(100, 2))
        self.register_buffer("mask", torch.tensor([True, False]))
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.calls.add_(1)
        offsets = torch.tensor([1.0, 2.0])
        return self.weight @ torch.where(self.mask, x, offsets)


def model():
    return Net(), (torch.randn(2),)
