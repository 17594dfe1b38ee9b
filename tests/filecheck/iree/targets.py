# RUN: %python %s | filecheck %s

# Compiler options of each target: for a named device, a detected device, and no device.

from pipelines.iree import targets
from pipelines.iree.devices import Device, Devices
from unmess.core.errors.error import Error
from unmess.core.options.target_options import TargetOptions


def show(name, device=None, **options):
    found = Devices((Device("a card", device),)) if device else Devices(problem="no driver")
    targets.devices = lambda driver: found
    try:
        target = targets.target(name, TargetOptions(**options))
    except Error as error:
        print(error)
        return
    own = [o for o in target.options if not o.startswith("--iree-input-")]
    print(name, *own, *target.attributes, *target.notes, sep="\n  ")


# Types are never narrowed silently.
# CHECK:      ('--iree-input-demote-f64-to-f32=false', '--iree-input-demote-i64-to-i32=false', '--iree-input-promote-bf16-to-f32=false', '--iree-hal-target-device=local'
print(targets.target("iree-cpu").options)

# CHECK-NEXT: iree-cpu
# CHECK-NEXT:   --iree-hal-target-device=local
# CHECK-NEXT:   --iree-hal-local-target-device-backends=llvm-cpu
# CHECK-NEXT:   --iree-opt-const-eval=false
# CHECK-NEXT:   --iree-llvmcpu-target-cpu=znver3
show("iree-cpu", cpu="znver3")

# CHECK-NEXT: iree-cuda
# CHECK-NEXT:   --iree-hal-target-device=cuda
# CHECK-NEXT:   --iree-cuda-target=sm_80
show("iree-cuda", cuda="sm_80")

# The compiler does not know sm_90, but code for the previous architecture runs there.
# CHECK-NEXT: iree-cuda
# CHECK-NEXT:   --iree-hal-target-device=cuda
# CHECK-NEXT:   --iree-cuda-target=sm_89
# CHECK-NEXT:   target: compiled for sm_89: IREE's compiler does not know sm_90, the architecture of a card
show("iree-cuda", "gpu-compute-capability: 9.0")

# CHECK-NEXT: compile: the CUDA device has architecture sm_50, but the oldest that IREE's compiler supports is sm_60
# CHECK-NEXT:   hint:
show("iree-cuda", "gpu-compute-capability: 5.0")

# CHECK-NEXT: iree-hip
# CHECK-NEXT:   --iree-hal-target-device=hip
# CHECK-NEXT:   --iree-rocm-target=gfx942
# CHECK-NEXT:   target: compiled for gfx942: there is no HIP device here
show("iree-hip")

# CHECK-NEXT: iree-hip
# CHECK-NEXT:   --iree-hal-target-device=hip
# CHECK-NEXT:   --iree-rocm-target=gfx1100
# CHECK-NOT:    target:
show("iree-hip", "gpu-arch-name: gfx1100")

# CHECK:      iree-vulkan
# CHECK-NEXT:   --iree-hal-target-device=vulkan
# CHECK-NEXT:   --iree-vulkan-target=rdna3
show("iree-vulkan", vulkan="rdna3")

# If the module describes its device, no option names one.
# CHECK-NEXT: iree-vulkan
# CHECK-NEXT:   hal.device.targets
# CHECK-NEXT:   target: compiled for the common features of desktop devices with Vulkan 1.3
show("iree-vulkan")
