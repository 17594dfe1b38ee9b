"""Makes draft export decide by the values of the example.

`torch.export.draft_export` computes the values of all tensors beside the fake ones, and decides
guards by them. PyTorch 2.13 does not do this everywhere.

- It copies the values of plain tensors only. Each parameter has whatever is in new memory.
- `guard_or_false` and `guard_or_true` return their default for a condition on data, even if the
  condition is different on the example: a size of 1 is not broadcast, for instance.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import sympy
import torch
from torch._subclasses import meta_utils
from torch.fx.experimental.symbolic_shapes import ShapeEnv


@contextlib.contextmanager
def parameter_values() -> Iterator[None]:
    """Makes fake tensors with values copy those of parameters too, inside the `with` block."""
    names = ("_safe_copy", "_safe_clone")
    with contextlib.ExitStack() as stack:
        for name in names:
            original = getattr(meta_utils, name)
            stack.enter_context(mock.patch.object(meta_utils, name, _of_data(original)))
        yield


def _of_data(function: Callable) -> Callable:
    """Returns the function with parameters replaced by the tensors that they hold."""

    def with_data(*tensors: torch.Tensor | None):
        return function(
            *(tensor.data if type(tensor) is torch.nn.Parameter else tensor for tensor in tensors)
        )

    return with_data


class Defaults:
    """The defaults of conditions on data, inside a `with` block.

    Attributes:
        contradicted: whether the example contradicts a default.
    """

    def __init__(self, *, follow_example: bool):
        """Creates a context.

        Args:
            follow_example: whether to take the example's value of a condition that contradicts its
                default. The program then asserts that the condition has this value.
        """
        self.contradicted = False
        self._follow_example = follow_example

    def __enter__(self) -> Defaults:
        original = ShapeEnv.evaluate_expr

        def evaluate_expr(env: ShapeEnv, expr: sympy.Basic, *args: Any, **kwargs: Any) -> Any:
            default = kwargs.get("fallback_value")
            if default is not None and _value(env, expr) is sympy.sympify(not default):
                self.contradicted = True
                if self._follow_example:
                    kwargs = kwargs | {"fallback_value": None}
            return original(env, expr, *args, **kwargs)

        self._patch = mock.patch.object(ShapeEnv, "evaluate_expr", evaluate_expr)
        self._patch.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._patch.stop()


def _value(env: ShapeEnv, expr: sympy.Basic) -> sympy.Basic | None:
    """Returns the value of a condition on data on the example; None for other conditions."""
    values = env.real_tensor_prop_unbacked_vals
    if not values or expr.free_symbols.isdisjoint(values):
        return None
    return expr.xreplace(values).xreplace(env.backed_var_to_val)
