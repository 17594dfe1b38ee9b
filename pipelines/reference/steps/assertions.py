"""Makes failed run-time checks and allocations end the call instead of the process."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, func, llvm, scf
from pipelines.ir.modules import find_operations
from pipelines.reference.runtime import ALLOCATE, FAIL
from unmess.core.errors.check import Check
from unmess.core.errors.user_source import enclosing_line

# The function that MLIR calls for `memref.alloc`. It takes an alignment and a size.
_MLIR_ALLOCATE = "_mlir_memref_to_llvm_aligned_alloc"


class Assertions:
    """The numbered checks and allocations of one module.

    MLIR lowers `cf.assert` to code that ends the process, and does not check allocations for
    failure. These rewrites make both report their number and end only the call of the program; see
    `runtime.mlir`.

    Attributes:
        checks: the checks; the index is the number.
    """

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self._numbers: dict[Check, int] = {}

    def number_checks(self, module: ir.Module) -> None:
        """Replaces the message of each `cf.assert` with the number of its message and line."""
        with module.context:
            for operation in _find(module, "cf.assert"):
                message = ir.StringAttr(operation.attributes["msg"]).value
                number = self._number(message, operation)
                operation.attributes["msg"] = ir.StringAttr.get(str(number))

    def replace_checks(self, module: ir.Module) -> None:
        """Replaces each numbered `cf.assert` with a branch that calls the runtime if it fails."""
        asserts = _find(module, "cf.assert")
        if not asserts:
            return
        with module.context, ir.Location.unknown():
            integer = ir.IntegerType.get_signless(64)
            bit = ir.IntegerType.get_signless(1)
            func.FuncOp(
                FAIL,
                ([integer, integer], []),
                visibility="private",
                ip=ir.InsertionPoint.at_block_begin(module.body),
            )
            for operation in asserts:
                number = int(ir.StringAttr(operation.attributes["msg"]).value)
                with ir.InsertionPoint(operation), operation.location:
                    true = arith.ConstantOp(bit, 1).result
                    failed = arith.XOrIOp(operation.operands[0], true).result
                    branch = scf.IfOp(failed)
                    with ir.InsertionPoint(branch.then_block):
                        numbers = [arith.ConstantOp(integer, value).result for value in (number, 0)]
                        func.CallOp([], FAIL, numbers)
                        scf.YieldOp([])
                operation.erase()

    def replace_allocations(self, module: ir.Module) -> None:
        """Makes allocations call the runtime. Takes a module in the LLVM dialect."""
        calls = [
            operation
            for operation in _find(module, "llvm.call")
            if "callee" in operation.attributes
            and ir.FlatSymbolRefAttr(operation.attributes["callee"]).value == _MLIR_ALLOCATE
        ]
        if not calls:
            return
        with module.context, ir.Location.unknown():
            integer = ir.IntegerType.get_signless(64)
            for call in calls:
                size = call.operands[1]
                number = self._number(None, call)
                with ir.InsertionPoint(call), call.location:
                    value = llvm.ConstantOp(integer, ir.IntegerAttr.get(integer, number)).result
                # The number replaces the alignment, which is the same for all in the runtime.
                call.operands[0] = size
                call.operands[1] = value
                call.attributes["callee"] = ir.FlatSymbolRefAttr.get(ALLOCATE)
            for function in module.body.operations:
                name = function.attributes.get("sym_name")
                if name is not None and ir.StringAttr(name).value == _MLIR_ALLOCATE:
                    function.attributes["sym_name"] = ir.StringAttr.get(ALLOCATE)

    def _number(self, message: str | None, operation: ir.Operation) -> int:
        check = Check(message, enclosing_line(operation))
        if check not in self._numbers:
            self._numbers[check] = len(self.checks)
            self.checks.append(check)
        return self._numbers[check]


def _find(module: ir.Module, name: str) -> list[ir.Operation]:
    return find_operations(module, lambda operation: operation.name == name)
