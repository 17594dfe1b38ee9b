"""Memory that results, arguments, state and IREE's files share."""

from __future__ import annotations

import ctypes
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import iree.runtime as rt
import torch


def shared(arguments: Sequence[tuple[str, Any]], results: Sequence[tuple[str, Any]]) -> list[int]:
    """Returns the indices of the results that must be copied because they share memory.

    A program that returns an argument, or one value twice, returns the same memory. State may stay
    in its memory. An output must not share memory with state, an argument or another output.

    Args:
        arguments, results: values with their kind, `input`, `output` or `state`. Values that are
            not tensors in the CPU's memory are skipped.
    """
    if _are_disjoint(arguments, results):
        return []
    taken = _Memory()
    late = []
    # In order of precedence: the first owner of a range of memory keeps it.
    for kind, values in (
        ("input", arguments),
        ("state", results),
        ("state", arguments),
        ("output", results),
    ):
        for index, (its_kind, value) in enumerate(values):
            if its_kind == kind and isinstance(value, torch.Tensor) and value.numel():
                is_free = taken.take(*_range(value))
                if values is results and not is_free:
                    late.append(index)
    return late


def _are_disjoint(arguments: Sequence[tuple[str, Any]], results: Sequence[tuple[str, Any]]) -> bool:
    """Returns whether no values share memory, except state that stays in its memory.

    This is the usual case, and takes a third of the time that a `_Memory` takes.
    """
    found = [(kind, _range(value)) for kind, value in results if isinstance(value, torch.Tensor)]
    state = {each for kind, each in found if kind == "state"}
    ranges = [each for _, each in found]
    for kind, value in arguments:
        if isinstance(value, torch.Tensor):
            each = _range(value)
            if kind != "state" or each not in state:
                ranges.append(each)
    ranges.sort()
    return all(end <= start for (_, end), (start, _) in itertools.pairwise(ranges))


def _range(tensor: torch.Tensor) -> tuple[int, int]:
    """Returns the first address of a tensor's memory, and the one after it."""
    start = tensor.data_ptr()
    return start, start + tensor.nbytes


class _Memory:
    """A sorted set of disjoint address ranges."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def take(self, start: int, end: int) -> bool:
        """Adds a range; returns whether it was free."""
        first = bisect_right(self._ends, start)
        last = bisect_left(self._starts, end)
        if first == last:
            self._starts.insert(first, start)
            self._ends.insert(first, end)
            return True
        self._starts[first:last] = [min(start, self._starts[first])]
        self._ends[first:last] = [max(end, self._ends[last - 1])]
        return False


def file_over(tensor: torch.Tensor, *, writable: bool = False) -> rt.FileHandle:
    """Returns a file whose content is a tensor's memory.

    IREE keeps a reference to the object that provides the memory. It drops the reference on the
    thread that used the memory last, usually one of its workers, without holding the GIL. If that
    frees the object, the process sometimes crashes. So IREE gets an object that is never freed and
    owns nothing. Each file leaks some hundred bytes.

    Args:
        tensor: a contiguous tensor on the CPU. The caller keeps it while the file is in use.
    """
    memory = (ctypes.c_uint8 * tensor.nbytes).from_address(tensor.data_ptr())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
    return rt.FileHandle.wrap_memory(memory, readable=True, writable=writable)
