# RUN: unmess-each %s raw | filecheck %s

# as_strided becomes an operation on elements instead of memory.

import torch

# CHECK-LABEL: same_elements:
# CHECK-NEXT:  note: repair: layout-only as_strided (1 times)
# CHECK:         %[[X:.*]] = torch.aten.relu
# CHECK:         torch.aten.add.Scalar %[[X]]

# CHECK-LABEL: reshaped:
# CHECK-NEXT:  note: repair: layout-only as_strided (1 times)
# CHECK:         torch.aten.view {{.*}} -> !torch.vtensor<[9],f32>

# Element (i, j) of the result is element 1 + 3 i + 2 j of the operand.
# CHECK-LABEL: selected:
# CHECK-NEXT:  note: repair: as_strided as a selection (1 times)
# CHECK:         torch.aten.mul.Scalar %{{.*}}, %int3{{[_0-9]*}} : !torch.vtensor<[2],si64>
# CHECK:         torch.aten.mul.Scalar %{{.*}}, %int2{{[_0-9]*}} : !torch.vtensor<[2],si64>
# CHECK:         torch.aten.index_select {{.*}} -> !torch.vtensor<[4],f32>
# CHECK-NOT:     as_strided


def same_elements():
    return (lambda x: torch.relu(x).as_strided((3, 1, 3), (3, 7, 1)) + 1), (torch.ones(3, 1, 3),)


def reshaped():
    return (lambda x: torch.relu(x).as_strided((9,), (1,))), (torch.ones(3, 3),)


def selected():
    return (lambda x: x.as_strided((2, 2), (3, 2), 1)), (torch.ones(3, 3),)
