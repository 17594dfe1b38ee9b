"""Prints the body of a function: loops, branches, buffers, checks."""

import math
from dataclasses import dataclass

from torch_mlir import ir

from c_printer.expressions import DIVISIONS, EXPRESSIONS, literal
from c_printer.types import TYPES, definition, element_type, unsupported, width
from unmess.core.errors.user_source import location_line

_DIVISION = "integer division by zero"
_INDEX = "an index is out of range"


@dataclass(frozen=True)
class Buffer:
    """A buffer in C: a pointer, and the element that each index leads to.

    Attributes:
        pointer: the C name of the pointer to the memory.
        offset: of element 0, in elements: a C expression.
        strides: in elements: C expressions.
        sizes: the sizes of the axes.
    """

    pointer: str
    offset: str
    strides: tuple[str, ...]
    sizes: tuple[int, ...]

    def element(self, indices):
        """Returns the C expression of one element."""
        terms = [] if self.offset == "0" else [self.offset]
        for index, stride in zip(indices, self.strides, strict=True):
            if "0" not in (index, stride):
                terms.append(index if stride == "1" else f"{index} * {stride}")
        return f"{self.pointer}[{' + '.join(terms) or '0'}]"


def row_major(pointer, kind):
    """Returns the `Buffer` of a contiguous memref type."""
    sizes = tuple(kind.shape)
    strides = tuple(str(math.prod(sizes[axis + 1 :])) for axis in range(len(sizes)))
    return Buffer(pointer, "0", strides, sizes)


class Body:
    """The C statements of a function.

    Attributes:
        lines: the statements.
        pointers: by buffer of the memory plan, the C name of its pointer.
        checks: the message of each check; a failed one ends the call with its number, from 1.
    """

    def __init__(self, arguments, pointers, globals_, unchecked):
        """Takes C names.

        Args:
            arguments: pairs of the function's arguments and their names; results in memory are
                arguments, too.
            pointers: of buffers of the memory plan.
            globals_: of pointers to constants, by symbol.
            unchecked: whether checks of divisors are omitted.
        """
        self.lines, self.checks, self.pointers = [], [], pointers
        self._globals, self._unchecked = globals_, unchecked
        self._values, self._buffers = {}, {}
        # Names are numbered. Checks of the same condition in the same or an outer block are needed
        # once.
        self._count, self._depth, self._checked = 0, 1, [set()]
        for value, name in arguments:
            if isinstance(value.type, ir.MemRefType):
                self._buffers[value] = row_major(name, value.type)
            else:
                self._values[value] = name

    def print_function(self, function, results):
        """Prints a function. `results` are the C names of pointers to results that are numbers."""
        block = function.regions[0].blocks[0]
        where = None
        for each in block.operations:
            line = location_line(each.operation.location)
            if line and line != where and each.operation.regions:
                self._add(f"/* {line.rsplit('/', 1)[-1]} */")
                where = line
            if each.operation.name == "func.return":
                for name, value in zip(results, each.operation.operands, strict=True):
                    self._add(f"*{name} = {self._value(value)};")
            else:
                self._print(each.operation)

    def _print(self, operation):
        name = operation.name
        if name in EXPRESSIONS:
            self._print_expression(operation)
        elif name in _STATEMENTS:
            _STATEMENTS[name](self, operation)
        else:
            raise unsupported(operation)

    def _add(self, text):
        self.lines.append("  " * self._depth + text)

    def _open(self, text):
        self._add(f"{text} {{")
        self._depth += 1
        self._checked.append(set())

    def _close(self, text="}"):
        self._depth -= 1
        self._checked.pop()
        self._add(text)

    def _new(self, prefix="v"):
        self._count += 1
        return f"{prefix}{self._count}"

    def _value(self, value):
        return self._values[value]

    def _define(self, value, expression):
        self._values[value] = self._new()
        self._add(f"const {element_type(value)} {self._values[value]} = {expression};")

    def _require(self, condition, message):
        if not any(condition in each for each in self._checked):
            self._checked[-1].add(condition)
            self.checks.append(message)
            self._add(f"if (!{condition}) return {len(self.checks)};")

    # Numbers

    def _print_constant(self, operation):
        kind, value = operation.results[0].type, operation.attributes["value"]
        if isinstance(kind, ir.FloatType):
            number = ir.FloatAttr(value).value
        elif isinstance(kind, ir.IntegerType) and kind.width == 1:
            number = ir.BoolAttr(value).value
        else:
            number = ir.IntegerAttr(value).value
        element_type(operation.results[0])
        self._values[operation.results[0]] = literal(kind, number)

    def _print_expression(self, operation):
        for each in (*operation.operands, *operation.results):
            element_type(each)
        operands = [self._value(each) for each in operation.operands]
        is_division = operation.name in DIVISIONS and not self._unchecked
        if is_division and not _is_nonzero_constant(operation.operands[1]):
            self._require(f"({operands[1]} != 0)", self._message(operation, _DIVISION))
        self._define(operation.results[0], EXPRESSIONS[operation.name](operation, *operands))

    def _print_wide_product(self, operation):
        """Prints the low and the high half of a product."""
        a, b = (self._value(each) for each in operation.operands)
        kind = operation.results[0].type
        bits = width(kind)
        if bits > 32:
            raise unsupported(operation)
        sign = "" if operation.name == "arith.mulsi_extended" else "u"
        wide = self._new()
        narrow = f"({sign}int{bits}_t)"
        self._add(f"const {sign}int64_t {wide} = ({sign}int64_t){narrow}{a} * {narrow}{b};")
        self._define(operation.results[0], f"({TYPES[str(kind)]}){wide}")
        self._define(operation.results[1], f"({TYPES[str(kind)]})({wide} >> {bits})")

    # Checks

    def _message(self, operation, text):
        line = location_line(operation.location)
        return f"{text} at {line.rsplit('/', 1)[-1]}" if line else text

    def _print_assert(self, operation):
        text = ir.StringAttr(operation.attributes["msg"]).value
        # Verification puts the whole operation into its message.
        text = _INDEX if "Runtime op verification failed" in text else text
        self._require(self._value(operation.operands[0]), self._message(operation, text))

    # Buffers

    def _buffer(self, value):
        return self._buffers[value]

    def _print_allocation(self, operation):
        buffer = operation.results[0]
        # The plan has no memory for a buffer that nothing uses.
        if buffer in self.pointers:
            self._buffers[buffer] = row_major(self.pointers[buffer], buffer.type)

    def _print_global(self, operation):
        name = ir.FlatSymbolRefAttr(operation.attributes["name"]).value
        value = operation.results[0]
        self._buffers[value] = row_major(self._globals[name], value.type)

    def _print_load(self, operation):
        memory, *indices = operation.operands
        element = self._buffer(memory).element([self._value(each) for each in indices])
        self._define(operation.results[0], element)

    def _print_store(self, operation):
        value, memory, *indices = operation.operands
        element = self._buffer(memory).element([self._value(each) for each in indices])
        self._add(f"{element} = {self._value(value)};")

    def _print_copy(self, operation):
        source, target = (self._buffer(each) for each in operation.operands)
        self._copy(source, target)

    def _copy(self, source, target):
        if source == target:
            return
        indices = []
        for size in source.sizes:
            index = self._new("i")
            self._open(f"for (int64_t {index} = 0; {index} < {size}; ++{index})")
            indices.append(index)
        self._add(f"{target.element(indices)} = {source.element(indices)};")
        for _ in indices:
            self._close()

    def _print_view(self, operation):
        source, *numbers = operation.operands
        kind = operation.results[0].type
        if not kind.has_static_shape:
            raise unsupported(operation, "of a size that depends on data")
        values = iter([self._value(each) for each in numbers])
        parts = []
        for name in ("static_offsets", "static_sizes", "static_strides"):
            given = ir.DenseI64ArrayAttr(operation.attributes[name])
            dynamic = ir.ShapedType.get_dynamic_size()
            parts.append([next(values) if each == dynamic else str(each) for each in given])
        (offset,), _, strides = parts
        self._buffers[operation.results[0]] = Buffer(
            self._buffer(source).pointer, offset, tuple(strides), tuple(kind.shape)
        )

    def _print_metadata(self, operation):
        source = self._buffer(operation.operands[0])
        base, offset, *others = operation.results
        self._buffers[base] = Buffer(source.pointer, "0", (), ())
        self._values[offset] = source.offset
        names = (*map(str, source.sizes), *source.strides)
        self._values.update(zip(others, names, strict=True))

    def _print_cast(self, operation):
        self._buffers[operation.results[0]] = self._buffer(operation.operands[0])

    # Loops and branches

    def _declare(self, values, initial=None):
        """Declares variables for numbers that a region yields; buffers have planned memory.

        Args:
            initial: the first values, if they are known.
        """
        for position, value in enumerate(values):
            if isinstance(value.type, ir.MemRefType):
                self._buffers[value] = row_major(self.pointers[value], value.type)
                if initial:
                    self._copy(self._buffer(initial[position]), self._buffer(value))
            else:
                self._values[value] = self._new()
                first = f" = {self._value(initial[position])}" if initial else ""
                self._add(f"{element_type(value)} {self._values[value]}{first};")

    def _assign(self, sources, targets):
        """Assigns all values at once: a source may be another's target."""
        numbers = [
            (self._value(source), self._value(target))
            for source, target in zip(sources, targets, strict=True)
            if not isinstance(source.type, ir.MemRefType)
        ]
        names = {target for _, target in numbers}
        for position, (source, target) in enumerate(numbers):
            if source in names and source != target:
                saved = self._new()
                kind = next(
                    element_type(each) for each in sources if self._values.get(each) == source
                )
                self._add(f"const {kind} {saved} = {source};")
                numbers[position] = saved, target
        for source, target in numbers:
            if source != target:
                self._add(f"{target} = {source};")
        buffers = [
            (self._buffer(source), self._buffer(target), source)
            for source, target in zip(sources, targets, strict=True)
            if isinstance(source.type, ir.MemRefType)
        ]
        written = {target.pointer for _, target, _ in buffers}
        for source, target, value in buffers:
            if source.pointer in written and source.pointer != target.pointer:
                raise unsupported(definition(value), "that exchanges tensors between iterations")
            self._copy(source, target)

    def _alias(self, values, others):
        """Gives values the C names of others."""
        for value, other in zip(values, others, strict=True):
            if isinstance(value.type, ir.MemRefType):
                self._buffers[value] = self._buffer(other)
            else:
                self._values[value] = self._value(other)

    def _print_block(self, block):
        """Prints the operations of a block, and returns the last one, which ends it."""
        *others, last = block.operations
        for each in others:
            self._print(each.operation)
        return last.operation

    def _print_for(self, operation):
        lower, upper, step, *initial = operation.operands
        block = operation.regions[0].blocks[0]
        index, *carried = block.arguments
        self._declare(operation.results, initial)
        self._alias(carried, operation.results)
        name = self._values[index] = self._new("i")
        start, end, by = (self._value(each) for each in (lower, upper, step))
        increment = f"++{name}" if by == "1" else f"{name} += {by}"
        kind = element_type(index)
        self._open(f"for ({kind} {name} = {start}; {name} < {end}; {increment})")
        last = self._print_block(block)
        self._assign(last.operands, operation.results)
        self._close()

    def _print_if(self, operation):
        self._declare(operation.results)
        self._open(f"if ({self._value(operation.operands[0])})")
        for position, region in enumerate(operation.regions):
            if not list(region):
                continue
            if position:
                self._close("} else {")
                self._depth += 1
                self._checked.append(set())
            last = self._print_block(region.blocks[0])
            self._assign(last.operands, operation.results)
        self._close()

    def _print_while(self, operation):
        before, after = (region.blocks[0] for region in operation.regions)
        self._declare(before.arguments, operation.operands)
        self._declare(operation.results)
        self._alias(after.arguments, operation.results)
        self._open("for (;;)")
        condition, *values = self._print_block(before).operands
        self._assign(values, operation.results)
        self._add(f"if (!{self._value(condition)}) break;")
        last = self._print_block(after)
        self._assign(last.operands, before.arguments)
        self._close()


_STATEMENTS = {
    "arith.constant": Body._print_constant,
    "arith.mulsi_extended": Body._print_wide_product,
    "arith.mului_extended": Body._print_wide_product,
    "cf.assert": Body._print_assert,
    "memref.alloc": Body._print_allocation,
    "memref.alloca": Body._print_allocation,
    "memref.cast": Body._print_cast,
    "memref.copy": Body._print_copy,
    "memref.extract_strided_metadata": Body._print_metadata,
    "memref.get_global": Body._print_global,
    "memref.load": Body._print_load,
    "memref.reinterpret_cast": Body._print_view,
    "memref.store": Body._print_store,
    "scf.for": Body._print_for,
    "scf.if": Body._print_if,
    "scf.while": Body._print_while,
}


def _is_nonzero_constant(value):
    operation = definition(value)
    return (
        operation.name == "arith.constant" and ir.IntegerAttr(operation.attributes["value"]).value
    )
