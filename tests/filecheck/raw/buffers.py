# RUN: unmess import %s:model --to raw | filecheck %s

# A buffer that is not in the state dict is a weight. A buffer that the model writes is state, and
# its new value is a result after the model's own results.

import torch

# CHECK-LABEL: func.func @main(
# CHECK-SAME:    {unmess.input = "x"}
# CHECK-DAG:     %steps: !torch.vtensor<[],si64> {unmess.state = "steps"}
# CHECK-DAG:     %scale: !torch.vtensor<[100],f32> {unmess.weight = "scale"}
# CHECK:       -> (!torch.vtensor<[100],f32>, !torch.vtensor<[],si64>)
# CHECK:         %[[NEXT:[0-9]+]] = torch.aten.add.Scalar %steps,
# CHECK:         return %{{[0-9]+}}, %[[NEXT]]


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.tensor(0))
        self.register_buffer("scale", torch.arange(100.0), persistent=False)

    def forward(self, x):
        self.steps += 1
        return x * self.scale * self.steps


def model():
    return Counter().eval(), (torch.randn(100),)
