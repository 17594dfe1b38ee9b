# RUN: unmess import %s --to torch --backend-legal-op aten.softmax.int --backend-legal-op aten.gelu | filecheck %s
# RUN: unmess import %s --to torch | filecheck %s --check-prefix APART

# What a backend keeps is taken apart neither at the capture nor on the way to torch.

import torch

# CHECK:       torch.aten.softmax.int
# CHECK-NEXT:  torch.aten.gelu
# CHECK-NOT:   torch.aten.silu

# APART-NOT:   torch.aten.{{softmax.int|gelu|silu}}


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.silu(
            torch.nn.functional.gelu(torch.softmax(x, 1), approximate="tanh")
        )


def model():
    return Model(), (torch.randn(2, 4),)
