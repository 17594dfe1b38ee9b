"""Loads a `.pt2` file without running code from it.

`torch.export.load` trusts its file. It unpickles objects of any class, loads compiled libraries,
resolves operators to any attribute of `torch`, and evaluates sizes as Python expressions. It puts
names and guards into Python code that it executes. This file replaces or checks each of these at
the point where PyTorch uses the data.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import json
import math
import operator
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch._export.serde import serialize
from torch.export.pt2_archive import _package

from importers.sources.operator_safety import is_harmless
from unmess.core.errors.error import needs_trust

_FORCE_WEIGHTS_ONLY = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
_Deserializer = serialize.ExportedProgramDeserializer
_lock = threading.Lock()
# PyTorch writes names into Python code. None of these characters can end a name there.
_NAME = re.compile(r"[\w.\-]*")
# Keys of containers also become parts of string literals.
_KEY = re.compile(r"[\w.\-/: ]*")
_ARITHMETIC = frozenset(
    [
        "eq",
        "ne",
        "le",
        "ge",
        "lt",
        "gt",
        "neg",
        "pos",
        "mul",
        "add",
        "sub",
        "floordiv",
        "mod",
        "pow",
        "truediv",
        "and_",
        "or_",
        "lshift",
        "rshift",
    ]
)
_HIGHER_ORDER = frozenset(
    (
        "cond",
        "while_loop",
        "scan",
        "map_impl",
        "associative_scan",
        "wrap_with_set_grad_enabled",
        "wrap_with_autocast",
        "auto_functionalized",
        "auto_functionalized_v2",
    )
)
_NUMBERS = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Name, ast.Load)
_OPERATORS = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
# Functions that size expressions may call, besides those of `torch.utils._sympy.functions`.
_SIZE_FUNCTIONS = frozenset(
    [
        "Symbol",
        "Integer",
        "Float",
        "Rational",
        "Add",
        "Mul",
        "Pow",
        "Max",
        "Min",
        "Mod",
        "floor",
        "ceiling",
        "Abs",
        "sqrt",
        "Eq",
        "Ne",
        "Gt",
        "Ge",
        "Lt",
        "Le",
        "And",
        "Or",
        "Not",
        "Piecewise",
        "ExprCondPair",
        "Equality",
        "Unequality",
        "GreaterThan",
        "LessThan",
        "StrictGreaterThan",
        "StrictLessThan",
    ]
) | {name for name in dir(torch.utils._sympy.functions) if name[:1].isupper()}
_SIZE_METHODS = frozenset(("size", "stride", "storage_offset", "dim"))


def load(file: Path, extra_files: dict[str, Any] | None = None) -> torch.export.ExportedProgram:
    """Loads the ExportedProgram in an untrusted file.

    Args:
        extra_files: as for `torch.export.load`.

    Raises:
        Error: stage `source`, if the file needs the user's trust.
        Exception: any other exception, if the file is damaged.
    """
    try:
        with _restricted():
            return torch.export.load(file, extra_files=extra_files)
    except Exception as problem:
        # PyTorch may have wrapped the refusal in another exception.
        cause: BaseException | None = problem
        while cause is not None:
            if isinstance(cause, _Refused):
                raise needs_trust(file, str(cause)) from problem
            if "weights_only" in str(cause) or "Weights only load failed" in str(cause):
                what = "pickled Python objects" + _classes(str(cause))
                raise needs_trust(file, what) from problem
            cause = cause.__cause__ or cause.__context__
        raise


class _Refused(Exception):
    """The file contains something that can run code."""


def _classes(message: str) -> str:
    found = re.search(r"Unsupported (?:global|class|operand)[^\n]*?([\w]+(?:\.[\w]+)+)", message)
    return f" ({found[1]})" if found else ""


@contextlib.contextmanager
def _restricted() -> Iterator[None]:
    """Makes `torch.export.load` refuse content that could run code, inside the `with` block."""
    package: Any = _package
    replacements = {
        (package, "ExportedProgramDeserializer"): _CheckedDeserializer,
        (serialize, "ExportedProgramDeserializer"): _CheckedDeserializer,
        (package, "pickle"): _NoPickle,
        (package, "_load_aoti"): _refuse_library,
        (torch._C, "_pickle_load_obj"): _refuse_object,
    }
    with _lock, contextlib.ExitStack() as stack:
        before = os.environ.get(_FORCE_WEIGHTS_ONLY)
        # `torch.load` obeys this variable even if the caller passes `weights_only=False`.
        os.environ[_FORCE_WEIGHTS_ONLY] = "1"
        stack.callback(_restore_environment, before)
        for (holder, name), replacement in replacements.items():
            stack.callback(setattr, holder, name, getattr(holder, name))
            setattr(holder, name, replacement)
        yield


def _restore_environment(value: str | None) -> None:
    if value is None:
        del os.environ[_FORCE_WEIGHTS_ONLY]
    else:
        os.environ[_FORCE_WEIGHTS_ONLY] = value


def _refuse_library(*_args: Any, **_kwargs: Any) -> NoReturn:
    raise _Refused("compiled native code (AOTInductor)")


def _refuse_object(*_args: Any, **_kwargs: Any) -> NoReturn:
    raise _Refused("an object of a custom class")


class _NoPickle:
    loads = staticmethod(_refuse_object)


class _CheckedDeserializer:
    """Checks a program before PyTorch builds it. PyTorch's own class cannot be subclassed."""

    def __init__(self, *args: Any, **kwargs: Any):
        self._deserializer = _Deserializer(*args, **kwargs)

    def deserialize(self, exported_program: Any, *args: Any, **kwargs: Any) -> Any:
        _check(exported_program, "")
        return self._deserializer.deserialize(exported_program, *args, **kwargs)


def _check(value: Any, field: str) -> None:
    """Raises `_Refused` for unsafe text that PyTorch would execute or write into code.

    Args:
        field: the schema field that contains the value.
    """
    if isinstance(value, str):
        _check_text(value, field)
    elif isinstance(value, serialize._Union):
        # Convert to a plain string: PyTorch's string type refuses comparison with others.
        inside = str(value.type)
        # An input with a fixed string becomes a literal in code.
        if isinstance(value, serialize.schema.ConstantValue) and inside == "as_string":
            inside = "constant"
        _check(value.value, inside)
    elif dataclasses.is_dataclass(value):
        for each in dataclasses.fields(value):
            # PyTorch only prints the metadata of nodes.
            if not (each.name == "metadata" and isinstance(value, serialize.schema.Node)):
                _check(getattr(value, each.name), each.name)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(str(key), "key")
            _check(item, field)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check(item, field)


def _check_text(text: str, field: str) -> None:
    if field in ("target", "as_operator"):
        allowed = _is_operator(text)
    elif field == "expr_str":
        allowed = _is_arithmetic(text, _SIZE_FUNCTIONS)
    elif field == "guards_code":
        allowed = _is_arithmetic(text, _SIZE_FUNCTIONS, guard=True)
    elif field in ("in_spec", "out_spec"):
        allowed = _is_tree(text)
    elif field in ("as_string", "as_strings", "torch_version"):
        # Arguments of operators, which PyTorch writes into code with `repr`.
        allowed = True
    else:
        allowed = (_KEY if field in ("constant", "key") else _NAME).fullmatch(text) is not None
    if not allowed:
        raise _Refused(f"{text[:60]!r} as {field.removesuffix('_str')}")


def _is_operator(text: str) -> bool:
    """Returns True if a target is an operator that only computes."""
    if _NAME.fullmatch(text) is None:
        return False
    first, *names = text.split(".")
    if first == "_operator":
        return names[0] in _ARITHMETIC and hasattr(operator, names[0]) and len(names) == 1
    if first == "math":
        return len(names) == 1 and callable(getattr(math, names[0], None))
    if first == "torch" and len(names) == 1:
        return names[0].startswith(("sym_", "_sym_"))
    if (first, *names[:1]) != ("torch", "ops") or len(names) < 3:
        return False
    _, namespace, name, *_ = names
    if namespace == "higher_order":
        return name in _HIGHER_ORDER and len(names) == 3
    if not is_harmless(namespace, name) or len(names) > 4:
        return False
    target: Any = torch.ops
    for part in names[1:]:
        target = getattr(target, part, None)
    # PyTorch reports operators that it lacks.
    return target is None or isinstance(target, torch._ops.OpOverload)


def _is_arithmetic(text: str, functions: frozenset[str], guard: bool = False) -> bool:
    """Returns True if an expression has only numbers, names, operators and known functions.

    Args:
        guard: whether to allow sizes of inputs too, such as `L['x'].size()[0]`.
    """
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, (*_NUMBERS, *_OPERATORS)):
            allowed = "__" not in getattr(node, "id", "")
        elif isinstance(node, ast.Constant):
            # As in `Symbol('s0', integer=True)` and `L['x']`.
            text_in_it = node.value if isinstance(node.value, str) else ""
            allowed = (
                isinstance(node.value, (int, float, str))
                and _KEY.fullmatch(text_in_it) is not None
                and "__" not in text_in_it
            )
        elif isinstance(node, ast.Call):
            function = node.func
            named = isinstance(function, ast.Name) and function.id in functions
            method = isinstance(function, ast.Attribute) and function.attr in _SIZE_METHODS
            allowed = named or (guard and method and not node.args and not node.keywords)
        elif guard and isinstance(node, ast.Attribute):
            allowed = node.attr in _SIZE_METHODS
        elif guard and isinstance(node, ast.Subscript):
            allowed = True
        else:
            allowed = isinstance(node, (ast.Tuple, ast.keyword))
        if not allowed:
            return False
    return True


def _is_tree(text: str) -> bool:
    """Returns True if all strings in the description of a container are safe to write into code."""
    try:
        pending = [json.loads(text)] if text else []
    except (ValueError, RecursionError):
        return False
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, str) and _KEY.fullmatch(item) is None:
            # The keys of a container are JSON in a string.
            try:
                inner = json.loads(item)
            except (ValueError, RecursionError):
                return False
            pending.append(inner)
    return True
