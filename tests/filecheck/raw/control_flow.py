# RUN: unmess-each %s raw | filecheck %s

# A branch becomes two functions. One is called, with the weights and inputs that it reads.

import torch

# CHECK-LABEL: branch:
# CHECK:         func.func {{.*}}@main(
# CHECK-SAME:    {unmess.weight = "layer.weight"}
# CHECK:         torch.prim.If
# CHECK:           call @
# CHECK:         } else {
# CHECK:           call @


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2, bias=False)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.layer(x), lambda x: x * 2, (x,))


def branch():
    return Model(), (torch.ones(2, 2),)
