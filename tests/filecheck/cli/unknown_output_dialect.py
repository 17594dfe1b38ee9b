# RUN: not unmess check %s:model --via raw 2>&1 | filecheck %s
# RUN: unmess check %s:model --via tosa --on reference --json | filecheck %s --check-prefix ROW

# CHECK:      usage: unknown output dialect 'raw'
# CHECK-NEXT:   hint: an output dialect is one of linalg, tosa, stablehlo

# ROW: "runner": "reference",
# ROW: "via": "tosa",
# ROW: "ok": true,

import torch


def model():
    return torch.tanh, (torch.randn(2),)
