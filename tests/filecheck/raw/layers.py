# RUN: unmess import %s:model --to raw --locations | filecheck %s --check-prefix=RAW
# RUN: unmess import %s:model --to linalg --locations | filecheck %s --check-prefix=LINALG

# Locations name the module of the model that an operation is in, and keep the source line.

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.act = torch.nn.ReLU()

    def forward(self, x):
        # The second call of the same module is in the same layer.
        return self.act(self.act(x) - 1) * 2


# RAW-COUNT-2: torch.aten.relu {{.*}} loc(#[[RELU:loc[0-9]*]])
# RAW: torch.aten.mul.Scalar {{.*}} loc(#[[MUL:loc[0-9]*]])
# RAW-DAG: #[[MUL]] = loc(fused<{class = "Model", layer = ""}>[#[[LINE:loc[0-9]*]]])
# RAW-DAG: #[[LINE]] = loc("{{.*}}layers.py":16:0)

# LINALG: #[[RELU:loc[0-9]*]] = loc(fused<{class = "ReLU", layer = "act"}>
# LINALG: arith.select {{.*}} loc(#[[RELU]])


def model():
    return Model(), (torch.randn(3),)
