# RUN: unmess-each %s raw | filecheck %s

# An index list with a dynamic size becomes one index into flattened dimensions.

import torch

# CHECK-LABEL: write:
# CHECK:       note: repair: linear indices for dynamic sizes (1 times)
# The index 12 is out of range.
# CHECK-COUNT-2: torch.aten.logical_and
# CHECK:         %[[INSIDE:.*]] = torch.aten.logical_and
# CHECK-NEXT:    %[[SIZE:.*]] = torch.constant.int 12
# CHECK:         %[[OUTSIDE:.*]] = torch.aten.scalar_tensor %[[SIZE]],
# CHECK:         torch.aten.where.self %[[INSIDE]], %{{.*}}, %[[OUTSIDE]]
# CHECK:         %[[VALUE:.*]] = torch.aten.expand {{.*}} -> !torch.vtensor<[?],f32>
# CHECK:         torch.aten.index_put {{.*}}, %[[VALUE]], %{{.*}} : !torch.vtensor<[12],f32>

# CHECK-LABEL: read:
# CHECK:       note: repair: linear indices for dynamic sizes (1 times)
# CHECK:         torch.aten.index.Tensor {{.*}} : !torch.vtensor<[12],f32>

# A write around a slice also has no lowering with static sizes.
# CHECK-LABEL: write_around_a_slice:
# CHECK:       note: repair: linear indices for dynamic sizes (1 times)

# CHECK-LABEL: rows:
# CHECK-NOT:   linear indices
# CHECK-LABEL: static:
# CHECK-NOT:   linear indices


def write():
    return (lambda x, m: x.index_put(torch.where(m), x[0, 0])), (X, X > 0)


def read():
    return (lambda x, m: x[torch.where(m)]), (X, X > 0)


def write_around_a_slice():
    def function(x, i):
        x = x.clone()
        x[i, :, i] = 0
        return x

    return function, (torch.ones(3, 4, 3), ROWS)


def rows():
    return (lambda x, m: x.index_put((torch.where(m)[0],), x[m])), (X, X[:, 0] > 0)


def static():
    return (lambda x, i: x.index_put((i, i), x[0, 0])), (X, ROWS)


X, ROWS = torch.ones(3, 4), torch.tensor([0, 1])
