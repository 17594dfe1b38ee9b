# RUN: unmess import %s --to torch --backend-legal-op aten.softmax.int --backend-legal-op aten.gelu | filecheck %s
# RUN: unmess import %s --to torch | filecheck %s --check-prefix APART

# Backend-legal operators are decomposed neither at the capture nor in the lowering to torch.

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
