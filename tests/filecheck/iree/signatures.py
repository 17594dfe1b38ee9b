# RUN: unmess-each %s iree | filecheck %s

# With weights as globals, the signature has only inputs and state, in their order.

import torch

# CHECK-LABEL: state:
# CHECK:       "util.global"() {{.*}}#flow.parameter.named<"model"::"weight">
# CHECK:       func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<i64>) -> (tensor<2xf32>, tensor<i64>)
# CHECK:         %[[W:.*]] = "util.global.load"() {{.*}}@unmess.weight
# CHECK:         call @main$weights(%arg0, %{{.*}}, %{{.*}})

# CHECK-LABEL: dynamic:
# CHECK:       func.func @main(%arg0: tensor<?x4xf32>) -> tensor<?x4xf32>
# CHECK:       func.func private @main$weights(%arg0: tensor<?x4xf32>, %arg1: tensor<4xf32>) -> tensor<?x4xf32>
# CHECK-NOT:   torch.assume_strict_symbolic_shapes

# Without weights there is no wrapper function.
# CHECK-LABEL: without_weights:
# CHECK-NOT:   util.global
# CHECK:       func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32>
# CHECK-NOT:   func.func

# CHECK-LABEL: names:
# CHECK:       #flow.parameter.named<"model"::"blocks.0.weight">{{.*}}sym_name = "unmess.blocks.0.weight"


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.calls += 1
        return x * self.weight


def state():
    return Counter(), (torch.ones(2),)


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        return x * self.weight


def dynamic():
    return Scale(), (torch.ones(3, 4),), None, ({0: torch.export.Dim("rows")},)


def without_weights():
    return torch.nn.ReLU(), (torch.ones(2),)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Scale()])

    def forward(self, x):
        return self.blocks[0](x)


def names():
    return Net(), (torch.ones(4),)
