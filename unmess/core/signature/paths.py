"""Paths to the leaves of a call or a result, for all classes that PyTorch's pytrees know.

`pytree.tree_flatten_with_path` refuses classes that were registered without names for their parts,
such as the results of diffusers' models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch.utils import _pytree as pytree


def leaves_with_path(tree: Any) -> list[tuple[pytree.KeyPath, Any]]:
    """Returns the path and the value of each leaf, in the order of `pytree.tree_leaves`."""
    parts, spec = pytree.tree_flatten(tree, is_leaf=lambda node: node is not tree)
    if spec.is_leaf():
        return [((), tree)]
    return [
        ((key, *path), leaf)
        for key, part in zip(part_keys(tree, spec), parts, strict=True)
        for path, leaf in leaves_with_path(part)
    ]


def part_keys(container: Any, spec: pytree.TreeSpec) -> list[pytree.KeyEntry]:
    """Returns the key of each part of a container: its name if it has one, else its position.

    Args:
        spec: the container's structure.
    """
    count = spec.num_children
    with_keys: Callable | None = pytree.SUPPORTED_NODES[spec.type].flatten_with_keys_fn
    if with_keys is not None:
        return [key for key, _ in with_keys(container)[0]]
    if isinstance(container, Mapping) and len(container) == count:
        return [pytree.MappingKey(name) for name in container]
    return [pytree.SequenceKey(position) for position in range(count)]
