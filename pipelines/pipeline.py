"""Pipelines: lists of named steps, each with its reason."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo
from torch_mlir.passmanager import PassManager

from pipelines.debugging import finished, is_debugging, verify_step
from pipelines.unlowered import hint_for, without_lowering
from unmess.core.cache.reproducer import write_reproducer
from unmess.core.errors.error import Error, first_line
from unmess.core.errors.user_source import location_line, user_line
from unmess.core.processes import crash_log

# torch-mlir's own pipeline to StableHLO has passes that this registers by name.
_stablehlo.register_stablehlo_passes()

# Reproducers contain no weights: literals with more elements are elided.
_LARGE = 64
# Maximum number of characters of a cause.
_LONGEST = 240
_ILLEGAL = re.compile(r"failed to legalize operation '([^']+)'")
_PASS = re.compile(r"(?:func\.func\()?([\w-]+)")
_OPERATION = re.compile(r'see current operation: (?:.* = )?"([\w.]+)"')


@dataclass(frozen=True)
class Step:
    """A change of a module and its reason: a pass of MLIR, or a function in Python.

    Attributes:
        text: the pass with its options, in the syntax of `unmess-opt --pass-pipeline`; for a
            function, the name of the step.
        why: the reason.
        function: changes a module in place; None for a pass.
        lenient: for a conversion that undoes its changes and reports only the first operation when
            it fails: a form of the pass that keeps operations without a lowering.
        tool: the tool that has the pass, if it differs from the pipeline's.
        argument: the name of a function for `unmess-opt --pipeline`, if it differs from `text`.
        takes_context: whether the function takes a second argument, the data of the program that
            the reference runner keeps besides the IR.
    """

    text: str
    why: str
    function: Callable[..., object] | None = None
    lenient: str | None = None
    tool: str | None = None
    argument: str | None = None
    takes_context: bool = False

    @property
    def name(self) -> str:
        """The name of the pass, without its options, or of the function."""
        return _PASS.match(self.text)[1] if self.function is None else self.text

    def command(self, tool: str) -> str:
        """Returns the command line that runs the step on `THIS_FILE`."""
        if self.function is not None:
            argument = shlex.quote(self.argument or self.text)
            return f"unmess-opt --pipeline {argument} THIS_FILE"
        return f"{self.tool or tool} --pass-pipeline={shlex.quote(spelled((self,)))} THIS_FILE"

    def run(self, module: ir.Module | ir.OpView) -> None:
        """Changes `module` in place, and verifies it.

        Raises:
            ir.MLIRError: the pass fails, or the module is invalid.
            Exception: of the function.
        """
        if self.function is None:
            PassManager.parse(spelled((self,))).run(module.operation)
            return
        self.function(module)
        module.operation.verify()

    def apply(self, module: ir.Module, *args: Any, **kwargs: Any) -> None:
        """Calls the function outside of a pipeline. Verifies the module in debug mode only.

        Args:
            args, kwargs: further arguments of the function.

        Raises:
            Error: stage `compile`, if the module is invalid; or what the function raises.
        """
        self.function(module, *args, **kwargs)
        if is_debugging():
            verify_step(module, self.name)


@dataclass(frozen=True)
class Pipeline:
    """Steps from one stage to the next.

    Attributes:
        stage: the stage of reported failures.
        verify_each: whether to verify after each step. If not, only the result is verified, because
            the steps are known to work and verification takes a third of the time. Such pipelines
            contain passes only.
        tool: the tool that reproducers name. Their readers may have torch-mlir, but not this
            project.
    """

    name: str
    stage: str
    hint: str
    steps: tuple[Step, ...]
    verify_each: bool = True
    tool: str = "unmess-opt"

    def __str__(self) -> str:
        """Returns the pipeline in the syntax of `unmess-opt --pass-pipeline`."""
        return spelled(self.steps)

    def apply(self, module: ir.Module, name: str = "module") -> None:
        """Runs the steps on `module` in place.

        Args:
            name: the name of the model, for the reproducer's file name.

        Raises:
            Error: under `stage`, with the step, the operation's source line and a reproducer.
        """
        # The clone shares the weights' memory. It is printed only if a step fails.
        original = module.operation.clone()
        with module.context as context:
            context.emit_error_diagnostics = False
            if self.verify_each or is_debugging() or crash_log.is_tracing():
                self._apply_each(module, original, name)
                return
            try:
                passes = PassManager.parse(str(self))
                passes.enable_verifier(False)
                passes.run(module.operation)
                module.operation.verify()
            except ir.MLIRError:
                # Run again step by step, to find the step that fails.
                self._apply_each(original.clone(), original, name)
                raise

    def _apply_each(self, module: ir.Module | ir.OpView, original: ir.OpView, name: str) -> None:
        for index, step in enumerate(self.steps):
            if crash_log.is_tracing():
                self._leave_reproducer(step, module, name)
            try:
                step.run(module)
            except Exception as problem:
                failure = self._failed(index, module, original, name, problem)
                if failure is problem:
                    raise
                raise failure from problem
            is_last = index + 1 == len(self.steps)
            finished(module, step.name, *([self.name] if is_last else []))

    def _leave_reproducer(self, step: Step, module: ir.Module | ir.OpView, name: str) -> None:
        """Writes the input of a step for a trace, and removes that of the previous step."""
        before = crash_log.last_recorded("repro")
        repro = _reproducer(step.command(self.tool), module.operation, f"{name}-{self.name}")
        crash_log.record(step=step.text, repro=repro)
        if before is not None:
            os.remove(before)

    def _failed(
        self,
        index: int,
        module: ir.Module | ir.OpView,
        original: ir.OpView,
        name: str,
        problem: Exception,
    ) -> Error:
        step, before = self.steps[index], original
        for earlier in self.steps[:index]:
            earlier.run(before)
        repro = _reproducer(step.command(self.tool), before, f"{name}-{self.name}")
        if isinstance(problem, Error):
            # The project's own steps raise errors that lack only the reproducer.
            problem.repro = repro
            return problem
        if not isinstance(problem, ir.MLIRError):
            cause, where = f"{first_line(problem)} (step {step.name})", user_line(problem)
            return Error(self.stage, cause, where=where, hint="a rewrite of unmess", repro=repro)
        diagnostics = problem.error_diagnostics
        lines = [line for d in diagnostics if (line := location_line(d.location))]
        cause, hint = _cause(diagnostics), self.hint
        if match := _ILLEGAL.search(cause):
            # The operation that a conversion reports is often only an operand (a constant) of the
            # operation that has no pattern.
            left = without_lowering(
                step.text,
                step.lenient,
                before,
                module,
                only_unknown=match[1] == "torch.operator",
            )
            lines = [line for _, location in left if (line := location_line(location))] or lines
            names = list(dict.fromkeys(name for name, _ in left)) or [match[1]]
            cause = f"no lowering for {', '.join(names)}"
            hint = hint_for(names) or hint
        return Error(
            self.stage,
            f"{cause} ({'pass' if step.function is None else 'step'} {step.text})",
            where=lines[0] if lines else None,
            hint=hint,
            repro=repro,
        )


def _reproducer(command: str, before: ir.OpView, stem: str) -> str | None:
    """Writes the input IR of a step, after a comment with the command that runs the step on it."""
    text = before.get_asm(
        enable_debug_info=True,
        use_name_loc_as_prefix=True,
        large_elements_limit=_LARGE,
        large_resource_limit=_LARGE,
    )
    return write_reproducer(f"// {command}\n{text}", stem)


def _cause(diagnostics: Sequence[ir.DiagnosticInfo]) -> str:
    """Returns the cause in the first diagnostic, with the operation that it refers to."""
    if not diagnostics:
        return "the pass failed without an error message"
    cause = brief(diagnostics[0].message)
    notes = "\n".join(note.message for note in diagnostics[0].notes)
    operation = _OPERATION.search(notes)
    if operation is None or f"'{operation[1]}'" in cause:
        return cause
    return f"{cause}, at '{operation[1]}'"


def brief(message: str) -> str:
    """Returns an MLIR diagnostic without the printed operation that follows the cause."""
    cause = message.splitlines()[0] if message else ""
    for mark in (": %", ': "', ": func.func"):
        cause = cause.split(mark)[0]
    return cause if len(cause) <= _LONGEST else cause[: _LONGEST - 1] + "…"


def spelled(steps: Iterable[Step]) -> str:
    """Returns the steps in the syntax of `unmess-opt --pass-pipeline`."""
    return f"builtin.module({','.join(step.text for step in steps)})"
