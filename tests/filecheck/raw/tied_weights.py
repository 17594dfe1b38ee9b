# RUN: unmess import %s:model --to raw | filecheck %s

# A tensor with two names is one argument.

import torch

# CHECK-LABEL: func.func @main(
# CHECK-SAME:    %tokens: !torch.vtensor<[3],si64> {unmess.input = "tokens"},
# CHECK-SAME:    %[[W:[a-z.]+weight]]: !torch.vtensor<[10,4],f32> {unmess.weight = "{{[a-z.]+}}"})
# CHECK:         torch.aten.embedding %[[W]],
# CHECK:         torch.aten.permute %[[W]],


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(10, 4)
        self.head = torch.nn.Linear(4, 10, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.embedding(tokens))


def model():
    return Tied().eval(), (torch.tensor([1, 2, 3]),)
