"""Elementwise operators, with broadcasting, type promotion and in-place variants."""

from __future__ import annotations

import torch

from unmess.conformance.programs.builder import Builder, Family, Skip
from unmess.conformance.programs.values import ANY, BOOL, COMPLEX, FLOATS, INTEGERS, REAL, SIGNED

ELEMENTWISE = Family()


@ELEMENTWISE.add(exact=True)
def arithmetic(b: Builder) -> str:
    x = b.tensor()
    return f"torch.{b.pick('add', 'sub', 'mul')}({x}, {b.partner(x)})"


@ELEMENTWISE.add(exact=True)
def arithmetic_with_a_number(b: Builder) -> str:
    x = b.tensor((*REAL, *COMPLEX))
    number = b.pick(2, 0.5, -3, 1.5, True, 0.1)
    return b.pick(f"{x} + {number}", f"{x} * {number}", f"{number} - {x}", f"{x} - {number}")


@ELEMENTWISE.add(exact=True)
def scaled_sum(b: Builder) -> str:
    x = b.tensor((*REAL, *COMPLEX))
    return (
        f"torch.{b.pick('add', 'sub')}({x}, {b.partner(x, (b[x].dtype,))}, alpha={b.pick(2, -3)})"
    )


@ELEMENTWISE.add()
def division(b: Builder) -> str:
    x = b.tensor()
    return f"{x} / {b.partner(x, REAL, kind='positive')}"


@ELEMENTWISE.add()
def division_by_a_number(b: Builder) -> str:
    x = b.tensor()
    return b.pick(f"{x} / {b.pick(2, 3, 0.7)}", f"torch.true_divide({x}, 3)")


@ELEMENTWISE.add()
def division_in_whole_numbers(b: Builder) -> str:
    x = b.tensor(REAL, exact=True)
    y = b.pick(*(str(n) for n in (2, 3, 7)), b.partner(x, (b[x].dtype,), kind="positive"))
    mode = b.pick("floor", "trunc")
    return b.pick(
        f"torch.div({x}, {y}, rounding_mode='{mode}')",
        f"{x} // {y}",
        f"torch.remainder({x}, {y})",
        f"torch.fmod({x}, {y})",
    )


@ELEMENTWISE.add(exact=True)
def larger_or_smaller(b: Builder) -> str:
    x = b.tensor((*REAL, *BOOL))
    name = b.pick("maximum", "minimum", "fmax", "fmin")
    return f"torch.{name}({x}, {b.partner(x, REAL)})"


@ELEMENTWISE.add()
def comparison(b: Builder) -> str:
    x = b.tensor((*REAL, *BOOL), exact=True)
    name = b.pick("lt", "le", "gt", "ge", "eq", "ne")
    y = b.partner(x, exact=True) if b.chance(60) else b.pick(0, 1, 0.5, -1)
    return f"torch.{name}({x}, {y})"


@ELEMENTWISE.add()
def logic(b: Builder) -> str:
    x = b.tensor((*REAL, *BOOL), exact=True)
    if b.chance(30):
        return f"torch.logical_not({x})"
    name = b.pick("logical_and", "logical_or", "logical_xor")
    return f"torch.{name}({x}, {b.partner(x, (*REAL, *BOOL), exact=True)})"


@ELEMENTWISE.add()
def kind_of_number(b: Builder) -> str:
    name = b.pick("isnan", "isinf", "isfinite", "isposinf", "isneginf")
    return f"torch.{name}({b.tensor(FLOATS, exact=True)})"


@ELEMENTWISE.add()
def bits(b: Builder) -> str:
    x = b.tensor((*INTEGERS, *BOOL))
    if b.chance(30):
        return f"torch.bitwise_not({x})"
    name = b.pick("bitwise_and", "bitwise_or", "bitwise_xor")
    return f"torch.{name}({x}, {b.partner(x, (*INTEGERS, *BOOL))})"


@ELEMENTWISE.add()
def shift(b: Builder) -> str:
    x = b.tensor(INTEGERS)
    return f"{x} {b.pick('<<', '>>')} {b.integer(0, 7)}"


@ELEMENTWISE.add(exact=True)
def choice(b: Builder) -> str:
    condition = b.tensor(BOOL)
    x = b.partner(condition, ANY)
    if b.chance(30):
        return f"torch.where({condition}, {x}, {b.pick(0, 1.5, -2)})"
    return f"torch.where({condition}, {x}, {b.partner(x)})"


@ELEMENTWISE.add(exact=True)
def limit(b: Builder) -> str:
    x = b.tensor(REAL)
    low, high = b.pick((1, 2), (0, 1), (0.5, 1.5), (None, 1), (0, None), (2, 1))
    if b.chance(30):
        return f"torch.clamp({x}, {b.partner(x, (b[x].dtype,))}, {b.partner(x, (b[x].dtype,))})"
    return f"torch.clamp({x}, {low}, {high})"


@ELEMENTWISE.add(exact=True)
def exact_function(b: Builder) -> str:
    name = b.pick("neg", "abs", "relu", "square", "positive", "conj_physical")
    return f"torch.{name}({b.tensor((*REAL, *COMPLEX))})"


@ELEMENTWISE.add()
def rounding(b: Builder) -> str:
    name = b.pick("floor", "ceil", "round", "trunc", "sign", "frac", "sgn", "nan_to_num")
    x = b.tensor((*REAL, *COMPLEX) if name == "sgn" else REAL, exact=True)
    return f"torch.{name}({x})"


@ELEMENTWISE.add()
def smooth_function(b: Builder) -> str:
    """Draws a function that does not amplify rounding errors, of any operand."""
    name = b.pick(
        *("torch.tanh", "torch.sigmoid", "torch.sin", "torch.cos", "torch.atan", "torch.erf"),
        *("torch.asinh", "F.gelu", "F.silu", "F.softplus", "F.elu", "F.celu"),
        *("F.selu", "F.mish", "F.hardswish", "F.hardsigmoid", "F.hardtanh", "F.leaky_relu"),
        *("F.logsigmoid", "F.softsign", "F.relu6", "F.tanhshrink", "F.softshrink"),
        *("F.hardshrink", "torch.sinc"),
    )
    if name in ("F.hardshrink", "F.softshrink"):
        return f"{name}({b.tensor(FLOATS, exact=True)})"
    x = b.tensor(REAL if name.startswith("torch") else FLOATS)
    if name == "F.gelu" and b[x].isinf().any():
        raise Skip  # For infinity, eager returns NaN in f32, but infinity in f64.
    return f"{name}({x})"


@ELEMENTWISE.add()
def steep_function(b: Builder) -> str:
    """Draws a function that amplifies rounding errors, of an exact operand."""
    name = b.pick(
        *("exp", "expm1", "exp2", "sinh", "cosh", "tan", "log", "log1p", "log2", "log10", "sqrt"),
        *("rsqrt", "reciprocal", "asin", "acos", "atanh", "acosh", "lgamma", "logit", "deg2rad"),
    )
    if name in ("exp", "sqrt", "log", "sin", "tanh") and b.chance(20):
        return f"torch.{name}({b.tensor(COMPLEX, exact=True)})"
    return f"torch.{name}({b.tensor(REAL, exact=True)})"


@ELEMENTWISE.add()
def smooth_function_of_two(b: Builder) -> str:
    x = b.tensor(FLOATS)
    same = (b[x].dtype,)
    y = b.partner(x, same)
    return b.pick(
        f"torch.logaddexp({x}, {y})",
        f"torch.lerp({x}, {y}, {b.pick(0.5, 0.3)})",
        f"torch.addcmul({x}, {x}, {y}, value={b.pick(1, 2)})",
        f"torch.addcdiv({x}, {x}, {b.partner(x, same, kind='positive')})",
    )


@ELEMENTWISE.add()
def steep_function_of_two(b: Builder) -> str:
    x = b.tensor(FLOATS, exact=True)
    y = b.partner(x, (b[x].dtype,), exact=True)
    name = b.pick("atan2", "xlogy", "heaviside", "float_power", "logaddexp2")
    if name == "logaddexp2" and torch.logaddexp2(b[x], b[y]).eq(0).any():
        raise Skip  # If two halves sum to 1, log2 returns only rounding errors.
    return f"torch.{name}({x}, {y})"


@ELEMENTWISE.add()
def power(b: Builder) -> str:
    x = b.tensor(REAL, exact=True)
    if b.chance(30):
        return f"torch.pow({b.pick(2, 0.5, 3)}, {b.tensor(FLOATS, exact=True)})"
    if b.chance(30):
        return f"torch.pow({b.tensor(FLOATS, kind='positive')}, {b.pick(0.5, -1.5, 2.5)})"
    if b.chance(30):
        y = b.partner(x, REAL, kind="positive")
        return f"torch.pow({x}, {y})"
    return f"{x} ** {b.pick(2, 3, 0, 1, 4)}"


@ELEMENTWISE.add(exact=True)
def in_place(b: Builder) -> str:
    x = b.tensor((*REAL, *COMPLEX))
    if b[x].numel() == 0:
        raise Skip
    y = b.partner(x, (b[x].dtype,))
    change = b.pick(
        f"add_({y})",
        f"mul_({y})",
        f"sub_({y}, alpha=2)",
        "add_(1)",
        "zero_()",
        "fill_(2)",
        f"copy_({y})",
        "neg_()",
        f"masked_fill_({y} == {y}, 3)",
    )
    return f"{{out}} = {x}.clone()\n{{out}}.{change}"


@ELEMENTWISE.add(exact=True)
def in_place_through_a_view(b: Builder) -> str:
    x = b.tensor((*REAL, *BOOL), (1, 4))
    view = b.pick(
        "[..., 1:]", "[0]", "[..., ::2]", "[..., -1]", ".mT", ".view(-1)", "[1:, ..., :1]"
    )
    if (view == "[0]" and b[x].shape[0] == 0) or (view == "[..., -1]" and b[x].shape[-1] == 0):
        raise Skip
    number = True if b[x].dtype == torch.bool else 2
    change = b.pick(f".fill_({number})", f".mul_({number})", ".zero_()")
    return f"{{out}} = {x}.clone(memory_format=torch.contiguous_format)\n{{out}}{view}{change}"


@ELEMENTWISE.add(exact=True)
def made_of_nothing(b: Builder) -> str:
    x = b.tensor((*REAL, *BOOL))
    return b.pick(
        f"torch.full_like({x}, 1)",
        f"torch.zeros_like({x})",
        f"torch.ones_like({x}, dtype={b.pick(*REAL)})",
        f"{x}.new_full(({b.integer(1, 4)}, 2), 1)",
        f"torch.arange({b.integer(0, 5)}, {b.integer(5, 9)}, dtype={b.pick(*SIGNED, *FLOATS)})",
        f"torch.eye({b.integer(1, 4)}, {b.integer(1, 4)}, dtype={b.pick(*REAL)})",
        f"torch.linspace(0, 4, {b.integer(1, 9)}, dtype={b.pick(*FLOATS)})",
    )
