"""Reduces IR to a small module for which a tool fails in the same way.

`mlir-reduce` does not serve: it does not parse the torch dialect or those of IREE. Here, the
results of a removed operation become arguments.

This module does not import PyTorch.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch_mlir import ir

from pipelines.backends.commands.process import run_command
from pipelines.ir.modules import find_operations
from unmess.core.ir.dialects import context_of_all
from unmess.environment.doctor import find_tool
from unmess.triage.delta import shortest_range, smallest
from unmess.triage.failure import normalized
from unmess.triage.trials import TimeUp

_FUNCTIONS = ("func.func", "util.func")
_CALLS = ("func.call", "util.call")


@dataclass(frozen=True)
class Tool:
    """A compiler or an optimizer that fails for some IR.

    Attributes:
        command: the command line, with the name of the file as one argument.
        file: that name.
        folder: for the file and the output of the command.
        timeout: the limit of one run, in seconds.
        memory_mb: the memory of one run, in 10**6 bytes; None: no limit.
    """

    command: tuple[str, ...]
    file: str
    folder: Path
    timeout: float
    memory_mb: float | None = None

    def symptom(self, text: str) -> str | None:
        """Returns how a run on this IR fails; None if it passes or takes too long.

        The message has no numbers, and no names of values and places.
        """
        (self.folder / self.file).write_text(text)
        name, *words = self.command
        ended = run_command(
            *([find_tool(name) or name, *words], self.folder),
            timeout=self.timeout,
            environment=os.environ,
            memory_mb=self.memory_mb,
        )
        return None if ended.status is None or not ended.problem else normalized(ended.problem)


@dataclass(frozen=True)
class ReducedIr:
    """IR for which a tool fails.

    Attributes:
        text: the IR, below the command of the original.
        operations: the number of operations of its entry function.
    """

    text: str
    operations: int


def reduce_ir(
    text: str, tool: Tool, on_trial: Callable[[str], None], left: Callable[[], float]
) -> ReducedIr | None:
    """Returns the smallest IR that was found; None if the tool does not fail for a part of `text`.

    Args:
        on_trial: called with a text before each run.
        left: returns the seconds that are left for the search.
    """
    symptom = tool.symptom(text)
    if symptom is None:
        return None
    best = None

    def holds(candidate: str | None, about: str) -> bool:
        nonlocal best
        if left() <= 0:
            raise TimeUp
        on_trial(f"the IR: {about}")
        if candidate is None or tool.symptom(candidate) != symptom:
            return False
        best = candidate
        return True

    def with_operations(kept: Sequence[int]) -> bool:
        return holds(_with_operations(text, set(kept)), f"{len(kept)} operations")

    def with_symbols(kept: Sequence[str]) -> bool:
        return holds(_with_symbols(best, set(kept)), f"{len(kept)} other functions and globals")

    context = context_of_all()
    context.allow_unregistered_dialects = True
    with context, ir.Location.unknown():
        text = _inlined(text)
        with contextlib.suppress(TimeUp):
            every = range(_count(text))
            if len(every) and with_operations(every):
                smallest(shortest_range(every, with_operations), with_operations)
                module = ir.Module.parse(best)
                symbols = [_symbol(each) for each in _others(module)]
                if symbols and not with_symbols(()):
                    smallest(symbols, with_symbols)
        return None if best is None else ReducedIr(best, _count(best))


def _inlined(text: str) -> str:
    """Returns IR whose functions with one caller and one block are part of their caller."""
    module = ir.Module.parse(text)
    functions = {f"@{_symbol(each)}": each for each in _functions(module)}
    calls: dict[str, list[ir.Operation]] = {}
    for call in find_operations(module, lambda each: each.name in _CALLS):
        calls.setdefault(str(call.attributes["callee"]), []).append(call)
    for callee, callers in calls.items():
        function = functions.get(callee)
        if function is None or len(callers) > 1 or len(list(function.regions[0].blocks)) != 1:
            continue
        (call,), block = callers, function.regions[0].blocks[0]
        for argument, operand in zip(block.arguments, call.operands, strict=True):
            argument.replace_all_uses_with(operand)
        *operations, end = (each.operation for each in block.operations)
        for operation in operations:
            operation.move_before(call)
        for result, value in zip(call.results, end.operands, strict=True):
            result.replace_all_uses_with(value)
        call.erase()
        function.erase()
    return _text(module, text) or text


def _with_operations(text: str, kept: Collection[int]) -> str | None:
    """Returns IR whose entry function has only these operations; None if it is invalid.

    The results of the others become arguments. Results that lose their uses are returned.
    """
    module = ir.Module.parse(text)
    function = _entry(module)
    block = function.regions[0].blocks[0]
    *operations, end = (each.operation for each in block.operations)
    used = {index: list(map(_is_used, operations[index].results)) for index in sorted(kept)}
    returned = list(end.operands)
    name, location = end.name, end.location
    end.erase()
    # In reverse order, only operations that are kept use the results.
    for index in reversed(range(len(operations))):
        if index not in kept:
            for result in operations[index].results:
                if _is_used(result):
                    argument = block.add_argument(result.type, location)
                    result.replace_all_uses_with(argument)
            operations[index].erase()
    for index in reversed(range(len(block.arguments))):
        if not _is_used(block.arguments[index]):
            block.erase_argument(index)
    results = [
        result
        for index, were_used in used.items()
        for result, was_used in zip(operations[index].results, were_used, strict=True)
        if was_used and (result in returned or not _is_used(result))
    ]
    ir.Operation.create(name, [], results, ip=ir.InsertionPoint(block), loc=location)
    for attribute in ("arg_attrs", "res_attrs"):
        if attribute in function.attributes:
            del function.attributes[attribute]
    kinds = ([each.type for each in values] for values in (block.arguments, results))
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*kinds))
    return _text(module, text)


def _is_used(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None


def _with_symbols(text: str, kept: Collection[str]) -> str | None:
    """Returns IR with only these functions and globals beside its entry function."""
    module = ir.Module.parse(text)
    for operation in _others(module):
        if _symbol(operation) not in kept:
            operation.erase()
    return _text(module, text)


def _text(module: ir.Module, original: str) -> str | None:
    """Returns the text of a module below the command of the original; None if it is invalid."""
    with contextlib.suppress(ir.MLIRError):
        module.operation.verify()
        header = original.partition("\n")[0]
        asm = module.operation.get_asm(enable_debug_info=False)
        return f"{header}\n{asm}" if header.startswith("//") else asm
    return None


def _entry(module: ir.Module) -> ir.Operation:
    """Returns the function with the most operations."""
    return max(_functions(module), key=lambda each: len(_operations(each)))


def _count(text: str) -> int:
    """Returns the number of operations of the entry function."""
    module = ir.Module.parse(text)
    return len(_operations(_entry(module)))


def _functions(module: ir.Module) -> list[ir.Operation]:
    return find_operations(module, lambda each: each.name in _FUNCTIONS)


def _operations(function: ir.Operation) -> list[ir.Operation]:
    """Returns the operations of a function, without nested ones and the last one."""
    blocks = list(function.regions[0].blocks)
    return list(blocks[0].operations)[:-1] if len(blocks) == 1 else []


def _others(module: ir.Module) -> list[ir.Operation]:
    """Returns the operations of a module that have names, except the entry function."""
    entry = _symbol(_entry(module))
    operations = [each.operation for each in module.body.operations]
    return [each for each in operations if "sym_name" in each.attributes and _symbol(each) != entry]


def _symbol(operation: ir.Operation) -> str:
    return ir.StringAttr(operation.attributes["sym_name"]).value


def command_in(text: str, file: str) -> tuple[str, ...] | None:
    """Returns the command in the first line of a reproducer that reads `file`, or None."""
    first = text.partition("\n")[0]
    words = tuple(shlex.split(first.removeprefix("//"))) if first.startswith("//") else ()
    return words if file in words else None
