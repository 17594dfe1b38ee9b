# RUN: unmess import %s --to linalg --stop-after torch --insert-pass torch=%S/Inputs/user_pass.py:relu_to_tanh | filecheck %s
# RUN: not unmess import %s --stop-after torch-decompose 2>&1 | filecheck %s --check-prefix UNKNOWN

# A pass inserted at a stage runs before the IR of that stage is printed.

import torch

# CHECK:       torch.aten.tanh
# CHECK-NOT:   torch.aten.relu

# UNKNOWN:      usage: there is no step torch-decompose between raw and linalg
# UNKNOWN-NEXT:   hint: did you mean torch-decompose-complex-ops


def model():
    return torch.nn.ReLU(), (torch.randn(2),)
