"""Debug mode: verifies the IR after each step, and prints it on request."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from torch_mlir import ir

from unmess.core.errors.error import Error

# Literals with more elements are elided.
_LARGE = 16
ALL = "all"


@dataclass
class _Mode:
    print_after: frozenset[str]
    write: Callable[[str], object]
    # The names of the steps that have run, in order.
    steps: dict[str, None] = field(default_factory=dict)


_mode: ContextVar[_Mode | None] = ContextVar("mode", default=None)


@contextlib.contextmanager
def debugging(
    print_after: Iterable[str] = (), write: Callable[[str], object] | None = None
) -> Iterator[None]:
    """Enables debug mode inside the block.

    Verifies the IR after each step. A step is a pass of a pipeline, or a Python function, such as
    those that the reference runner has between passes. Debug mode bypasses the cache of compiled
    programs.

    Args:
        print_after: steps after which the IR is printed: the name of a pass (`canonicalize`), of a
            pipeline (`linalg`, after its last pass), of a function (`reference-outline`), or `all`.
        write: is called with the printed text; by default it goes to stderr.

    Raises:
        Error: stage `usage`, at the end of the block, if no step of a given name has run; inside
            the block, with the step's stage if a step leaves invalid IR.
    """
    mode = _Mode(frozenset(print_after), write or sys.stderr.write)
    token = _mode.set(mode)
    try:
        yield
    finally:
        _mode.reset(token)
    unknown = sorted(mode.print_after - mode.steps.keys() - {ALL})
    if unknown:
        raise Error(
            "usage",
            f"no step {', '.join(map(repr, unknown))} has run",
            hint=f"steps that have run: {', '.join(mode.steps)}"
            if mode.steps
            else "no step has run yet",
        )


def is_debugging() -> bool:
    """Returns whether debug mode is on."""
    return _mode.get() is not None


def finished(module: ir.Module | ir.OpView, *names: str) -> None:
    """Records the end of a step, which has all of these names, and prints the IR on request."""
    mode = _mode.get()
    if mode is None:
        return
    mode.steps.update(dict.fromkeys(names))
    if mode.print_after.intersection((*names, ALL)):
        text = module.operation.get_asm(large_elements_limit=_LARGE, large_resource_limit=_LARGE)
        mode.write(f"// After {', '.join(names)}\n{text}\n")


def verify_step(module: ir.Module, name: str) -> None:
    """Verifies a module after a step outside of a pipeline, then does what `finished` does.

    Raises:
        Error: stage `compile`, if the module is invalid.
    """
    with module.context as context:
        context.emit_error_diagnostics = False
        try:
            module.operation.verify()
        except ir.MLIRError as problem:
            diagnostics = problem.error_diagnostics
            cause = diagnostics[0].message if diagnostics else "without a message"
            raise Error(
                "compile",
                f"the IR is invalid after step {name}: {cause}",
                hint="report this bug with the model",
            ) from problem
    finished(module, name)
