# RUN: unmess-each %s raw | filecheck %s

# Python numbers to which torch-mlir gives another type than eager.

import torch

# CHECK-LABEL: beside_a_constant:
# CHECK-NEXT:  note: repair: integers beside floating-point constants (1 times)
# CHECK:         %[[MINUS:.*]] = torch.constant.float -1.000000e+00
# CHECK:         torch.aten.mul.Scalar %{{.*}}, %[[MINUS]]

# CHECK-LABEL: beside_an_input:
# CHECK-NOT:   note:
# CHECK:         %[[MINUS:.*]] = torch.constant.int -1
# CHECK:         torch.aten.mul.Scalar %x, %[[MINUS]]

# CHECK-LABEL: before_f64:
# CHECK-NEXT:  note: repair: number before a tensor (1 times)
# CHECK-NOT:     f32
# CHECK:         torch.aten.sub.Tensor {{.*}} : !torch.vtensor<[],f64>, !torch.vtensor<[2],f64>

# CHECK-LABEL: before_f32:
# CHECK-NOT:   note:
# CHECK:         torch.prim.NumToTensor.Scalar


def beside_a_constant():
    return (lambda x: x + torch.tensor([1.5, 2.5]) * -1), (torch.ones(2),)


def beside_an_input():
    return (lambda x: x * -1), (torch.ones(2),)


def before_f64():
    return (lambda x: 0.1 - x), (torch.ones(2, dtype=torch.float64),)


def before_f32():
    return (lambda x: 0.1 - x), (torch.ones(2),)
