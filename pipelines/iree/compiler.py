"""Runs IREE's compiler in a separate process and turns its diagnostics into errors."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.attention_blocks import COMPUTE_BLOCKS_IN_ORDER
from pipelines.iree.assertions import ASSERTION_LINES
from pipelines.iree.bf16_conversions import CONVERT_THROUGH_F32
from pipelines.iree.branch_references import copy_references
from pipelines.iree.buffer_limit import LIMIT_BUFFERS
from pipelines.iree.compilation import ERROR, NOT_COMPILED, REFUSED
from pipelines.iree.compiler_cache import compiled_once
from pipelines.iree.concatenation import CONCATENATE_DYNAMIC_SIZES
from pipelines.iree.constant_operands import HIDE_CONSTANTS
from pipelines.iree.cropping import CROP_TO_WINDOWS
from pipelines.iree.elementary_functions import ELEMENTARY_FUNCTIONS
from pipelines.iree.merge_sorts import MERGE_SORTS
from pipelines.iree.packing import PACKER_TARGET, splitting_options, without_output
from pipelines.iree.parameters import with_parameters
from pipelines.iree.presets import PLAIN, PRESETS, Preset
from pipelines.iree.product_sums import KEEP_SUMS_OF_PRODUCTS
from pipelines.iree.seeds import KEEP_SEEDS_AS_NUMBERS
from pipelines.iree.softmax import KEEP_EXPONENTIALS
from pipelines.iree.sorts import KEEP_SORTED_VALUES
from pipelines.iree.stored_updates import STORE_UPDATES
from pipelines.iree.strided_reads import READ_WHOLE_TENSORS
from pipelines.iree.targets import NO_KERNELS, Target
from pipelines.iree.wide_convolutions import WIDEN_CONVOLUTIONS
from pipelines.long_sums import LONG_SUMS
from pipelines.pipeline import brief
from unmess.core.cache.reproducer import write_reproducer
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import is_users, location_line
from unmess.core.module.module import Module
from unmess.core.processes import children
from unmess.core.processes.temporary_folders import temporary_folder

# IREE writes a diagnostic as `file:line:column: message` or `loc(…): message`.
_PLACE = re.compile(r"([^:\n]+):(\d+):\d+: ")
_LOCATION = re.compile(r"loc\((?:[^()]|\([^()]*\))*\): ")
# Errors about a requested processor or GPU that the compiler does not know.
_UNKNOWN = re.compile(
    r"'([^']+)' is not a recognized processor|Unknown (?:CUDA|ROCM|Vulkan) target '([^']+)'"
)
# The error for an unknown NVIDIA GPU, which does not name it.
_NO_GPU = "missing GPU target in"
_GPU = re.compile(r"--iree-(?:cuda|rocm|vulkan)-target=(.+)")
# The prefix of errors about options.
_FLAGS = "Error parsing flags:"
# Functions of the C library that the code calls: IREE does not link any.
_UNDEFINED = re.compile(r"undefined symbol: (\w+)")
# Control flow for which IREE makes branches that pass values.
_BRANCH = re.compile(r"\b(scf|cf)\.(?!assert)")
_KIND = re.compile(r"(error|warning|note|remark): ")


@dataclass(frozen=True)
class _Diagnostic:
    severity: int
    text: str


def compile_for(module: Module, target: Target, preset: Preset = PRESETS[PLAIN]) -> bytes:
    """Compiles a module at `linalg` to a VM module, without changing it.

    The result does not contain the weights: they are parameters, named as in `module.weights`.

    Raises:
        Error: stage `compile`.
    """
    text, options = input_for(module, target, preset)
    name = module.name
    code, _ = compiled_once(text, options, name, lambda: (compile_text(text, options, name), None))
    return _corrected(code, text)


def compile_with_packer(
    module: Module, target: Target, preset: Preset
) -> tuple[bytes, bytes | None]:
    """Compiles a module like `compile_for`, to a program that reads packed weights.

    Returns:
        The VM modules of the program and of the packer (`packing.py`). The packer is None if the
        program reads the weights themselves.

    Raises:
        Error: stage `compile`.
    """
    text, options = input_for(module, target, preset)
    name = module.name

    def compile() -> tuple[bytes, bytes | None]:
        with temporary_folder() as folder:
            file = Path(folder) / "packer.mlir"
            code = compile_text(text, (*options, *splitting_options(file)), name)
            if not file.exists():
                return code, None
            return code, compile_text(file.read_text(), PACKER_TARGET, f"{name}-packer")

    all_options = (*options, *splitting_options(Path(os.devnull)), *PACKER_TARGET)
    code, packer = compiled_once(text, all_options, name, compile)
    return _corrected(code, text), packer


def _corrected(code: bytes, text: str) -> bytes:
    """Returns the VM module of a program, with correct branches (`branch_references.py`)."""
    return copy_references(code) if _BRANCH.search(text) else code


def input_for(module: Module, target: Target, preset: Preset) -> tuple[str, tuple[str, ...]]:
    """Returns the text of the IR that `iree-compile` takes, and its options."""
    ir = with_parameters(module, target.attributes)
    ASSERTION_LINES.apply(ir)
    if target.is_cpu:
        COMPUTE_BLOCKS_IN_ORDER.apply(ir)
        KEEP_EXPONENTIALS.apply(ir)
        ELEMENTARY_FUNCTIONS.apply(ir)
        CONVERT_THROUGH_F32.apply(ir)
        WIDEN_CONVOLUTIONS.apply(ir)
    for step in preset.steps_for(few_registers=target.few_registers):
        step.apply(ir)
    CROP_TO_WINDOWS.apply(ir)
    LONG_SUMS.apply(ir)
    KEEP_SUMS_OF_PRODUCTS.apply(ir)
    READ_WHOLE_TENSORS.apply(ir)
    if target.is_cpu:
        MERGE_SORTS.apply(ir)
    KEEP_SORTED_VALUES.apply(ir)
    KEEP_SEEDS_AS_NUMBERS.apply(ir)
    CONCATENATE_DYNAMIC_SIZES.apply(ir)
    STORE_UPDATES.apply(ir)
    HIDE_CONSTANTS.apply(ir)
    LIMIT_BUFFERS.apply(ir)
    text = ir.operation.get_asm(enable_debug_info=True)
    options = (*target.options, *_input_type(text), *preset.options)
    if "bf16" in text and not target.multiplies_bf16:
        options = (*options, NO_KERNELS)
    return text, options


def _input_type(text: str) -> tuple[str, ...]:
    # By default, IREE loads all input dialects, which takes a tenth of the time of a small program.
    # It needs them for torch-mlir's TMTensor.
    return () if "tm_tensor." in text else ("--iree-input-type=none",)


def command_for(options: Sequence[str]) -> str:
    """Returns the command line that compiles a file like `compile_text`."""
    return f"iree-compile {shlex.join(map(without_output, options))} THIS_FILE -o /dev/null"


def compile_text(text: str, options: Sequence[str], name: str) -> bytes:
    """Compiles IR to a VM module.

    Args:
        text: the IR, with locations, so that errors can name the user's source line.
        options: options of `iree-compile`.
        name: the name of the model, for the reproducer.

    Raises:
        Error: stage `compile`, with the first error diagnostic and a reproducer.
    """
    with tempfile.TemporaryFile() as diagnostics:
        try:
            done = subprocess.run(
                children.command("pipelines.iree.compilation", str(diagnostics.fileno()), *options),
                input=text.encode(),
                capture_output=True,
                pass_fds=(diagnostics.fileno(),),
                env=children.environment(),
            )
        except OSError as problem:
            raise Error(
                "compile",
                f"cannot start IREE's compiler: {problem.strerror}",
                hint="the system may have run out of memory or processes: close other "
                "programs and try again",
            ) from problem
        diagnostics.seek(0)
        # A compiler that crashes may leave an incomplete line.
        lines = [line for line in diagnostics.read().splitlines() if line.endswith(b"]")]
    if done.returncode == 0:
        return done.stdout
    found = [_Diagnostic(*json.loads(line)) for line in lines]
    raise _failed(done, found, text, options, name)


def _failed(
    done: subprocess.CompletedProcess,
    diagnostics: list[_Diagnostic],
    text: str,
    options: Sequence[str],
    name: str,
) -> Error:
    if done.returncode == REFUSED:
        refused = diagnostics[0].text.removeprefix(_FLAGS).strip()
        return Error(
            "usage",
            f"IREE's compiler rejects its options: {brief(refused)}",
            hint="run `iree-compile --help` to list the options",
        )
    errors = [d.text for d in diagnostics if d.severity >= ERROR]
    printed = done.stderr.decode(errors="replace").splitlines()
    if unknown := _unknown_hardware("\n".join([*errors, *printed]), options):
        return Error(
            "usage",
            f"IREE's compiler does not know the target {unknown!r}",
            hint="pass a CPU as host, generic or an LLVM name such as znver3; pass a GPU as a "
            "name such as sm_89, gfx942 or rdna3",
        )
    # Fatal errors of LLVM and of option checks are printed, not reported as diagnostics.
    errors += [line for line in printed if _fatal(line)]
    cause = brief(_message(errors[0])) if errors else "no diagnostic"
    if missing := dict.fromkeys(_UNDEFINED.findall("\n".join(printed))):
        cause = f"IREE's runtime lacks {', '.join(missing)}, which the compiled code calls"
    hint = "try --on reference, and report the reproducer to IREE"
    if done.returncode == NOT_COMPILED:
        cause = f"IREE does not compile the module: {cause}"
    else:
        cause = f"IREE's compiler crashes with {children.ending(done.returncode)}: {cause}"
        if done.returncode == -signal.SIGKILL:
            hint = "the system may have run out of memory: close other programs and try again"
    # Diagnostics name the place of the error first, then its callers.
    lines = [line for d in diagnostics if (line := _users_line(d.text))]
    repro = write_reproducer(f"// {command_for(options)}\n{text}", f"{name}-iree")
    return Error("compile", cause, where=lines[0] if lines else None, hint=hint, repro=repro)


def _unknown_hardware(text: str, options: Sequence[str]) -> str | None:
    """Returns the requested hardware name that the compiler does not know, if that is the error."""
    if match := _UNKNOWN.search(text):
        return match[1] or match[2]
    named = (_GPU.fullmatch(option) for option in options)
    return next((match[1] for match in named if match), None) if _NO_GPU in text else None


def _fatal(line: str) -> bool:
    return "error:" in line.lower()


def _message(text: str) -> str:
    """Returns the text of a diagnostic without its location and severity."""
    for pattern in (_LOCATION, _PLACE, re.compile(r"<unknown>:\d+: "), _KIND):
        text = pattern.sub("", text, count=1) if pattern.match(text) else text
    return text


def _users_line(text: str) -> str | None:
    """Returns the first source line of the user in a diagnostic; None if it has none.

    The callers follow the error itself: `torch/nn/modules/conv.py:565:0: …`,
    `model.py:12:0: called from`.
    """
    if match := _LOCATION.match(text):
        return location_line(match[0])
    places = (f"{match[1]}:{match[2]}" for match in _PLACE.finditer(text) if is_users(match[1]))
    return next(places, None)
