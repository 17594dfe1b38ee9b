"""Failed run-time checks come back to the caller instead of ending the process."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from dataclasses import dataclass

from torch_mlir import ir
from torch_mlir.dialects import llvm

from unmess.core.user_source import location_line

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
# ExecutionEngine registers a runtime function under this prefix, and code calls it by that name.
_NAME = "unmess_check_failed"
_SYMBOL = f"_mlir_ciface_{_NAME}"


@dataclass(frozen=True)
class Check:
    """A run-time check: its message and the user's source line."""

    message: str
    where: str | None


class Assertions:
    """The run-time checks of one module, and which of them failed in the calling thread.

    MLIR lowers `cf.assert` to a block that prints the message and aborts the process. Here that
    block calls back instead and returns, with zeroed results, from the function that it is in: from
    the entry function, whose temporaries are then not freed, or from an outlined operation, after
    which the program runs to its end on values that nobody looks at.
    """

    def __init__(self, checks: Iterable[Check] = ()) -> None:
        """Args: checks: those of a program that was compiled before."""
        self._checks = list(checks)
        self._failed = threading.local()
        # Compiled code calls this object: it must live as long as the code.
        self._callback = _CALLBACK(self._record)

    def number(self, module: ir.Module) -> None:
        """Replaces the messages of `cf.assert` by numbers. Call before they are lowered."""

        def visit(operation: ir.Operation) -> ir.WalkResult:
            if operation.name == "cf.assert":
                message = ir.StringAttr(operation.attributes["msg"]).value
                check = Check(message, location_line(operation.location))
                operation.attributes["msg"] = ir.StringAttr.get(str(len(self._checks)))
                self._checks.append(check)
            return ir.WalkResult.ADVANCE

        with module.context:
            module.operation.walk(visit)

    def rewrite_aborts(self, module: ir.Module) -> None:
        """Makes the failure blocks call back and return. Call on the LLVM dialect."""
        if not self._checks:
            return
        with module.context, ir.Location.unknown():
            for function in module.body.operations:
                if function.operation.name == "llvm.func":
                    _rewrite_function(function)
            for function in module.body.operations:
                if function.operation.name == "llvm.func" and function.sym_name.value == "puts":
                    function.attributes["sym_name"] = ir.StringAttr.get(_SYMBOL)

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks by their numbers."""
        return tuple(self._checks)

    @property
    def symbols(self) -> dict[str, int]:
        """What compiled code calls, by name."""
        return {_SYMBOL: ctypes.cast(self._callback, ctypes.c_void_p).value}

    def register(self, engine) -> None:
        """Makes the callback known to the JIT."""
        if self._checks:
            engine.register_runtime(_NAME, self._callback)

    def take(self) -> Check | None:
        """The first check that failed in this thread since the last call."""
        failed = getattr(self._failed, "first", None)
        self._failed.first = None
        return failed

    def _record(self, number: bytes) -> None:
        if getattr(self._failed, "first", None) is None:
            self._failed.first = self._checks[int(number)]


def _rewrite_function(function: ir.OpView) -> None:
    result = llvm.FunctionType(function.function_type.value).return_type
    for block in function.body.blocks:
        operations = list(block.operations)
        names = [_callee(operation) for operation in operations]
        if "abort" not in names:
            continue
        puts, abort, unreachable = operations[names.index("puts")], *operations[-2:]
        puts.attributes["callee"] = ir.FlatSymbolRefAttr.get(_SYMBOL)
        abort.operation.erase()
        unreachable.operation.erase()
        with ir.InsertionPoint(block):
            if str(result) == "!llvm.void":
                llvm.ReturnOp()
            else:
                llvm.ReturnOp(arg=llvm.ZeroOp(result))


def _callee(operation: ir.OpView) -> str | None:
    if operation.operation.name == "llvm.call" and "callee" in operation.attributes:
        return ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
    return None
