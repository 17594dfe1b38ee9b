"""Changes types and operations that TOSA, or its profiles and extensions, do not have.

- Combinations of types: torch-mlir gathers 64-bit integers with 32-bit indices. TOSA 1.0's
  extension for 64-bit integers requires 64-bit indices, and validators, such as IREE's, reject the
  mixture. TOSA also has no cast from 64-bit integers to floats. Integers that were widened from 32
  bits are narrowed again first.
- f64: torch-mlir computes variances, and compares with infinity, in f64. If the imported program
  has no f64, these computations are done in f32, as in eager.
- Casts with dynamic sizes: the same operations as torch-mlir emits for static sizes, a truncation
  before TOSA's cast, which rounds to the nearest integer, and a comparison with zero for booleans.
- Random numbers are rejected. torch-mlir lowers them to constants: the same ones in each call, and
  for all operators of a shape.
"""

from __future__ import annotations

import re

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.ir.torch_operations import builtin_type, from_builtin, load_dialects, to_builtin
from pipelines.ir.values import producer
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line

# The position of the operand with the indices.
_INDICES = {"tosa.gather": 1, "tosa.scatter": 1}
# Operations whose result consists of elements of the first operand.
_SAME_ELEMENTS = {"tosa.reshape", "tosa.transpose", "tosa.slice", "tosa.tile", "tosa.reverse"}


def conform_to_profile(module: ir.Module) -> None:
    """Widens the indices of gathers and scatters whose values are 64-bit integers.

    Casts of widened 64-bit integers to floats go through 32-bit integers.
    """
    with module.context:
        wide = ir.IntegerType.get_signless(64)
        for cast in find_operations(module, lambda operation: operation.name == "tosa.cast"):
            operand, result = (ir.RankedTensorType(v.type) for v in (*cast.operands, *cast.results))
            to_float = isinstance(result.element_type, ir.FloatType)
            if operand.element_type == wide and to_float and _was_narrow(cast.operands[0]):
                with ir.InsertionPoint(cast), cast.location:
                    kind = ir.RankedTensorType.get(operand.shape, ir.IntegerType.get_signless(32))
                    narrow = ir.Operation.create("tosa.cast", [kind], [cast.operands[0]])
                cast.operands[0] = narrow.result
        for operation in find_operations(module, lambda operation: operation.name in _INDICES):
            place = _INDICES[operation.name]
            values, indices = operation.operands[0].type, operation.operands[place].type
            if values.element_type != wide or indices.element_type == wide:
                continue
            with ir.InsertionPoint(operation), operation.location:
                kind = ir.RankedTensorType.get(indices.shape, wide)
                cast = ir.Operation.create("tosa.cast", [kind], [operation.operands[place]])
            operation.operands[place] = cast.result


def _was_narrow(value: ir.Value) -> bool:
    """Returns whether the elements come from a tensor of integers of 32 bits or fewer."""
    while (operation := producer(value)) is not None:
        if operation.name == "tosa.cast":
            source = ir.RankedTensorType(operation.operands[0].type).element_type
            return isinstance(source, ir.IntegerType) and source.width <= 32
        if operation.name not in _SAME_ELEMENTS:
            return False
        value = operation.operands[0]
    return False


_RAW_F64 = ",f64>"


def has_f64(module: ir.Module) -> bool:
    """Returns whether a module in the torch dialect has tensors of f64."""
    return bool(
        find_operations(
            module,
            lambda operation: any(
                str(value.type).endswith(_RAW_F64)
                for values in (operation.operands, operation.results)
                for value in values
            ),
        )
    )


def narrow_f64(module: ir.Module) -> None:
    """Replaces every f64 in a module at stage `tosa` with f32."""
    with module.context, ir.Location.unknown():
        for operation in find_operations(module, _has_f64_result):
            if (
                operation.name == "tosa.cast"
                and _element(operation.operands[0]) == ir.F32Type.get()
            ):
                operation.results[0].replace_all_uses_with(operation.operands[0])
                operation.erase()
                continue
            for name, attribute in operation.attributes.items():
                operation.attributes[name] = _narrowed(attribute)
            for result in operation.results:
                if _element(result) == ir.F64Type.get():
                    result.set_type(_tensor_of_f32(result.type))
        for cast in find_operations(module, lambda operation: operation.name == "tosa.cast"):
            if cast.operands[0].type == cast.results[0].type:
                cast.results[0].replace_all_uses_with(cast.operands[0])
                cast.erase()


def _has_f64_result(operation: ir.Operation) -> bool:
    return any(_element(result) == ir.F64Type.get() for result in operation.results)


def _element(value: ir.Value) -> ir.Type | None:
    """Returns the element type of a tensor; None for other values."""
    is_tensor = isinstance(value.type, ir.RankedTensorType)
    return ir.RankedTensorType(value.type).element_type if is_tensor else None


def _tensor_of_f32(kind: ir.Type) -> ir.Type:
    return ir.RankedTensorType.get(ir.RankedTensorType(kind).shape, ir.F32Type.get())


def _narrowed(attribute: ir.Attribute) -> ir.Attribute:
    # Imported here, because the import takes 0.13 s.
    import numpy as np

    single = ir.F32Type.get()
    if isinstance(attribute, ir.FloatAttr) and attribute.type == ir.F64Type.get():
        return ir.FloatAttr.get(single, attribute.value)
    if isinstance(attribute, ir.TypeAttr) and attribute.value == ir.F64Type.get():
        return ir.TypeAttr.get(single)
    if isinstance(attribute, ir.DenseFPElementsAttr):
        kind = ir.RankedTensorType(attribute.type)
        if kind.element_type == ir.F64Type.get():
            numbers = np.array(attribute).astype(np.float32)
            return ir.DenseElementsAttr.get(numbers, type=_tensor_of_f32(kind))
    return attribute


_CONVERSION = "torch.aten.to.dtype"


def cast_dynamic_sizes(module: ir.Module) -> None:
    """Rewrites conversions of tensors with dynamic sizes in a module at `torch`."""
    with module.context:
        conversions = find_operations(module, _is_dynamic)
        if conversions:
            load_dialects(module, "convert-torch-to-tosa")
        replace_operations(
            conversions,
            lambda each: _converted(to_builtin(each.operands[0]), each.result.type),
        )


def _is_dynamic(operation: ir.Operation) -> bool:
    if operation.name != _CONVERSION:
        return False
    x, result = operation.operands[0].type, operation.result.type
    return x != result and "?" in str(x) and all(map(_is_number, (x, result)))


def _is_number(kind: ir.Type) -> bool:
    return str(kind).startswith("!torch.vtensor<[") and "complex" not in str(kind)


def _converted(x: ir.Value, kind: ir.Type) -> ir.Value:
    wanted = ir.RankedTensorType(ir.Type.parse(builtin_type(kind)))
    source, target = ir.RankedTensorType(x.type).element_type, wanted.element_type
    if str(target) == "i1":
        is_zero = build_op("tosa.equal", wanted, x, _zero(x))
        result = build_op("tosa.logical_not", wanted, is_zero)
    else:
        if _is_float(source) and not _is_float(target):
            x = _truncated(x)
        result = build_op("tosa.cast", wanted, x)
    return from_builtin(result, kind)


def _truncated(x: ir.Value) -> ir.Value:
    kind = ir.RankedTensorType(x.type)
    truths = ir.RankedTensorType.get(kind.shape, ir.IntegerType.get_signless(1))
    is_negative = build_op("tosa.greater", truths, _zero(x), x)
    up, down = build_op("tosa.ceil", kind, x), build_op("tosa.floor", kind, x)
    return build_op("tosa.select", kind, is_negative, up, down)


def _zero(x: ir.Value) -> ir.Value:
    """Creates a zero of x's element type and rank."""
    kind = ir.RankedTensorType(x.type)
    element = kind.element_type
    value = ir.FloatAttr.get(element, 0.0) if _is_float(element) else ir.IntegerAttr.get(element, 0)
    ones = ir.RankedTensorType.get([1] * kind.rank, element)
    values = ir.DenseElementsAttr.get_splat(ones, value)
    return build_op("tosa.const", ones, values=values)


def _is_float(element: ir.Type) -> bool:
    return not isinstance(element, ir.IntegerType)


# Most of them are `aten.uniform` at `torch`. The others remain if they are backend-legal.
_DRAWS = re.compile(
    r"torch\.(aten|valsem\.aten)\.(bernoulli|uniform|exponential|multinomial|normal_functional"
    r"|rand|rand_like|randn|randn_like|randint|randperm|random|rrelu_with_noise_functional)\b.*"
)


def refuse_random_numbers(module: ir.Module) -> None:
    """Raises an error if a module at `torch` draws random numbers.

    Raises:
        Error: stage `tosa`, for the first such operator.
    """
    for operation in find_operations(module, lambda each: _DRAWS.fullmatch(each.name)):
        raise Error(
            "tosa",
            f"{operation.name.removeprefix('torch.')} draws random numbers, which TOSA "
            "does not support",
            where=location_line(operation.location),
            hint="pass the numbers as an input, switch dropout to evaluation mode, or try "
            "--to linalg",
        )
