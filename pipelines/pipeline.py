"""A pipeline is data: named steps that a person reads top to bottom."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.debugging import finished, is_debugging
from unmess.core.cache import write_reproducer
from unmess.core.error import Error
from unmess.core.user_source import location_line

# Reproducers carry no weights: literals above this size are elided.
_LARGE = 64
_ILLEGAL = re.compile(r"failed to legalize operation '([^']+)'")
_PASS = re.compile(r"(?:func\.func\()?([\w-]+)")
# What is left of the torch dialect when only operands and structure of operators are.
_CARRIERS = re.compile(
    r"torch\.(constant\..*|vtensor\.literal|prim\.List.*|prim\.Tuple.*|prim\.dtype|derefine"
    r"|tensor_static_info_cast|copy\..*)"
)


@dataclass(frozen=True)
class Step:
    """One pass with its options, as `unmess-opt --pass-pipeline` takes it, and its reason."""

    text: str
    why: str

    @property
    def name(self) -> str:
        """Of the pass alone."""
        return _PASS.match(self.text)[1]


@dataclass(frozen=True)
class Pipeline:
    """Steps from one stage to the next.

    Attributes:
        stage: that a failure is reported under.
        verify_each: whether to verify after each step. Otherwise the end is, where everything was
            made by steps that are known to work; verifying takes a third of the time.
    """

    name: str
    stage: str
    hint: str
    steps: tuple[Step, ...]
    verify_each: bool = True

    def __str__(self) -> str:
        """The whole pipeline as `unmess-opt --pass-pipeline` takes it."""
        return _spelled(self.steps)

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
            if self.verify_each or is_debugging():
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
            try:
                PassManager.parse(_spelled((step,))).run(module.operation)
            except ir.MLIRError as problem:
                raise self._failed(index, module, original, name, problem) from problem
            is_last = index + 1 == len(self.steps)
            finished(module, step.name, *([self.name] if is_last else []))

    def _failed(
        self,
        index: int,
        module: ir.Module | ir.OpView,
        original: ir.OpView,
        name: str,
        problem: ir.MLIRError,
    ) -> Error:
        steps = _spelled(self.steps[: index + 1])
        text = original.get_asm(
            enable_debug_info=True,
            use_name_loc_as_prefix=True,
            large_elements_limit=_LARGE,
            large_resource_limit=_LARGE,
        )
        repro = write_reproducer(
            f"// unmess-opt --pass-pipeline='{steps}' THIS_FILE\n{text}", f"{name}-{self.name}"
        )
        diagnostics = problem.error_diagnostics
        lines = [line for d in diagnostics if (line := location_line(d.location))]
        cause = brief(diagnostics[0].message) if diagnostics else "a pass failed without a message"
        if match := _ILLEGAL.search(cause):
            # The operation that a conversion complains about is often only an operand (a constant)
            # of the one that it had no pattern for.
            left = left_in_torch(module, unknown=match[1] == "torch.operator")
            lines = [line for _, location in left if (line := location_line(location))] or lines
            names = list(dict.fromkeys(name for name, _ in left)) or [match[1]]
            cause = f"no lowering for {', '.join(names)}"
        return Error(
            self.stage,
            f"{cause} (pass {self.steps[index].text})",
            where=lines[0] if lines else None,
            hint=self.hint,
            repro=repro,
        )


def brief(message: str, limit: int = 240) -> str:
    """An MLIR diagnostic without the printed operation that follows the cause."""
    cause = message.splitlines()[0] if message else ""
    for mark in (": %", ': "', ": func.func"):
        cause = cause.split(mark)[0]
    return cause if len(cause) <= limit else cause[: limit - 1] + "…"


def left_in_torch(module: ir.Module | ir.OpView, *, unknown: bool) -> list[tuple[str, ir.Location]]:
    """The operators in the torch dialect, as PyTorch spells them, in order.

    Args:
        unknown: only those that the dialect has no operation for; else only the others.
    """
    found: list[tuple[str, ir.Location]] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        name = operation.name
        if name == "torch.operator" and unknown:
            name = ir.StringAttr(operation.attributes["name"]).value
            found.append((name.removeprefix("torch."), operation.location))
        elif name.startswith("torch.") and not unknown and not _CARRIERS.fullmatch(name):
            found.append((name.removeprefix("torch."), operation.location))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _spelled(steps: tuple[Step, ...]) -> str:
    return f"builtin.module({','.join(step.text for step in steps)})"
