# RUN: unmess import %s:image --to linalg -o %t.mlir
# RUN: unmess-opt --pipeline check-indices %t.mlir | filecheck %s

# Indices of a grid sample are limited to the sizes of the image, so they are not checked.

import torch
import torch.nn.functional as F

# CHECK:     tensor.extract
# CHECK-NOT: cf.assert


def image():
    return sampled, (torch.randn(2, 3, 4, 5), torch.randn(2, 6, 7, 2))


def sampled(x, grid):
    return F.grid_sample(x, grid, align_corners=False)
