"""Debug mode: the IR is verified after each step, and shown where that was asked for."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec, TypeVar

from torch_mlir import ir

from unmess.core.error import Error

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
# Literals above this number of elements are elided.
_LARGE = 16
ALL = "all"


@dataclass
class _Mode:
    print_after: frozenset[str]
    write: Callable[[str], object]
    # Those that have run, in order.
    steps: dict[str, None] = field(default_factory=dict)


_mode: ContextVar[_Mode | None] = ContextVar("mode", default=None)


@contextlib.contextmanager
def debugging(
    print_after: Iterable[str] = (), write: Callable[[str], object] | None = None
) -> Iterator[None]:
    """Debug mode for what is lowered and loaded inside the block.

    After each step the IR is verified; a step is a pass of a pipeline, or one of the functions that
    the reference runner has between them. Compiled programs are not taken from the cache.

    Args:
        print_after: steps after which the IR is shown: the name of a pass (`canonicalize`), of a
            pipeline (`linalg`, after its last pass), of a function (`reference-outline`), or `all`.
        write: gets what is shown; by default it goes to stderr.

    Raises:
        Error: stage `usage`, at the end, where no step of a given name has run; inside, the stage
            of a step that leaves IR which is not valid.
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
            hint=f"those that have: {', '.join(mode.steps)}" if mode.steps else "none has",
        )


def is_debugging() -> bool:
    """Whether steps are to be verified one by one."""
    return _mode.get() is not None


def finished(module: ir.Module | ir.OpView, *names: str) -> None:
    """Says that a step is over, which goes by each of these names."""
    mode = _mode.get()
    if mode is None:
        return
    mode.steps.update(dict.fromkeys(names))
    if mode.print_after.intersection((*names, ALL)):
        text = module.operation.get_asm(large_elements_limit=_LARGE, large_resource_limit=_LARGE)
        mode.write(f"// After {', '.join(names)}\n{text}\n")


def step(
    name: str,
) -> Callable[
    [Callable[Concatenate[ir.Module, _Parameters], _Result]],
    Callable[Concatenate[ir.Module, _Parameters], _Result],
]:
    """Makes a function that changes a module a step: in debug mode it is verified and shown."""

    def decorate(change):
        @functools.wraps(change)
        def changing(module: ir.Module, *args, **kwargs):
            result = change(module, *args, **kwargs)
            if is_debugging():
                _verify(module, name)
                finished(module, name)
            return result

        return changing

    return decorate


def _verify(module: ir.Module, name: str) -> None:
    with module.context as context:
        context.emit_error_diagnostics = False
        try:
            module.operation.verify()
        except ir.MLIRError as problem:
            diagnostics = problem.error_diagnostics
            cause = diagnostics[0].message if diagnostics else "without a message"
            raise Error(
                "compile", f"the IR is not valid after {name}: {cause}", hint="report this"
            ) from problem
