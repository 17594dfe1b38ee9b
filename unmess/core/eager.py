"""The model itself, as eager PyTorch runs it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.error import Error, first_line
from unmess.core.program import Program
from unmess.core.recorded import Recorded
from unmess.core.user_source import user_line


def copied(tree: Any) -> Any:
    """Fresh tensors, since a model may write its arguments."""
    return pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone(), tree)


def eager_of(program: Program) -> Callable[..., Any]:
    """The model in eager, without gradients; one that keeps state is copied, not advanced."""
    model = program.eager
    if program.signature.of_kind("state") and isinstance(model, torch.nn.Module):
        model = copy.deepcopy(model)
    return guarded(model)


def guarded(model: Callable[..., Any]) -> Callable[..., Any]:
    """`model` without gradients; what it raises is an Error."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            try:
                with torch.no_grad():
                    return model(*args, **kwargs)
            except RuntimeError as problem:
                # The model asks for gradients itself.
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
        problem: why computing them has failed, one line; None where it has not, or not been tried.
    """

    def __init__(
        self,
        model: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        repeat: int = 1,
    ):
        """Those of the last of `repeat` calls."""
        self._model = model
        self._call = args, kwargs
        self._repeat = repeat
        self._leaves: list[Any] | None = None
        self._tried = False
        self.problem: str | None = None

    def result(self, index: int) -> torch.Tensor | None:
        """The leaf at `index`, computed in float64; None where the model has no such form."""
        if not self._tried:
            self._tried = True
            try:
                self._leaves = self._compute()
            except Exception as problem:
                # A model may make tensors of one dtype only, or call what has no float64 form.
                self.problem = first_line(problem)
        if self._leaves is None or index >= len(self._leaves):
            return None
        leaf = self._leaves[index]
        # The model may narrow what it has computed in float64.
        is_real = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
        return leaf.double() if is_real else None

    @property
    def rounding(self) -> float:
        """A unit in the last place of float64, of the largest finite number in the arguments.

        So much may be left of sums that cancel. Eager's own results in float64 do not show it: they
        are what `result` gives.
        """
        leaves = (leaf for leaf in pytree.tree_leaves(self._call) if isinstance(leaf, torch.Tensor))
        # Flags have no absolute value.
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
