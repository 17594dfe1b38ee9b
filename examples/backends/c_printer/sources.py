"""Writes a program as a C source file, a header, and a file of large weights."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch_mlir import ir

import unmess
from c_printer.arena import ALIGNMENT, bytes_of, plan_memory
from c_printer.expressions import literal
from c_printer.lowering import lower_to_loops
from c_printer.registers import keep_in_registers
from c_printer.statements import Body
from c_printer.types import element_type
from unmess.core.program.weights import row_major
from unmess.core.signature.signature import ScalarSpec

# If all constants together have more elements than the first number, those that have more elements
# than the second one go to the file of weights.
_ALL_IN_TEXT, _LARGE = 1 << 16, 1 << 10
_HELPERS = Path(__file__).parent / "helpers.inc"
_RESOURCE = re.compile(r'"0x([0-9A-Fa-f]*)"')


@dataclass(frozen=True)
class Sources:
    """A program in C.

    Attributes:
        name: of the program; the functions are NAME_run and NAME_message, the files NAME.c and
            NAME.h.
        source, header: the text of the files.
        weights: the bytes of the file that the caller passes; empty if the program takes none.
        arena_bytes: the size of the static memory.
        buffer_bytes: the sum of the sizes of all buffers that share it.
    """

    name: str
    source: str
    header: str
    weights: bytes
    arena_bytes: int
    buffer_bytes: int

    def write(self, folder):
        """Writes the files to an existing folder."""
        folder = Path(folder)
        (folder / f"{self.name}.c").write_text(self.source)
        (folder / f"{self.name}.h").write_text(self.header)
        if self.weights:
            (folder / f"{self.name}.bin").write_bytes(self.weights)


def print_c(module, unchecked=False):
    """Returns the `Sources` of an `unmess.Module` at the stage linalg, and changes its IR.

    Args:
        unchecked: whether checks of indices and divisors are omitted.

    Raises:
        unmess.Error: stage `compile`, if the program has dynamic sizes, or an operation or an
            element type that C lacks.
    """
    lower_to_loops(module.ir, unchecked)
    functions = [each for each in module.ir.body.operations if each.operation.name == "func.func"]
    if len(functions) != 1:
        raise unmess.Error("compile", "the program has functions that cannot be inlined")
    keep_in_registers(functions[0])
    return _Printer(module, functions[0], unchecked).sources()


@dataclass(frozen=True)
class _Constant:
    """A constant, or the initial value of a global: its C name, and its elements."""

    name: str
    array: np.ndarray
    c_type: str
    element: ir.Type
    changes: bool


class _Printer:
    def __init__(self, module, function, unchecked):
        self._name = _identifier(module.name)
        self._function, self._unchecked = function, unchecked
        self._signature = module.signature
        self._weights = module.weights
        self._constants = []
        self._blob = bytearray()

    def sources(self):
        plan = plan_memory(self._function)
        arguments, parameters, results = self._arguments()
        globals_ = self._globals()
        pointers = {buffer: f"b{number}" for number, buffer in enumerate(plan.ranges)}
        declared, tables = self._declarations(plan, pointers)
        body = Body(arguments, pointers, globals_, self._unchecked)
        body.print_function(self._function, results)
        if self._blob:
            text = f"the content of {self._name}.bin, aligned to {ALIGNMENT} bytes"
            parameters.append(("const unsigned char *", "weights", text))
        upper = self._name.upper()
        listed = ",\n".join(f"    {kind}{name}" for kind, name, _ in parameters) or "    void"
        fields = {
            "name": self._name,
            "upper": upper,
            "parameters": listed,
            "described": "\n".join(f" *   {name}: {text}" for _, name, text in parameters),
            "arena": plan.size,
            "buffers": plan.total,
            "weights": len(self._blob),
            "helpers": _HELPERS.read_text().rstrip(),
            "memory": _ARENA.format(size=plan.size, alignment=ALIGNMENT) if plan.size else "",
            "tables": "\n".join(tables),
            "body": "\n".join([*declared, *body.lines]),
            "messages": "\n".join(
                f"  case {number}: return {_quoted(text)};"
                for number, text in enumerate(body.checks, 1)
            ),
        }
        return Sources(
            self._name,
            _SOURCE.format(**fields),
            _HEADER.format(**fields),
            bytes(self._blob),
            plan.size,
            plan.total,
        )

    def _arguments(self):
        """Returns names of the function's arguments, parameters, and names of number results."""
        values = list(self._function.arguments)
        arguments, parameters, numbers = [], [], []
        names = _Names()
        for argument in self._signature.arguments:
            value = values.pop(0)
            if argument.kind == "weight":
                name = names.new("w", argument.name)
                tensor = row_major(self._weights[argument.name])
                array = tensor.view(_bytes_if_bool(tensor)).numpy()
                self._add_constant(name, array, value)
            else:
                name = names.new("in", argument.name)
                parameters.append(_parameter(value, name, "const "))
            arguments.append((value, name))
        returned = self._function.regions[0].blocks[0].operations
        *_, last = returned
        in_registers = iter(last.operation.operands)
        for result in self._signature.results:
            name = names.new("out", result.name)
            if isinstance(result.spec, ScalarSpec):
                value = next(in_registers)
                numbers.append(name)
                parameters.append((f"{element_type(value)} *", name, "a number"))
            else:
                value = values.pop(0)
                arguments.append((value, name))
                parameters.append(_parameter(value, name, ""))
        return arguments, parameters, numbers

    def _add_constant(self, name, array, value, changes=False):
        kind = element_type(value)
        self._constants.append(_Constant(name, array, kind, value.type.element_type, changes))

    def _globals(self):
        """Returns the C names of the module's globals by symbol."""
        names, found = _Names(), {}
        used = {}
        self._function.operation.walk(lambda each: _note_global(each, used))
        for each in self._function.operation.parent.operation.regions[0].blocks[0].operations:
            if each.operation.name != "memref.global":
                continue
            symbol = ir.StringAttr(each.attributes["sym_name"]).value
            if symbol in used:
                name = found[symbol] = names.new("c", symbol)
                changes = "constant" not in each.attributes
                array = elements(each.attributes["initial_value"], used[symbol].type)
                self._add_constant(name, array, used[symbol], changes)
        return found

    def _declarations(self, plan, pointers):
        """Returns the statements that declare pointers, and the tables of constants."""
        tables = []
        lines = [
            f"  {element_type(buffer)} MAY_ALIAS *const {pointers[buffer]} = "
            f"({element_type(buffer)} MAY_ALIAS *)(arena + {place.offset});"
            for buffer, place in plan.ranges.items()
        ]
        count = sum(each.array.size for each in self._constants)
        for each in self._constants:
            if count > _ALL_IN_TEXT and each.array.size > _LARGE and not each.changes:
                self._blob += bytes(-len(self._blob) % ALIGNMENT)
                lines.append(
                    f"  const {each.c_type} MAY_ALIAS *const {each.name} = "
                    f"(const {each.c_type} MAY_ALIAS *)(weights + {len(self._blob)});"
                )
                self._blob += each.array.tobytes()
            else:
                tables.append(_table(each))
        return lines, tables


def _note_global(operation, used):
    if operation.name == "memref.get_global":
        used[ir.FlatSymbolRefAttr(operation.attributes["name"]).value] = operation.results[0]
    return ir.WalkResult.ADVANCE


def _bytes_if_bool(tensor):
    return torch.int8 if tensor.dtype == torch.bool else tensor.dtype


def _parameter(value, name, qualifier):
    """Returns the C type of a parameter, its name, and its description for the header."""
    kind = element_type(value)
    if not isinstance(value.type, ir.MemRefType):
        return f"{kind} ", name, "a number"
    shape = "×".join(map(str, value.type.shape)) or "1"
    text = f"{shape} {value.type.element_type}, {bytes_of(value.type)} bytes"
    return f"{qualifier}{kind} *", name, text


def elements(attribute, kind):
    """Returns the elements of a literal as an array.

    Args:
        kind: its type, or the type of a buffer with these elements.
    """
    if isinstance(attribute, (ir.DenseIntElementsAttr, ir.DenseFPElementsAttr)):
        array = np.array(attribute)
        return array.view(np.int8) if array.dtype == np.bool_ else array
    # The bindings give access to a resource's data only as text: the alignment, then the bytes.
    with attribute.context, ir.Location.unknown():
        holder = ir.Module.create()
        holder.operation.attributes["unmess.data"] = attribute
        found = _RESOURCE.search(holder.operation.get_asm())
    element = kind.element_type
    letter = "f" if isinstance(element, ir.FloatType) else "i"
    data = bytes.fromhex(found[1])[4:]
    return np.frombuffer(data, f"{letter}{element.width // 8}").reshape(kind.shape)


def _table(constant):
    texts = [literal(constant.element, each) for each in constant.array.reshape(-1).tolist()]
    rows = [", ".join(texts[start : start + 8]) for start in range(0, len(texts), 8)]
    qualifier = "" if constant.changes else "const "
    # An array has at least one element.
    return (
        f"static {qualifier}{constant.c_type} {constant.name}[{max(1, len(texts))}] = {{\n  "
        + ",\n  ".join(rows or ["0"])
        + "};"
    )


class _Names:
    """Makes unique C identifiers from arbitrary names."""

    def __init__(self):
        self._taken = set()

    def new(self, prefix, name):
        base = f"{prefix}_{re.sub(r'[^A-Za-z0-9_]', '_', name)}"
        found, number = base, 1
        while found in self._taken:
            number += 1
            found = f"{base}_{number}"
        self._taken.add(found)
        return found


def _identifier(name):
    text = re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_") or "model"
    return f"model_{text}" if text[0].isdigit() else text


def _quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


_ARENA = """
static _Alignas({alignment}) unsigned char arena[{size}];
"""
_HEADER = """\
/* {name}: a program without heap. Tensors are contiguous, in row-major order.
 *
{described}
 *
 * Results do not overlap arguments. The functions are not reentrant: temporaries are in static
 * memory. {name}_run returns 0, or the number of a failed check, such as an index that is out of
 * range; the results are then undefined. */
#ifndef {upper}_H
#define {upper}_H

#include <stdbool.h>
#include <stdint.h>

#define {upper}_ARENA_BYTES {arena}
#define {upper}_WEIGHTS_BYTES {weights}

#ifdef __cplusplus
extern "C" {{
#endif

int {name}_run(
{parameters});

/* Returns the message of a failed check. */
const char *{name}_message(int status);

#ifdef __cplusplus
}}
#endif

#endif
"""
_SOURCE = """\
/* C11, with math.h. {buffers} bytes of buffers share {arena} bytes. */
#include "{name}.h"

#include <math.h>
#include <string.h>

/* Buffers of different types share bytes of the arena. */
#ifdef __GNUC__
#define MAY_ALIAS __attribute__((may_alias))
#else
#define MAY_ALIAS
#endif

{helpers}
{memory}
{tables}

int {name}_run(
{parameters}) {{
{body}
  return 0;
}}

const char *{name}_message(int status) {{
  switch (status) {{
{messages}
  default: return "";
  }}
}}
"""
