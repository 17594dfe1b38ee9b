# RUN: unmess-each %s raw | filecheck %s

# Python numbers: fixed by the capture, read from a tensor, or results.

import torch

# CHECK-LABEL: fixed:
# CHECK:         func.func @main(%x: !torch.vtensor<[2],f32> {unmess.input = "x"}) -> !torch.vtensor<[2],f32>
# CHECK:         torch.constant.int 3

# CHECK-LABEL: result:
# CHECK:         func.func @main(%x: !torch.vtensor<[?],f32> {unmess.input = "x"}) -> (!torch.vtensor<[?],f32>, !torch.int)
# CHECK:         %[[SIZE:.*]] = torch.aten.size.int %x
# CHECK:         return %{{.*}}, %[[SIZE]] :


def fixed():
    return (lambda x, times: x * times), (torch.ones(2), 3)


def result():
    return (lambda x: (x + 1, x.shape[0])), (torch.ones(2),), None, ({0: torch.export.Dim("n")},)
