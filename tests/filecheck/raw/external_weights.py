# RUN: unmess import %s:model --to raw | filecheck %s

# Weights are arguments after the call's own arguments, with their names in the state dict. A weight
# that no operator uses (`num_batches_tracked`) is omitted.

import torch

# CHECK-LABEL: func.func @main(
# CHECK-SAME:    %x: !torch.vtensor<[1,3,8,8],f32> {unmess.input = "x"}
# CHECK-SAME:    %conv.weight: !torch.vtensor<[4,3,3,3],f32> {unmess.weight = "conv.weight"}
# CHECK-SAME:    %norm.running_var: !torch.vtensor<[4],f32> {unmess.weight = "norm.running_var"}
# CHECK-NOT:     num_batches_tracked
# CHECK:         torch.aten.convolution %x, %conv.weight


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, bias=False)
        self.norm = torch.nn.BatchNorm2d(4)

    def forward(self, x):
        return self.norm(self.conv(x))


def model():
    return Net().eval(), (torch.randn(1, 3, 8, 8),)
