"""Tests the aarch64 assembly that LLVM's cross-compiler generates on any host.

The assembly shows whether the schedules fit NEON's registers. Nothing is run.
"""

import re
import struct
import subprocess
from pathlib import Path

import llvm
import pytest
import torch
from torch_mlir.dialects.llvm import translate_module_to_llvmir

import unmess
from pipelines.ir.modules import copy_module
from pipelines.reference import pipeline
from pipelines.reference.schedules.machine import NEON
from pipelines.reference.steps.assertions import Assertions

_TOOLS = Path(llvm.__file__).parent / "bin"
_TARGET = ("-O3", "-mtriple=aarch64-linux-gnu", "-mcpu=neoverse-n1")
# The tools are from an older release, which writes floats that are no exact decimals as f64 bits.
_FLOAT = re.compile(r"([+-]inf\b)|\bf0x([0-9A-F]{8})\b")


def assembly(module, *args) -> str:
    """Returns the aarch64 assembly of a model."""
    lowered = copy_module(unmess.lower(unmess.capture(module.eval(), args)).ir)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "host_machine", lambda: NEON)
        pipeline.lower_to_llvm(lowered, "model", Assertions(), ["main"])
    with lowered.context:
        text = translate_module_to_llvmir(lowered.operation)
    text = _FLOAT.sub(_as_f64, text)
    for tool in (("opt", *_TARGET, "-S"), ("llc", *_TARGET)):
        command = [_TOOLS / tool[0], *tool[1:], "-o", "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        text = done.stdout
    return text


def _as_f64(match: re.Match) -> str:
    bits = match[2]
    value = struct.unpack(">f", bytes.fromhex(bits))[0] if bits else float(match[1])
    return f"0x{struct.pack('>d', value).hex().upper()}"


def innermost_loop(text: str) -> str:
    """Returns the block with the most fused multiply-adds that branches to itself."""
    blocks = re.findall(r"^(\.LBB\d+_\d+):(.*?)(?=^\.LBB|^// %bb)", text, re.DOTALL | re.MULTILINE)
    loops = [
        body for label, body in blocks if re.search(rf"\tb\.\w+\t{re.escape(label)}$", body, re.M)
    ]
    return max(loops, key=lambda body: body.count("\tfmla\t"))


CASES = {
    "linear": (torch.nn.Linear(128, 96), (torch.randn(64, 128),), "4s"),
    "linear, f64": (torch.nn.Linear(128, 96).double(), (torch.randn(64, 128).double(),), "2d"),
    "convolution": (torch.nn.Conv2d(16, 32, 3, padding=1), (torch.randn(1, 16, 14, 14),), "4s"),
}


@pytest.mark.parametrize("case", CASES)
def test_sums_stay_in_registers(case):
    """A tile has sixteen accumulator vectors, each with one fused instruction per step."""
    module, args, lanes = CASES[case]
    loop = innermost_loop(assembly(module, *args))
    fused = re.findall(rf"\tfmla\t(v\d+)\.{lanes}, ", loop)
    assert len(set(fused)) >= 12
    assert len(fused) % len(set(fused)) == 0
    # The loop stores no accumulator to memory and calls no function.
    assert not re.search(r"\t(st[rpu]\w*|st1|bl)\t", loop)


def test_exponentials_are_vectorized():
    text = assembly(torch.nn.Softmax(-1), torch.randn(256, 1024))
    assert re.search(r"\tfm(la|ls)\tv\d+\.4s", text)
    assert not re.search(r"\tbl\t(expf?|exp2f?)$", text, re.MULTILINE)
