"""A pipeline is data: named steps that a person reads top to bottom."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo
from torch_mlir.passmanager import PassManager

from pipelines.debugging import finished, is_debugging
from pipelines.unlowered import without_lowering
from unmess.core import trail
from unmess.core.error import Error, first_line
from unmess.core.reproducer import write_reproducer
from unmess.core.user_source import location_line, user_line

# torch-mlir's own pipeline to StableHLO has passes that go by no name before this.
_stablehlo.register_stablehlo_passes()

# Reproducers carry no weights: literals above this size are elided.
_LARGE = 64
# Characters of a cause.
_LONGEST = 240
_ILLEGAL = re.compile(r"failed to legalize operation '([^']+)'")
_PASS = re.compile(r"(?:func\.func\()?([\w-]+)")
_OPERATION = re.compile(r'see current operation: (?:.* = )?"([\w.]+)"')


@dataclass(frozen=True)
class Step:
    """One pass with its options, as `unmess-opt --pass-pipeline` takes it, and its reason.

    Attributes:
        lenient: the pass in a form that leaves what it has no lowering for as it is. One that
            fails as a whole takes back what it did, and tells only the first such operation.
        tool: that has the pass, where it is not the pipeline's.
    """

    text: str
    why: str
    lenient: str | None = None
    tool: str | None = None

    @property
    def name(self) -> str:
        """Of the pass alone."""
        return _PASS.match(self.text)[1]

    def command(self, tool: str) -> str:
        """The command line that runs it on `THIS_FILE`, with a tool that has the pass."""
        return f"{self.tool or tool} --pass-pipeline={shlex.quote(spelled((self,)))} THIS_FILE"

    def run(self, module: ir.Module | ir.OpView) -> None:
        """Changes `module` in place, and verifies it; raises `ir.MLIRError`."""
        PassManager.parse(spelled((self,))).run(module.operation)


@dataclass(frozen=True)
class Rewrite:
    """A step in Python: a function that changes a module in place, and its reason.

    Attributes:
        argument: what `unmess-opt --pipeline` knows it by.
    """

    name: str
    why: str
    function: Callable[[ir.Module], object]
    argument: str | None = None

    @property
    def text(self) -> str:
        """What stands for it where a pipeline is printed."""
        return self.name

    def command(self, _tool: str) -> str:
        """See `Step.command`."""
        return f"unmess-opt --pipeline {shlex.quote(self.argument or self.name)} THIS_FILE"

    def run(self, module: ir.Module | ir.OpView) -> None:
        """See `Step.run`; raises whatever the function raises, too."""
        self.function(module)
        module.operation.verify()


@dataclass(frozen=True)
class Pipeline:
    """Steps from one stage to the next.

    Attributes:
        stage: that a failure is reported under.
        verify_each: whether to verify after each step. Otherwise the end is, where everything was
            made by steps that are known to work; verifying takes a third of the time. Such
            pipelines are of passes only.
        tool: that reproducers name: whoever gets one may have torch-mlir, and not this project.
    """

    name: str
    stage: str
    hint: str
    steps: tuple[Step | Rewrite, ...]
    verify_each: bool = True
    tool: str = "unmess-opt"

    def __str__(self) -> str:
        """The whole pipeline as `unmess-opt --pass-pipeline` takes it."""
        return spelled(self.steps)

    def apply(self, module: ir.Module, name: str = "module") -> None:
        """Runs the steps on `module`, in place.

        Args:
            name: of the model, for the reproducer's file name.

        Raises:
            Error: under `stage`, with the step, the operation's source line and a reproducer.
        """
        # The clone shares the weights' memory; it is printed only when a step fails.
        original = module.operation.clone()
        with module.context as context:
            context.emit_error_diagnostics = False
            if self.verify_each or is_debugging() or trail.is_tracing():
                self._apply_each(module, original, name)
                return
            try:
                passes = PassManager.parse(str(self))
                passes.enable_verifier(False)
                passes.run(module.operation)
                module.operation.verify()
            except ir.MLIRError:
                # Once more, to say which step it is.
                self._apply_each(original.clone(), original, name)
                raise

    def _apply_each(self, module: ir.Module | ir.OpView, original: ir.OpView, name: str) -> None:
        for index, step in enumerate(self.steps):
            if trail.is_tracing():
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

    def _leave_reproducer(
        self, step: Step | Rewrite, module: ir.Module | ir.OpView, name: str
    ) -> None:
        """For a trace: the IR that goes into a step, in place of the one before it."""
        before = trail.left("repro")
        repro = _reproducer(step.command(self.tool), module.operation, f"{name}-{self.name}")
        trail.leave(step=step.text, repro=repro)
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
            # A step of the project's own, which says what is wrong better than can be said here.
            problem.repro = repro
            return problem
        if not isinstance(problem, ir.MLIRError):
            cause, where = f"{first_line(problem)} (step {step.name})", user_line(problem)
            return Error(self.stage, cause, where=where, hint="the step's own code", repro=repro)
        diagnostics = problem.error_diagnostics
        lines = [line for d in diagnostics if (line := location_line(d.location))]
        cause = _cause(diagnostics)
        if match := _ILLEGAL.search(cause):
            # The operation that a conversion complains about is often only an operand (a constant)
            # of the one that it had no pattern for.
            left = without_lowering(
                step.text,
                None if isinstance(step, Rewrite) else step.lenient,
                before,
                module,
                only_unknown=match[1] == "torch.operator",
            )
            lines = [line for _, location in left if (line := location_line(location))] or lines
            names = list(dict.fromkeys(name for name, _ in left)) or [match[1]]
            cause = f"no lowering for {', '.join(names)}"
        return Error(
            self.stage,
            f"{cause} ({'pass' if isinstance(step, Step) else 'step'} {step.text})",
            where=lines[0] if lines else None,
            hint=self.hint,
            repro=repro,
        )


def _reproducer(command: str, before: ir.OpView, stem: str) -> str | None:
    """Writes the IR that goes into a step, under the command that runs the step on it."""
    text = before.get_asm(
        enable_debug_info=True,
        use_name_loc_as_prefix=True,
        large_elements_limit=_LARGE,
        large_resource_limit=_LARGE,
    )
    return write_reproducer(f"// {command}\n{text}", stem)


def _cause(diagnostics: Sequence[ir.DiagnosticInfo]) -> str:
    """What the first diagnostic says, with the operation that it is about."""
    if not diagnostics:
        return "a pass failed without a message"
    cause = brief(diagnostics[0].message)
    notes = "\n".join(note.message for note in diagnostics[0].notes)
    operation = _OPERATION.search(notes)
    if operation is None or f"'{operation[1]}'" in cause:
        return cause
    return f"{cause}, at '{operation[1]}'"


def brief(message: str) -> str:
    """An MLIR diagnostic without the printed operation that follows the cause."""
    cause = message.splitlines()[0] if message else ""
    for mark in (": %", ': "', ": func.func"):
        cause = cause.split(mark)[0]
    return cause if len(cause) <= _LONGEST else cause[: _LONGEST - 1] + "…"


def spelled(steps: Iterable[Step | Rewrite]) -> str:
    """Steps as `unmess-opt --pass-pipeline` takes them."""
    return f"builtin.module({','.join(step.text for step in steps)})"
