"""The ways in which a reproducer shows its failure, those with the fewest tools first.

This module does not import PyTorch.
"""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unmess.core.errors.stages import BEFORE_BACKEND, LOWERED
from unmess.isolated.options import Options
from unmess.triage.failure import Failure, normalized, operator_in, ran_out_of_memory
from unmess.triage.trace import Trace, Value
from unmess.triage.trials import dynamic_of

_MAIN = 'if __name__ == "__main__":\n    module, arguments = model()\n'
# Devices of IREE's runtime by runner.
_DEVICES = {"iree-vulkan": "vulkan", "iree-cuda": "cuda", "iree-hip": "hip"}
# The projects of command-line tools.
_PROJECTS = {"iree-compile": "IREE", "torch-mlir-opt": "torch-mlir"}
_OUTPUT_TYPES = {
    "import": "raw",
    "torch": "torch",
    "linalg": "linalg-on-tensors",
    "tosa": "tosa",
    "stablehlo": "stablehlo",
}


@dataclass(frozen=True)
class Form:
    """The end of a `repro.py`.

    Attributes:
        tool: what fails, for people.
        packages: what the file needs.
        code: runs the program with the tool.
        shows: text in the output of a run that shows the failure, after `normalized`; empty for
            failures without a text.
    """

    tool: str
    packages: str
    code: str
    shows: str


def forms(
    failure: Failure, cause: str, trace: Trace, runner: str, options: Options, ir: str | None
) -> list[Form]:
    """Returns the ways in which a failure may be shown, in the order in which to try them.

    Args:
        cause: the message of the failure.
        runner, options: of the check.
        ir: the text of `repro.mlir`, if there is one.
    """
    found = []
    if failure.stage == "capture":
        shows = failure.message.rpartition("cannot capture the model : ")[2]
        found.append(Form("torch.export", "torch", _export(trace), shows))
    if failure.stage in ("import", *LOWERED) and not dynamic_of(trace):
        operator = operator_in(cause)
        shows = operator.removeprefix("aten.") if operator else failure.message
        code = _MAIN + "    from torch_mlir import fx\n\n"
        dialect = _OUTPUT_TYPES[failure.stage]
        code += f'    fx.export_and_import(module, *arguments, output_type="{dialect}")\n'
        found.append(Form("torch-mlir", "torch and torch-mlir", code, shows))
    if ir and (command := re.search(r"^// (iree-compile .*)", ir, re.MULTILINE)):
        found.append(_iree(failure, shlex.split(command[1]), runner))
    shows = failure.message or f"{failure.stage}:"
    found.append(Form(_tool(failure, runner), "unmess", _check(trace, runner, options), shows))
    return found


def _tool(failure: Failure, runner: str) -> str:
    """Returns the name of what fails, for failures that only unmess shows."""
    if failure.stage in BEFORE_BACKEND or runner == "reference":
        return "unmess"
    return "IREE" if runner.startswith("iree-") else runner


def module_form(failure: Failure, model: str, options: Options, runner: str) -> Form:
    """Returns the check of a module with the model's own code.

    Args:
        model: a model string.
        options: of the check; `only` is the module.
    """
    path, colon, name = model.rpartition(":")
    if Path(path).is_file():
        model = f"{Path(path).resolve()}{colon}{name}"
    elif Path(model).is_file():
        model = str(Path(model).resolve())
    names = ("inputs", "dynamic", "strategy", "trust", "only")
    default = Options()
    given = "".join(
        f", {name}={getattr(options, name)!r}"
        for name in names
        if getattr(options, name) != getattr(default, name)
    )
    code = (
        "import sys\n\nimport unmess\nfrom unmess.captured import captured\n\n"
        f"program = captured({model!r}{given})\n{_report(runner, options, '')}"
    )
    return Form(
        _tool(failure, runner), f"unmess and {model}", code, failure.message or f"{failure.stage}:"
    )


def tool_form(failure: Failure, command: Sequence[str]) -> Form:
    """Returns the command that fails for `repro.mlir`."""
    name = command[0]
    code = (
        "import subprocess\nimport sys\nfrom pathlib import Path\n\n"
        f"command = {list(command)!r}\n"
        "done = subprocess.run(command, cwd=Path(__file__).parent)\n"
        "sys.exit(done.returncode)\n"
    )
    shows = failure.message.rpartition(": ")[2]
    return Form(_PROJECTS.get(name, name), f"{name} and repro.mlir", code, shows)


def _export(trace: Trace) -> str:
    arguments = [value for value in trace.inputs if not value.is_weight]
    dynamic = ", ".join(_dimensions(value) for value in arguments)
    shapes = f", dynamic_shapes=({dynamic},)" if dynamic_of(trace) else ""
    return f"{_MAIN}    torch.export.export(module, arguments{shapes}, strict=False)\n"


def _dimensions(value: Value) -> str:
    axes = (f"{axis}: torch.export.Dim({symbol!r})" for axis, symbol in value.dynamic)
    return "{" + ", ".join(axes) + "}"


def _iree(failure: Failure, command: list[str], runner: str) -> Form:
    """Returns the compilation of `repro.mlir` with IREE, and a call unless compiling fails."""
    options = [option for option in command if option.startswith("--")]
    listed = "".join(f"        {option!r},\n" for option in options)
    code = (
        f"{_MAIN}    from pathlib import Path\n\n"
        "    from iree.compiler.tools import compile_file\n\n"
        f"    options = [\n{listed}    ]\n"
        "    # The IR of the program above.\n"
        '    ir = Path(__file__).with_name("repro.mlir")\n'
        "    binary = compile_file(str(ir), extra_args=options)\n"
    )
    if failure.stage == "compile":
        shows = failure.message.rpartition(": ")[2]
        return Form("IREE", "torch, iree-base-compiler and repro.mlir", code, shows)
    code += (
        "    from iree import runtime\n\n"
        f"    config = runtime.Config({_DEVICES.get(runner, 'local-task')!r})\n"
        "    context = runtime.SystemContext(config=config)\n"
        "    compiled = runtime.VmModule.copy_buffer(context.instance, binary)\n"
        "    context.add_vm_module(compiled)\n"
        "    function = context.modules[compiled.name].main\n"
        "    results = function(*(each.numpy() for each in arguments))\n"
        "    results = results if isinstance(results, (tuple, list)) else [results]\n"
        "    for actual, expected in zip(results, module(*arguments), strict=True):\n"
        "        torch.testing.assert_close(torch.tensor(actual.to_host()), expected)\n"
    )
    shows = {"wrong result": "not close", "wrong shape": "shape", "wrong dtype": "dtype"}
    packages = "torch, iree-base-compiler, iree-base-runtime and repro.mlir"
    return Form("IREE", packages, code, shows.get(failure.kind, failure.message))


def _check(trace: Trace, runner: str, options: Options) -> str:
    dynamic = dynamic_of(trace)
    shapes = f", dynamic_shapes={list(dynamic)!r}" if dynamic else ""
    if options.strategy != Options.strategy:
        shapes += f", strategy={options.strategy!r}"
    return (
        f"{_MAIN}    import sys\n\n    import unmess\n\n"
        f"    program = unmess.capture(module, arguments{shapes})\n"
        f"{_report(runner, options, '    ')}"
    )


def _report(runner: str, options: Options, indent: str) -> str:
    given = f", via={options.via!r}" if options.via else ""
    if (options.cpu, options.preset) != (Options.cpu, Options.preset):
        given += f", target=unmess.TargetOptions(cpu={options.cpu!r}, preset={options.preset!r})"
    given += ", unchecked=True" if options.unchecked else ""
    lines = (
        f"report = unmess.check(program, on={runner!r}{given})",
        'print("matches eager" if report.ok else f"compare: {report.error}")',
        "sys.exit(not report.ok)",
    )
    return "".join(f"{indent}{line}\n" for line in lines)


def is_shown(form: Form, failure: Failure, status: int | None, output: str) -> bool:
    """Returns whether a run of a reproducer shows the failure.

    Args:
        status: as `os.waitstatus_to_exitcode` gives it; None if the run took too long.
        output: the standard output and standard error of the process.
    """
    if failure.kind == "hang":
        return status is None
    if not status:
        return False
    if failure.kind == "crash":
        # A tool that runs as a process of its own is reported by its status.
        return status < 0 or "crashed with" in output or "Error code: -" in output
    if failure.kind == "out of memory":
        return ran_out_of_memory(output) or status == -signal.SIGKILL
    return form.shows in "\n".join(map(normalized, output.splitlines()))
