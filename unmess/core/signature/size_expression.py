"""Parses and evaluates PyTorch's size expressions, without running them as code."""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
# SymPy's and PyTorch's spellings.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "max": max,
    "Max": max,
    "min": min,
    "Min": min,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "FloorDiv": operator.floordiv,
    "CeilDiv": lambda a, b: -(-a // b),
    "CleanDiv": operator.floordiv,
    "Where": lambda condition, a, b: a if condition else b,
    "torch.sym_ite": lambda condition, a, b: a if condition else b,
    "torch.sym_max": max,
    "torch.sym_min": min,
    "abs": abs,
    "Abs": abs,
    "pow": operator.pow,
    "PowByNatural": operator.pow,
    "FloatPow": operator.pow,
    "IntTrueDiv": operator.truediv,
    "FloatTrueDiv": operator.truediv,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "float": float,
    "ToFloat": float,
    "torch.sym_float": float,
    "math.sqrt": math.sqrt,
    "torch._sym_sqrt": math.sqrt,
    "OpaqueUnaryFn_sqrt": math.sqrt,
    "math.floor": math.floor,
    "FloorToInt": math.floor,
    "math.ceil": math.ceil,
    "CeilToInt": math.ceil,
    "math.trunc": math.trunc,
    "TruncToInt": math.trunc,
    "TruncToFloat": lambda x: float(math.trunc(x)),
    "round": round,
    "RoundToInt": round,
}


class SizeExpression:
    """An expression over named integers.

    Attributes:
        text: the original text. Two expressions are equal if their texts are.
        names: the names that `evaluate` needs: plain names (`s0`) and places of sizes
            (`x.shape[0]`).
    """

    def __init__(self, text: str):
        """Parses the expression.

        Raises:
            ValueError: the text has more than arithmetic, comparisons and functions of sizes.
        """
        self.text = text
        self.names: list[str] = []
        try:
            tree = ast.parse(text, mode="eval").body
        except SyntaxError as problem:
            raise ValueError(f"{text!r} is not an expression") from problem
        self._value = self._compiled(tree)

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SizeExpression) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def evaluate(self, sizes: Mapping[str, int]) -> Any:
        """Returns the expression's value: a number, or a bool for a comparison.

        Raises:
            KeyError: a name is not in `sizes`.
            ArithmeticError: division by zero.
        """
        return self._value(sizes)

    def _compiled(self, node: ast.expr) -> Callable[[Mapping[str, int]], Any]:
        match node:
            case ast.Constant(value=int() | float() as value):
                return lambda _: value
            case ast.Name() | ast.Subscript():
                return self._named(ast.unparse(node))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
                function, inner = _UNARY[type(op)], self._compiled(operand)
                return lambda sizes: function(inner(sizes))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                function, a, b = _BINARY[type(op)], self._compiled(left), self._compiled(right)
                return lambda sizes: function(a(sizes), b(sizes))
            case ast.Compare(left=left, ops=ops, comparators=others) if all(
                type(op) in _BINARY for op in ops
            ):
                functions = [_BINARY[type(op)] for op in ops]
                operands = [self._compiled(operand) for operand in (left, *others)]
                return lambda sizes: _chain(functions, [value(sizes) for value in operands])
            case ast.BoolOp(op=op, values=values):
                combine = all if isinstance(op, ast.And) else any
                parts = [self._compiled(value) for value in values]
                return lambda sizes: combine(bool(part(sizes)) for part in parts)
            case ast.Call(func=func, args=args, keywords=[]) if ast.unparse(func) in _FUNCTIONS:
                function = _FUNCTIONS[ast.unparse(func)]
                arguments = [self._compiled(argument) for argument in args]
                return lambda sizes: function(*(value(sizes) for value in arguments))
        raise ValueError(f"{ast.unparse(node)!r} is not arithmetic on sizes")

    def _named(self, name: str) -> Callable[[Mapping[str, int]], Any]:
        if name not in self.names:
            self.names.append(name)
        return lambda sizes: sizes[name]


def _chain(functions: list[Callable[[Any, Any], bool]], values: list[Any]) -> bool:
    return all(
        function(a, b) for function, a, b in zip(functions, values[:-1], values[1:], strict=True)
    )


@dataclass(frozen=True)
class Dim:
    """A dynamic dimension: an expression over size symbols, and its range (`max` None: open)."""

    expression: str
    min: int
    max: int | None

    def __str__(self) -> str:
        return "?"

    @functools.cached_property
    def parsed(self) -> SizeExpression:
        """The parsed expression."""
        return SizeExpression(self.expression)

    @property
    def range(self) -> str:
        """The range as text: `2 to 128`, `at least 2`."""
        return f"at least {self.min}" if self.max is None else f"{self.min} to {self.max}"

    def holds(self, size: int) -> bool:
        """Returns whether `size` is in the range."""
        return self.min <= size and (self.max is None or size <= self.max)
