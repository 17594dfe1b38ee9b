"""Writes the result of a search to a folder: reproducers, versions, and an issue.

This module does not import PyTorch.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from dataclasses import replace
from pathlib import Path

from unmess.core.errors.error import Error
from unmess.core.files.writing import write_text
from unmess.environment.versions import versions
from unmess.isolated.child import Child
from unmess.isolated.options import INPUT
from unmess.triage.failure import operator_in
from unmess.triage.finding import Finding
from unmess.triage.forms import Form, forms, is_shown, module_form, tool_form
from unmess.triage.ir_reduction import ReducedIr, Tool, command_in, reduce_ir
from unmess.triage.issue import issue_text
from unmess.triage.known_limits import matching_limit
from unmess.triage.numerics import Wrong
from unmess.triage.program_text import program_text
from unmess.triage.running import RunFile
from unmess.triage.search import Search
from unmess.triage.trace import Call, Trace
from unmess.triage.trials import CANDIDATE, Trials, dynamic_of

_IR = "repro.mlir"
# The least time to reduce the IR, in seconds.
_IR_SECONDS = 60.0
_DISPATCH = "// iree-compile --compile-mode=hal-executable dispatch.mlir -o dispatch.so"


class Folder:
    """A folder that is being written.

    Args:
        run_file: runs `repro.py`, to see whether it shows the failure. None: it is not run.
    """

    def __init__(self, path: Path, search: Search, trials: Trials, run_file: RunFile | None):
        self._path = path
        self._search = search
        self._trials = trials
        self._run_file = run_file
        self._best = search.best
        self._failure = search.failure

    def write(self) -> Finding:
        """Writes all files, and returns the finding that they describe.

        Raises:
            OSError: the folder cannot be written.
        """
        self._path.mkdir(parents=True, exist_ok=True)
        best, failure = self._best, self._failure
        row, trace = best.row, best.trace
        if trace is not None:
            trace = self._with_stored_inputs(trace)
        ir = self._ir()
        reduced = None if ir is None else self._reduced(ir)
        if reduced is not None:
            ir = reduced.text
        if ir is not None:
            write_text(self._path / _IR, ir)
        if best.dispatch_ir is not None:
            write_text(self._path / "dispatch.mlir", f"{_DISPATCH}\n{best.dispatch_ir}")
        form, reproduces = self._write_program(trace, ir, fails_alone=reduced is not None)
        versioned = "".join(f"{name} {version}\n" for name, version in versions().items())
        write_text(self._path / "versions.txt", versioned)
        call = self._culprit(trace)
        finding = Finding(
            failure.stage,
            failure.kind,
            row.error or "",
            operator=call.operator if call else operator_in(row.error or ""),
            where=call.where if call and call.where else self._search.row.where,
            before=best.before,
            after=trace.operators if trace else None,
            module=best.only,
            ir_operations=reduced.operations if reduced else None,
            folder=self._path,
            files=(),
            tool=form.tool,
            reproduces=reproduces,
            limit=matching_limit(failure, self._trials.runner, self._search.row.model),
            origin=best.origin,
            value=_described(best.wrong),
            dispatch=best.dispatch,
            trials=self._trials.count,
            is_complete=best.is_complete,
        )
        write_text(self._path / "issue.md", issue_text(finding, form, self._search.row))
        names = sorted(each.name for each in self._path.iterdir())
        return replace(finding, files=tuple(names))

    def _with_stored_inputs(self, trace: Trace) -> Trace:
        """Copies the recorded values that the program needs into the folder."""
        inputs = []
        for value in trace.inputs:
            if value.file is not None:
                name = f"{value.name}.pt"
                shutil.copy(value.file, self._path / name)
                text = f"torch.load(Path(__file__).with_name({name!r}))"
                expression = (value.expression or "").replace(f"torch.load({value.file!r})", text)
                value = replace(value, expression=expression)
            inputs.append(value)
        return replace(trace, inputs=tuple(inputs))

    def _write_program(
        self, trace: Trace | None, ir: str | None, *, fails_alone: bool
    ) -> tuple[Form, bool | None]:
        """Writes `repro.py` in the first form that shows the failure, else in the last one."""
        file, cause = self._path / "repro.py", self._best.row.error or ""
        options, runner = self._trials.options, self._trials.runner
        if trace is None:
            only = replace(options, only=self._best.only)
            possible = [module_form(self._failure, self._search.row.model, only, runner)]
            if fails_alone:
                possible.insert(0, tool_form(self._failure, command_in(ir, _IR)))
        else:
            possible = forms(self._failure, cause, trace, runner, options, ir)
        # The last form is the check that the search has made.
        for form in possible if self._run_file else possible[-1:]:
            header = f'"""{self._failure}: needs {form.packages}.\n\n{_wrapped(cause)}\n"""'
            program = program_text(trace, header) if trace else f"{header}\n"
            write_text(file, f"{program}\n\n{form.code}" if trace else f"{program}\n{form.code}")
            if self._run_file is None:
                return form, None
            self._trials.say("run repro.py by itself")
            run = self._run_file(file, options.timeout or 60.0, options.memory_mb)
            if is_shown(form, self._failure, run.status, run.output):
                return form, True
        return form, False

    def _ir(self) -> str | None:
        """Returns the IR that fails, with its command line; None if there is none."""
        row, failure = self._best.row, self._failure
        path = row.repro
        stage = "compile" if failure.stage == "compare" else failure.stage
        if path is None and stage in INPUT:
            runner, via = self._trials.runner, self._trials.options.via
            crash = {"stage": stage, "runner": runner, "via": via, "cause": row.error or ""}
            options = replace(self._trials.options, timeout=max(self._trials.left, 10.0))
            if self._best.trace is not None:
                dynamic = dynamic_of(self._best.trace)
                options = replace(options, inputs=(), only=None, dynamic=dynamic)
            else:
                options = replace(options, only=self._best.only)
            with Child(self._trials.parent, row.model, options, crash=crash) as child:
                list(child.rows(lambda _stage, _runner: None, lambda _line: None))
            path = child.repro
        if path is None:
            return None
        text = Path(path).read_text()
        text = text.replace(path, _IR, 1).replace(f"{row.model} on ", "repro.py on ", 1)
        return re.sub(re.escape(str(self._trials.folder)) + "/", "", text)

    def _reduced(self, text: str) -> ReducedIr | None:
        """Returns smaller IR if no program without the model's own code fails alike."""
        command = command_in(text, _IR)
        if self._best.trace is not None or command is None or self._run_file is None:
            return None
        self._trials.extend(_IR_SECONDS)
        options = self._trials.options
        timeout = options.timeout or _IR_SECONDS
        tool = Tool(command, _IR, self._trials.folder, timeout, options.memory_mb)
        return reduce_ir(text, tool, self._trials.say, lambda: self._trials.left)

    def _culprit(self, trace: Trace | None) -> Call | None:
        """Returns the call that the message names by its operator or its line.

        Without such a call, returns the last one of a program that is reduced completely.
        """
        if trace is None or not trace.calls:
            return None
        row = self._best.row
        name = operator_in(row.error or "")
        named = [
            call for call in trace.calls if name and f"{call.operator}.".startswith(f"{name}.")
        ]
        # Line numbers are those of the checked program, whose inputs differ from `trace`.
        lines = program_text(self._best.trace).splitlines()
        file, _, number = (row.where or "").rpartition(":")
        line = lines[int(number) - 1].strip() if Path(file).name == CANDIDATE else ""
        placed = [call for call in trace.calls if line.startswith(f"{call.value.name} = ")]
        last = [call for call in trace.calls if call.part_of is None and self._best.is_complete]
        return next(reversed(named or placed or last), None)


def _wrapped(text: str | None) -> str:
    safe = (text or "").replace("\\", "\\\\").replace('"""', "'''")
    return "\n".join(textwrap.wrap(safe, 96, break_long_words=False))


def _described(wrong: Wrong | None) -> str | None:
    if wrong is None:
        return None
    call = wrong.call
    place = f" at {call.where}" if call.where else ""
    right = f"{wrong.right} value{'s' * (wrong.right != 1)} before it are right"
    return f"{call.value.name}, the result of {call.operator}{place}: {wrong.error} ({right})"


def check_folder(path: Path) -> None:
    """Raises an Error (`usage`) if a folder cannot be made, or has files."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise Error("usage", f"{path} exists", hint="name another folder with -o, or remove it")
