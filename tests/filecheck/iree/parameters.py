# RUN: %python %s | filecheck %s

# The module that IREE compiles: weights are named parameters, the public entry takes the call's own
# arguments and the state, and attributes that only unmess reads are removed.

import torch

import unmess
from pipelines.iree.parameters import with_parameters

# CHECK-DAG:   "util.global"() {{.*}}#flow.parameter.named<"model"::"weight"> : tensor<3x4xf32>{{.*}}sym_name = "unmess.weight"
# CHECK-DAG:   "util.global"() {{.*}}#flow.parameter.named<"model"::"bias"> : tensor<3xf32>{{.*}}sym_name = "unmess.bias"
# CHECK:       func.func @main(%arg0: tensor<2x4xf32>) -> tensor<2x3xf32>
# CHECK-DAG:     %[[W:.*]] = "util.global.load"() {{.*}}global = @unmess.weight
# CHECK-DAG:     %[[B:.*]] = "util.global.load"() {{.*}}global = @unmess.bias
# CHECK:         call @main$weights(%arg0, %[[W]], %[[B]])
# CHECK:       func.func private @main$weights(
# CHECK-NOT:     unmess.input
# CHECK-NOT:     torch.assume_strict_symbolic_shapes

program = unmess.capture(torch.nn.Linear(4, 3), (torch.randn(2, 4),))
print(with_parameters(unmess.lower(program)))
