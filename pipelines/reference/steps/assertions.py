"""Makes failed run-time checks and allocations end the call instead of the process."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, func, llvm, scf
from pipelines.ir.modules import find_operations
from pipelines.reference.runtime import ALLOCATE, FAIL
from unmess.core.errors.check import Check
from unmess.core.errors.user_source import enclosing_line

# The function of a program that calls `FAIL` if a condition does not hold.
CHECK = "unmess_check"
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
        """Replaces each numbered `cf.assert` with a call that ends the program's call if it fails.

        All call one function, which has the branch. The time to lower a branch is proportional to
        the rest of its block, so a branch for each check would take quadratic time.
        """
        asserts = _find(module, "cf.assert")
        if not asserts:
            return
        with module.context, ir.Location.unknown():
            integer = ir.IntegerType.get_signless(64)
            _define_check(module)
            for operation in asserts:
                number = int(ir.StringAttr(operation.attributes["msg"]).value)
                with ir.InsertionPoint(operation), operation.location:
                    value = arith.ConstantOp(integer, number).result
                    func.CallOp([], CHECK, [operation.operands[0], value])
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
        check = Check.at(message, enclosing_line(operation))
        if check not in self._numbers:
            self._numbers[check] = len(self.checks)
            self.checks.append(check)
        return self._numbers[check]


def _define_check(module: ir.Module) -> None:
    """Creates a function that takes a condition and the number of its check."""
    bit, integer = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(64)
    start = ir.InsertionPoint.at_block_begin(module.body)
    func.FuncOp(FAIL, ([integer, integer], []), visibility="private", ip=start)
    check = func.FuncOp(CHECK, ([bit, integer], []), visibility="private", ip=start)
    with ir.InsertionPoint(check.add_entry_block()):
        holds, number = check.arguments
        failed = arith.XOrIOp(holds, arith.ConstantOp(bit, 1).result).result
        branch = scf.IfOp(failed)
        with ir.InsertionPoint(branch.then_block):
            func.CallOp([], FAIL, [number, arith.ConstantOp(integer, 0).result])
            scf.YieldOp([])
        func.ReturnOp([])


def _find(module: ir.Module, name: str) -> list[ir.Operation]:
    return find_operations(module, lambda operation: operation.name == name)
