# RUN: unmess-each %s raw | filecheck %s

# Negative padding, and rolling by more than the size.

import torch
from torch.nn.functional import pad

# Two elements are removed at the left, and one is added at the right.
# CHECK-LABEL: cut_and_pad:
# CHECK-NEXT:  note: decomposition: negative padding (aten::constant_pad_nd.default)
# CHECK:         torch.aten.slice.Tensor %x, {{.*}} -> !torch.vtensor<[3],f32>
# CHECK:         torch.aten.constant_pad_nd {{.*}} -> !torch.vtensor<[4],f32>

# CHECK-LABEL: cut_only:
# CHECK-NEXT:  note:
# CHECK-NOT:     torch.aten.constant_pad_nd

# CHECK-LABEL: pad_only:
# CHECK-NOT:   note:
# CHECK:         torch.aten.constant_pad_nd

# Rolling 5 elements by 7 is rolling by 2.
# CHECK-LABEL: around:
# CHECK-NEXT:  note: decomposition: roll (aten::roll.default)
# CHECK:         torch.aten.slice.Tensor %x, {{.*}} -> !torch.vtensor<[2],f32>
# CHECK:         torch.aten.slice.Tensor %x, {{.*}} -> !torch.vtensor<[3],f32>
# CHECK:         torch.aten.cat {{.*}} -> !torch.vtensor<[5],f32>

# CHECK-LABEL: all_the_way:
# CHECK-NOT:     torch.aten.cat

# With a dynamic size, the position of the cut is unknown.
# CHECK-LABEL: dynamic:
# CHECK-NOT:   note: decomposition: roll


def cut_and_pad():
    return (lambda x: pad(x, (-2, 1))), (torch.ones(5),)


def cut_only():
    return (lambda x: pad(x, (-2, -1))), (torch.ones(5),)


def pad_only():
    return (lambda x: pad(x, (2, 1))), (torch.ones(5),)


def around():
    return (lambda x: x.roll(7, 0)), (torch.ones(5),)


def all_the_way():
    return (lambda x: x.roll(5, 0) + 1), (torch.ones(5),)


def dynamic():
    return (lambda x: x.roll(1, 0)), (torch.ones(5),), None, ({0: torch.export.Dim("n", min=2)},)
