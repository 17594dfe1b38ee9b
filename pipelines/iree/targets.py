"""A table of the compiler's options for each of IREE's targets."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from pipelines.iree.devices import Device, devices
from unmess.core.errors import iree_runtime
from unmess.core.errors.error import Error
from unmess.core.options.processor import machine, processor_features
from unmess.core.options.target_options import TargetOptions
from unmess.core.processes import children
from unmess.core.program.note import Note

# For every target: keep the types of the program. By default, IREE changes only f64. The other
# options are explicit because IREE's defaults have changed before.
KEPT_TYPES = (
    "--iree-input-demote-f64-to-f32=false",
    "--iree-input-demote-i64-to-i32=false",
    "--iree-input-promote-bf16-to-f32=false",
)


@dataclass(frozen=True)
class Target:
    """The hardware that a program is compiled for, and the device that runs it.

    Attributes:
        options: options of the compiler.
        device: URI of the runtime's driver.
        attributes: attributes of the module in MLIR's syntax, for what no option can express.
        notes: choices that the user did not make.
        architecture: the GPU's architecture, such as `sm_80`, `gfx942` or `rdna3`; None if there is
            no GPU or no name.
        preset: the preset that the user chose, or None; `plain` for targets without presets.
        few_registers: whether the CPU has 16 vector registers: x86-64 without AVX-512. AVX-512 and
            Arm CPUs have 32.
        multiplies_bf16: whether the CPU has instructions for products of bf16.
    """

    options: tuple[str, ...]
    device: str
    attributes: dict[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    architecture: str | None = None
    preset: str | None = "plain"
    few_registers: bool = False
    multiplies_bf16: bool = True

    @property
    def is_cpu(self) -> bool:
        """Whether programs run on a CPU."""
        return self.device.startswith("local")


# IREE's interpreter (VMVX). It runs the same dispatches as other targets, without machine code.
INTERPRETER = Target(
    (
        *KEPT_TYPES,
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=vmvx",
    ),
    "local-task",
)


@dataclass(frozen=True)
class _Hardware:
    """How to describe the hardware to the compiler. The fields are like those of `Target`."""

    options: tuple[str, ...] = ()
    attributes: dict[str, str] = field(default_factory=dict)
    architecture: str | None = None
    note: str | None = None
    few_registers: bool = False
    multiplies_bf16: bool = True


@dataclass(frozen=True)
class _Kind:
    """One row of the table.

    Attributes:
        device: like `Target.device`.
        options: options that do not depend on the hardware.
        hardware: returns the description of the requested hardware.
    """

    device: str
    options: tuple[str, ...]
    hardware: Callable[[TargetOptions], _Hardware]


# The architectures that the compiler knows. Its code (PTX) runs on devices of the same or a later
# architecture, so a device gets the latest known architecture that is not later than its own.
CUDA = ("sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_120", "sm_121")
# The default without a device: the newest architecture whose code also runs on later data-center
# GPUs (sm_90, sm_100), which the compiler does not know.
CUDA_DEFAULT = "sm_89"
HIP_DEFAULT = "gfx942"


# Compiles matrix products instead of calling IREE's own kernels. Where IREE has no kernel for the
# CPU, it calls one that multiplies number by number.
NO_KERNELS = "--iree-llvmcpu-enable-ukernels=none"

# Computes constants when a program is loaded. By default, IREE computes them while it compiles: it
# compiles and runs a second program for them, which can take longer than all the rest.
CONSTANTS_AT_LOAD = "--iree-opt-const-eval=false"


def _cpu(options: TargetOptions) -> _Hardware:
    features, is_x86 = _features(options.cpu), machine() == "x86_64"
    has_kernels = not is_x86 or {"avx2", "fma"} <= features
    return _Hardware(
        (f"--iree-llvmcpu-target-cpu={options.cpu}", *([] if has_kernels else [NO_KERNELS])),
        few_registers=is_x86 and "avx512f" not in features,
        multiplies_bf16=("avx512bf16" if is_x86 else "bf16") in features,
    )


@cache
def _features(cpu: str) -> frozenset[str]:
    """Returns the features of a CPU, by LLVM's names; none if the compiler does not know it."""
    if cpu == "host":
        return processor_features()
    if cpu == "generic":
        return frozenset()
    # In a process of its own, since LLVM ends the process if it does not know the CPU.
    options = (*KINDS["iree-cpu"].options, f"--iree-llvmcpu-target-cpu={cpu}")
    done = subprocess.run(
        children.command("pipelines.iree.cpu_features", *options),
        capture_output=True,
        text=True,
        env=children.environment(),
    )
    # The compilation of the program reports an unknown CPU.
    return frozenset(done.stdout.split()) if done.returncode == 0 else frozenset()


def _cuda(options: TargetOptions) -> _Hardware:
    if options.cuda is not None:
        return _cuda_target(options.cuda)
    device = devices("cuda").default
    capability = device and device.find(r"gpu-compute-capability: (\d+\.\d+)")
    if capability is None:
        note = f"compiled for {CUDA_DEFAULT}: there is no CUDA device here"
        return _cuda_target(CUDA_DEFAULT, note)
    own = f"sm_{capability.replace('.', '')}"
    nearest = cuda_architecture(own)
    note = (
        f"compiled for {nearest}: IREE's compiler does not know {own}, the architecture of "
        f"{device.name}"
    )
    return _cuda_target(nearest, None if nearest == own else note)


def _cuda_target(architecture: str, note: str | None = None) -> _Hardware:
    options = (f"--iree-cuda-target={architecture}",)
    return _Hardware(options, architecture=architecture, note=note)


def cuda_architecture(own: str) -> str:
    """Returns the newest architecture known to the compiler whose code runs on a device of `own`.

    Raises:
        Error: stage `compile`, if the device is older than all known architectures.
    """
    known = [name for name in CUDA if _number(name) <= _number(own)]
    if not known:
        raise Error(
            "compile",
            f"the CUDA device has architecture {own}, but the oldest that IREE's compiler "
            f"supports is {CUDA[0]}",
            hint="use another device, or --on iree-cpu",
        )
    return max(known, key=_number)


def _number(architecture: str) -> int:
    return int(architecture.removeprefix("sm_"))


def _hip(options: TargetOptions) -> _Hardware:
    architecture, note = options.hip, None
    if architecture is None:
        device = devices("hip").default
        architecture = device and device.find(r"gpu-arch-name: (gfx\w+)")
    if architecture is None:
        architecture = HIP_DEFAULT
        note = f"compiled for {HIP_DEFAULT}: there is no HIP device here"
    own = (f"--iree-rocm-target={architecture}",)
    return _Hardware(own, architecture=architecture, note=note)


def _vulkan(options: TargetOptions) -> _Hardware:
    if options.vulkan is not None:
        own = (f"--iree-vulkan-target={options.vulkan}",)
        return _Hardware(own, architecture=options.vulkan)
    device, note = devices("vulkan").default, None
    if device is None:
        note = (
            "compiled for the common features of desktop devices with Vulkan 1.3: there "
            "is no Vulkan device here"
        )
    return _Hardware(attributes={"hal.device.targets": _vulkan_device(device)}, note=note)


def _vulkan_device(device: Device | None) -> str:
    """Returns the attribute that describes a Vulkan device.

    IREE's default is an Android baseline without 8- and 16-bit types, and its emulation of them
    gives wrong results on Mesa's lavapipe. Listing a capability costs nothing if a program does not
    use it. Devices do not report 64-bit types and workgroup sizes: those are what all desktop
    devices have.
    """

    def reported(feature: str) -> bool:
        return device is None or device.find(rf"\b{feature}=(yes)") is not None

    compute = ["fp64", "fp32", *["fp16"] * reported("shaderFloat16"), "int64", "int32", "int16"]
    compute += ["int8"] * reported("shaderInt8")
    storage = ["b64", "b32", *["b16"] * reported("storageBuffer16BitAccess")]
    storage += ["b8"] * reported("storageBuffer8BitAccess")
    # Subgroup operations need a known subgroup size.
    size = device and device.find(r"minSubgroupSize=(\d+)")
    subgroup = "shuffle|arithmetic" if size else "none"
    wgp = ", ".join(
        (
            f"compute = {'|'.join(compute)}",
            f"storage = {'|'.join(storage)}",
            f"subgroup = {subgroup}",
            f"subgroup_size_choices = [{size or 32}]",
            "max_workgroup_sizes = [1024, 1024, 64]",
            "max_thread_count_per_workgroup = 1024",
            "max_workgroup_memory_bytes = 32768",
            "max_workgroup_counts = [65535, 65535, 65535]",
        )
    )
    gpu = f'#iree_gpu.target<arch = "vulkan", features = "spirv:v1.6,cap:Shader", wgp = <{wgp}>>'
    executable = (
        '#hal.executable.target<"vulkan-spirv", "vulkan-spirv-fb", '
        f"{{iree_codegen.target_info = {gpu}}}>"
    )
    return f'[#hal.device.target<"vulkan", [{executable}]> : !hal.device]'


def _nothing(options: TargetOptions) -> _Hardware:
    return _Hardware()


def _gpu(device: str, hardware: Callable[[TargetOptions], _Hardware]) -> _Kind:
    return _Kind(device, (f"--iree-hal-target-device={device}",), hardware)


KINDS = {
    "iree-cpu": _Kind(
        device="local-task",
        options=(
            "--iree-hal-target-device=local",
            "--iree-hal-local-target-device-backends=llvm-cpu",
            CONSTANTS_AT_LOAD,
        ),
        hardware=_cpu,
    ),
    "iree-vulkan": _gpu("vulkan", _vulkan),
    "iree-cuda": _gpu("cuda", _cuda),
    "iree-hip": _gpu("hip", _hip),
    "metal": _gpu("metal", _nothing),
}


def target(name: str, options: TargetOptions | None = None) -> Target:
    """Returns one of IREE's targets, for the requested hardware.

    Args:
        name: a key of `KINDS`.

    Raises:
        Error: stage `compile`, if the compiler does not support the device; stage `usage`, if the
            preset is unknown.
    """
    # Import it here: it imports MLIR, which listing the targets does not need.
    from pipelines.iree.presets import check_preset

    kind = KINDS[name]
    options = options or TargetOptions()
    check_preset(options.preset)
    hardware = kind.hardware(options)
    # If attributes describe the device, options must not add another one.
    own = () if hardware.attributes else kind.options
    return Target(
        options=(*KEPT_TYPES, *own, *hardware.options),
        device=kind.device,
        attributes=hardware.attributes,
        notes=() if hardware.note is None else (Note("target", hardware.note),),
        architecture=hardware.architecture,
        preset=options.preset if name == "iree-cpu" else "plain",
        few_registers=hardware.few_registers,
        multiplies_bf16=hardware.multiplies_bf16,
    )


def driver(name: str) -> str:
    """Returns the driver of the runtime that runs programs for a target."""
    return KINDS[name].device


def remedy(name: str) -> str | None:
    """Returns one line that says what to install if a target has no device."""
    return iree_runtime.remedy(KINDS[name].device)
