"""Compares results with eager's element by element, more strictly than `unmess check`."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from pipelines.backends.backend import Numerics
from unmess.conformance.operators.case import Accuracy
from unmess.difference import Float64Leaf, compare_leaf

# The allowed multiple of eager's own distance to the float64 result.
_AGAINST_EAGER = 4
# There is no more precise reference for a float64 or complex128 result. Its error is assumed to be
# at least this many units in the last place of the largest element. An ill-conditioned result has a
# larger error: as many of its units as the float32 result differs from it in units of float32.
_OWN_UNITS = 4
_WIDE = (torch.float64, torch.complex128)
_UNIT_RATIO = torch.finfo(torch.float64).eps / torch.finfo(torch.float32).eps
# The number of seeds for random results of eager.
_SEEDS = 6
# The relative difference of random numbers that counts as rounding. Many results have few values,
# such as a tensor after a dropout.
_ROUNDING = 1e-2


def difference(
    function: Callable[..., Any],
    args: tuple,
    actual: Any,
    accuracy: Accuracy,
    numerics: Numerics,
    comparable: Callable[[Any], Any] = lambda result: result,
    tolerances: Mapping[str, float] | None = None,
) -> str | None:
    """Returns how `actual` differs from eager's result in one line, or None if it does not.

    Types, shapes, integers and booleans must be equal. NaN, infinities and zeros of either sign
    must be in the same places. For floats, see `Accuracy`.

    Args:
        numerics: how the backend rounds.
        comparable: returns the part of a result to compare.
        tolerances: by the name of a dtype, an additional allowed difference, relative to the
            largest magnitude of the result.
    """
    with torch.no_grad():
        expected = function(*_copied(args))
    leaves, spec = pytree.tree_flatten(comparable(expected))
    others, other_spec = pytree.tree_flatten(comparable(actual))
    if spec != other_spec:
        return f"the result is {other_spec}, eager's is {spec}"
    exact = coarse = None
    if accuracy.against_float64:
        exact = _at_precision(function, args, comparable, torch.float64)
        if any(isinstance(leaf, torch.Tensor) and leaf.dtype in _WIDE for leaf in leaves):
            coarse = _at_precision(function, args, comparable, torch.float32)
    for number, (theirs, ours) in enumerate(zip(leaves, others, strict=True)):
        is_wide = isinstance(theirs, torch.Tensor) and theirs.dtype in _WIDE
        known = coarse if is_wide else exact
        truth = known[number] if known is not None else None
        if problem := _leaf(theirs, ours, truth, accuracy, numerics):
            if _is_tolerated(theirs, ours, tolerances or {}):
                continue
            return problem if len(leaves) == 1 else f"result {number}: {problem}"
    return None


def _is_tolerated(theirs: Any, ours: Any, tolerances: Mapping[str, float]) -> bool:
    """Returns whether a result is within the tolerance of its dtype."""
    if not isinstance(theirs, torch.Tensor):
        return False
    tolerance = tolerances.get(str(theirs.dtype).removeprefix("torch."))
    comparison = compare_leaf("result", theirs, ours, Float64Leaf())
    return tolerance is not None and comparison.max_rel_error <= tolerance


def sample_difference(
    function: Callable[..., Any],
    args: tuple,
    actual: Sequence[Any],
    comparable: Callable[[Any], Any] = lambda result: result,
) -> str | None:
    """Returns how the distributions of `actual` and eager's results differ in one line, or None.

    Measures the largest distance of the distributions (Kolmogorov-Smirnov). The allowed distance
    is the one that one pair of samples in a thousand exceeds, or 1.5 times the distance between
    eager's results with any two of several seeds. The latter is larger if elements depend on each
    other.

    Args:
        actual: the results of several calls. All their elements form one sample.
        comparable: returns the part of a result to compare.
    """
    found = [pytree.tree_leaves(comparable(result)) for result in actual]
    expected = []
    for seed in range(_SEEDS):
        torch.manual_seed(seed)
        results = [function(*_copied(args)) for _ in actual]
        expected.append([pytree.tree_leaves(comparable(result)) for result in results])
    if len(expected[0][0]) != len(found[0]):
        return f"{len(found[0])} results, eager gives {len(expected[0][0])}"
    for number, ours in enumerate(zip(*found, strict=True)):
        theirs = [[result[number] for result in results] for results in expected]
        if problem := _sampled_leaf(theirs, ours):
            return problem
    return None


def _sampled_leaf(
    theirs: Sequence[Sequence[torch.Tensor]], ours: Sequence[torch.Tensor]
) -> str | None:
    for attribute in ("dtype", "shape"):
        expected, found = getattr(theirs[0][0], attribute), getattr(ours[0], attribute, None)
        if expected != found:
            return f"{attribute} {found}, eager gives {expected}"
    numbers = _numbers(ours)
    if not bool(torch.isfinite(numbers).all()):
        return "NaN or infinity"
    samples = [_numbers(results) for results in theirs]
    distance = _distance(samples[0], numbers)
    own = max(itertools.starmap(_distance, itertools.combinations(samples, 2)))
    allowed = max(1.95 * math.sqrt(2 / max(len(numbers), 1)), 1.5 * own)
    return (
        None if distance < allowed else f"distributions are {distance:.3f} apart, not {allowed:.3f}"
    )


def _distance(some: torch.Tensor, other: torch.Tensor) -> float:
    """Returns the distance of two distributions, of sorted numbers, up to rounding."""
    places = torch.cat([some, other])
    if not len(places):
        return 0.0
    below, around = (
        [torch.searchsorted(x, each, right=True).double() / len(x) for x in (some, other)]
        for each in (places, places + _ROUNDING * places.abs())
    )
    return float(torch.stack([below[0] - around[1], below[1] - around[0]]).max().clamp(min=0))


def _numbers(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Returns all elements, or the parts of complex ones, in float64 and ascending order.

    Subnormal numbers become 0, because some backends compute with 0 in their place.
    """
    parts = [torch.view_as_real(x.resolve_conj()) if x.is_complex() else x for x in tensors]
    return torch.cat([_without_subnormals(x).double().flatten() for x in parts]).sort().values


def _without_subnormals(x: torch.Tensor) -> torch.Tensor:
    if not x.is_floating_point():
        return x
    return torch.where(x.abs() < torch.finfo(x.dtype).tiny, torch.zeros_like(x), x)


def _copied(args: tuple) -> tuple:
    return pytree.tree_map_only(torch.Tensor, torch.clone, args)


def _at_precision(
    function: Callable[..., Any],
    args: tuple,
    comparable: Callable[[Any], Any],
    dtype: torch.dtype,
) -> list[Any] | None:
    """Returns the leaves of the result in float32 or float64; None if that is not supported."""

    def converted(x: torch.Tensor) -> torch.Tensor:
        if x.is_complex():
            return x.to(dtype.to_complex())
        return x.to(dtype) if x.is_floating_point() else x

    if isinstance(function, torch.nn.Module):
        function = copy.deepcopy(function).to(dtype)
    try:
        with torch.no_grad():
            result = function(*pytree.tree_map_only(torch.Tensor, converted, _copied(args)))
            return pytree.tree_leaves(comparable(result))
    except RuntimeError:
        return None


def _leaf(theirs: Any, ours: Any, truth: Any, accuracy: Accuracy, numerics: Numerics) -> str | None:
    if not isinstance(theirs, torch.Tensor):
        same = type(theirs) is type(ours) and (
            theirs == ours or (theirs != theirs and ours != ours)
        )
        return None if same else f"{ours!r}, eager gives {theirs!r}"
    for attribute in ("dtype", "shape"):
        expected, actual = getattr(theirs, attribute), getattr(ours, attribute, None)
        if expected != actual:
            return f"{attribute} {actual}, eager gives {expected}"
    if theirs.is_complex():
        # Compare the parts. Their errors are relative to the magnitude of the complex number.
        scale = theirs.abs().unsqueeze(-1).expand(*theirs.shape, 2)
        if truth is not None and (truth.shape != theirs.shape or not truth.is_complex()):
            truth = None
        theirs, ours = (torch.view_as_real(x.resolve_conj()) for x in (theirs, ours))
        exact = None if truth is None else torch.view_as_real(truth.resolve_conj())
        return _parts(theirs, ours, scale, exact, accuracy, numerics)
    if not theirs.is_floating_point():
        return _first(theirs != ours, theirs, ours)
    if truth is not None and (truth.shape != theirs.shape or not truth.is_floating_point()):
        truth = None
    return _floating(theirs, ours, truth, accuracy, numerics)


def _parts(
    theirs: torch.Tensor,
    ours: torch.Tensor,
    scale: torch.Tensor,
    exact: torch.Tensor | None,
    accuracy: Accuracy,
    numerics: Numerics,
) -> str | None:
    wrong = theirs.isnan() != ours.isnan()
    # The scale of an infinite element allows any difference.
    wrong |= (theirs.isinf() | ours.isinf()) & (theirs != ours) & ~theirs.isnan()
    eps = torch.finfo(theirs.dtype).eps
    allowed = accuracy.units * eps * scale
    if numerics.flushes_subnormals:
        allowed = allowed + torch.finfo(theirs.dtype).smallest_normal
    if accuracy.of_largest and theirs.numel():
        largest = torch.where(scale.isfinite(), scale, 0).max()
        allowed = allowed + accuracy.of_largest * eps * largest
    if exact is not None and theirs.numel():
        own = (theirs.double() - exact).abs()
        own = torch.where(torch.isfinite(own), own, 0)
        if accuracy.against_float64 == "worst":
            own = own.max()
            if theirs.dtype == torch.float64:
                own = _own_distance(theirs, exact, scale, ~torch.isfinite(scale))
        elif theirs.dtype == torch.float64:
            own = 0
        allowed = allowed + _AGAINST_EAGER * own
    wrong |= (theirs != ours) & ~((theirs - ours).abs() <= allowed) & ~theirs.isnan()
    return _first(wrong, theirs, ours)


def _floating(
    theirs: torch.Tensor,
    ours: torch.Tensor,
    truth: torch.Tensor | None,
    accuracy: Accuracy,
    numerics: Numerics,
) -> str | None:
    limits = torch.finfo(theirs.dtype)
    expected, actual = theirs.double(), ours.double()
    special = ~torch.isfinite(expected)
    wrong = expected.isnan() != actual.isnan()
    wrong |= (special | actual.isinf()) & ~expected.isnan() & (expected != actual)
    if accuracy.signed_zeros:
        wrong |= (expected == 0) & (actual == 0) & (expected.signbit() != actual.signbit())
    if bool(wrong.any()):
        return _first(wrong, theirs, ours)
    is_wide = theirs.dtype == torch.float64
    exact = expected if truth is None or is_wide else truth.double()
    # If eager overflows and float64 does not, expect eager's result.
    exact = torch.where(special | ~torch.isfinite(exact), expected, exact)
    allowed = accuracy.units * (limits.eps * exact.abs() + limits.smallest_normal * limits.eps)
    allowed = allowed + accuracy.relative * exact.abs()
    if accuracy.of_largest and exact.numel():
        largest = torch.where(special, 0, exact.abs()).max()
        allowed = allowed + accuracy.of_largest * limits.eps * largest
    if numerics.flushes_subnormals:
        allowed = allowed + limits.smallest_normal
    if numerics.units_of_one and accuracy.against_float64 and exact.numel():
        largest = torch.where(special, 0, exact.abs()).max().clamp(max=1)
        allowed = allowed + numerics.units_of_one * limits.eps * largest
    if truth is not None:
        own = torch.where(special, 0, (expected - exact).abs())
        if accuracy.against_float64 == "worst" and own.numel():
            own = own.max()
            if is_wide:
                own = _own_distance(expected, truth, exact.abs(), special)
        allowed = allowed + _AGAINST_EAGER * own
    return _first(~special & ((actual - exact).abs() > allowed), theirs, ours)


def _own_distance(
    expected: torch.Tensor, coarse: torch.Tensor, scale: torch.Tensor, special: torch.Tensor
) -> torch.Tensor:
    """Returns how far eager's float64 result may be from the exact one (0-d).

    Args:
        coarse: the result in float32.
        scale: the magnitude of each element.
        special: where the result is not finite.
    """
    eps = torch.finfo(torch.float64).eps
    largest = torch.where(special, 0, scale).max()
    distance = (expected - coarse.double()).abs()
    # A result in float32 may overflow.
    distance = torch.where(special | ~torch.isfinite(distance), 0, distance).max()
    return torch.maximum(distance * _UNIT_RATIO, _OWN_UNITS * eps * largest)


def _first(wrong: torch.Tensor, theirs: torch.Tensor, ours: torch.Tensor) -> str | None:
    if not bool(wrong.any()):
        return None
    place = tuple(wrong.nonzero()[0].tolist())
    count = f"{int(wrong.sum())} of {wrong.numel()} elements differ"
    expected, actual = theirs[place].item(), ours[place].item()
    return f"{count}; at {list(place)}: {actual!r}, eager gives {expected!r}"
