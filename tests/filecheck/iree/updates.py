# RUN: %python %s | filecheck %s

# An updated input has a use after the update, behind a barrier that IREE does not look through.
# So has an input that is returned unchanged.

import torch

import unmess
from pipelines.iree.parameters import with_parameters


def insert(x, row):
    return x.slice_scatter(row, 0, 1, 2)


def insert_through_a_view(x, row):
    return x.view(8).slice_scatter(row, 0, 1, 3)


def insert_and_return(x, row):
    return x.clone(), x.slice_scatter(row, 0, 1, 2)


def read(x, row):
    return x.T * 2, x[1:] + row


class State(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("x", torch.zeros(2, 4))

    def forward(self, row):
        self.x.copy_(self.x.slice_scatter(row, 0, 1, 2))
        return row + 1


# CHECK-LABEL: insert:
# CHECK:       func.func @main(%[[X:.+]]: tensor<2x4xf32>, %[[ROW:.+]]: tensor<1x4xf32>)
# CHECK:       %[[NEW:.+]] = tensor.insert_slice %[[ROW]] into %[[X]]
# CHECK-NEXT:  "util.optimization_barrier"(%[[X]])
# CHECK-NEXT:  return %[[NEW]]
# CHECK-LABEL: insert_through_a_view:
# CHECK:       func.func @main(%[[X:.+]]: tensor<2x4xf32>
# CHECK:       "util.optimization_barrier"(%[[X]])
# CHECK-LABEL: insert_and_return:
# CHECK:       func.func @main(%[[X:.+]]: tensor<?x4xf32>
# CHECK:       %[[KEPT:.+]] = "util.optimization_barrier"(%[[X]])
# CHECK:       %[[SIZED:.+]] = "flow.tensor.tie_shape"(%[[KEPT]], %{{.+}})
# CHECK-NEXT:  return %[[SIZED]]
# CHECK-LABEL: read:
# CHECK-NOT:   optimization_barrier
# CHECK-LABEL: State:
# CHECK:       tensor.insert_slice
# CHECK-NOT:   optimization_barrier

rows = torch.export.Dim("rows", min=2)
x, row = torch.zeros(2, 4), torch.ones(1, 4)
for name, model, args, dynamic in (
    ("insert", insert, (x, row), None),
    ("insert_through_a_view", insert_through_a_view, (x, torch.ones(2)), None),
    ("insert_and_return", insert_and_return, (x, row), ({0: rows}, None)),
    ("read", read, (x, row), None),
    ("State", State(), (row,), None),
):
    print(f"{name}:")
    print(with_parameters(unmess.lower(unmess.capture(model, args, dynamic_shapes=dynamic))))
