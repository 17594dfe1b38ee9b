"""IREE's compiler, in a process of its own, with its diagnostics as errors."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.iree.assertions import spell_lines
from pipelines.iree.compilation import ERROR, NOT_COMPILED, REFUSED
from pipelines.iree.elementary.rewrite import compute_elementary_functions
from pipelines.iree.packing import PACKER_TARGET, splitting_options, without_output
from pipelines.iree.parameters import with_parameters
from pipelines.iree.presets import PLAIN, PRESETS, Preset
from pipelines.iree.reach import cut_to_reach
from pipelines.iree.stablehlo_input import to_iree
from pipelines.iree.targets import Target
from pipelines.pipeline import brief
from unmess.core import processes
from unmess.core.error import Error
from unmess.core.module import Module
from unmess.core.reproducer import write_reproducer
from unmess.core.user_source import is_users, location_line

# IREE spells a diagnostic as `file:line:column: message`, or `loc(…): message`.
_PLACE = re.compile(r"([^:\n]+):(\d+):\d+: ")
_LOCATION = re.compile(r"loc\((?:[^()]|\([^()]*\))*\): ")
# Hardware that was asked for by a name that nobody has.
_UNKNOWN = re.compile(
    r"'([^']+)' is not a recognized processor|Unknown (?:CUDA|ROCM|Vulkan) target '([^']+)'"
)
# What the compiler says of an NVIDIA GPU that it does not know.
_NO_GPU = "missing GPU target in"
_GPU = re.compile(r"--iree-(?:cuda|rocm|vulkan)-target=(.+)")
# Before what is wrong with an option.
_FLAGS = "Error parsing flags:"
# Functions of C's library that the code calls; IREE links none.
_UNDEFINED = re.compile(r"undefined symbol: (\w+)")
_KIND = re.compile(r"(error|warning|note|remark): ")


@dataclass(frozen=True)
class _Diagnostic:
    severity: int
    text: str


def compile_for(
    module: Module, target: Target, preset: Preset = PRESETS[PLAIN], more: Sequence[str] = ()
) -> bytes:
    """Compiles a module at an exit, which is left as it is, to a VM module.

    Its weights are not in the result: they are parameters, named as in `module.weights`.

    Args:
        more: options of `iree-compile`, besides those of the target and the preset.

    Raises:
        Error: stage `compile`.
    """
    options = (*options_for(module, target, preset), *more)
    return compile_text(text_for(module, target, preset), options, module.name)


def taken_as_it_is(module: Module) -> bool:
    """Whether IREE has an input type for the module's stage; else it takes it at `linalg`."""
    return module.stage in ("tosa", "stablehlo")


def options_for(module: Module, target: Target, preset: Preset) -> tuple[str, ...]:
    """The options of `iree-compile`: the target's, the preset's, and the module's input type."""
    kind = (f"--iree-input-type={module.stage}",) if taken_as_it_is(module) else ()
    return (*target.options, *kind, *preset.options)


def compile_with_packer(
    module: Module, target: Target, preset: Preset
) -> tuple[bytes, bytes | None]:
    """Compiles a module as `compile_for` does, to a program that reads its weights packed.

    Returns:
        The VM module, and that of the packer (`packing.py`); None in its place where the program
        reads the weights themselves.

    Raises:
        Error: stage `compile`.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "packer.mlir"
        code = compile_for(module, target, preset, splitting_options(file))
        if not file.exists():
            return code, None
        return code, compile_text(file.read_text(), PACKER_TARGET, f"{module.name}-packer")


def text_for(module: Module, target: Target, preset: Preset) -> str:
    """The IR that `iree-compile` makes the VM module of."""
    ir = with_parameters(module, target.attributes)
    spell_lines(ir)
    if module.stage == "stablehlo":
        to_iree(ir, module.name)
    if not taken_as_it_is(module):
        if target.device.startswith("local"):
            compute_elementary_functions(ir)
        for rewrite in preset.rewrites:
            rewrite(ir)
        cut_to_reach(ir)
    # TOSA and StableHLO are spelled as torch-mlir's version of them does, which is not IREE's.
    # Their generic forms agree.
    return ir.operation.get_asm(
        enable_debug_info=True, print_generic_op_form=taken_as_it_is(module)
    )


def command_for(options: Sequence[str]) -> str:
    """The command that compiles a file as `compile_text` does."""
    return f"iree-compile {shlex.join(map(without_output, options))} THIS_FILE -o /dev/null"


def compile_text(text: str, options: Sequence[str], name: str) -> bytes:
    """Compiles IR to a VM module.

    Args:
        text: the IR, with locations, so that an error finds the user's source line.
        options: of `iree-compile`.
        name: of the model, for the reproducer.

    Raises:
        Error: stage `compile`, with the first error diagnostic and a reproducer.
    """
    with tempfile.TemporaryFile() as diagnostics:
        try:
            done = subprocess.run(
                processes.command(
                    "pipelines.iree.compilation", str(diagnostics.fileno()), *options
                ),
                input=text.encode(),
                capture_output=True,
                pass_fds=(diagnostics.fileno(),),
                env=processes.environment(),
            )
        except OSError as problem:
            raise Error(
                "compile",
                f"IREE's compiler cannot be started: {problem.strerror}",
                hint="the system may be out of memory or of processes",
            ) from problem
        diagnostics.seek(0)
        # A compiler that crashes may leave half a line.
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
            f"IREE's compiler refuses its options: {brief(refused)}",
            hint="`iree-compile --help` lists the options",
        )
    errors = [d.text for d in diagnostics if d.severity >= ERROR]
    printed = done.stderr.decode(errors="replace").splitlines()
    if unknown := _unknown_hardware("\n".join([*errors, *printed]), options):
        return Error(
            "usage",
            f"IREE's compiler does not know {unknown!r}, which it is to compile for",
            hint="a CPU is host, generic or a name that LLVM knows, such as znver3; a GPU has a "
            "name such as sm_89, gfx942 or rdna3",
        )
    # What LLVM and the options' checks say before they give up does not come as a diagnostic.
    errors += [line for line in printed if _fatal(line)]
    cause = brief(_message(errors[0])) if errors else "no diagnostic"
    if missing := dict.fromkeys(_UNDEFINED.findall("\n".join(printed))):
        cause = f"its runtime has no {', '.join(missing)}, which the code calls"
    hint = "try --on reference, or report the reproducer to IREE"
    if done.returncode == NOT_COMPILED:
        cause = f"IREE does not compile the module: {cause}"
    else:
        cause = f"IREE's compiler crashes with {processes.ending(done.returncode)}: {cause}"
        if done.returncode == -signal.SIGKILL:
            hint = "the system may have run out of memory"
    # The error first, then the frames that called it.
    lines = [line for d in diagnostics if (line := _users_line(d.text))]
    repro = write_reproducer(f"// {command_for(options)}\n{text}", f"{name}-iree")
    return Error("compile", cause, where=lines[0] if lines else None, hint=hint, repro=repro)


def _unknown_hardware(text: str, options: Sequence[str]) -> str | None:
    """The name that was asked for and that the compiler says it does not know."""
    if match := _UNKNOWN.search(text):
        return match[1] or match[2]
    named = (_GPU.fullmatch(option) for option in options)
    return next((match[1] for match in named if match), None) if _NO_GPU in text else None


def _fatal(line: str) -> bool:
    return "error:" in line.lower()


def _message(text: str) -> str:
    """A diagnostic without its place."""
    for pattern in (_LOCATION, _PLACE, re.compile(r"<unknown>:\d+: "), _KIND):
        text = pattern.sub("", text, count=1) if pattern.match(text) else text
    return text


def _users_line(text: str) -> str | None:
    """The user's source line that a diagnostic names first, if it does.

    Callers follow the error itself: `torch/nn/modules/conv.py:565:0: …`, `model.py:12:0: called
    from`.
    """
    if match := _LOCATION.match(text):
        return location_line(match[0])
    places = (f"{match[1]}:{match[2]}" for match in _PLACE.finditer(text) if is_users(match[1]))
    return next(places, None)
