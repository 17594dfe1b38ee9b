"""The ways in which a reproducer shows its failure, those with the fewest tools first.

This module does not import PyTorch.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

from unmess.core.errors.stages import LOWERED
from unmess.isolated.options import Options
from unmess.triage.failure import Failure, normalized, operator_in, ran_out_of_memory
from unmess.triage.trace import Trace, Value
from unmess.triage.trials import dynamic_of

_MAIN = 'if __name__ == "__main__":\n    module, arguments = model()\n'
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


def forms(failure: Failure, cause: str, trace: Trace, runner: str, via: str | None) -> list[Form]:
    """Returns the ways in which a failure may be shown, in the order in which to try them.

    Args:
        cause: the message of the failure.
        runner, via: as for `unmess.check`.
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
    shows = failure.message or f"{failure.stage}:"
    found.append(Form("unmess", "unmess", _check(trace, runner, via), shows))
    return found


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
        f"program = captured({model!r}{given})\n{_report(runner, options.via, '')}"
    )
    return Form("unmess", f"unmess and {model}", code, failure.message or f"{failure.stage}:")


def _export(trace: Trace) -> str:
    arguments = [value for value in trace.inputs if not value.is_weight]
    dynamic = ", ".join(_dimensions(value) for value in arguments)
    shapes = f", dynamic_shapes=({dynamic},)" if dynamic_of(trace) else ""
    return f"{_MAIN}    torch.export.export(module, arguments{shapes}, strict=False)\n"


def _dimensions(value: Value) -> str:
    axes = (f"{axis}: torch.export.Dim({symbol!r})" for axis, symbol in value.dynamic)
    return "{" + ", ".join(axes) + "}"


def _check(trace: Trace, runner: str, via: str | None) -> str:
    dynamic = dynamic_of(trace)
    shapes = f", dynamic_shapes={list(dynamic)!r}" if dynamic else ""
    return (
        f"{_MAIN}    import sys\n\n    import unmess\n\n"
        f"    program = unmess.capture(module, arguments{shapes})\n"
        f"{_report(runner, via, '    ')}"
    )


def _report(runner: str, via: str | None, indent: str) -> str:
    dialect = f", via={via!r}" if via else ""
    lines = (
        f"report = unmess.check(program, on={runner!r}{dialect})",
        'print("matches eager" if report.ok else f"compare: {report.error}")',
        "sys.exit(not report.ok)",
    )
    return "".join(f"{indent}{line}\n" for line in lines)


def is_shown(form: Form, failure: Failure, status: int | None, output: str) -> bool:
    """Returns whether a run of a reproducer shows the failure.

    Args:
        status: as `os.waitstatus_to_exitcode` gives it; None if the run took too long.
        output: what it printed.
    """
    if failure.kind == "hang":
        return status is None
    if not status:
        return False
    if failure.kind == "crash":
        return status < 0 or "crashed with" in output
    if failure.kind == "out of memory":
        return ran_out_of_memory(output) or status == -signal.SIGKILL
    return form.shows in "\n".join(map(normalized, output.splitlines()))
