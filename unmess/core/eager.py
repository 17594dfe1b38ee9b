"""Runs the model in eager PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.error import Error, first_line
from unmess.core.program import Program
from unmess.core.recorded import Recorded
from unmess.core.strides import cloned
from unmess.core.user_source import user_line


def copied(tree: Any) -> Any:
    """Returns `tree` with copied tensors, since a model may write to its arguments."""
    return pytree.tree_map_only(torch.Tensor, cloned, tree)


def eager_of(program: Program) -> Callable[..., Any]:
    """Returns the model in eager, without gradients. A model with state is copied."""
    model = program.eager
    if program.signature.of_kind("state") and isinstance(model, torch.nn.Module):
        model = copy.deepcopy(model)
    return guarded(model)


def guarded(model: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `model` without gradients. Its exceptions become an Error (`run`)."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            try:
                with torch.no_grad():
                    return model(*args, **kwargs)
            except RuntimeError as problem:
                # The model computes gradients itself.
                if "does not require grad" not in str(problem):
                    raise
                with torch.enable_grad():
                    return model(*args, **kwargs)
        except Error:
            raise
        except Exception as problem:
            raise Error(
                "run",
                f"the model fails in eager PyTorch: {first_line(problem)}",
                where=user_line(problem),
                hint="the example arguments do not fit the model",
            ) from problem

    call.model = model
    return call


class Exact:
    """The model's results in float64, computed when a comparison needs them.

    Attributes:
        problem: why the computation failed, in one line; None if it succeeded or was not tried.
    """

    def __init__(
        self,
        model: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        repeat: int = 1,
    ):
        """Prepares the results of the last of `repeat` calls."""
        self._model = model
        self._call = args, kwargs
        self._repeat = repeat
        self._leaves: list[Any] | None = None
        self._tried = False
        self.problem: str | None = None

    def result(self, index: int) -> torch.Tensor | None:
        """Returns leaf `index` of the result, computed in float64; None if that is impossible."""
        if not self._tried:
            self._tried = True
            try:
                self._leaves = self._compute()
            except Exception as problem:
                # A model may create tensors of a fixed dtype, or call code without float64 support.
                self.problem = first_line(problem)
        if self._leaves is None or index >= len(self._leaves):
            return None
        leaf = self._leaves[index]
        # The model may cast its float64 results to a narrower dtype.
        is_real = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
        return leaf.double() if is_real else None

    @property
    def rounding(self) -> float:
        """The float64 epsilon times the largest finite number in the arguments.

        Sums that cancel can leave an error of this size. A comparison with `result` does not show
        it, since `result` is itself computed in float64.
        """
        leaves = (leaf for leaf in pytree.tree_leaves(self._call) if isinstance(leaf, torch.Tensor))
        # Bool tensors have no absolute value.
        sizes = [leaf[torch.isfinite(leaf)].to(torch.complex128).abs() for leaf in leaves]
        largest = max((float(size.max()) for size in sizes if size.numel()), default=0.0)
        return largest * torch.finfo(torch.float64).eps

    def _compute(self) -> list[Any] | None:
        if isinstance(self._model, Recorded):
            return self._model.exact
        if not isinstance(self._model, torch.nn.Module):
            return None
        model = copy.deepcopy(self._model).double()
        with torch.no_grad():
            for _ in range(self._repeat):
                args, kwargs = pytree.tree_map_only(
                    torch.Tensor,
                    lambda tensor: tensor.double() if tensor.is_floating_point() else tensor,
                    copied(self._call),
                )
                result = model(*args, **kwargs)
        return pytree.tree_leaves(result)
