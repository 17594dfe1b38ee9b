"""Runs the model in eager PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from unmess.core.errors.error import Error, first_line
from unmess.core.errors.user_source import user_line
from unmess.core.program.program import Program
from unmess.core.program.recorded import Recorded
from unmess.core.program.strides import cloned

# Number of perturbed calls: one may leave an element unchanged by chance.
_PERTURBATIONS = 3


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
                hint="check that the example arguments fit the model",
            ) from problem

    call.model = model
    return call


class Float64Reference:
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
        self._perturbed: list[list[Any] | None] | None = None
        self._tried = False
        self.problem: str | None = None

    def result(self, index: int) -> torch.Tensor | None:
        """Returns leaf `index` of the result, computed in float64; None if that is impossible."""
        if not self._tried:
            self._tried = True
            try:
                self._leaves = self._compute()
            except Exception as problem:
                # A model may call code without float64 support.
                self.problem = first_line(problem)
        return _real_leaf(self._leaves, index)

    def perturbed(self, index: int) -> list[torch.Tensor]:
        """Returns leaf `index` for calls whose inputs and weights differ by about one rounding.

        Each floating-point element is multiplied by a number that differs from 1 by at most the
        epsilon of its own dtype. The list is empty if the results cannot be computed.
        """
        if self._perturbed is None:
            self._perturbed = []
            if self._leaves is not None and not isinstance(self._model, Recorded):
                # The float64 results exist, so the same model can compute them again.
                self._perturbed = [
                    self._compute(torch.Generator().manual_seed(seed))
                    for seed in range(_PERTURBATIONS)
                ]
        leaves = [_real_leaf(results, index) for results in self._perturbed]
        return [leaf for leaf in leaves if leaf is not None]

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

    def _compute(self, generator: torch.Generator | None = None) -> list[Any] | None:
        """Returns the leaves of the results, with a generator those of a perturbed call."""
        if isinstance(self._model, Recorded):
            return self._model.exact
        if not isinstance(self._model, torch.nn.Module):
            return None
        try:
            return self._run(generator)
        except RuntimeError:
            # The model creates tensors of a fixed dtype.
            with _WideDtypes():
                return self._run(generator)

    def _run(self, generator: torch.Generator | None) -> list[Any]:
        model = copy.deepcopy(self._model).double()
        if generator is not None:
            with torch.no_grad():
                for own, wide in zip(_weights(self._model), _weights(model), strict=True):
                    wide.copy_(_perturb(wide, _epsilon(own), generator))
        with torch.no_grad():
            for _ in range(self._repeat):
                args, kwargs = pytree.tree_map_only(
                    torch.Tensor, lambda tensor: _widened(tensor, generator), copied(self._call)
                )
                result = model(*args, **kwargs)
        return pytree.tree_leaves(result)


class _WideDtypes(TorchFunctionMode):
    """Replaces float32 by float64 in the arguments of functions, inside a `with` block."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Called for each function on tensors; see PyTorch's `TorchFunctionMode`."""
        if func is torch.Tensor.float:
            func = torch.Tensor.double
        args, kwargs = pytree.tree_map_only(torch.dtype, _wide, (args, kwargs or {}))
        return func(*args, **kwargs)


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float32 else dtype


def _weights(model: torch.nn.Module) -> list[torch.Tensor]:
    return [*model.parameters(), *model.buffers()]


def _real_leaf(leaves: list[Any] | None, index: int) -> torch.Tensor | None:
    if leaves is None or index >= len(leaves):
        return None
    leaf = leaves[index]
    # The model may cast its float64 results to a narrower dtype.
    is_real = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
    return leaf.double() if is_real else None


def _widened(tensor: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Returns a floating-point tensor in float64, perturbed if there is a generator."""
    if not tensor.is_floating_point():
        return tensor
    wide = tensor.double()
    return wide if generator is None else _perturb(wide, _epsilon(tensor), generator)


def _epsilon(tensor: torch.Tensor) -> float:
    return torch.finfo(tensor.dtype).eps if tensor.is_floating_point() else 0.0


def _perturb(tensor: torch.Tensor, epsilon: float, generator: torch.Generator) -> torch.Tensor:
    """Multiplies each element by a random number between 1 - epsilon and 1 + epsilon."""
    if not epsilon:
        return tensor
    factors = torch.rand(tensor.shape, dtype=tensor.dtype, generator=generator)
    return tensor * (1 + epsilon * (2 * factors - 1))
