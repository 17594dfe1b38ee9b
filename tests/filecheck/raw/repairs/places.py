# RUN: unmess-each %s raw | filecheck %s

# Negative indices count from the end. Indices out of range fail.

import torch

# CHECK-LABEL: write:
# CHECK:       note: repair: negative indices of index_put (1 times)
# CHECK:         %[[BACK:.*]] = torch.aten.lt.Scalar %i,
# CHECK:         %[[SIZE:.*]] = torch.constant.int 3
# CHECK:         %[[FRONT:.*]] = torch.aten.add.Scalar %i, %[[SIZE]]
# CHECK:         %[[AT:.*]] = torch.aten.where.self %[[BACK]], %[[FRONT]], %i
# CHECK:         torch.prim.ListConstruct %[[AT]]

# A range that starts at 0 has no negative index. A range that starts below 0 has.
# CHECK-LABEL: write_at_a_range:
# CHECK-NOT:   negative indices of index_put
# CHECK-LABEL: write_at_the_end:
# CHECK:       note: repair: negative indices of index_put (1 times)

# CHECK-LABEL: read:
# CHECK-NEXT:  note: repair: checked indices of select (1 times)
# CHECK:         %[[I:.*]] = torch.aten.Int.Tensor %i
# CHECK:         torch.aten.add.int %[[I]],
# CHECK:         torch.constant.str "index out of range"
# CHECK:         torch.aten._assert_scalar
# CHECK:         torch.aten.lt.int %[[I]],
# CHECK:         torch.constant.str "index out of range"
# CHECK:         torch.aten._assert_scalar
# CHECK:         torch.aten.select.int %x, %{{.*}}, %[[I]]


def write():
    return (lambda x, i: x.index_put((i,), x[0])), (torch.ones(3), torch.tensor([0, -1]))


def write_at_a_range():
    return (lambda x: x.index_put((torch.arange(2),), x[0])), (torch.ones(3),)


def write_at_the_end():
    return (lambda x: x.index_put((torch.arange(-2, 0),), x[0])), (torch.ones(3),)


def read():
    return (lambda x, i: x[i.item()]), (torch.ones(3), torch.tensor(1))
