# RUN: unmess-each %s raw | filecheck %s

# Results, writes and products without elements, `where` that only broadcasts, and reshapes with several dynamic sizes.

import torch

# CHECK-LABEL: nothing:
# CHECK-NEXT:  note: repair: empty results (2 times)
# CHECK-NOT:     relu
# CHECK:         torch.aten.empty.memory_format {{.*}} -> !torch.vtensor<[0,2],f32>

# CHECK-LABEL: no_writes:
# CHECK-NEXT:  note: repair: empty results (1 times)
# CHECK-NOT:     scatter
# CHECK:         return %x

# CHECK-LABEL: no_products:
# CHECK:       note: repair: products without elements to sum (1 times)
# CHECK-NOT:     torch.aten.mm
# CHECK:         -> !torch.vtensor<[?,3],f32>

# CHECK-LABEL: one_choice:
# CHECK-NEXT:  note: repair: where of a tensor and itself (1 times)
# CHECK:         torch.aten.expand %x, {{.*}} -> !torch.vtensor<[2,3],f32>
# CHECK-NOT:     where

# CHECK-LABEL: merge:
# CHECK:       note: dynamic: n = x.shape[0]{{.*}}; m = x.shape[1]
# CHECK:       note: repair: symbolic view (1 times)
# CHECK:         torch.aten.flatten.using_ints %x, {{.*}} -> !torch.vtensor<[?,4],f32>
# CHECK-NOT:     torch.aten.view

# CHECK-LABEL: split_heads:
# CHECK:         torch.aten.unflatten.int %x, {{.*}} -> !torch.vtensor<[?,?,2,2],f32>
# CHECK-NOT:     torch.aten.view

# Views with static sizes are not changed.
# CHECK-LABEL: static:
# CHECK-NOT:   note:
# CHECK:         torch.aten.view %x


def nothing():
    return (lambda x: torch.relu(x).reshape(0, 2)), (torch.ones(2, 0),)


def no_writes():
    index = torch.zeros(0, 2, dtype=torch.int64)
    return (lambda x, i, y: x.scatter_add(0, i, y)), (torch.ones(3, 2), index, torch.ones(1, 2))


def no_products():
    dynamic = ({0: torch.export.Dim("n")}, None)
    return (lambda a, b: a @ b), (torch.ones(2, 0), torch.ones(0, 3)), None, dynamic


def one_choice():
    return (lambda c, x: torch.where(c, x, x)), (torch.ones(2, 3) > 0, torch.ones(3))


_DYNAMIC = ({0: torch.export.Dim("n"), 1: torch.export.Dim("m")},)


def merge():
    def function(x):
        return x.reshape(x.shape[0] * x.shape[1], -1)

    return function, (torch.ones(2, 3, 4),), None, _DYNAMIC


def split_heads():
    def function(x):
        return x.view(x.shape[0], x.shape[1], 2, 2)

    return function, (torch.ones(2, 3, 4),), None, _DYNAMIC


def static():
    return (lambda x: x.view(6, 4)), (torch.ones(2, 3, 4),)
