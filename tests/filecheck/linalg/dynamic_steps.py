# RUN: unmess import %s:layer --to linalg --dynamic input.0=steps:2..100 | filecheck %s

# The trip count of a loop over a dynamic number of steps is a size, so the loop is an `scf.for`.
# Rows are checked before the loop, once for all rounds.

import torch

# CHECK:      %[[STEPS:.*]] = tensor.dim %input, %c0
# CHECK:      cf.assert {{.*}}, "index out of range"
# CHECK:      scf.for %[[K:.*]] = %c0 to %[[STEPS]] step
# CHECK:      tensor.extract_slice {{.*}}[%[[K]], 0, 0] [1, 2, 5]
# CHECK-NOT:  cf.assert
# CHECK:      tensor.insert_slice {{.*}}[%[[K]], 0, 0] [1, 2, 5]


def layer():
    return torch.nn.RNN(4, 5).eval(), (torch.randn(3, 2, 4),)
