# RUN: %python %s | filecheck %s

# All entry points load the same global, so the weight is declared and stored once.

import torch

import unmess
from pipelines.iree.parameters import with_parameters

# CHECK:         "util.global"() {{.*}}#flow.parameter.named<"model"::"weight">
# CHECK-NOT:     flow.parameter.named
# CHECK-LABEL:   func.func @first(
# CHECK:           "util.global.load"() {{.*}}global = @unmess.weight
# CHECK:           call @first$weights(
# CHECK-LABEL:   func.func @second(
# CHECK:           "util.global.load"() {{.*}}global = @unmess.weight
# CHECK:           call @second$weights(
# CHECK-NOT:     flow.parameter.named

layer = torch.nn.Linear(4, 3, bias=False)
programs = {
    "first": unmess.capture(layer, (torch.randn(2, 4),)),
    "second": unmess.capture(layer, (torch.randn(5, 4),)),
}
print(with_parameters(unmess.lower(unmess.combine(programs))))
