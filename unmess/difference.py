"""Compares one call's results with eager PyTorch's: structure, dtypes, shapes and values."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.program.eager import Float64Reference
from unmess.core.signature.paths import leaves_with_path
from unmess.elements import bound_in_slices, examined, largest_element_error

# Largest difference allowed, relative to the largest magnitude in the eager result. Summation
# order alone stays below these; a wrong operator does not. Larger differences are compared with
# the float64 result, see `_AGAINST_EAGER`.
_TOLERANCE = {
    torch.float64: 1e-12,
    torch.complex128: 1e-12,
    torch.float32: 1e-5,
    torch.complex64: 1e-5,
    torch.float16: 2e-3,
    torch.complex32: 2e-3,
    torch.bfloat16: 1.6e-2,
}
# The largest allowed ratio of a runner's error to eager's, both against the float64 result. Eager
# sums in blocks, a runner one by one: over torchvision, the ratio is up to 4.5 (EfficientNet-B5).
_AGAINST_EAGER = 8.0


@dataclass(frozen=True)
class Difference:
    """The comparison of one result.

    Attributes:
        name: its path in the model's result or state.
        max_abs_error: the largest absolute difference.
        max_rel_error: the same, relative to the largest magnitude in the tensor.
        max_element_error: the largest difference relative to its own element. Elements that are
            zero, NaN or infinite in eager do not count.
        cause: what is wrong, in one line.
        dtype: the name of a floating dtype, such as `float32`; None for others.
    """

    name: str
    ok: bool
    max_abs_error: float
    max_rel_error: float
    cause: str | None = None
    max_element_error: float = 0.0
    dtype: str | None = None


@dataclass(frozen=True)
class Float64Leaf:
    """A leaf of the results in float64, if such results can be computed."""

    results: Float64Reference | None = None
    index: int = 0

    def leaf(self) -> torch.Tensor | None:
        """Returns the leaf; None if there is none."""
        return None if self.results is None else self.results.result(self.index)

    def perturbed(self) -> list[torch.Tensor]:
        """Returns the leaf for inputs and weights that differ by about one rounding."""
        return [] if self.results is None else self.results.perturbed(self.index)

    @property
    def problem(self) -> str | None:
        """The reason if computing the results has failed, else None."""
        return None if self.results is None else self.results.problem


def compare_trees(
    expected: Any, actual: Any, exact: Float64Reference | None = None
) -> list[Difference]:
    """Compares all leaves of two pytrees.

    Args:
        exact: the float64 results of the same call, for the differences that exceed the allowed
            one.
    """
    expected_leaves, expected_spec = leaves_with_path(expected), pytree.tree_structure(expected)
    actual_leaves, actual_spec = pytree.tree_flatten(actual)
    if not _same_structure(expected_spec, actual_spec):
        cause = "the structure of the result differs from eager's"
        return [Difference("result", False, float("inf"), float("inf"), cause)]
    return [
        compare_leaf(f"result{pytree.keystr(path)}", leaf, other, Float64Leaf(exact, index))
        for index, ((path, leaf), other) in enumerate(
            zip(expected_leaves, actual_leaves, strict=True)
        )
    ]


def tolerated(
    differences: Iterable[Difference], tolerances: Mapping[str, float]
) -> list[Difference]:
    """Accepts differences that are within the tolerances that a backend declares.

    Args:
        tolerances: by the name of a dtype, relative to the largest magnitude of the result.
    """
    return [
        replace(each, ok=True, cause=None)
        if not each.ok and each.max_rel_error <= tolerances.get(each.dtype, -1.0)
        else each
        for each in differences
    ]


def _same_structure(a: pytree.TreeSpec, b: pytree.TreeSpec) -> bool:
    """Returns whether two pytree structures are equal; of named tuples, compares name and fields.

    Their classes may differ: TorchScript makes a new class in each call.
    """
    if a == b:
        return True
    if a.type is not b.type or a.num_children != b.num_children:
        return False
    if a.type is collections.namedtuple:
        kinds = {(spec.context.__name__, spec.context._fields) for spec in (a, b)}
    else:
        kinds = {repr(spec.context) for spec in (a, b)}
    return len(kinds) == 1 and all(map(_same_structure, a.children(), b.children()))


def compare_leaf(name: str, expected: Any, actual: Any, truth: Float64Leaf) -> Difference:
    """Compares a tensor or a number, first its type, dtype and shape, then the values."""
    if type(expected) is type(actual) is float:
        return _compare_numbers(name, expected, actual)
    if not isinstance(expected, torch.Tensor):
        same = type(expected) is type(actual) and expected == actual
        cause = None if same else f"{actual!r}, eager gives {expected!r}"
        return Difference(name, same, 0.0 if same else float("inf"), 0.0, cause)
    for attribute in ("dtype", "shape"):
        theirs, ours = getattr(expected, attribute), getattr(actual, attribute, None)
        if theirs != ours:
            cause = f"{attribute} {ours}, eager gives {theirs}"
            return Difference(name, False, float("inf"), float("inf"), cause)
    expected, actual = expected.detach(), actual.detach()
    if expected.dtype not in _TOLERANCE:
        return _compare_exact(name, expected, actual)
    return _compare_floating(name, expected, actual, truth)


def changed_arguments(given: Any, after: Any) -> list[Difference]:
    """Returns the arguments that an executable has changed in a call.

    It must change none: it keeps the new value of an argument that the model writes as state.

    Args:
        given: the positional and the keyword arguments before the call.
        after: the same after the call.
    """
    found = []
    for (path, before), now in zip(
        pytree.tree_leaves_with_path(given), pytree.tree_leaves(after), strict=True
    ):
        if isinstance(before, torch.Tensor) and before.layout == torch.strided:
            name = f"argument{pytree.keystr(path[1:])}"
            found.append(compare_leaf(name, before, now, Float64Leaf()))
    return [
        replace(difference, cause="the call has changed it")
        for difference in found
        if not difference.ok
    ]


def _compare_numbers(name: str, expected: float, actual: float) -> Difference:
    """Compares Python floats, in single precision if eager's is a single-precision number."""
    theirs, ours = (torch.tensor(value, dtype=torch.float64) for value in (expected, actual))
    if torch.equal(theirs.float().double(), theirs) or math.isnan(expected):
        theirs = theirs.float()
    return _compare_floating(name, theirs, ours, Float64Leaf())


def _compare_exact(name: str, expected: torch.Tensor, actual: torch.Tensor) -> Difference:
    # Floats of 8 bits may be NaN, which differs from itself.
    differs = (expected != actual) & ~((expected != expected) & (actual != actual))
    wrong = int(differs.sum())
    if not wrong:
        return Difference(name, True, 0.0, 0.0)
    gaps = (expected[differs].double() - actual[differs].double()).abs()
    gap = float(gaps.nan_to_num(nan=torch.inf).max())
    cause = f"{wrong} of {expected.numel()} elements differ from eager's"
    return Difference(name, False, gap, gap / max(float(expected.double().abs().max()), 1.0), cause)


def _compare_floating(
    name: str, expected: torch.Tensor, actual: torch.Tensor, truth: Float64Leaf
) -> Difference:
    wide = torch.complex128 if expected.is_complex() else torch.float64
    theirs, ours = expected.to(wide), actual.to(wide)
    finite = torch.isfinite(theirs)
    same_special = torch.equal(torch.isnan(theirs), torch.isnan(ours)) and bool(
        (theirs[~finite & ~torch.isnan(theirs)] == ours[~finite & ~torch.isnan(theirs)]).all()
    )
    if not same_special or not bool(torch.isfinite(ours[finite]).all()):
        cause = "NaN or infinity where eager gives another value, or the other way round"
        return Difference(name, False, float("inf"), float("inf"), cause)
    if not bool(finite.any()):
        return Difference(name, True, 0.0, 0.0)
    gap = float((theirs - ours)[finite].abs().max())
    scale = float(theirs[finite].abs().max())
    relative = gap / scale if scale else (0.0 if gap == 0 else float("inf"))
    cause = _too_far(expected.dtype, theirs, ours, finite, truth)
    if cause is None:
        cause = _wrong_element(expected.dtype, theirs, ours, truth)
    element = largest_element_error(theirs, ours)
    dtype = str(expected.dtype).removeprefix("torch.")
    return Difference(name, cause is None, gap, relative, cause, element, dtype)


def _too_far(
    dtype: torch.dtype,
    theirs: torch.Tensor,
    ours: torch.Tensor,
    finite: torch.Tensor,
    truth: Float64Leaf,
) -> str | None:
    """Returns why the largest difference is too large; None if it is not."""
    gap = float((theirs - ours)[finite].abs().max())
    scale = float(theirs[finite].abs().max())
    tolerance = _TOLERANCE[dtype]
    if gap <= tolerance * scale:
        return None
    exact = truth.leaf()
    if exact is not None and exact.shape == theirs.shape:
        own = float((exact - theirs)[finite].abs().max())
        if dtype == torch.float64:
            own = max(own, truth.results.rounding)
        error = float((exact - ours)[finite].abs().max())
        if error <= _AGAINST_EAGER * own:
            return None
        return f"differs by {error:.3g} from the float64 result; eager differs by {own:.3g}"
    relative = gap / scale if scale else float("inf")
    cause = f"differs by {gap:.3g}, {relative:.3g} of the largest value (allowed {tolerance:g})"
    if truth.problem:
        cause += f" (no float64 result: {truth.problem})"
    return cause


def _wrong_element(
    dtype: torch.dtype, theirs: torch.Tensor, ours: torch.Tensor, truth: Float64Leaf
) -> str | None:
    """Describes the first element that is wrong beside larger ones; None if there is none."""
    wrong = examined(theirs, ours, dtype)
    if not bool(wrong.any()):
        return None
    exact = truth.leaf()
    if exact is None or exact.shape != theirs.shape:
        return None
    error = (exact - ours).abs()
    wrong &= error > _AGAINST_EAGER * bound_in_slices((exact - theirs).abs())
    if not bool(wrong.any()):
        return None
    changes = [(exact - leaf).abs() for leaf in truth.perturbed() if leaf.shape == exact.shape]
    if not changes:
        return None
    wrong &= error > _AGAINST_EAGER * torch.stack(changes).amax(0)
    if not bool(wrong.any()):
        return None
    at = tuple(wrong.nonzero()[0].tolist())
    return (
        f"element {list(at)} is {float(ours[at]):.6g}, eager gives {float(theirs[at]):.6g} and "
        f"float64 {float(exact[at]):.6g} ({int(wrong.sum())} of {wrong.numel()} elements are wrong)"
    )
