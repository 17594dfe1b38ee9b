"""Tests what each target is compiled for, given the available devices."""

import pytest
import torch

import unmess
from pipelines.iree import targets as subject
from pipelines.iree.compiler import compile_for, compile_text
from pipelines.iree.devices import Device, Devices
from unmess.core.options.target_options import TargetOptions

LAVAPIPE = """
features: storageBuffer8BitAccess=yes storageBuffer16BitAccess=yes shaderInt8=yes shaderFloat16=yes
subgroup: size=8 minSubgroupSize=8 maxSubgroupSize=8
"""
WITHOUT_SMALL_TYPES = """
features: storageBuffer8BitAccess=no storageBuffer16BitAccess=no shaderInt8=no shaderFloat16=no
subgroup: size=64 minSubgroupSize=64 maxSubgroupSize=64
"""
ADDITION = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.fixture
def here(monkeypatch):
    """Returns a function that makes every driver find one device with a report, or none."""

    def find(report):
        found = Devices(problem="none") if report is None else Devices((Device("it", report),))
        monkeypatch.setattr(subject, "devices", lambda driver: found)

    return find


@pytest.mark.parametrize(
    ("own", "nearest"),
    [
        ("sm_60", "sm_60"),
        ("sm_86", "sm_86"),
        ("sm_90", "sm_89"),
        ("sm_100", "sm_89"),
        ("sm_120", "sm_120"),
        ("sm_130", "sm_121"),
    ],
)
def test_a_cuda_device_gets_the_newest_code_that_it_runs(here, own, nearest):
    here(f"- gpu-compute-capability: {own[3:-1]}.{own[-1]}")
    target = subject.target("iree-cuda")
    assert f"--iree-cuda-target={nearest}" in target.options
    assert bool(target.notes) == (own != nearest)
    assert all(own in note.text for note in target.notes)


def test_a_cuda_device_that_is_too_old(here):
    here("- gpu-compute-capability: 5.2")
    with pytest.raises(unmess.Error, match="sm_52") as caught:
        subject.target("iree-cuda")
    assert caught.value.stage == "compile"


@pytest.mark.parametrize(
    ("name", "option"),
    [("iree-cuda", "--iree-cuda-target=sm_89"), ("iree-hip", "--iree-rocm-target=gfx942")],
)
def test_default_architecture_is_noted_without_a_device(here, name, option):
    here(None)
    target = subject.target(name)
    assert option in target.options
    assert target.architecture == option.rpartition("=")[2]
    (note,) = target.notes
    assert target.architecture in note.text


def test_a_hip_device(here):
    here("- gpu-arch-name: gfx90a:sramecc+:xnack-")
    assert "--iree-rocm-target=gfx90a" in subject.target("iree-hip").options
    assert not subject.target("iree-hip").notes


def test_vulkan_target_uses_the_device_features(here):
    here(LAVAPIPE)
    (text,) = subject.target("iree-vulkan").attributes.values()
    assert "compute = fp64|fp32|fp16|int64|int32|int16|int8," in text
    assert "storage = b64|b32|b16|b8," in text
    assert "subgroup_size_choices = [8]" in text
    here(WITHOUT_SMALL_TYPES)
    (text,) = subject.target("iree-vulkan").attributes.values()
    assert "compute = fp64|fp32|int64|int32|int16," in text
    assert "storage = b64|b32," in text


def test_without_a_vulkan_device_no_subgroup_is_assumed(here):
    here(None)
    target = subject.target("iree-vulkan")
    assert "subgroup = none" in target.attributes["hal.device.targets"]
    assert len(target.notes) == 1


def test_target_options_override_the_device(here):
    here(None)
    said = TargetOptions(cpu="generic", cuda="sm_80", hip="gfx1100", vulkan="rdna3")
    for name, option in {
        "iree-cpu": "--iree-llvmcpu-target-cpu=generic",
        "iree-cuda": "--iree-cuda-target=sm_80",
        "iree-hip": "--iree-rocm-target=gfx1100",
        "iree-vulkan": "--iree-vulkan-target=rdna3",
    }.items():
        target = subject.target(name, said)
        assert option in target.options
        assert not target.notes and not target.attributes
        name = None if name == "iree-cpu" else option.rpartition("=")[2]
        assert target.architecture == name


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 5)
    model = torch.nn.Sequential(*layers).eval()
    return unmess.lower(unmess.capture(model, (torch.randn(1, 3, 8, 8),)))


MARKS = {"iree-vulkan": b"vulkan", "iree-cuda": b".target sm_", "iree-hip": b"rocm"}


@pytest.mark.parametrize("report", [None, LAVAPIPE], ids=["no device", "device"])
@pytest.mark.parametrize("name", [*MARKS, "metal"])
def test_every_target_compiles(network, here, name, report):
    if report is not None:
        report += "- gpu-compute-capability: 8.0\n- gpu-arch-name: gfx1100"
    here(report)
    module = compile_for(network, subject.target(name))
    assert MARKS.get(name, b"metal_stdlib") in module


def test_cuda_architectures_match_the_compiler():
    def knows(architecture):
        options = ["--iree-hal-target-device=cuda", f"--iree-cuda-target={architecture}"]
        try:
            compile_text(ADDITION, options, "addition")
        except unmess.Error:
            return False
        return True

    assert knows(subject.CUDA_DEFAULT) and knows(subject.CUDA[-1])
    # If the compiler knows one of these, add it to the table. It may also be a better default.
    assert not knows("sm_90") and not knows("sm_100")


@pytest.mark.parametrize(
    ("cpu", "features", "few"),
    [
        ("host", {"avx2", "fma"}, True),
        ("host", {"avx2", "avx512f"}, False),
        ("generic", {"avx2", "avx512f"}, True),
        ("znver3", {"avx512f"}, True),
        ("znver4", {"avx2"}, False),
    ],
)
def test_number_of_vector_registers(cpu, features, few, monkeypatch):
    monkeypatch.setattr(subject, "machine", lambda: "x86_64")
    monkeypatch.setattr(subject, "processor_features", lambda: frozenset(features))
    subject._features.cache_clear()
    try:
        assert subject.target("iree-cpu", TargetOptions(cpu=cpu)).few_registers is few
    finally:
        subject._features.cache_clear()


def test_arm_has_many_vector_registers(monkeypatch):
    monkeypatch.setattr(subject, "machine", lambda: "aarch64")
    assert not subject.target("iree-cpu").few_registers


@pytest.mark.parametrize(
    ("machine", "features", "has_kernels", "multiplies_bf16"),
    [
        ("x86_64", {"sse2"}, False, False),
        ("x86_64", {"avx2"}, False, False),
        ("x86_64", {"avx2", "fma"}, True, False),
        ("x86_64", {"avx2", "fma", "avx512f", "avx512bf16"}, True, True),
        ("aarch64", {"neon"}, True, False),
        ("aarch64", {"neon", "bf16"}, True, True),
    ],
)
def test_matrix_kernels(machine, features, has_kernels, multiplies_bf16, monkeypatch):
    monkeypatch.setattr(subject, "machine", lambda: machine)
    monkeypatch.setattr(subject, "_features", lambda cpu: frozenset(features))
    found = subject.target("iree-cpu")
    assert (subject.NO_KERNELS not in found.options) == has_kernels
    assert found.multiplies_bf16 == multiplies_bf16
