"""Checks the backend contract, which the lowerings to every output dialect rely on. Lists all
violations.

Tensors have value semantics and a known rank and dtype, composite operators are decomposed, and no
operator is unknown to the torch dialect. torch-mlir checks the same, but stops at the first
violation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines import custom_operators
from pipelines.ir.modules import copy_module
from pipelines.stages import KEPT_OPS, torch_pipeline
from unmess.core.errors.error import Error
from unmess.core.errors.failure import only_errors
from unmess.core.errors.user_source import location_line
from unmess.core.ir.recognition import stage_of
from unmess.core.module.module import Module
from unmess.core.options.names import check_name

NOT_VALUE = "not value-semantic"
RANK = "unknown rank"
DTYPE = "unknown dtype"
NOT_DECOMPOSED = "not decomposed"
UNKNOWN = "unknown operator"
OTHER_TYPE = "unsupported type"
# The kinds of violations, with the predicate for messages.
KINDS = {
    NOT_VALUE: "has a tensor that is not value-semantic",
    RANK: "has a tensor of unknown rank",
    DTYPE: "has a tensor of unknown dtype",
    NOT_DECOMPOSED: "is not decomposed",
    UNKNOWN: "is an unknown operator",
    OTHER_TYPE: "has a type that is not supported by backends",
}

# With these options, torch-mlir's pass only checks the contract.
_CHECK = "builtin.module(torch-lower-to-backend-contract{max-iterations=0})"
_REFUSED = "marked as backend illegal"
# Torch types that backends accept: numbers, and types whose values are known where they are used.
_SCALARS = frozenset({"int", "float", "bool", "Device", "none", "str"})
_STATE = "torch.global_slot.module_initializer"
# Replaces the type of an operand that breaks the contract, which is reported for its definition.
_ANY_TENSOR = "!torch.vtensor<[],f32>"
_HEAD = re.compile(r"[\w.]+")


@dataclass(frozen=True)
class Violation:
    """A place that breaks the contract.

    Attributes:
        kind: one of `KINDS`.
        operation: its name in PyTorch (`aten.softmax.int`) or in MLIR (`func.func @main`).
        detail: the value and its type; for an operator the types of the operands.
        where: the user's source line, as `file:line`; None if the IR has none.
    """

    kind: str
    operation: str
    detail: str
    where: str | None

    def __str__(self) -> str:
        """Returns the violation in one line, without the source line."""
        return f"{self.operation} {KINDS[self.kind]} ({self.detail})"


@only_errors()
def check(
    module: Module | ir.Module, at: str | None = None, backend_legal_ops: Collection[str] = ()
) -> list[Violation]:
    """Returns every violation of the backend contract in IR order. Does not change the module.

    Args:
        module: a module at stage `raw` or `torch`.
        at: `torch` checks the module as it is. `raw` first runs the pipeline to `torch` on a copy.
            The default is the stage of a Module, and `torch` for an `ir.Module`.
        backend_legal_ops: operators that need no decomposition, such as `aten.softmax.int`.

    Raises:
        Error: stage `usage`, if the module is not in the torch dialect; `torch`, if the pipeline
            fails for a reason other than a violation.
    """
    checked = module.ir if isinstance(module, Module) else module
    at = at or (module.stage if isinstance(module, Module) else "torch")
    check_name("stage of the contract", at, ("raw", "torch"))
    if (stage := stage_of(checked)) != "torch" and not _is_empty(checked):
        raise Error(
            "usage",
            f"the module is at stage {stage}, but the backend contract applies to the "
            "torch dialect",
            hint="pass the model, or IR at stage raw or torch",
        )
    if at == "torch":
        return violations(checked, backend_legal_ops)
    copy = copy_module(checked)
    try:
        with custom_operators.set_aside(copy, custom_operators.is_not_quantized):
            torch_pipeline(backend_legal_ops).apply(copy)
    except Error:
        # The cause of the failure is nearly always a violation.
        found = violations(copy, backend_legal_ops)
        if not found:
            raise
        return found
    return violations(copy, backend_legal_ops)


def violations(
    module: ir.Module, backend_legal_ops: Collection[str] = (), *, composites: bool = True
) -> list[Violation]:
    """Returns the violations of a module in the torch dialect.

    Args:
        backend_legal_ops: as for `check`.
        composites: include composite operators that are not decomposed.
    """
    legal = KEPT_OPS.union(backend_legal_ops)
    found: list[Violation] = []
    # Layers repeat, so check an operator with the same operand types only once.
    known: dict[tuple, bool] = {}
    faults: dict[ir.Type, list[str]] = {}

    def faults_of(type_: ir.Type) -> list[str]:
        if type_ not in faults:
            faults[type_] = list(_faults(str(type_)))
        return faults[type_]

    def report(kind: str, operation: ir.Operation, detail: str, place: ir.Location) -> None:
        where = location_line(place) or location_line(operation.location)
        found.append(Violation(kind, _spelled(operation), detail, where))

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "torch.operator":
            name = _spelled(operation).removesuffix(".default")
            # A step of each output dialect lowers the operators of integer programs.
            if name not in legal and not custom_operators.is_of_integers(name):
                report(UNKNOWN, operation, _operands(operation), operation.location)
        elif operation.name == _STATE:
            report(NOT_VALUE, operation, "module slots are state", operation.location)
        elif (
            composites
            and _spelled(operation) not in legal
            and _is_composite(operation, known, faults_of)
        ):
            report(NOT_DECOMPOSED, operation, _operands(operation), operation.location)
        for index, result in enumerate(operation.results):
            for kind in faults_of(result.type):
                report(kind, operation, f"result {index}: {result.type}", operation.location)
        for region in operation.regions:
            for block in region:
                for argument in block.arguments:
                    detail = f"argument {argument.arg_number}: {argument.type}"
                    for kind in faults_of(argument.type):
                        report(kind, operation, detail, argument.location)
        return ir.WalkResult.ADVANCE

    with module.context as context:
        context.emit_error_diagnostics = False
        module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def refuse(module: ir.Module, stage: str) -> None:
    """Raises an Error under `stage`, with the first violation, if no lowering can take a module.

    Ignores composite operators and unsupported types. The lowering reports them, because it
    supports some composite operators and folds others.
    """
    found = [
        violation
        for violation in violations(module, composites=False)
        if violation.kind != OTHER_TYPE
    ]
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise Error(
            stage,
            f"the IR violates the backend contract: {found[0]}{more}",
            where=found[0].where,
            hint="run `unmess contract MODEL` to list all violations",
        )


def _is_empty(module: ir.Module) -> bool:
    """Returns whether the module only has functions that return immediately."""
    return all(
        inner.operation.name == "func.return"
        for function in module.body.operations
        for region in function.regions
        for block in region
        for inner in block
    )


def _spelled(operation: ir.Operation) -> str:
    if operation.name == "torch.operator":
        return custom_operators.spelled(operation)
    if operation.name == "func.func":
        return f"func.func @{ir.StringAttr(operation.attributes['sym_name']).value}"
    return operation.name.removeprefix("torch.")


def _operands(operation: ir.Operation) -> str:
    types = ", ".join(str(operand.type).removeprefix("!torch.") for operand in operation.operands)
    return f"of {types}" if types else "without operands"


def _faults(text: str) -> Iterator[str]:
    """Yields the kinds of violations of a type, given as text. Other dialects' types have none."""
    if not text.startswith("!torch."):
        return
    text = text.removeprefix("!torch.")
    head = _HEAD.match(text)[0]
    inner = text[len(head) + 1 : -1]
    if head == "tensor":
        yield NOT_VALUE
    elif head == "vtensor":
        if not inner or inner.startswith("*"):
            yield RANK
        if not inner or inner.endswith(",unk"):
            yield DTYPE
    elif head in ("list", "optional"):
        # torch-mlir does not check tensor types in lists: the elements have types of their own.
        if not inner.startswith("vtensor"):
            yield from _faults(f"!torch.{inner}")
    elif head == "tuple":
        for part in _parts(inner):
            yield from _faults(f"!torch.{part}")
    elif head not in _SCALARS:
        yield OTHER_TYPE


def _parts(text: str) -> Iterator[str]:
    """Splits text at commas outside brackets."""
    depth, start = 0, 0
    for index, letter in enumerate(text):
        depth += (letter in "<[") - (letter in ">]")
        if letter == "," and depth == 0:
            yield text[start:index].strip()
            start = index + 1
    if text:
        yield text[start:].strip()


def _is_composite(operation: ir.Operation, known: dict, faults_of) -> bool:
    """Returns whether torch-mlir's own contract rejects an operator with these operand types."""
    if not operation.name.startswith("torch.") or len(operation.regions):
        return False
    types = tuple(
        ir.Type.parse(_ANY_TENSOR) if faults_of(operand.type) else operand.type
        for operand in operation.operands
    )
    key = operation.name, types
    if key not in known:
        known[key] = _is_refused(operation, types)
    return known[key]


def _is_refused(operation: ir.Operation, types: tuple[ir.Type, ...]) -> bool:
    with ir.Location.unknown():
        alone = ir.Module.create()
        with ir.InsertionPoint(alone.body):
            function = ir.Operation.create(
                "func.func",
                regions=1,
                attributes={
                    "sym_name": ir.StringAttr.get("alone"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
                },
            )
        block = ir.Block.create_at_start(function.regions[0], types)
        with ir.InsertionPoint(block):
            ir.Operation.create(
                operation.name,
                [result.type for result in operation.results],
                list(block.arguments),
                dict(operation.attributes.items()),
            )
    checking = PassManager.parse(_CHECK)
    checking.enable_verifier(False)
    try:
        checking.run(alone.operation)
    except ir.MLIRError as problem:
        return any(_REFUSED in diagnostic.message for diagnostic in problem.error_diagnostics)
    return False
