# RUN: unmess-each %s raw | filecheck %s

# Every index becomes an i64 tensor of positions.

import torch

# CHECK-LABEL: mask:
# CHECK-NEXT:  note: repair: index lists of i64 (1 times)
# CHECK:         %[[TRUE:.*]] = torch.aten.nonzero %m
# CHECK:         %[[AT:.*]] = torch.aten.select.int %[[TRUE]]
# CHECK:         %[[LIST:.*]] = torch.prim.ListConstruct %[[AT]] :
# CHECK:         torch.aten.index.Tensor %x, %[[LIST]]

# The dimensions that a mask covers are flattened into one.
# CHECK-LABEL: mask_of_two_dimensions:
# CHECK:         %[[X:.*]] = torch.aten.flatten.using_ints %x, {{.*}} -> !torch.vtensor<[6,4],f32>
# CHECK:         %[[M:.*]] = torch.aten.flatten.using_ints %m, {{.*}} -> !torch.vtensor<[6],i1>
# CHECK:         torch.aten.nonzero %[[M]]
# CHECK:         torch.aten.index.Tensor %[[X]]

# CHECK-LABEL: two_types:
# CHECK:         %[[I:.*]] = torch.prims.convert_element_type %i, {{.*}} -> !torch.vtensor<[2],si64>
# CHECK:         torch.prim.ListConstruct %[[I]], %j

# A write with a mask becomes `where`.
# CHECK-LABEL: masked_write:
# CHECK:         %[[M:.*]] = torch.aten.view %m, {{.*}} -> !torch.vtensor<[3,1],i1>
# CHECK:         torch.aten.where.self %[[M]]
# CHECK-NOT:     index_put

# CHECK-LABEL: positions:
# CHECK-NOT:   note:


def mask():
    return (lambda x, m: x[m]), (torch.ones(3), torch.tensor([True, False, True]))


def mask_of_two_dimensions():
    return (lambda x, m: x[m]), (torch.ones(2, 3, 4), torch.ones(2, 3) > 0)


def two_types():
    indices = torch.tensor([0, 1])
    return (lambda x, i, j: x[i, j]), (torch.ones(3, 3), indices.int(), indices)


def masked_write():
    def function(x, m):
        x = x.clone()
        x[m] = 0
        return x

    return function, (torch.ones(3, 2), torch.tensor([True, False, True]))


def positions():
    return (lambda x, i: x[i]), (torch.ones(3), torch.tensor([0, 1]))
