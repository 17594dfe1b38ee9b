# RUN: unmess-each %s raw | filecheck %s

# Operators on numbers that `item()` reads become operators on tensors, followed by `item`.

import torch

# CHECK-LABEL: floats:
# CHECK-NEXT:  note: repair: symbolic numbers as tensors (1 times)
# CHECK:         %[[LESS:.*]] = torch.aten.lt.Tensor {{.*}} -> !torch.vtensor<[],i1>
# CHECK:         %[[NUMBER:.*]] = torch.prims.convert_element_type %[[LESS]]
# CHECK:         %[[READ:.*]] = torch.aten.item %[[NUMBER]]
# CHECK:         %[[FLAG:.*]] = torch.aten.ne.int %[[READ]],
# CHECK:         %[[CONDITION:.*]] = torch.aten.Int.bool %[[FLAG]]
# CHECK:         torch.aten._assert_scalar %[[CONDITION]]

# torch-mlir lowers comparisons of integers.
# CHECK-LABEL: integers:
# CHECK-NOT:   note:
# CHECK:         torch.aten.lt.int

# CHECK-LABEL: boolean:
# CHECK-NEXT:  note: repair: symbolic numbers as tensors
# CHECK:         torch.prims.convert_element_type {{.*}} -> !torch.vtensor<[],si64>
# CHECK-NEXT:    torch.aten.item
# CHECK:         torch.aten._assert_scalar

# CHECK-LABEL: remainder:
# CHECK-NEXT:  note: repair: symbolic numbers as tensors (1 times)
# CHECK:         %[[REST:.*]] = torch.aten.remainder.Tensor
# CHECK:         %[[READ:.*]] = torch.aten.item %[[REST]]
# CHECK:         torch.aten.mul.Scalar %x, %[[READ]]

# An assertion is computed even if an earlier one implies it.
# CHECK-LABEL: implied:
# CHECK-NEXT:  note: repair: symbolic numbers as tensors (1 times)
# CHECK:         torch.aten._assert_scalar
# CHECK:         torch.aten._assert_scalar
# CHECK:         %[[EQUAL:.*]] = torch.aten.eq.int %{{.*}}, %int3
# CHECK:         %[[NOT:.*]] = torch.aten.logical_not
# CHECK:         %[[NUMBER:.*]] = torch.prims.convert_element_type %[[NOT]]
# CHECK:         %[[READ:.*]] = torch.aten.item %[[NUMBER]]
# CHECK:         %[[FLAG:.*]] = torch.aten.ne.int %[[READ]],
# CHECK:         %[[CONDITION:.*]] = torch.aten.Int.bool %[[FLAG]]
# CHECK:         torch.aten._assert_scalar %[[CONDITION]]


def _is_less(x, y):
    torch._check(x.item() < y.item())
    return x + y


def floats():
    return _is_less, (torch.tensor(1.0), torch.tensor(2.0))


def integers():
    return _is_less, (torch.tensor(1), torch.tensor(2))


def boolean():
    def checked(x):
        torch._check(x.item())
        return x

    return checked, (torch.tensor(True),)


def remainder():
    return (lambda x, n: x * (n.item() % 3)), (torch.ones(2), torch.tensor(5))


def implied():
    def checked(x, n):
        torch._check(torch.sym_not(n.item() == 3))
        torch._check(n.item() == 2)
        return x + n.item()

    return checked, (torch.ones(2), torch.tensor(2))
