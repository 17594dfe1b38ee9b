# RUN: unmess-each %s raw | filecheck %s

# Only convolutions that linalg does not support are decomposed.

import torch

# Becomes a sum of grouped 2-d convolutions over the kernel's depth.
# CHECK-LABEL: grouped:
# CHECK-NEXT:  note: decomposition: grouped 3-d convolution (aten::convolution.default)
# CHECK-COUNT-3: torch.aten.convolution {{.*}} -> !torch.vtensor<[2,4,3,3],f32>
# CHECK-NOT:     torch.aten.convolution
# CHECK:         -> !torch.vtensor<[1,4,2,3,3],f32>

# CHECK-LABEL: in_one_group:
# CHECK-NOT:   note:
# CHECK:         torch.aten.convolution {{.*}} -> !torch.vtensor<[1,4,2,3,3],f32>
# CHECK-NOT:     torch.aten.convolution


def grouped():
    return torch.nn.Conv3d(4, 4, (3, 1, 1), groups=2, bias=False), (torch.ones(1, 4, 4, 3, 3),)


def in_one_group():
    return torch.nn.Conv3d(4, 4, (3, 1, 1), bias=False), (torch.ones(1, 4, 4, 3, 3),)
