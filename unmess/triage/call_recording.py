"""Records the functions of PyTorch that a model calls in eager, for models without a graph."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from unmess.core.errors.user_source import is_users
from unmess.core.program.eager import copied
from unmess.core.signature.paths import leaves_with_path
from unmess.triage.trace import Call, Code, Reference, Trace, Value
from unmess.triage.values import Values, argument, function_code, is_plain

# Functions whose results do not depend on elements. Their results are constants of the program, as
# are all attributes.
_METADATA = frozenset(
    f"torch.Tensor.{name}"
    for name in (
        *("__len__", "__repr__", "__hash__", "__format__", "dim", "ndimension", "size", "stride"),
        *("numel", "nelement", "element_size", "storage_offset", "get_device", "type"),
        *("is_contiguous", "is_floating_point", "is_complex", "is_signed", "is_conj", "is_neg"),
        *("is_same_size", "is_set_to", "is_shared", "is_pinned", "is_inference", "has_names"),
    )
)


def record_calls(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], folder: Path) -> Trace:
    """Calls a model in eager PyTorch, and returns the functions that it calls, with all values.

    Args:
        model: a module or a function.
        folder: for the values.
    """
    args, kwargs = copied((args, kwargs))
    recorder = _Recorder(Values(folder))
    recorder.add_inputs(args, kwargs)
    if isinstance(model, torch.nn.Module):
        named = (*model.named_parameters(), *model.named_buffers())
        recorder.weights = {id(tensor): name for name, tensor in named}
    with torch.no_grad(), recorder:
        result = model(*args, **kwargs)
    return recorder.trace(result)


class _Recorder(TorchFunctionMode):
    """Records the outermost calls of functions of PyTorch."""

    def __init__(self, values: Values):
        super().__init__()
        self._values = values
        # The names of tensors by id. Keeps each tensor, so that no other object gets its id.
        self._names: dict[int, tuple[str, torch.Tensor]] = {}
        self._inputs: list[Value] = []
        self._calls: list[Call] = []
        self.weights: dict[int, str] = {}

    def add_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Makes the tensors of the call inputs of the trace."""
        for path, leaf in leaves_with_path((args, kwargs)):
            if isinstance(leaf, torch.Tensor) and id(leaf) not in self._names:
                key = path[-1] if isinstance(path[-1], pytree.MappingKey) else None
                self._add_input(leaf, key.key if key else f"x{len(self._inputs)}")

    def trace(self, result: Any) -> Trace:
        """Returns the recorded calls. The tensors of `result` are the results of the program."""
        leaves = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        names = [self._reference(leaf).name for leaf in leaves]
        return Trace(tuple(self._inputs), tuple(self._calls), tuple(dict.fromkeys(names)))

    def __torch_function__(self, function, types, args=(), kwargs=None):
        """See `TorchFunctionMode`."""
        kwargs = kwargs or {}
        code = function_code(function)
        # Record the arguments before the call, which may write to them.
        given = pytree.tree_map(self._given, (tuple(args), dict(kwargs)))
        result = function(*args, **kwargs)
        leaves = pytree.tree_leaves(result)
        is_attribute = code is not None and code.endswith(".__get__")
        has_tensor = any(isinstance(leaf, torch.Tensor) for leaf in leaves)
        if has_tensor or not (is_attribute or code in _METADATA):
            self._record(code, given, result)
        return result

    def _given(self, leaf: Any) -> Any:
        return self._reference(leaf) if isinstance(leaf, torch.Tensor) else leaf

    def _reference(self, tensor: torch.Tensor) -> Reference:
        if id(tensor) not in self._names:
            self._add_input(tensor, self.weights.get(id(tensor), "constant"), is_weight=True)
        return Reference(self._names[id(tensor)][0])

    def _add_input(self, tensor: torch.Tensor, wanted: str, is_weight: bool = False) -> None:
        value = self._values.value(self._values.name(wanted), tensor, is_weight=is_weight)
        self._inputs.append(value)
        self._names[id(tensor)] = value.name, tensor

    def _record(self, code: str | None, given: tuple[tuple, dict], result: Any) -> None:
        args, kwargs = argument(given[0]), argument(given[1])
        operator = (code or "unknown").removeprefix("torch.").removesuffix(".__get__")
        name = self._values.name(operator.rpartition(".")[2])
        leaves = pytree.tree_leaves((args, kwargs))
        is_known = all(isinstance(leaf, (Reference, Code)) or is_plain(leaf) for leaf in leaves)
        # A call of `unknown` fails in another way than the model.
        function = code if code is not None and is_known else "unknown"
        where = _where()
        call = Call(self._values.value(name, result), function, args, kwargs, operator, where)
        self._calls.append(call)
        if isinstance(result, torch.Tensor):
            self._names[id(result)] = name, result
        elif isinstance(result, (tuple, list)):
            for index, part in enumerate(result):
                if isinstance(part, torch.Tensor):
                    self._record_part(name, index, part, where)

    def _record_part(self, of: str, index: int, part: torch.Tensor, where: str | None) -> None:
        name = self._values.name(f"{of}_{index}")
        value, given = self._values.value(name, part), (Reference(of), index)
        self._calls.append(Call(value, "operator.getitem", given, {}, "getitem", where, part_of=of))
        self._names[id(part)] = name, part


def _where() -> str | None:
    """Returns the innermost line of the user's code that is running, as `file:line`."""
    frame = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return None
