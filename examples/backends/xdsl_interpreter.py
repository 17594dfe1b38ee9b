"""xDSL's interpreter as a backend.

    unmess check MODEL --on examples/backends/xdsl_interpreter.py:XdslInterpreter

xDSL interprets few operations of linalg, so this runs mostly elementwise programs. For any other
operation, it raises an error that names it.
"""

import importlib.metadata
import math

import numpy as np
import xdsl.dialects
from xdsl.context import Context
from xdsl.dialects.builtin import TensorType
from xdsl.interpreter import Interpreter
from xdsl.interpreters import register_implementations
from xdsl.interpreters.builtin import xtype_for_el_type
from xdsl.interpreters.shaped_array import ShapedArray
from xdsl.interpreters.utils.ptr import TypedPtr
from xdsl.parser import Parser

import unmess

NUMPY = {"f64": "f8", "f32": "f4", "i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1"}


class XdslInterpreter:
    """Parses the IR with xDSL, and interprets it element by element."""

    name = "xdsl"
    input = unmess.BackendInput(stage="linalg", upstream_only=True, tensors="numpy")

    def describe(self):
        """Returns the version of xDSL."""
        return f"xDSL {importlib.metadata.version('xdsl')}"

    def compile(self, module, folder):
        """Returns xDSL's module, and an interpreter that knows its operations."""
        context = Context(allow_unregistered=True)
        for name, dialect in xdsl.dialects.get_all_dialects().items():
            context.register_dialect(name, dialect)
        parsed = Parser(context, module.text(generic=True)).parse_module()
        parsed.verify()
        interpreter = Interpreter(parsed)
        register_implementations(interpreter, context)
        for operation in parsed.walk():
            if operation.name == "builtin.unregistered":
                raise unmess.Error("compile", f"xDSL has no {operation.op_name.data}")
        return parsed, interpreter

    def load(self, artifact):
        """Returns a function of arrays and numbers."""
        parsed, interpreter = artifact
        (main,) = (each for each in parsed.walk() if each.name == "func.func")
        types = main.function_type

        def run(*arguments):
            given = [
                _shaped(value, kind, interpreter) if isinstance(kind, TensorType) else value
                for value, kind in zip(arguments, types.inputs, strict=True)
            ]
            results = interpreter.call_op(main, tuple(given))
            return [
                np.array(value.data, NUMPY[str(kind.element_type)]).reshape(value.shape)
                if isinstance(kind, TensorType)
                else value
                for value, kind in zip(results, types.outputs, strict=True)
            ]

        return run


def _shaped(array, kind, interpreter):
    if str(kind.element_type) not in NUMPY:
        raise unmess.Error("run", f"no array of {kind.element_type} can be given to xDSL")
    xtype = xtype_for_el_type(kind.element_type, interpreter.index_bitwidth)
    elements = tuple(array.reshape(-1).tolist()) if math.prod(array.shape) else ()
    return ShapedArray(TypedPtr.new(elements, xtype=xtype), list(array.shape))
