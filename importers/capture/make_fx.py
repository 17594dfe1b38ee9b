"""Captures a model below autograd with `make_fx`, which records gradients as operators.

`torch.export` traces a model above autograd, so it refuses a function that computes gradients.
`make_fx` records the operators that autograd calls. The inputs of the recorded graph are the state
(weights, buffers, an optimizer's moments) and the leaves of the call. The graph is then exported
like any model, and the rest of unmess gets an ordinary ExportedProgram.

A module may hold `torch.optim` optimizers as attributes and call `backward()` and `step()` in its
`forward`. Its parameters and the optimizers' moments are then buffers that the program writes.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch._decomp.decompositions import native_batch_norm_decomposition
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from importers.capture.data_positions import DataPositions
from importers.capture.named_state import (
    named_state,
    optimizers,
    register,
    replaced,
    with_moments,
)
from importers.capture.tensor_data import data_access

# The schema of `native_batch_norm` does not declare that it writes the running statistics. The
# operators of its decomposition do.
_DECOMPOSITIONS = {
    torch.ops.aten.native_batch_norm.default: native_batch_norm_decomposition,
}


class MakeFx:
    """Runs `make_fx` over state and inputs, then `torch.export` on the recorded graph."""

    name = "make_fx"
    specialized: frozenset[str] = frozenset()

    def __call__(self, module, args, kwargs, dynamic_shapes):
        """See `Strategy`."""
        module = with_moments(module, args, kwargs)
        start = named_state(module)
        leaves, spec = pytree.tree_flatten((args, kwargs))
        tensors = [index for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        requires_grad = [leaves[index].requires_grad for index in tensors]
        found: dict[str, Any] = {}

        def run(state: list[torch.Tensor], given: list[torch.Tensor]) -> list[Any]:
            own = [
                t.detach().clone().requires_grad_(s.requires_grad)
                for t, s in zip(state, start.values(), strict=True)
            ]
            versions = [tensor._version for tensor in own]
            filled = list(leaves)
            for index, tensor, wanted in zip(tensors, given, requires_grad, strict=True):
                filled[index] = tensor.detach().requires_grad_() if wanted else tensor
            call_args, call_kwargs = pytree.tree_unflatten(filled, spec)
            with torch.enable_grad(), replaced(module, dict(zip(start, own, strict=True))) as now:
                result = module(*call_args, **call_kwargs)
                after = now()
            found["written"] = {
                name
                for name, tensor, version in zip(start, own, versions, strict=True)
                if after[name] is not tensor or tensor._version != version
            }
            outputs, found["spec"] = pytree.tree_flatten(result)
            found["outputs"] = outputs
            results = [t for t in outputs if isinstance(t, torch.Tensor)]
            return [t.detach() for t in (*results, *(after[name] for name in start))]

        with _as_if_compiled(), DataPositions(), data_access(module, detach=False):
            traced = make_fx(
                run,
                tracing_mode="symbolic" if dynamic_shapes else "fake",
                decomposition_table=_DECOMPOSITIONS,
                _allow_non_fake_inputs=True,
            )(list(start.values()), [leaves[index].detach() for index in tensors])
        _drop_profiling(traced)
        found["written"] |= _written_by_operators(traced, list(start))
        step = _Traced(module, traced, start, tensors, found)
        return torch.export.export(step, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)


class _Traced(torch.nn.Module):
    """A module that runs the recorded graph, with the original's state and call signature."""

    def __init__(self, module, graph: torch.fx.GraphModule, state, tensors: list[int], found):
        super().__init__()
        written = found["written"]
        parameters = dict(module.named_parameters(remove_duplicate=False))
        for name, tensor in state.items():
            fixed = name in parameters and name not in written
            register(self, name, parameters[name] if fixed else tensor.detach())
        self.captured = graph

        def forward(*args, **kwargs):
            leaves = pytree.tree_leaves((args, kwargs))
            now = dict(self.named_parameters()) | dict(self.named_buffers(remove_duplicate=False))
            results = iter(
                self.captured([now[name] for name in state], [leaves[i] for i in tensors])
            )
            outputs = [
                next(results) if isinstance(leaf, torch.Tensor) else leaf
                for leaf in found["outputs"]
            ]
            for name, value in zip(state, results, strict=True):
                if name in written:
                    now[name].copy_(value)
            return pytree.tree_unflatten(outputs, found["spec"])

        forward.__signature__ = inspect.signature(module.forward)
        self.forward = forward


@contextlib.contextmanager
def _as_if_compiled() -> Iterator[None]:
    """Makes optimizers use tensors as step counts, as when compiled, instead of `item()`."""
    with mock.patch.object(torch.compiler, "_is_compiling_flag", True):
        yield


def _drop_profiling(traced: torch.fx.GraphModule) -> None:
    """Removes the profiler operators with which optimizers mark their steps."""
    for node in reversed(traced.graph.nodes):
        if isinstance(node.target, torch._ops.OpOverload) and node.target.namespace == "profiler":
            traced.graph.erase_node(node)
    traced.recompile()


def _written_by_operators(traced: torch.fx.GraphModule, names: list[str]) -> set[str]:
    """Returns the state that operators mutate, such as a batch norm's running statistics."""
    (results,) = next(node for node in traced.graph.nodes if node.op == "output").args
    written = set()
    for name, node in zip(names, results[len(results) - len(names) :], strict=True):
        while node.target is torch.ops.aten.detach.default:
            node = node.args[0]
        if any(_writes(user, node) for user in node.users):
            written.add(name)
    return written


def _writes(user: torch.fx.Node, node: torch.fx.Node) -> bool:
    if not isinstance(user.target, torch._ops.OpOverload):
        return False
    given = zip(user.target._schema.arguments, user.args, strict=False)
    return any(
        value is node and argument.alias_info is not None and argument.alias_info.is_write
        for argument, value in given
    )


class WithGradients(torch.nn.Module):
    """Runs a model in eager with gradients enabled, regardless of the caller's mode.

    Its buffers are the whole state of the model, under the names of the captured program.
    """

    def __init__(self, model: Callable[..., Any], args: tuple, kwargs: dict):
        super().__init__()
        # As a submodule, its tensors would get other names.
        self.__dict__["model"] = model
        leaves = pytree.tree_leaves((args, kwargs))
        self._requires_grad = [getattr(leaf, "requires_grad", False) for leaf in leaves]

    def forward(self, *args, **kwargs):
        """Returns the model's own result, detached."""
        leaves, spec = pytree.tree_flatten((args, kwargs))
        for index, wanted in enumerate(self._requires_grad):
            if wanted:
                leaves[index] = leaves[index].detach().requires_grad_()
        args, kwargs = pytree.tree_unflatten(leaves, spec)
        with torch.enable_grad():
            result = self.model(*args, **kwargs)
        return pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, result)

    def named_buffers(self, *_args, remove_duplicate=True, **_kwargs):
        """See `named_state`."""
        if isinstance(self.model, torch.nn.Module):
            yield from named_state(self.model, remove_duplicate).items()

    def _apply(self, function, recurse=True):
        """Applies a conversion such as `double()` to the model and its optimizers' moments."""
        if isinstance(self.model, torch.nn.Module):
            self.model._apply(function, recurse)
            for optimizer in optimizers(self.model).values():
                for parameter, moments in optimizer.state.items():
                    optimizer.state[parameter] = pytree.tree_map_only(
                        torch.Tensor, function, moments
                    )
        return self
