# RUN: unmess-each %s raw | filecheck %s

# If the model writes an input, its new value is a result after the model's own results.

import torch

# CHECK-LABEL: mutated:
# CHECK:         func.func @main(%x: !torch.vtensor<[2],f32> {unmess.input = "x"}, %y: {{.*}}) ->
# CHECK-SAME:    (!torch.vtensor<[2,1],f32>, !torch.vtensor<[2],f32>)
# CHECK:         %[[NEW:.*]] = torch.aten.add.Tensor %x, %y
# CHECK:         %[[OWN:.*]] = torch.aten.unsqueeze %y
# CHECK:         return %[[OWN]], %[[NEW]]

# The same holds for a write through a view.
# CHECK-LABEL: through_a_view:
# CHECK:         -> (!torch.vtensor<[2],f32>, !torch.vtensor<[2,2],f32>)
# CHECK:         %[[NEW:.*]] = torch.aten.where.self {{.*}}, %x :
# CHECK:         %[[OWN:.*]] = torch.aten.select.int %[[NEW]]
# CHECK:         return %[[OWN]], %[[NEW]]


def mutated():
    def function(x, y):
        x += y
        return y.unsqueeze(1)

    return function, (torch.ones(2), torch.ones(2))


def through_a_view():
    def function(x):
        x[0] = 5
        return x[1]

    return function, (torch.ones(2, 2),)
