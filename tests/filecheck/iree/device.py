# RUN: %python %s | filecheck %s

# The module describes the Vulkan device, because no compiler option can.

import torch

import unmess
from pipelines.iree import targets
from pipelines.iree.devices import Device, Devices
from pipelines.iree.parameters import with_parameters

# CHECK:      module attributes {hal.device.targets = [#hal.device.target<"vulkan", [#hal.executable.target<"vulkan-spirv", "vulkan-spirv-fb",
# CHECK-SAME:   compute = fp64|fp32|fp16|int64|int32|int16, storage = b64|b32|b16, subgroup = shuffle|arithmetic, subgroup_size_choices = [16]
# CHECK:        "util.global"() {{.*}}#flow.parameter.named<"model"::"weight">

REPORT = (
    "features: storageBuffer16BitAccess=yes shaderFloat16=yes shaderInt8=no\nminSubgroupSize=16"
)
targets.devices = lambda driver: Devices((Device("a card", REPORT),))
program = unmess.capture(torch.nn.Linear(4, 3, bias=False), (torch.randn(2, 4),))
print(with_parameters(unmess.lower(program), targets.target("iree-vulkan").attributes))
