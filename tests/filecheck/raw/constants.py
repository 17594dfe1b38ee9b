# RUN: unmess import %s:model --to raw | filecheck %s

# Small constants are readable literals in every dtype. Python values that the capture fixed are
# neither arguments nor results.

import torch

# CHECK-LABEL: func.func @main(%x: !torch.vtensor<[3],f32> {unmess.input = "x"}) ->
# CHECK-SAME:    (!torch.vtensor<[3],f32>, !torch.vtensor<[3],bf16>)
# CHECK-DAG:     torch.vtensor.literal(dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>)
# CHECK-DAG:     torch.vtensor.literal(dense<[5.000000e-01, 1.500000e+00, 2.500000e+00]> : tensor<3xbf16>)
# CHECK-DAG:     torch.vtensor.literal(dense<[1, 0, 1]> : tensor<3xui8>)


def model():
    a = torch.tensor([1.0, 2.0, 3.0])
    b = torch.tensor([0.5, 1.5, 2.5], dtype=torch.bfloat16)
    c = torch.tensor([True, False, True])

    def function(x, flag, nothing=None):
        y = torch.where(c, x + a, x) if flag else x
        return {"y": y, "none": None, "seven": 7, "z": y.bfloat16() * b}

    return function, (torch.randn(3), True)
